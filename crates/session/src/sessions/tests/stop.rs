//! Interrupts, restarts and stops by others than the caller.

use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::order::Way;
use testkit::until;

use super::bed::{Bed, begun, call, count, done, key, text};
use crate::execution::{KernelState, Limit, OnStuck, Status};
use crate::sessions::{
    Interruption, KernelMode, OwnerId, SessionCall, SessionError, SessionKind, SessionState,
};

#[tokio::test(start_paused = true)]
async fn an_interrupt_that_works_keeps_the_state() {
    let bed = Bed::new();
    assert_eq!(
        bed.sessions.interrupt(&key("a")).unwrap_err(),
        SessionError::NoSuchSession { id: "a".into() }
    );
    let ticket = bed.start("a", "hang");
    begun(&ticket).await;
    assert!(bed.sessions.interrupt(&key("a")).unwrap());
    let report = done(&ticket).await;
    assert_eq!(text(&report), "Execution was cancelled\nThe kernel's state was kept.");
    assert_eq!(report.cells[0].report.exit_code, None);
    assert!(!bed.sessions.interrupt(&key("a")).unwrap());
    assert_eq!(count(&bed.run("a", "out 1").await), 2);
}

#[tokio::test(start_paused = true)]
async fn code_that_does_not_stop_is_reported_and_runs_on_with_its_state() {
    let bed = Bed::deaf();
    bed.run("a", "out 1").await;
    let mut limited = call("a", &["hang"]);
    limited.rules.limit = Limit::Given(Duration::from_secs(2));
    let from = tokio::time::Instant::now();
    let ticket = bed.sessions.call(limited);
    let report = ticket.overdue().await;
    assert_eq!((report.status, from.elapsed().as_secs()), (Status::Timeout, 7));
    let cell = &report.cells[0].report;
    assert_eq!((cell.kernel.state, cell.still_running, cell.cancelled), (KernelState::Unknown, true, true));
    assert_eq!(
        text(&report),
        format!(
            "Command timed out after 2 seconds\nNot stopped yet: still running as execution {}.\n\
             The kernel was not killed; its state is known when the code has stopped.",
            ticket.id()
        )
    );
    assert!(!ticket.is_done() && ticket.watch().borrow().is_overdue());
    let view = bed.view("a");
    assert_eq!(
        (view.is_stuck, view.execution.as_ref(), view.state),
        (true, Some(ticket.id()), SessionState::Busy)
    );
    assert_eq!(ticket.interrupt(false).await, Interruption::NotStopped(ticket.id().clone()));
    assert_eq!((bed.mill.started(), bed.mill.living()), (1, 1));
    bed.sessions.restart(&key("a")).await.unwrap();
    assert_eq!(done(&ticket).await.cells[0].report.kernel.state, KernelState::Lost);
    let report = bed.run("a", "out 2").await;
    assert_eq!(text(&report), "2\n[New kernel: a restart was asked for. Earlier state is gone.]");
}

