//! How kernels end: by themselves, by others, by us.

use std::time::{Duration, Instant};

use cellist_kernel::{Death, Error, Event, Request, State, Status};

use super::bed::{Bed, files, rest, until};
use crate::traces::{in_group, until_gone};

/// How much is printed before the end: more than a pipe holds, and not flushed.
const LINES: usize = 20_000;

/// All that was printed is there, or it is said that some of it may not be.
async fn check_death(code: &str, expected: Death, all: bool) {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let pid = kernel.pid();
    let ran = kernel.run(&format!("for line in range({LINES}): print(line)\n{code}")).await;
    assert_eq!(ran.0.last(), Some(&Event::Died(expected.clone())), "{code}");
    let whole: String = (0..LINES).map(|line| format!("{line}\n")).collect();
    assert!(whole.starts_with(&ran.stdout()), "{code}");
    assert_eq!(ran.0.contains(&Event::OutputLost), !all, "{code}");
    assert!(!all || ran.stdout() == whole, "{code}: {} bytes", ran.stdout().len());
    assert_eq!(*kernel.kernel.state().borrow(), State::Dead(expected));
    until_gone(pid);
    assert!(matches!(kernel.kernel.execute(Request::new("1")).await, Err(Error::Dead { .. })));
    assert!(matches!(kernel.kernel.complete("a", 1).await, Err(Error::Dead { .. })));
    kernel.kernel.restart().await.unwrap();
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}

#[tokio::test]
async fn a_kernel_that_exits_tells_its_code_and_all_it_said_before() {
    check_death("import os; os._exit(7)", Death::Exit(7), true).await;
}

#[tokio::test]
async fn a_kernel_that_kills_itself_tells_the_signal_and_all_it_said_before() {
    let signal = |name: &str| Death::Signal(name.into());
    let code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)";
    check_death(code, signal("SIGSEGV"), true).await;
    check_death("import signal; signal.raise_signal(signal.SIGTERM)", signal("SIGTERM"), true).await;
}

#[tokio::test]
async fn a_kernel_that_is_killed_tells_the_signal_and_that_output_may_be_missing() {
    let code = "import os, subprocess; subprocess.run(['kill', '-KILL', str(os.getpid())])\nwhile True: pass";
    check_death(code, Death::Signal("SIGKILL".into()), false).await;
    check_death("import ctypes; ctypes.string_at(0)", Death::Signal("SIGSEGV".into()), false).await;
}

#[tokio::test]
async fn a_crash_takes_the_children_with_it() {
    let code = "import subprocess, os; subprocess.Popen(['sleep', '600']); os.abort()";
    check_death(code, Death::Signal("SIGABRT".into()), true).await;
}

#[tokio::test]
async fn a_signal_that_is_handled_and_a_child_that_exits_are_no_end() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let code = "import os, signal\n\
        signal.signal(signal.SIGUSR1, lambda *_: print('handled'))\n\
        os.kill(os.getpid(), signal.SIGUSR1); os.kill(os.getpid(), 0)\n\
        child = os.fork()\n\
        if child == 0: os._exit(3)\n\
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))";
    let ran = kernel.run(code).await;
    assert_eq!((ran.stdout().as_str(), ran.status()), ("handled\n3\n", Status::Ok), "{ran:?}");
    kernel.end().await;
}

#[tokio::test]
async fn the_death_of_an_idle_kernel_is_noticed_at_once() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let mut state = kernel.kernel.state();
    std::process::Command::new("kill").args(["-KILL", &kernel.pid().to_string()]).status().unwrap();
    // A heartbeat would not be missed that soon.
    let dead =
        tokio::time::timeout(Duration::from_secs(4), state.wait_for(|state| matches!(state, State::Dead(_))))
            .await;
    assert_eq!(*dead.unwrap().unwrap(), State::Dead(Death::Signal("SIGKILL".into())));
    kernel.end().await;
}

#[tokio::test]
async fn a_restart_begins_anew_also_in_the_middle_of_a_cell() {
    let mut bed = Bed::new();
    bed.launch.prelude = Some("born = 'again'".into());
    let kernel = bed.ipykernel().await;
    kernel.run("x = 1").await;
    let first = kernel.pid();
    let mut execution = kernel.begin("print('go', flush=True)\nwhile True: pass").await;
    until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
    let mut states = kernel.kernel.state();
    kernel.kernel.restart().await.unwrap();
    assert_eq!(rest(&mut execution).await.0, [Event::Died(Death::Signal("SIGKILL".into()))]);
    assert_eq!(*states.borrow_and_update(), State::Idle);
    until_gone(first);
    assert_ne!(kernel.pid(), first);
    let ran = kernel.run("born, 'x' in globals()").await;
    assert_eq!((ran.result(), ran.outcome().execution_count), (Some("('again', False)"), Some(1)));
    assert_eq!(files(&bed.launch.runtime_dir).len(), 1);
    kernel.end().await;
}

