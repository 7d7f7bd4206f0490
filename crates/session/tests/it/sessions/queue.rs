//! Calls in a session run in order and share its state.

use cellist_session::execution::Status;
use cellist_session::sessions::{Code, SessionError};

use super::bed::{BOTH, Bed, done, last, until_shown};

#[tokio::test]
async fn state_stays_from_one_call_to_the_next_and_goes_with_a_reset() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        bed.run("s", "x = 41").await;
        assert_eq!(bed.run("s", "print(x + 1)").await.text, "42\n");
        assert_eq!(bed.run("other", "print('x' in globals())").await.text, "False\n");
        let mut reset = bed.call("s", &["print('x' in globals())", "y = 1", "print('y' in globals())"]);
        (reset.reset, reset.cells[2].reset) = (true, true);
        let report = done(&bed.sessions.call(reset)).await;
        let new = "[New kernel: a reset was asked for. Earlier state is gone.]";
        let said: Vec<&str> = report.cells.iter().map(|cell| cell.report.text.as_str()).collect();
        assert_eq!(said, [format!("False\n{new}"), String::new(), format!("False\n{new}")], "{backend:?}");
        bed.end().await;
    }
}

#[tokio::test]
async fn fifty_callers_at_once_run_in_the_order_in_which_they_came() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let order = |n: usize| format!("came = globals().get('came', [])\ncame.append({n})\nprint({n})");
        let tickets: Vec<_> = (0..50).map(|n| bed.start("s", &order(n))).collect();
        for (n, ticket) in tickets.iter().enumerate() {
            assert_eq!(last(done(ticket).await).text, format!("{n}\n"), "{backend:?}");
        }
        assert_eq!(bed.run("s", "print(came == list(range(50)))").await.text, "True\n");
        bed.end().await;
    }
}

#[tokio::test]
async fn the_first_cell_that_fails_ends_the_call_and_keeps_the_state_of_those_before() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let mut call = bed.call("s", &["x = 1", "1 / 0", "x = 2"]);
        call.cells[1] = Code { title: Some("divide".into()), ..call.cells[1].clone() };
        let report = done(&bed.sessions.call(call)).await;
        assert_eq!((report.status, report.failed, report.not_run), (Status::Error, Some(1), 1));
        let failed = &report.cells[1].report;
        assert_eq!(
            (failed.exit_code, failed.error.as_ref().unwrap().ename.as_str()),
            (Some(1), "ZeroDivisionError")
        );
        let notices =
            ["The kernel's state was kept.", "Cell 2 of 3 (divide) failed. The cell after it was not run."];
        assert_eq!(failed.notices, notices, "{backend:?}");
        assert_eq!(bed.run("s", "print(x)").await.text, "1\n");
        bed.end().await;
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_in_the_queue_never_runs() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let first = bed.start("s", "print('ready', flush=True)\nimport time\ntime.sleep(600)");
        let second = bed.start("s", "open('ran', 'w')");
        until_shown(&first, "ready").await;
        second.canceller().cancel();
        assert_eq!(done(&second).await.status, Status::Cancelled);
        first.canceller().cancel();
        assert_eq!(done(&first).await.status, Status::Cancelled, "{backend:?}");
        assert!(!bed.key("s").cwd.join("ran").exists());
        bed.end().await;
    }
}

#[tokio::test]
async fn a_reset_during_a_reset_is_refused() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        bed.run("s", "x = 1").await;
        let mut reset = bed.call("s", &["print('x' in globals())"]);
        reset.reset = true;
        let (first, second) = (bed.sessions.call(reset.clone()), bed.sessions.call(reset));
        assert_eq!(
            second.done().await.unwrap_err(),
            SessionError::ResetUnderWay { id: "s".into() },
            "{backend:?}"
        );
        assert!(last(done(&first).await).text.starts_with("False\n"));
        bed.end().await;
    }
}

#[tokio::test]
async fn input_fails_at_once_and_says_so() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let report = bed.run("s", "input('name? ')").await;
        assert_eq!((report.status, report.exit_code, report.stdin_requested), (Status::Error, Some(1), true));
        assert!(report.text.contains("input() is not supported here"), "{backend:?}: {}", report.text);
        assert_eq!(bed.run("s", "print(1)").await.text, "1\n");
        bed.end().await;
    }
}