#[tokio::test(start_paused = true)]
async fn a_forced_interrupt_kills_code_that_does_not_stop_and_says_so() {
    let bed = Bed::deaf();
    let ticket = bed.start("a", "hang");
    begun(&ticket).await;
    assert_eq!(ticket.interrupt(true).await, Interruption::Lost);
    let report = done(&ticket).await;
    assert_eq!(
        text(&report),
        "Execution was cancelled\n\
         The kernel did not stop within 5 seconds of the interrupt and was killed.\n\
         The kernel's state was lost: variables and imports are gone."
    );
    let report = bed.run("a", "raise E x").await;
    assert_eq!(
        text(&report),
        "E x\n[New kernel: the last one did not stop when it was interrupted and was killed. Earlier state is \
         gone.]"
    );
    assert_eq!((bed.mill.started(), bed.mill.living()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn where_no_state_outlives_the_call_code_that_does_not_stop_is_killed() {
    let kill = |change: fn(&mut SessionCall)| {
        let mut call = call("a", &["hang"]);
        call.rules.limit = Limit::Given(Duration::from_secs(2));
        change(&mut call);
        call
    };
    let rules: [fn(&mut SessionCall); 4] = [
        |call| call.rules.mode = KernelMode::PerCall,
        |call| call.kind = SessionKind::Run { path: Some("/nb.ipynb".into()) },
        |call| (call.kind, call.rules.on_stuck) = (SessionKind::Command, Some(OnStuck::Wait)),
        |call| call.rules.on_stuck = Some(OnStuck::Kill),
    ];
    for rule in rules {
        let bed = Bed::deaf();
        let report = done(&bed.sessions.call(kill(rule))).await;
        assert_eq!(report.cells[0].report.kernel.state, KernelState::Lost, "{report:?}");
        assert!(!report.cells[0].report.still_running);
    }
    let mut waits = kill(|call| call.kind = SessionKind::Run { path: Some("/nb.ipynb".into()) });
    waits.rules.on_stuck = Some(OnStuck::Wait);
    assert!(Bed::deaf().sessions.call(waits).overdue().await.cells[0].report.still_running);
}

#[tokio::test(start_paused = true)]
async fn a_call_behind_code_that_does_not_stop_knows_it_and_can_be_refused_as_busy() {
    let bed = Bed::deaf();
    let stuck = bed.start("a", "hang");
    begun(&stuck).await;
    let early = bed.start("a", "out 1");
    stuck.interrupt(false).await;
    let late = bed.start("a", "out 2");
    for waiting in [&early, &late] {
        let mut view = waiting.watch();
        view.wait_for(|view| view.behind() == Some(stuck.id())).await.unwrap();
        waiting.canceller().withdraw();
        let busy = SessionError::Busy { id: "a".into(), execution: stuck.id().clone() };
        assert_eq!(waiting.done().await.unwrap_err(), busy);
    }
    assert_eq!((bed.mill.heard(), bed.mill.living()), (vec!["hang".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn code_that_does_not_stop_ends_when_the_last_owner_of_its_session_has_left() {
    let bed = Bed::deaf();
    let owner = OwnerId("repl".to_owned());
    bed.sessions.join(owner.clone());
    let ticket = bed.sessions.call(SessionCall { owner: Some(owner.clone()), ..call("a", &["hang"]) });
    begun(&ticket).await;
    ticket.interrupt(false).await;
    bed.sessions.leave(&owner);
    done(&ticket).await;
    until(|| bed.names().is_empty()).await;
    assert_eq!(bed.mill.living(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_the_running_call_and_precedes_queued_ones() {
    let bed = Bed::new();
    bed.run("a", "out 1").await;
    let (running, waiting) = (bed.start("a", "hang"), bed.start("a", "out 2"));
    begun(&running).await;
    bed.sessions.restart(&key("a")).await.unwrap();
    let report = done(&running).await;
    assert_eq!(
        text(&report),
        "The run was ended: a restart of its kernel was requested.\n\
         The kernel's state was lost: variables and imports are gone."
    );
    let report = done(&waiting).await;
    assert_eq!(count(&report), 1);
    assert_eq!(text(&report), "2\n[New kernel: a restart was asked for. Earlier state is gone.]");
    assert_eq!((bed.mill.started(), bed.mill.living()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_session_answers_all_waiting_callers() {
    let bed = Bed::new();
    let (running, waiting) = (bed.start("a", "hang"), bed.start("a", "out 2"));
    begun(&running).await;
    bed.sessions.stop(&key("a")).await.unwrap();
    assert_eq!((bed.mill.living(), bed.names().len()), (0, 0));
    let report = done(&running).await;
    assert_eq!(
        text(&report),
        "The run was ended: the end of its session was requested.\n\
         The kernel's state was lost: variables and imports are gone."
    );
    assert_eq!(waiting.done().await.unwrap_err(), SessionError::Ended { id: "a".into() });
    let report = bed.run("a", "out 3").await;
    assert_eq!(text(&report), "3\n[New kernel: the last one was stopped. Earlier state is gone.]");
}

#[tokio::test(start_paused = true)]
async fn when_all_of_it_closes_nothing_is_left_and_nothing_comes_in() {
    let bed = Bed::new();
    let tickets: Vec<_> = ["a", "b", "c"].map(|session| bed.start(session, "hang")).into();
    for ticket in &tickets {
        begun(ticket).await;
    }
    bed.sessions.close().await;
    assert_eq!(bed.mill.living(), 0);
    for ticket in &tickets {
        assert_eq!(done(ticket).await.status, Status::Cancelled);
    }
    assert_eq!(bed.start("d", "out 1").done().await.unwrap_err(), SessionError::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_is_under_way_does_not_hold_up_the_end() {
    let bed = Bed::gated();
    bed.mill.open(1);
    bed.run("a", "out 1").await;
    let restarting = {
        let sessions = bed.sessions.clone();
        tokio::spawn(async move { sessions.restart(&key("a")).await })
    };
    bed.until_state("a", SessionState::Starting).await;
    assert!(!bed.sessions.interrupt(&key("a")).unwrap());
    bed.sessions.close().await;
    assert_eq!(restarting.await.unwrap().unwrap_err(), SessionError::Ended { id: "a".into() });
    assert_eq!((bed.mill.started(), bed.mill.living()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_for_another_python_names_the_current_one() {
    let bed = Bed::new();
    bed.run("a", "out 1").await;
    let mut other = call("a", &["out 2"]);
    Arc::make_mut(&mut other.order).way = Way::Runner { python: "/other".into() };
    let report = done(&bed.sessions.call(other.clone())).await;
    assert_eq!(
        report.notices,
        ["the session's kernel is runner on /py, not runner on /other; a reset switches to it"]
    );
    other.reset = true;
    assert_eq!(done(&bed.sessions.call(other)).await.notices, Vec::<String>::new());
}
