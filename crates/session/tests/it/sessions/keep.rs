//! Lifetime of real kernels, by owner.

use std::time::Duration;

use cellist_session::execution::Status;
use cellist_session::sessions::{OwnerId, Policy, SessionCall, SessionError};
use testkit::until;

use super::bed::{BOTH, Bed, done, is_alive, until_shown};

#[tokio::test]
async fn the_least_recently_used_idle_kernel_makes_room_and_a_busy_one_never() {
    for backend in BOTH {
        let bed = Bed::with(backend, Policy { max_sessions: 2, ..Policy::default() });
        let busy = bed.start("busy", "print('ready', flush=True)\nimport time\ntime.sleep(600)");
        until_shown(&busy, "ready").await;
        bed.run("idle", "x = 1").await;
        let pid = bed.pid("idle");
        assert_eq!(bed.run("new", "print(1)").await.text, "1\n");
        until(|| !is_alive(pid)).await;
        let second = bed.start("new", "print('ready', flush=True)\nimport time\ntime.sleep(600)");
        until_shown(&second, "ready").await;
        let error = bed.start("idle", "print(1)").done().await.unwrap_err();
        assert!(matches!(error, SessionError::Full { max: 2, .. }), "{backend:?}: {error}");
        second.canceller().cancel();
        done(&second).await;
        let report = bed.run("idle", "print('x' in globals())").await;
        let new = "[New kernel: the last one made room for another session. Earlier state is gone.]";
        assert_eq!(report.text, format!("False\n{new}"));
        assert!(!busy.is_done());
        bed.end().await;
        assert_eq!(done(&busy).await.status, Status::Cancelled);
    }
}

#[tokio::test]
async fn a_kernel_that_nobody_uses_ends_and_one_with_an_owner_stays() {
    for backend in BOTH {
        let soon = Duration::from_millis(20);
        let bed = Bed::with(backend, Policy { idle_timeout: soon, sweep: soon, ..Policy::default() });
        let owner = OwnerId("page".into());
        bed.sessions.join(owner.clone());
        let owned = SessionCall {
            owner: Some(owner.clone()),
            ..bed.call("owned", &["import os\nprint(os.getpid())"])
        };
        let owned: u32 = super::bed::last(done(&bed.sessions.call(owned)).await).text.trim().parse().unwrap();
        let idle: u32 = bed.run("idle", "import os\nprint(os.getpid())").await.text.trim().parse().unwrap();
        until(|| !is_alive(idle)).await;
        assert!(is_alive(owned), "{backend:?}");
        bed.sessions.leave(&owner);
        until(|| !is_alive(owned)).await;
        bed.end().await;
    }
}

#[tokio::test]
async fn heartbeats_lose_no_output_of_threads() {
    for backend in BOTH {
        let often = Duration::from_millis(5);
        let bed = Bed::with(backend, Policy { heartbeat: often, ..Policy::default() });
        // Each line is one write: otherwise the cell could end between two parts.
        let code = "import sys, threading, time\n\
                    def work():\n    \
                        for n in range(50):\n        \
                            sys.stdout.write(f'thread {n}\\n')\n        \
                            sys.stdout.flush()\n        \
                            time.sleep(0.01)\n    \
                        open('said', 'w').close()\n\
                    threading.Thread(target=work).start()";
        let first = bed.run("s", code).await;
        until(|| bed.key("s").cwd.join("said").exists()).await;
        let second = bed.run("s", "print('next')").await;
        let all = format!("{}{}", first.text, second.text);
        let said = all.lines().filter(|line| line.starts_with("thread ")).count();
        assert_eq!(said, 50, "{backend:?}: {all}");
        bed.end().await;
    }
}
