//! Limits, cancellation and ends of real kernels, with code that stops and code that has to be killed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use cellist_session::execution::{KernelState, Limit, OnStuck, Status};
use cellist_session::sessions::{Interruption, KernelMode, SessionError};
use testkit::until;

use super::bed::{ALL, BOTH, Bed, LONG, done, in_time, is_alive, last, until_shown};

const SLEEP: &str = "print('ready', flush=True)\nimport time\nwhile True:\n    time.sleep(0.01)";
/// Ignores interrupts.
const DEAF: &str = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                    print('ready', flush=True)\nwhile True:\n    time.sleep(1)";
/// Waits in C for a lock, for up to 20 seconds. The call holds Python's GIL, and a signal does not end it.
const IN_C: &str = "held(20)\ntime.sleep(600)\nprint('nev' + 'er')";
const LOST: &str = "The kernel's state was lost: variables and imports are gone.";

/// A lock in a file. One program waits for it in C until another releases it.
struct Lock(PathBuf);

impl Lock {
    /// Takes the lock, and defines the function `held` in a session, which waits for it.
    async fn new(bed: &Bed) -> Lock {
        let lock = Lock(bed.scratch.path().join("lock"));
        let code = "import ctypes, mmap, time\nfile = open(LOCK, 'w+b')\nfile.truncate(4096)\n\
                    shared = mmap.mmap(file.fileno(), 4096)\nlock = ctypes.byref(ctypes.c_char.from_buffer(shared))\n\
                    c, kind = ctypes.PyDLL(None), ctypes.create_string_buffer(64)\n\
                    c.pthread_mutexattr_init(kind), c.pthread_mutexattr_setpshared(kind, 1)\n\
                    c.pthread_mutex_init(lock, kind), c.pthread_mutex_lock(lock)\n\
                    def held(seconds):\n    until = (ctypes.c_long * 2)(int(time.time()) + seconds, 0)\n    \
                    c.pthread_mutex_timedlock(lock, until)";
        let report = bed.run("s", &code.replace("LOCK", &format!("{:?}", lock.0))).await;
        assert_eq!(report.status, Status::Ok, "{}", report.text);
        lock
    }

    /// Waits until a program waits for the lock: its word is 2 then.
    async fn until_waited_for(&self) {
        until(|| std::fs::read(&self.0).is_ok_and(|bytes| bytes.starts_with(&[2, 0, 0, 0]))).await;
    }

