//! Kernels that die: before a run, during it, and again.

use super::bed::{Bed, begun, call, count, done, text};
use crate::execution::{KernelState, Status};
use crate::sessions::{RetryOnCrash, SessionState};
use testkit::until;

const LOST: &str = "The kernel's state was lost: variables and imports are gone.";
const RETRIED: &str = "[The kernel died and was restarted; the code was run a second time.]";
const TOO_OFTEN: &str = "Python kernel restarted too many times in this session";

#[tokio::test(start_paused = true)]
async fn a_kernel_that_died_before_a_run_is_replaced_and_the_result_says_why() {
    let bed = Bed::new();
    bed.run("a", "out 1").await;
    bed.mill.kill_last();
    bed.until_state("a", SessionState::Dead).await;
    assert_eq!(bed.view("a").pid, None);
    let report = bed.run("a", "out 2").await;
    assert_eq!((report.status, count(&report)), (Status::Ok, 1));
    assert_eq!(text(&report), "2\n[New kernel: the last one was ended by SIGKILL. Earlier state is gone.]");
    assert!(report.cells[0].report.kernel.restarted);
    // The notice appears once.
    let report = bed.run("a", "out 3").await;
    assert_eq!((text(&report), report.cells[0].report.kernel.restarted), ("3\n", false));
}

#[tokio::test(start_paused = true)]
async fn code_without_earlier_state_is_retried_once() {
    let bed = Bed::new();
    let report = bed.run("a", "die").await;
    assert_eq!(bed.mill.heard(), ["die", "die"]);
    assert_eq!(report.status, Status::Error);
    let said = &report.cells[0].report;
    let died = "The kernel died: it exited with code 3.";
    assert_eq!(said.notices, [RETRIED, died, TOO_OFTEN, LOST]);
    assert_eq!(said.error.as_ref().unwrap().evalue, TOO_OFTEN);
    assert_eq!((said.kernel.state, said.kernel.restarted), (KernelState::Lost, true));
    // Until a run completes, the next death is one too many.
    let report = bed.run("a", "die").await;
    assert_eq!(report.cells[0].report.error.as_ref().unwrap().evalue, TOO_OFTEN);
    assert_eq!(bed.mill.started(), 3);
    // Then the count starts again.
    bed.run("a", "out 1").await;
    bed.mill.kill_last();
    bed.until_state("a", SessionState::Dead).await;
    let report = bed.run("a", "die").await;
    assert_eq!(report.cells[0].report.notices[1], RETRIED);
}

#[tokio::test(start_paused = true)]
async fn code_with_earlier_state_is_not_retried() {
    let bed = Bed::new();
    bed.run("a", "out 1").await;
    let report = bed.run("a", "die").await;
    assert_eq!(bed.mill.heard(), ["out 1", "die"]);
    assert_eq!(report.cells[0].report.notices, ["The kernel died: it exited with code 3.", LOST]);
    assert!(!report.cells[0].report.kernel.restarted);
    let report = bed.run("a", "out 2").await;
    assert_eq!(
        report.cells[0].report.notices,
        ["[New kernel: the last one exited with code 3. Earlier state is gone.]"]
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_first_piece_of_a_call_is_always_run_again() {
    let bed = Bed::new();
    let retry = |cells: &[&str]| {
        let mut call = call("a", cells);
        call.rules.retry = RetryOnCrash::Always;
        call
    };
    bed.run("a", "out 1").await;
    let report = done(&bed.sessions.call(retry(&["die"]))).await;
    assert_eq!(bed.mill.heard(), ["out 1", "die", "die"]);
    assert_eq!(
        report.cells[0].report.notices[..2],
        ["[New kernel: the last one exited with code 3. Earlier state is gone.]", RETRIED]
    );
    bed.run("a", "out 2").await;
    done(&bed.sessions.call(retry(&["out 3", "die"]))).await;
    assert_eq!(bed.mill.heard()[3..], ["out 2", "out 3", "die"]);
}

#[tokio::test(start_paused = true)]
async fn retries_can_be_disabled() {
    let bed = Bed::new();
    let mut never = call("a", &["die"]);
    never.rules.retry = RetryOnCrash::Never;
    let report = done(&bed.sessions.call(never)).await;
    assert_eq!(bed.mill.heard(), ["die"]);
    assert_eq!(report.cells[0].report.notices, ["The kernel died: it exited with code 3.", LOST]);
}

#[tokio::test(start_paused = true)]
async fn a_kernel_that_does_not_answer_is_not_ended() {
    let bed = Bed::silent();
    bed.run("a", "out 1").await;
    bed.until_state("a", SessionState::Silent).await;
    assert_eq!(bed.mill.living(), 1);
    let report = bed.run("a", "out 2").await;
    assert_eq!((text(&report), count(&report)), ("2\n", 2));
}

#[tokio::test(start_paused = true)]
async fn where_no_file_can_be_opened_idle_sessions_make_room_once() {
    let bed = Bed::new();
    let none_left = || cellist_kernel::Error::Io {
        what: "a pipe to the runner cannot be made".into(),
        source: std::io::Error::from_raw_os_error(24),
    };
    bed.run("idle", "out 1").await;
    let busy = bed.start("busy", "hang");
    begun(&busy).await;
    bed.mill.failures.lock().unwrap().push_back(none_left());
    assert_eq!(text(&bed.run("a", "out 2").await), "2\n");
    assert_eq!(bed.names(), ["busy", "a"]);
    // Twice in a row it is an error, with the system's message.
    bed.mill.failures.lock().unwrap().extend([none_left(), none_left()]);
    let error = bed.start("b", "out 3").done().await.unwrap_err();
    assert!(error.to_string().contains("too many open files"), "{error}");
    let report = bed.run("idle", "out 4").await;
    assert_eq!(
        report.cells[0].report.notices,
        ["[New kernel: the last one was ended because too many files were open. Earlier state is gone.]"]
    );
    until(|| bed.mill.living() >= 2).await;
    assert!(!busy.is_done());
}
