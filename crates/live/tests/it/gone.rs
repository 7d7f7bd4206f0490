//! Open notebooks whose kernel ends without a run: their cells become stale, for any cause.

use std::time::Duration;

use cellist_live::Activity;
use cellist_session::sessions::Policy;
use testkit::until;

use crate::late::Desk;
use crate::sessions::{BOTH, Backend, Bed, in_time, kill};

/// Why the outputs of the first cell are stale, in words.
fn stale(desk: &Desk) -> Vec<String> {
    let cells = desk.document.view().cells();
    let state = &cells[&desk.id(0)];
    assert!(state.activity == Activity::Idle && state.last.is_some());
    state.stale.iter().map(|stale| stale.words()).collect()
}

async fn ran(bed: Bed) -> Desk {
    let desk = Desk::on(bed, &["x = 1"]).await;
    desk.run(&[0]).await;
    assert!(stale(&desk).is_empty());
    desk
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_stopped_or_restarted_leaves_no_cell_current() {
    for backend in BOTH {
        let desk = ran(Bed::new(backend)).await;
        in_time(desk.bed.sessions.restart(&desk.key())).await.unwrap();
        assert_eq!(stale(&desk), ["its kernel is gone"], "{backend:?}");
        desk.run(&[0]).await;
        assert!(stale(&desk).is_empty());
        in_time(desk.bed.sessions.stop(&desk.key())).await.unwrap();
        assert_eq!(stale(&desk), ["its kernel is gone"], "{backend:?}");
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_is_killed_between_runs_leaves_no_cell_current() {
    for backend in BOTH {
        let desk = ran(Bed::new(backend)).await;
        let session = desk.bed.sessions.list().remove(0);
        kill(session.pid.unwrap());
        until(|| stale(&desk) == ["its kernel is gone"]).await;
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_idles_out_leaves_no_cell_current() {
    let short = Duration::from_secs(2);
    let policy = Policy { notebook_idle: short, sweep: Duration::from_millis(50), ..Policy::default() };
    let desk = ran(Bed::with(Backend::Runner, policy)).await;
    until(|| stale(&desk) == ["its kernel is gone"]).await;
    desk.end().await;
}
