//! Calls as `cellist exec` makes them: code in a separate session, and kernels that start before the code.

use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::Order;
use cellist_kernel::order::KernelSurroundings;
use cellist_output::{Ansi, Limits};
use cellist_settings::GRACE;

use super::bed::{Bed, begun, call, count, done, key};
use crate::execution::{KernelState, OnStuck, Reading, Report, Status};
use crate::sessions::{RetryOnCrash, SessionCall, SessionKind, SessionState};

/// Code in a separate session.
fn lone(code: &str) -> SessionCall {
    let mut call = call("run", &[code]);
    call.kind = SessionKind::Run { path: None };
    (call.rules.on_stuck, call.rules.retry) = (Some(OnStuck::Kill), RetryOnCrash::Never);
    call
}

// Uses the real clock, because writing the artifact takes real time.
#[tokio::test]
async fn one_piece_of_code_gives_a_whole_report() {
    let bed = Bed::new();
    let code = "out 0123456789\nout 0123456789\nraise ModuleNotFoundError No module named 'numpy'";
    let mut call = lone(code);
    call.rules.reading = Reading::new(Limits::new(20, 100), Ansi::Remove);
    call.order = Arc::new(Order {
        around: KernelSurroundings { has_pip: true, ..KernelSurroundings::default() },
        ..Order::clone(&call.order)
    });
    let outcome = done(&bed.sessions.call(call)).await;
    assert_eq!((outcome.status, outcome.cells.len(), outcome.not_run), (Status::Error, 1, 0));
    let report = &outcome.cells[0].report;
    assert_eq!((report.status, report.exit_code), (Status::Error, Some(1)));
    assert!(report.truncated.is_some());
    let advice = "numpy is not installed in /py: /py -m pip install numpy";
    assert!(report.text.ends_with(advice), "{}", report.text);
    let json = serde_json::to_value(report).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "status",
            "exit_code",
            "text",
            "outputs",
            "error",
            "execution_count",
            "duration_ms",
            "cancelled",
            "still_running",
            "stdin_requested",
            "truncated",
            "artifact",
            "kernel",
            "notices"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_stop_request_reports_the_killed_kernel() {
    let bed = Bed::deaf();
    let mut call = lone("out a\nhang");
    call.rules.grace = 1000 * GRACE;
    let ticket = bed.sessions.call(call);
    begun(&ticket).await;
    let impatience = async {
        loop {
            ticket.canceller().cancel();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let outcome = tokio::select! {
        outcome = done(&ticket) => outcome,
        () = impatience => unreachable!(),
    };
    let report = &outcome.cells[0].report;
    assert_eq!((report.status, report.kernel.state), (Status::Cancelled, KernelState::Lost));
    assert_eq!(
        report.text,
        "a\nExecution was cancelled\nThe kernel was asked to stop a second time and was killed.\n\
         The kernel's state was lost: variables and imports are gone."
    );
    assert_eq!(bed.mill.living(), 0);
    let sent = serde_json::to_string(report).unwrap();
    let received: Report = serde_json::from_str(&sent).unwrap();
    assert_eq!(serde_json::to_string(&received).unwrap(), sent);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_code_starts_the_kernel_and_runs_nothing() {
    let bed = Bed::new();
    assert!(bed.sessions.identity(&key("a")).is_none());
    let outcome = done(&bed.sessions.call(call("a", &[]))).await;
    assert_eq!((outcome.status, outcome.cells.len(), outcome.not_run), (Status::Ok, 0, 0));
    assert_eq!(outcome.notices, Vec::<String>::new());
    assert_eq!((bed.mill.started(), bed.mill.heard()), (1, Vec::new()));
    let identity = bed.sessions.identity(&key("a")).unwrap();
    assert_eq!((identity.name.as_str(), identity.python.as_deref()), ("told", Some("/py".as_ref())));
    assert_eq!(bed.view("a").state, SessionState::Idle);
    // The next code runs on that kernel.
    assert_eq!((count(&bed.run("a", "out 1").await), bed.mill.started()), (1, 1));
}
