//! Stopping a cell without losing the kernel.

use std::time::{Duration, Instant};

use cellist_kernel::{Death, Event, ExecutionId, Request};

use super::bed::{Bed, Heard, Session, all, until_printed};

async fn check(session: &Session, code: &str, names: &[&str]) {
    let began = Instant::now();
    let heard = session.interrupted(code).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{code}: {heard}");
    assert!(heard.error().is_some_and(|error| names.contains(&error.0)), "{code}: {heard}");
    assert!(heard.outcome().is_some_and(|outcome| outcome.cancelled), "{code}: {heard}");
    session.check(&[("'alive'", "result text/plain='alive'")]).await;
}

#[tokio::test]
async fn an_interrupt_ends_a_cell_wherever_it_waits() {
    let session = Bed::new().start().await;
    for code in [
        "import time\nprint('ready')\ntime.sleep(600)",
        "print('ready')\nwhile True: pass",
        "import subprocess\nprint('ready')\nsubprocess.run(['sleep', '600'])",
        "print('ready')\n!sleep 600",
        "import threading\nprint('ready')\nthreading.Event().wait()",
        "import re\nprint('ready')\nre.match('(a|a)*b', 'a' * 60)",
        "import asyncio\nprint('ready')\nasyncio.run(asyncio.sleep(600))",
        "import asyncio\nasync def spin():\n    while True: pass\nprint('ready')\nawait spin()",
        "async def spin():\n    while True: print('ready')\nawait spin()",
        "print('ready')\nwhile True: print('x' * 1000)",
    ] {
        check(&session, code, &["KeyboardInterrupt"]).await;
    }
    session.end().await;
}

#[tokio::test]
async fn an_interrupt_cancels_a_cell_that_awaits_and_other_tasks_go_on() {
    let session = Bed::new().start().await;
    session.check(&[("import asyncio\nother = asyncio.create_task(asyncio.sleep(0.5, 'other'))", "")]).await;
    // It may come before the cell gets to its `await`.
    let code = "print('ready')\nawait asyncio.sleep(600)";
    check(&session, code, &["CancelledError", "KeyboardInterrupt"]).await;
    // From here on it waits in the loop.
    let code = "
import sys, threading, time
def tell(main=threading.get_ident()):
    while sys._current_frames()[main].f_code.co_name != 'select':
        time.sleep(0.001)
    print('ready')
threading.Thread(target=tell).start()
await asyncio.sleep(600)
";
    check(&session, code, &["CancelledError"]).await;
    session.check(&[("await other", "result text/plain='other'")]).await;
    session.end().await;
}

#[tokio::test]
async fn children_get_the_interrupt_too() {
    let session = Bed::new().start().await;
    let code = "
import os, subprocess
script = 'trap \"touch got; exit\" INT; read go; echo ready; while :; do sleep 0.01; done'
child = subprocess.Popen(['sh', '-c', script], stdin=subprocess.PIPE)
child.stdin.write(b'go\\n')
child.stdin.flush()
child.wait()
";
    check(&session, code, &["KeyboardInterrupt"]).await;
    let left = "child.wait()\nos.path.exists('got')";
    session.check(&[(left, "result text/plain=True")]).await;
    session.end().await;
}

#[tokio::test]
async fn an_interrupt_that_the_code_survives_is_not_a_cancellation() {
    let session = Bed::new().start().await;
    let code = "
import time
try:
    print('ready')
    time.sleep(600)
except KeyboardInterrupt:
    print('caught')
'done'";
    let heard = session.interrupted(code).await;
    assert_eq!(heard.to_string(), "stdout ready\\ncaught\\n\nresult text/plain='done'");
    assert!(!heard.outcome().unwrap().cancelled);
    session.check(&[("raise KeyboardInterrupt", "error KeyboardInterrupt: \nfailed")]).await;
    session.end().await;
}

