//! When a run saves before it is over: soon after a cell has ended, now and then while one runs, and never so often that
//! most of what is done is saving.

use std::time::{Duration, Instant};

/// How long outputs of a cell that has ended may wait for others that end soon after.
const SOON: Duration = Duration::from_millis(500);

/// How often outputs of a cell that still runs are saved.
const NOW_AND_THEN: Duration = Duration::from_secs(5);

/// A save comes at the earliest after so many times what the last one took.
const REST: u32 = 9;

#[derive(Debug)]
pub(super) struct Rhythm {
    /// When the last save began, or the run.
    last: Instant,
    took: Duration,
    /// Whether a cell has ended since.
    has_ended: bool,
    /// Whether the cell that runs has shown something since.
    has_shown: bool,
}

impl Rhythm {
    pub(super) fn new(now: Instant) -> Rhythm {
        Rhythm { last: now, took: Duration::ZERO, has_ended: false, has_shown: false }
    }

    /// A cell has ended.
    pub(super) fn ended(&mut self) {
        self.has_ended = true;
    }

    /// The cell that runs has shown something.
    pub(super) fn shown(&mut self) {
        self.has_shown = true;
    }

    /// A save begins.
    pub(super) fn saved(&mut self, now: Instant) {
        *self = Rhythm { took: self.took, ..Rhythm::new(now) };
    }

    /// The last save took this long.
    pub(super) fn took(&mut self, took: Duration) {
        self.took = took;
    }

    /// Whether to save now.
    pub(super) fn is_time(&self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last);
        let wait = match (self.has_ended, self.has_shown) {
            (true, _) => SOON,
            (false, true) => NOW_AND_THEN,
            (false, false) => return false,
        };
        since >= wait.max(self.took * (REST + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_has_ended_is_saved_soon_and_what_runs_now_and_then() {
        let begun = Instant::now();
        let mut rhythm = Rhythm::new(begun);
        assert!(!rhythm.is_time(begun + ms(3_600_000)), "there is nothing to save");
        rhythm.shown();
        assert!(!rhythm.is_time(begun + ms(4999)));
        assert!(rhythm.is_time(begun + ms(5000)));
        rhythm.ended();
        assert!(!rhythm.is_time(begun + ms(499)));
        assert!(rhythm.is_time(begun + ms(500)));
        rhythm.saved(begun + ms(500));
        assert!(!rhythm.is_time(begun + ms(3_600_000)), "all is saved");
    }

    #[test]
    fn a_tenth_of_the_time_goes_into_saving_at_most() {
        let begun = Instant::now();
        let mut rhythm = Rhythm::new(begun);
        rhythm.took(ms(200));
        rhythm.ended();
        assert!(!rhythm.is_time(begun + ms(1999)));
        assert!(rhythm.is_time(begun + ms(2000)));
    }
}