    fn open(&self) {
        let code = "import ctypes, mmap, sys\nfile = open(sys.argv[1], 'r+b')\nshared = mmap.mmap(file.fileno(), 4096)\n\
                    ctypes.PyDLL(None).pthread_mutex_unlock(ctypes.byref(ctypes.c_char.from_buffer(shared)))";
        let opened = Command::new(testkit::python("nbformat")).arg("-c").arg(code).arg(&self.0).status();
        assert!(opened.unwrap().success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_a_call_in_c_reports_that_it_goes_on_and_the_state_survives() {
    for backend in ALL {
        let bed = Bed::new(backend);
        bed.run("s", "precious = 42").await;
        let lock = Lock::new(&bed).await;
        let mut call = bed.call("s", &[IN_C]);
        (call.rules.limit, call.rules.grace) =
            (Limit::Given(Duration::from_secs(1)), Duration::from_millis(50));
        let ticket = bed.sessions.call(call);
        let so_far = last(in_time(ticket.overdue()).await);
        assert_eq!((so_far.still_running, so_far.kernel.state), (true, KernelState::Unknown), "{backend:?}");
        assert!(so_far.notices.contains(&"Command timed out after 1 seconds".to_owned()), "{}", so_far.text);
        lock.open();
        let report = last(in_time(done(&ticket)).await);
        assert_eq!((report.status, report.kernel.state), (Status::Timeout, KernelState::Kept), "{backend:?}");
        assert!(report.text.ends_with("The kernel's state was kept."), "{backend:?}: {}", report.text);
        assert!(!report.text.contains("never"), "{}", report.text);
        assert_eq!(bed.run("s", "print(precious)").await.text, "42\n", "{backend:?}");
        bed.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_interrupts_and_the_state_survives() {
    for backend in ALL {
        let bed = Bed::new(backend);
        bed.run("s", "x = 1").await;
        let mut call = bed.call("s", &[SLEEP]);
        call.rules.limit = Limit::Given(Duration::from_secs(1));
        let report = last(done(&bed.sessions.call(call)).await);
        assert_eq!((report.status, report.exit_code, report.cancelled), (Status::Timeout, None, true));
        assert!(
            report.text.contains("Command timed out after 1 seconds\nThe kernel's state was kept."),
            "{backend:?}: {}",
            report.text
        );
        assert_eq!(bed.run("s", "print(x)").await.text, "1\n");
        bed.end().await;
    }
}

#[tokio::test]
async fn code_that_does_not_stop_is_killed_where_that_is_the_rule() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let mut call = bed.call("s", &[DEAF]);
        // Enough time to install the signal handler, even on a busy machine.
        (call.rules.limit, call.rules.grace) = (Limit::Given(Duration::from_secs(5)), Duration::from_secs(1));
        call.rules.on_stuck = Some(OnStuck::Kill);
        let ticket = bed.sessions.call(call);
        until(|| bed.sessions.list().iter().any(|view| view.pid.is_some())).await;
        let pid = bed.pid("s");
        let report = last(done(&ticket).await);
        assert_eq!((report.status, report.kernel.state), (Status::Timeout, KernelState::Lost), "{backend:?}");
        let killed = "The kernel did not stop within 1 second of the interrupt and was killed.";
        assert_eq!(report.notices, ["Command timed out after 5 seconds", killed, LOST]);
        until(|| !is_alive(pid)).await;
        let report = bed.run("s", "print(1)").await;
        assert!(report.kernel.restarted && report.text.starts_with("1\n[New kernel: "), "{}", report.text);
        bed.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_keeps_the_state_even_if_the_code_stops_late() {
    for backend in ALL {
        let bed = Bed::new(backend);
        bed.run("s", "precious = 42").await;
        let enough = bed.key("s").cwd.join("enough");
        let ready = bed.key("s").cwd.join("ready");
        let lock = Lock::new(&bed).await;
        let catches = format!(
            "import os, time\nopen({ready:?}, 'w').close()\nwhile True:\n    try:\n        while not \
             os.path.exists({enough:?}):\n            time.sleep(0.01)\n        break\n    except \
             KeyboardInterrupt:\n        pass"
        );
        // A gateway may forward the interrupt after the call in C; it then ends the sleep.
        for code in [IN_C, &catches] {
            let mut call = bed.call("s", &[code]);
            call.rules.grace = Duration::from_millis(50);
            let ticket = bed.sessions.call(call);
            match code == IN_C {
                true => lock.until_waited_for().await,
                false => until(|| ready.exists()).await,
            }
            let taken = in_time(ticket.interrupt(false)).await;
            assert_eq!(taken, Interruption::NotStopped(ticket.id().clone()), "{backend:?}: {code}");
            let so_far = last(ticket.overdue().await);
            assert_eq!((so_far.still_running, so_far.kernel.state), (true, KernelState::Unknown));
            let running = format!("Not stopped yet: still running as execution {}.", ticket.id());
            assert!(so_far.notices.contains(&running), "{}", so_far.text);
            match code == IN_C {
                true => lock.open(),
                false => std::fs::write(&enough, "").unwrap(),
            }
            let report = last(in_time(done(&ticket)).await);
            assert_eq!(
                (report.status, report.kernel.state),
                (Status::Cancelled, KernelState::Kept),
                "{code}"
            );
            assert!(
                !report.still_running && report.text.ends_with("The kernel's state was kept."),
                "{backend:?}: {}",
                report.text
            );
            assert!(!report.text.contains("never"), "{}", report.text);
            assert_eq!(bed.run("s", "print(precious)").await.text, "42\n", "{backend:?}: {code}");
        }
        for code in ["import time\ntime.sleep(600)", "import asyncio\nawait asyncio.sleep(600)"] {
            let ticket = bed.start("s", &format!("print('ready', flush=True)\n{code}"));
            until_shown(&ticket, "ready").await;
            assert_eq!(in_time(ticket.interrupt(false)).await, Interruption::Kept, "{backend:?}: {code}");
            assert_eq!(bed.run("s", "print(precious)").await.text, "42\n", "{backend:?}: {code}");
        }
        bed.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn force_and_restart_end_code_that_does_not_stop_and_say_that_the_state_is_lost() {
    for backend in ALL {
        let bed = Bed::new(backend);
        for code in [DEAF, IN_C] {
            let stuck = async || {
                bed.run("s", "precious = 42").await;
                let lock = Lock::new(&bed).await;
                let mut call = bed.call("s", &[code]);
                call.rules.grace = Duration::from_millis(50);
                let ticket = bed.sessions.call(call);
                match code == IN_C {
                    true => lock.until_waited_for().await,
                    false => until_shown(&ticket, "ready").await,
                }
                let taken = in_time(ticket.interrupt(false)).await;
                assert_eq!(taken, Interruption::NotStopped(ticket.id().clone()), "{backend:?}: {code}");
                ticket
            };
            let ticket = stuck().await;
            assert_eq!(in_time(ticket.interrupt(true)).await, Interruption::Lost, "{backend:?}: {code}");
            assert!(last(done(&ticket).await).text.ends_with(LOST));
            let report = bed.run("s", "print('precious' in globals())").await;
            let new = "False\n[New kernel: the last one did not stop";
            assert!(report.text.starts_with(new), "{backend:?}: {}", report.text);
            let ticket = stuck().await;
            in_time(bed.sessions.restart(&bed.key("s"))).await.unwrap();
            assert!(last(done(&ticket).await).text.ends_with(LOST));
            let report = bed.run("s", "print('precious' in globals())").await;
            assert!(report.text.starts_with("False\n[New kernel: a restart"), "{backend:?}: {}", report.text);
        }
        bed.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_interrupts_and_the_state_survives() {
    for backend in ALL {
        let bed = Bed::new(backend);
        bed.run("s", "x = 1").await;
        let ticket = bed.start("s", SLEEP);
        until_shown(&ticket, "ready").await;
        ticket.canceller().cancel();
        let report = last(done(&ticket).await);
        assert_eq!((report.status, report.exit_code, report.cancelled), (Status::Cancelled, None, true));
        assert!(
            report.text.contains("Execution was cancelled\nThe kernel's state was kept."),
            "{backend:?}: {}",
            report.text
        );
        assert_eq!(bed.run("s", "print(x)").await.text, "1\n");
        bed.end().await;
    }
}

#[tokio::test]
async fn restart_and_stop_end_running_code_and_leave_no_process() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let (running, waiting) = (bed.start("s", SLEEP), bed.start("s", "print('x' in globals())"));
        until_shown(&running, "ready").await;
        let pid = bed.pid("s");
        in_time(bed.sessions.restart(&bed.key("s"))).await.unwrap();
        assert!(!is_alive(pid));
        assert_eq!(done(&running).await.status, Status::Cancelled);
        assert!(last(done(&waiting).await).text.starts_with("False\n[New kernel: a restart was asked for."));
        let (running, waiting) = (bed.start("s", SLEEP), bed.start("s", "print(1)"));
        until_shown(&running, "ready").await;
        let pid = bed.pid("s");
        in_time(bed.sessions.stop(&bed.key("s"))).await.unwrap();
        assert!(!is_alive(pid), "{backend:?}");
        assert_eq!(done(&running).await.status, Status::Cancelled);
        assert_eq!(waiting.done().await.unwrap_err(), SessionError::Ended { id: "s".into() });
        bed.end().await;
    }
}

#[tokio::test]
async fn a_kernel_for_one_call_is_gone_after_any_outcome() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let per_call = |code: &str| {
            // Written by rename, because the limit may strike at any moment.
            let tells = "import os; open('new', 'w').write(str(os.getpid())); os.replace('new', 'pid')";
            let mut call = bed.call("s", &[&format!("{tells}\n{code}")]);
            (call.rules.mode, call.rules.grace) = (KernelMode::PerCall, LONG);
            call
        };
        let pid = || std::fs::read_to_string(bed.key("s").cwd.join("pid")).unwrap().parse::<u32>().unwrap();
        for (code, expected) in
            [("print(1)", Status::Ok), ("1 / 0", Status::Error), ("os._exit(1)", Status::Error)]
        {
            let report = done(&bed.sessions.call(per_call(code))).await;
            assert_eq!((report.status, is_alive(pid())), (expected, false), "{backend:?}: {code}");
        }
        let mut limited = per_call(SLEEP);
        limited.rules.limit = Limit::Given(Duration::from_secs(1));
        assert_eq!(done(&bed.sessions.call(limited)).await.status, Status::Timeout);
        assert!(!is_alive(pid()), "{backend:?}: timeout");
        let cancelled = bed.sessions.call(per_call(SLEEP));
        until_shown(&cancelled, "ready").await;
        cancelled.canceller().cancel();
        assert_eq!(done(&cancelled).await.status, Status::Cancelled);
        assert!(!is_alive(pid()), "{backend:?}: cancel");
        until(|| bed.sessions.list().is_empty()).await;
        bed.end().await;
    }
}