#[tokio::test]
async fn an_interrupt_for_a_cell_that_is_over_touches_no_other() {
    let session = Bed::new().start().await;
    let first = session.kernel.execute(Request::new("1")).await.unwrap();
    let id = first.id;
    all(first).await;
    session.kernel.interrupt(id).await.unwrap();
    let mut second = session
        .kernel
        .execute(Request::new("print('ready')\nimport time\nfor _ in range(20): time.sleep(0.01)"))
        .await
        .unwrap();
    let mut events = until_printed(&mut second, "ready").await;
    session.kernel.interrupt(id).await.unwrap();
    session.kernel.interrupt(ExecutionId(999)).await.unwrap();
    events.extend(all(second).await);
    assert_eq!(Heard(events).to_string(), r"stdout ready\n");
    session.end().await;
}

#[tokio::test]
async fn an_interrupt_just_before_a_long_wait_is_not_overlooked() {
    let session = Bed::new().start().await;
    // The display is heard at the moment in which the cell goes to sleep.
    let code = "import time\ndisplay(1)\ntime.sleep(600)";
    for _ in 0..50 {
        let mut execution = session.kernel.execute(Request::new(code)).await.unwrap();
        while !matches!(execution.events.recv().await, Some(Event::Display { .. })) {}
        session.kernel.interrupt(execution.id).await.unwrap();
        let heard = Heard(all(execution).await);
        assert_eq!(heard.error().map(|error| error.0), Some("KeyboardInterrupt"), "{heard}");
    }
    session.end().await;
}

#[tokio::test]
async fn an_interrupt_of_a_cell_that_is_about_to_begin_is_not_overlooked() {
    let session = Bed::new().start().await;
    // The last that is done before code of the cell runs: here the interrupt comes.
    let at_the_edge = "
from cellist_runner.base import state
runner = state.runner
enter = runner.tasks.enter
def interrupted():
    runner.tasks.enter = enter
    runner.requests.interrupt(runner.requests.running)
    enter()
runner.tasks.enter = interrupted
";
    session.check(&[(at_the_edge, "")]).await;
    let heard = session.run("import time\nprint('begun')\ntime.sleep(600)").await;
    assert_eq!(heard.to_string(), "error KeyboardInterrupt: \ncancelled");
    session.check(&[("'alive'", "result text/plain='alive'")]).await;
    session.end().await;
}

#[tokio::test]
async fn a_cell_may_be_interrupted_at_any_moment_and_the_kernel_keeps_its_order() {
    let session = Bed::new().start().await;
    let code = "
import sys
print('ready')
while True:
    print('o')
    print('e', file=sys.stderr)
    display(1)
";
    for round in 0..20_u64 {
        let mut execution = session.kernel.execute(Request::new(code)).await.unwrap();
        until_printed(&mut execution, "ready").await;
        tokio::time::sleep(Duration::from_micros(round * 300)).await;
        session.kernel.interrupt(execution.id).await.unwrap();
        let heard = Heard(all(execution).await);
        assert_eq!(heard.error().map(|error| error.0), Some("KeyboardInterrupt"), "round {round}");
        session
            .check(&[(
                "print('o')\nprint('e', file=sys.stderr)\n3",
                "stdout o\\n\nstderr e\\n\nresult text/plain=3",
            )])
            .await;
    }
    session.end().await;
}

#[tokio::test]
async fn code_that_swallows_interrupts_goes_on_until_it_is_killed() {
    let session = Bed::new().start().await;
    let code = "
import os, signal, time
signal.signal(signal.SIGINT, lambda *_: os.write(1, b'again'))
print('ready')
while True:
    time.sleep(600)
";
    let mut execution = session.kernel.execute(Request::new(code)).await.unwrap();
    until_printed(&mut execution, "ready").await;
    for _ in 0..2 {
        session.kernel.interrupt(execution.id).await.unwrap();
        until_printed(&mut execution, "again").await;
    }
    session.kernel.restart().await.unwrap();
    let events = all(execution).await;
    assert_eq!(events.last(), Some(&Event::Died(Death::Signal("SIGKILL".into()))));
    session.check(&[("'time' in dir()", "result text/plain=False")]).await;
    session.end().await;
}
