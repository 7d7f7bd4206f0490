//! What screens wait for beside keys: being asked to end, the next frame, the newest of what runs.

use std::io;
use std::time::Duration;

use cellist_host::{Event as News, Pending, Stop};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How often what moves by itself moves.
const FRAME: Duration = Duration::from_millis(100);

/// Frames, of which those that nobody had time for are left out.
pub(crate) fn frames() -> Interval {
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    frames
}

/// The signals that ask a screen to end.
pub(crate) struct Ending {
    ended: Signal,
    hung_up: Signal,
}

impl Ending {
    pub(crate) fn new() -> io::Result<Ending> {
        Ok(Ending { ended: signal(SignalKind::terminate())?, hung_up: signal(SignalKind::hangup())? })
    }

    /// Until one comes.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.ended.recv() => {}
            _ = self.hung_up.recv() => {}
        }
    }
}

/// Something that was begun here and goes on.
pub(crate) struct Going {
    stop: Stop,
    news: watch::Receiver<Option<News>>,
}

impl Going {
    pub(crate) fn new(pending: &Pending) -> Going {
        Going { stop: pending.stop(), news: pending.events() }
    }

    /// Asks it to stop.
    pub(crate) fn stop(&self) {
        self.stop.stop();
    }
}

/// The newest of what goes on, as far as it is of the kind that is looked for; never, where nothing does.
pub(crate) async fn newest<T>(going: &mut Option<Going>, pick: impl Fn(&News) -> Option<T>) -> T {
    if let Some(going) = going {
        while going.news.changed().await.is_ok() {
            if let Some(found) = going.news.borrow_and_update().as_ref().and_then(&pick) {
                return found;
            }
        }
    }
    std::future::pending().await
}
