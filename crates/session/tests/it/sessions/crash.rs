//! Real kernels that die: before a run, during it, and twice.

use cellist_session::execution::{KernelState, Status};
use cellist_session::sessions::{RetryOnCrash, SessionState};
use testkit::until;

use super::bed::{BOTH, Bed, done, kill, last};

const LOST: &str = "The kernel's state was lost: variables and imports are gone.";
const RETRIED: &str = "[The kernel died and was restarted; the code was run a second time.]";
const TOO_OFTEN: &str = "Python kernel restarted too many times in this session";
const DIE: &str = "import os\nos._exit(3)";
/// Dies on its first run in a folder, not on the second.
const DIE_ONCE: &str = "import os\nif not os.path.exists('ran'):\n    open('ran', 'w').close()\n    os.kill(os.getpid(), 9)\nprint('alive')";

#[tokio::test]
async fn a_kernel_that_died_between_two_runs_is_replaced() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        bed.run("s", "x = 1").await;
        kill(bed.pid("s"));
        until(|| bed.view("s").state == SessionState::Dead).await;
        let report = bed.run("s", "print('x' in globals())").await;
        assert_eq!(
            report.text, "False\n[New kernel: the last one was ended by SIGKILL. Earlier state is gone.]",
            "{backend:?}"
        );
        assert!(report.kernel.restarted);
        assert_eq!((bed.view("s").state, bed.view("s").restarts), (SessionState::Idle, 1));
        bed.end().await;
    }
}

#[tokio::test]
async fn code_without_earlier_state_is_retried_when_its_kernel_dies() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let report = bed.run("s", DIE_ONCE).await;
        assert_eq!((report.status, report.text.as_str()), (Status::Ok, format!("alive\n{RETRIED}").as_str()));
        assert_eq!((report.kernel.state, report.kernel.restarted), (KernelState::Kept, true), "{backend:?}");
        bed.end().await;
    }
}

#[tokio::test]
async fn a_kernel_that_dies_twice_fails_the_run() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let report = bed.run("s", DIE).await;
        let died = "The kernel died: it exited with code 3.";
        assert_eq!(report.notices, [RETRIED, died, TOO_OFTEN, LOST], "{backend:?}");
        assert_eq!((report.status, report.exit_code), (Status::Error, Some(1)));
        // The session continues on a new kernel.
        assert_eq!(
            bed.run("s", "print(1)").await.text,
            "1\n[New kernel: the last one exited with code 3. Earlier state is gone.]"
        );
        bed.end().await;
    }
}

#[tokio::test]
async fn code_with_earlier_state_is_retried_only_on_request() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        bed.run("s", "x = 1").await;
        let report = bed.run("s", DIE_ONCE).await;
        assert_eq!(report.notices, ["The kernel died: it was ended by SIGKILL.", LOST], "{backend:?}");
        std::fs::remove_file(bed.key("s").cwd.join("ran")).unwrap();
        bed.run("s", "x = 1").await;
        let mut always = bed.call("s", &[DIE_ONCE]);
        always.rules.retry = RetryOnCrash::Always;
        let report = last(done(&bed.sessions.call(always)).await);
        assert_eq!(report.status, Status::Ok);
        let new = "[New kernel: the last one was ended by SIGKILL. Earlier state is gone.]";
        assert_eq!(report.notices, [new, RETRIED]);
        bed.end().await;
    }
}
