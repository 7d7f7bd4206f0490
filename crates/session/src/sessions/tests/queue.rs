//! Order within a session, concurrency between sessions, resets, and calls that never run.

use std::time::Duration;

use testkit::until;

use super::bed::{Bed, begun, call, count, done, key, text};
use crate::execution::{Limit, Status};
use crate::sessions::{Code, ExecutionId, SessionError, Stage};

#[tokio::test(start_paused = true)]
async fn fifty_callers_at_once_are_answered_in_the_order_in_which_they_came() {
    let bed = Bed::new();
    let tickets: Vec<_> = (0..50).map(|n| bed.start("a", &format!("out {n}"))).collect();
    for (n, ticket) in tickets.iter().enumerate() {
        let report = done(ticket).await;
        assert_eq!((text(&report), count(&report)), (format!("{n}\n").as_str(), n as u64 + 1));
    }
    assert_eq!(bed.mill.heard(), (0..50).map(|n| format!("out {n}")).collect::<Vec<_>>());
    assert_eq!(bed.mill.started(), 1);
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_wait_for_each_other() {
    let bed = Bed::new();
    let busy = bed.start("a", "hang");
    begun(&busy).await;
    assert_eq!(text(&bed.run("b", "out 1").await), "1\n");
    assert!(!busy.is_done());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_in_the_queue_never_runs_and_is_answered_at_once() {
    let bed = Bed::new();
    let first = bed.start("a", "hang");
    let (second, third) = (bed.start("a", "out second"), bed.start("a", "out third"));
    begun(&first).await;
    assert_eq!(second.watch().borrow().stage, Stage::Queued { before: 1, behind: None });
    assert_eq!(bed.view("a").queued, 2);
    second.canceller().cancel();
    let report = done(&second).await;
    assert_eq!((report.status, report.not_run, report.cells.len()), (Status::Cancelled, 1, 0));
    assert_eq!(report.notices, ["Cancelled while waiting in the queue; the code did not run"]);
    assert!(!first.is_done());
    first.canceller().cancel();
    assert_eq!(done(&first).await.status, Status::Cancelled);
    assert_eq!(text(&done(&third).await), "third\n");
    assert_eq!(bed.mill.heard(), ["hang", "out third"]);
}

#[tokio::test(start_paused = true)]
async fn the_first_piece_that_fails_ends_the_call_and_names_itself() {
    let bed = Bed::new();
    let mut three = call("a", &["out 1", "raise ValueError no", "out 3"]);
    three.cells[1].title = Some("load".into());
    let report = done(&bed.sessions.call(three)).await;
    assert_eq!((report.status, report.failed, report.not_run), (Status::Error, Some(1), 1));
    assert_eq!(report.cells.len(), 2);
    let said = text(&report);
    assert!(
        said.ends_with(
            "The kernel's state was kept.\nCell 2 of 3 (load) failed. The cell after it was not run."
        ),
        "{said}"
    );
    assert_eq!(count(&bed.run("a", "out 4").await), 3);
}

#[tokio::test(start_paused = true)]
async fn a_limit_covers_the_whole_call_without_queue_and_start() {
    let bed = Bed::gated();
    let mut limited = call("a", &["out 1", "hang"]);
    limited.rules.limit = Limit::Given(Duration::from_secs(30));
    let ticket = bed.sessions.call(limited.clone());
    let queued = bed.sessions.call(limited);
    tokio::time::sleep(Duration::from_secs(100)).await;
    bed.mill.open(1);
    begun(&ticket).await;
    let from = tokio::time::Instant::now();
    let report = done(&ticket).await;
    assert_eq!(from.elapsed().as_secs(), 30);
    assert_eq!((report.status, report.failed), (Status::Timeout, Some(1)));
    let told = &report.cells[1].report;
    assert_eq!((told.exit_code, told.cancelled), (None, true));
    assert!(text(&report).contains("Command timed out after 30 seconds\nThe kernel's state was kept."));
    // The time in the queue does not count towards the limit.
    assert_eq!(done(&queued).await.status, Status::Timeout);
    assert_eq!(from.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_detached_call_keeps_only_its_callers_limit() {
    let bed = Bed::new();
    let mut usual = call("a", &["hang"]);
    usual.rules.limit = Limit::Usual(Duration::from_secs(30));
    let ticket = bed.sessions.call(usual);
    begun(&ticket).await;
    ticket.canceller().hand_over();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let again = bed.sessions.execution(ticket.id()).unwrap();
    assert!(!again.is_done());
    assert!(bed.sessions.interrupt(&key("a")).unwrap());
    assert_eq!(done(&again).await.status, Status::Cancelled);
    assert!(bed.sessions.execution(ticket.id()).unwrap().is_done());
    assert!(bed.sessions.execution(&ExecutionId::named("nothing")).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reset_gives_a_new_kernel_and_says_so() {
    let bed = Bed::new();
    bed.run("a", "out 1").await;
    let mut reset = call("a", &["out 2", "out 3"]);
    reset.reset = true;
    let report = done(&bed.sessions.call(reset)).await;
    assert_eq!(count(&report), 2);
    assert_eq!(
        report.cells[0].report.notices,
        ["[New kernel: a reset was asked for. Earlier state is gone.]"]
    );
    assert!(report.cells[0].report.kernel.restarted && !report.cells[1].report.kernel.restarted);
    let mut each = call("a", &["out 4", "out 5"]);
    each.cells[1] = Code { reset: true, ..each.cells[1].clone() };
    let report = done(&bed.sessions.call(each)).await;
    let counts: Vec<_> = report.cells.iter().map(|cell| cell.report.execution_count).collect();
    assert_eq!(counts, [Some(3), Some(1)]);
    assert_eq!((bed.mill.started(), bed.mill.living(), bed.view("a").restarts), (3, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_reset_during_a_reset_is_refused() {
    let bed = Bed::gated();
    let mut reset = call("a", &["out 1"]);
    reset.reset = true;
    bed.mill.open(1);
    bed.run("a", "out 0").await;
    let first = bed.sessions.call(reset.clone());
    let refused = SessionError::ResetUnderWay { id: "a".into() };
    assert_eq!(bed.sessions.call(reset.clone()).done().await.unwrap_err(), refused);
    until(|| bed.mill.living() == 0).await;
    assert_eq!(bed.sessions.call(reset.clone()).done().await.unwrap_err(), refused);
    assert_eq!(bed.sessions.restart(&key("a")).await.unwrap_err(), refused);
    // A call without a reset waits its turn.
    let plain = bed.start("a", "out 2");
    bed.mill.open(1);
    assert_eq!((count(&done(&first).await), count(&done(&plain).await)), (1, 2));
    bed.mill.open(1);
    assert_eq!(count(&done(&bed.sessions.call(reset)).await), 1);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_is_not_wanted_any_more_is_given_up() {
    let bed = Bed::gated();
    let ticket = bed.start("a", "out 1");
    ticket.watch().wait_for(|view| view.stage == Stage::Starting).await.unwrap();
    ticket.canceller().cancel();
    let report = done(&ticket).await;
    assert_eq!(
        (report.status, report.notices.as_slice()),
        (Status::Cancelled, ["Execution was cancelled".to_owned()].as_slice())
    );
    bed.mill.open(1);
    assert_eq!(count(&bed.run("a", "out 2").await), 1);
    assert_eq!(bed.mill.started(), 1);
}
