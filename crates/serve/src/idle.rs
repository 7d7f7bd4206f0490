//! Decides when an idle background host stops.

use std::time::Duration;

use tokio::time::Instant;

/// The time since when a host is idle.
#[derive(Debug)]
pub(crate) struct IdleTimer {
    linger: Duration,
    since: Option<Instant>,
}

impl IdleTimer {
    /// A timer that expires after `linger`.
    pub(crate) fn new(linger: Duration) -> IdleTimer {
        IdleTimer { linger, since: None }
    }

    /// Records whether the host is in use. Returns whether it should stop.
    pub(crate) fn expires(&mut self, is_needed: bool, now: Instant) -> bool {
        if is_needed {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        now.duration_since(since) >= self.linger
    }

    /// Interval of the checks.
    pub(crate) fn interval(&self) -> Duration {
        (self.linger / 4).clamp(Duration::from_millis(50), Duration::from_secs(15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_timer_expires_after_uninterrupted_idleness() {
        let start = Instant::now();
        let mut idle = IdleTimer::new(Duration::from_secs(10));
        let mut check = |second: u64, is_needed: bool, expected: bool| {
            let expired = idle.expires(is_needed, start + Duration::from_secs(second));
            assert_eq!(expired, expected, "after {second} s");
        };
        check(0, false, false);
        check(9, false, false);
        check(11, true, false);
        check(12, false, false);
        check(21, false, false);
        check(22, false, true);
    }
}
