//! Progress as the protocol wants it: not too often, always higher than before, and only for those who asked.

use std::time::Duration;

use cellist_tools::CallProgress;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;
use tokio::time::Instant;

/// How much time is left between two of them.
const GAP: Duration = Duration::from_millis(200);
/// By how much it goes up where nothing is counted. Small beside anything that is.
const STEP: f64 = 0.001;

/// The number that goes with what is told: it only ever rises.
#[derive(Debug, Default)]
struct Height(Option<f64>);

impl Height {
    /// The number for this, and the whole that it is part of.
    fn of(&mut self, progress: &CallProgress) -> (f64, Option<f64>) {
        match progress.done.filter(|done| done.is_finite()) {
            Some(done) if self.0.is_none_or(|last| done > last) => {
                self.0 = Some(done);
                (done, progress.total.filter(|total| *total >= done))
            }
            // Nothing counted, the same once more, or another bar that begins.
            Some(_) | None => {
                let next = self.0.map_or(0.0, |last| last + STEP);
                self.0 = Some(next);
                (next, None)
            }
        }
    }
}

/// Tells a client the newest as long as there is any. Never ends: whoever calls it stops when the answer is there.
pub(super) async fn tell(
    mut news: watch::Receiver<Option<CallProgress>>,
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
) {
    let Some(token) = token else { return std::future::pending().await };
    let mut height = Height::default();
    let mut next = Instant::now();
    while news.changed().await.is_ok() {
        tokio::time::sleep_until(next).await;
        let Some(progress) = news.borrow_and_update().clone() else { continue };
        let (number, total) = height.of(&progress);
        let mut told = ProgressNotificationParam::new(token.clone(), number);
        told.total = total;
        told.message = Some(progress.message).filter(|message| !message.is_empty());
        // A client that is gone is noticed elsewhere.
        let _ = peer.notify_progress(told).await;
        next = Instant::now() + GAP;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_only_ever_rises_and_the_whole_is_told_where_it_is_true() {
        let mut height = Height::default();
        let mut check = |done: Option<f64>, total: Option<f64>, expected: (f64, Option<f64>)| {
            let (number, whole) = height.of(&CallProgress { message: String::new(), done, total });
            assert!((number - expected.0).abs() < 1e-9, "{number} is not {}", expected.0);
            assert_eq!(whole, expected.1);
        };
        check(None, None, (0.0, None));
        check(None, None, (0.001, None));
        check(Some(1.0), Some(10.0), (1.0, Some(10.0)));
        check(Some(1.0), Some(10.0), (1.001, None));
        check(Some(4.0), Some(10.0), (4.0, Some(10.0)));
        check(Some(1.0), Some(3.0), (4.001, None));
        check(Some(f64::NAN), None, (4.002, None));
        check(Some(12.0), Some(10.0), (12.0, None));
    }
}
