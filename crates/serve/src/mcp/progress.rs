//! CallProgress notifications as MCP requires them: rate limited, strictly increasing, and only on
//! request.

use std::time::Duration;

use cellist_tools::CallProgress;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;
use tokio::time::Instant;

/// Minimum time between two notifications.
const GAP: Duration = Duration::from_millis(200);
/// The increment without a count. Small beside any real count.
const STEP: f64 = 0.001;

/// The strictly increasing number of a progress notification.
#[derive(Debug, Default)]
struct ProgressCounter(Option<f64>);

impl ProgressCounter {
    /// The next number, and the total if it is still valid.
    fn of(&mut self, progress: &CallProgress) -> (f64, Option<f64>) {
        match progress.done.filter(|done| done.is_finite()) {
            Some(done) if self.0.is_none_or(|last| done > last) => {
                self.0 = Some(done);
                (done, progress.total.filter(|total| *total >= done))
            }
            // No count, a repeated one, or a new progress bar.
            Some(_) | None => {
                let next = self.0.map_or(0.0, |last| last + STEP);
                self.0 = Some(next);
                (next, None)
            }
        }
    }
}

/// Sends the newest progress until it is dropped. Never returns.
pub(super) async fn send_progress(
    mut news: watch::Receiver<Option<CallProgress>>,
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
) {
    let Some(token) = token else { return std::future::pending().await };
    let mut counter = ProgressCounter::default();
    let mut next = Instant::now();
    while news.changed().await.is_ok() {
        tokio::time::sleep_until(next).await;
        let Some(progress) = news.borrow_and_update().clone() else { continue };
        let (number, total) = counter.of(&progress);
        let mut notification = ProgressNotificationParam::new(token.clone(), number);
        notification.total = total;
        notification.message = Some(progress.message).filter(|message| !message.is_empty());
        // The transport notices a client that is gone.
        let _ = peer.notify_progress(notification).await;
        next = Instant::now() + GAP;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_strictly_increases_and_the_total_is_sent_while_valid() {
        let mut counter = ProgressCounter::default();
        let mut check = |done: Option<f64>, total: Option<f64>, expected: (f64, Option<f64>)| {
            let (number, whole) = counter.of(&CallProgress { message: String::new(), done, total });
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