#[tokio::test]
async fn a_restart_that_nobody_waits_for_leaves_a_dead_kernel_that_can_be_restarted() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    tokio::select! {
        biased;
        _ = kernel.kernel.restart() => panic!("so fast"),
        () = tokio::time::sleep(Duration::from_millis(50)) => {}
    }
    assert!(matches!(*kernel.kernel.state().borrow(), State::Dead(_)));
    kernel.kernel.restart().await.unwrap();
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}

#[tokio::test]
async fn a_shutdown_ends_everything_that_the_kernel_started() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let (pid, mut state) = (kernel.pid(), kernel.kernel.state());
    kernel.run("import subprocess; p = [subprocess.Popen(['sleep', '600']) for _ in range(3)]").await;
    assert!(in_group(pid).len() >= 4);
    kernel.end().await;
    assert!(matches!(*state.borrow_and_update(), State::Dead(_)));
}

#[tokio::test]
async fn children_and_threads_that_would_go_on_do_not_hold_up_a_shutdown() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    // The shell does not end when it is asked to.
    let code = "import atexit, subprocess, threading, time\n\
        from concurrent.futures import ThreadPoolExecutor\n\
        subprocess.Popen(['sh', '-c', 'trap \"\" TERM; while :; do sleep 600; done'])\n\
        pool = ThreadPoolExecutor(); pool.submit(int).result()\n\
        threading.Thread(target=time.sleep, args=[600]).start()\n\
        atexit.register(lambda: open('handler', 'w').write('x'))";
    assert_eq!(kernel.run(code).await.status(), Status::Ok);
    kernel.end().await;
    // The handler of a kernel that was waited for and then killed would not have run.
    assert_eq!(std::fs::read_to_string(bed.launch.cwd.join("handler")).unwrap(), "x");
}

#[tokio::test]
async fn a_pool_of_threads_that_has_nothing_to_do_does_not_keep_a_kernel_from_leaving_in_order() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let code = "from concurrent.futures import ThreadPoolExecutor\n\
        pool = ThreadPoolExecutor(); pool.submit(int).result()\n\
        file = open('open file', 'w'); file.write('x')";
    assert_eq!(kernel.run(code).await.status(), Status::Ok);
    kernel.end().await;
    assert_eq!(std::fs::read_to_string(bed.launch.cwd.join("open file")).unwrap(), "x");
}

#[tokio::test]
async fn a_kernel_that_is_shut_down_can_put_things_in_order() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let code = "import atexit, weakref\n\
        class Holder: pass\n\
        def holds_itself(name):\n    holder = Holder(); holder.self, holder.file = holder, open(name, 'w')\n    \
        holder.file.write('x')\n    return holder\n\
        atexit.register(lambda: open('handler', 'w').write('x'))\n\
        weakref.finalize(Holder, lambda: open('finalizer', 'w').write('x'))\n\
        file = open('open file', 'w'); file.write('x')\n\
        holder = holds_itself('in a circle'); holds_itself('result')";
    assert_eq!(kernel.run(code).await.status(), Status::Ok);
    kernel.end().await;
    for name in ["handler", "finalizer", "open file", "in a circle", "result"] {
        assert_eq!(std::fs::read_to_string(bed.launch.cwd.join(name)).unwrap(), "x", "{name}");
    }
}

#[tokio::test]
async fn a_busy_kernel_is_shut_down_without_waiting_for_it() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let mut execution = kernel.begin("print('go', flush=True)\nwhile True: pass").await;
    until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
    let began = Instant::now();
    kernel.end().await;
    // It would have so long to leave by itself.
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(rest(&mut execution).await.0, [Event::Died(Death::Signal("SIGKILL".into()))]);
}

#[tokio::test]
async fn a_kernel_that_is_dropped_is_gone() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let pid = kernel.pid();
    drop(kernel);
    let began = Instant::now();
    while !in_group(pid).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(2));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(files(&bed.launch.runtime_dir), Vec::<std::path::PathBuf>::new());
}
