//! When a host that nobody started on purpose leaves: it has kept nothing for anyone for a while.

use std::time::Duration;

use tokio::time::Instant;

/// Since when a host has not been needed.
#[derive(Debug)]
pub(crate) struct Idle {
    linger: Duration,
    since: Option<Instant>,
}

impl Idle {
    /// It leaves when it was not needed for `linger`.
    pub(crate) fn new(linger: Duration) -> Idle {
        Idle { linger, since: None }
    }

    /// Takes note of whether it is needed now, and says whether it should leave.
    pub(crate) fn leaves(&mut self, is_needed: bool, now: Instant) -> bool {
        if is_needed {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        now.duration_since(since) >= self.linger
    }

    /// How often it is worth a look.
    pub(crate) fn pace(&self) -> Duration {
        (self.linger / 4).clamp(Duration::from_millis(50), Duration::from_secs(15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_leaves_after_it_was_not_needed_for_long_enough_without_a_break() {
        let start = Instant::now();
        let mut idle = Idle::new(Duration::from_secs(10));
        let mut check = |second: u64, is_needed: bool, expected: bool| {
            let leaves = idle.leaves(is_needed, start + Duration::from_secs(second));
            assert_eq!(leaves, expected, "after {second} s");
        };
        check(0, false, false);
        check(9, false, false);
        check(11, true, false);
        check(12, false, false);
        check(21, false, false);
        check(22, false, true);
    }
}
