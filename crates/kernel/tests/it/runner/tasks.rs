//! Code that awaits.

use cellist_kernel::Request;
use testkit::until;

use super::bed::{Bed, Heard, all};

#[tokio::test]
async fn a_cell_may_await_at_its_top_level() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x", ""),
            ("await f(3)", "result text/plain=3"),
            ("x = await f(4)\nx + 1", "result text/plain=5"),
            ("async with asyncio.Lock():\n    print('locked')", r"stdout locked\n"),
            ("[await f(i) for i in range(3)]", "result text/plain=[0, 1, 2]"),
            ("await f(1);", ""),
            ("async def g():\n    1 / 0\nawait g()", "error ZeroDivisionError: division by zero\nfailed"),
        ])
        .await;
    let heard = session.run("await g()").await;
    let traceback = heard.error().unwrap().2;
    assert!(!traceback.contains("asyncio") && !traceback.contains("cellist"), "{traceback}");
    session.end().await;
}

#[tokio::test]
async fn a_first_cell_may_await_without_importing_anything() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("async def f(): return 2\nawait f()", "result text/plain=2"),
            ("import asyncio\nawait asyncio.sleep(0, 'slept')", "result text/plain='slept'"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn tasks_started_at_the_top_level_go_on_between_cells() {
    let session = Bed::new().start().await;
    let code = "
import asyncio
done = asyncio.Event()
async def work():
    for i in range(3):
        await asyncio.sleep(0.01)
    open('finished', 'w').close()
    done.set()
    return 'worked'
task = asyncio.create_task(work())
";
    session.check(&[(code, "")]).await;
    // No cell runs; the task gets to its end all the same.
    let finished = session.bed.launch.cwd.join("finished");
    until(|| finished.exists()).await;
    session
        .check(&[
            ("await task", "result text/plain='worked'"),
            ("asyncio.get_running_loop() is asyncio.get_event_loop()", "result text/plain=True"),
            ("async def fail(): raise SystemExit(3)\ntask = asyncio.create_task(fail())", ""),
        ])
        .await;
    assert!(session.run("1").await.is_ok());
    session.end().await;
}

#[tokio::test]
async fn asyncio_run_works_as_in_a_script() {
    let session = Bed::new().start().await;
    session
        .check(&[
            ("import asyncio\nasync def f(): return 5\nasyncio.run(f())", "result text/plain=5"),
            ("t = asyncio.create_task(f())\nasyncio.run(f())", "result text/plain=5"),
            ("await t", "result text/plain=5"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn cells_are_a_part_of_the_loop_that_runs() {
    let session = Bed::new().start().await;
    let refused = "error RuntimeError: This event loop is already running\nfailed";
    session
        .check(&[
            ("import asyncio\nloop = asyncio.get_event_loop()\nasync def f(): return loop.is_running()", ""),
            ("loop is asyncio.get_running_loop(), loop.is_running()", "result text/plain=(True, True)"),
            ("waiting = f()\nloop.run_until_complete(waiting)", refused),
            ("loop.run_forever()", refused),
            ("await waiting", "result text/plain=True"),
            ("loop.is_running()", "result text/plain=True"),
            ("task = asyncio.ensure_future(f())", ""),
            ("task.result()", "result text/plain=True"),
        ])
        .await;
    session.end().await;
}

#[tokio::test]
async fn a_task_that_never_yields_between_cells_can_be_interrupted() {
    let session = Bed::new().start().await;
    let code = "
import asyncio
async def spin():
    open('spinning', 'w').close()
    while True: pass
task = asyncio.create_task(spin())
";
    session.check(&[(code, "")]).await;
    let spinning = session.bed.launch.cwd.join("spinning");
    until(|| spinning.exists()).await;
    let execution = session.kernel.execute(Request::new("x = 1")).await.unwrap();
    session.kernel.interrupt(execution.id).await.unwrap();
    let heard = Heard(all(execution).await);
    assert!(heard.outcome().is_some_and(|outcome| outcome.cancelled), "{heard}");
    // The exception that broke off the task is reported as its own, and the cell did not run.
    assert!(heard.stderr().contains("in spin"), "{heard}");
    session.check(&[("'x' in dir()", "result text/plain=False")]).await;
    session.end().await;
}
