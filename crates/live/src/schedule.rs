//! Decides when an open notebook is saved, from the changes and their times. Pure.

use std::time::{Duration, Instant};

/// Typing is saved after this pause.
const PAUSE: Duration = Duration::from_millis(250);
/// Typing without a pause is saved after this time, to be on disk within a second.
const TYPING: Duration = Duration::from_millis(600);
/// Outputs of an ended cell wait this long for others that end soon after.
const ENDED: Duration = Duration::from_millis(500);
/// Interval for the outputs of a running cell.
const OUTPUTS: Duration = Duration::from_secs(5);
/// Outputs wait this many times the duration of the last save, so saving takes at most a tenth of the time.
const SHARE: u32 = 10;
/// First retry after a failed save; doubled each time.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// How soon a change must be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A caller waits for it.
    Now,
    /// A user types.
    Soon,
    /// A cell has ended.
    Ended,
    /// A running cell prints.
    Later,
}

/// The pending saves and their times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Schedule {
    /// When the first caller started to wait.
    wanted: Option<Instant>,
    /// When typing began, and when it last went on.
    typed: Option<(Instant, Instant)>,
    /// When the first unsaved cell ended.
    ended: Option<Instant>,
    /// When the first unsaved output came.
    outputs: Option<Instant>,
    /// Time of the next retry.
    retry: Option<Instant>,
    failures: u32,
    is_saving: bool,
    /// When the last save began, and how long it took.
    last: Option<Instant>,
    took: Duration,
}

impl Schedule {
    /// Creates the schedule of a notebook that was on disk at this time. The first cells that end wait for each
    /// other.
    pub(crate) fn saved_at(now: Instant) -> Schedule {
        Schedule { last: Some(now), ..Schedule::default() }
    }

    /// Notes a change.
    pub(crate) fn changed(&mut self, urgency: Urgency, now: Instant) {
        match urgency {
            Urgency::Now => self.wanted = self.wanted.or(Some(now)),
            Urgency::Soon => self.typed = Some((self.typed.map_or(now, |(first, _)| first), now)),
            Urgency::Ended => self.ended = self.ended.or(Some(now)),
            Urgency::Later => self.outputs = self.outputs.or(Some(now)),
        }
    }

    /// Returns the time of the next save; `None` while one is running.
    pub(crate) fn next(&self) -> Option<Instant> {
        if self.is_saving {
            return None;
        }
        let typed = self.typed.map(|(first, last)| (last + PAUSE).min(first + TYPING));
        let rested = |due: Instant, pause: Duration| {
            self.last.map_or(due, |last| due.max(last + pause.max(self.took * SHARE)))
        };
        let ended = self.ended.map(|first| rested(first, ENDED));
        let outputs = self.outputs.map(|first| rested(first + OUTPUTS, Duration::ZERO));
        let due = [typed, ended, outputs].into_iter().flatten().min();
        // New changes do not speed up a retry; only a waiting caller does.
        self.wanted.or(self.retry).or(due)
    }

    /// Whether changes are not on disk yet.
    pub(crate) fn is_dirty(&self) -> bool {
        self.is_saving || self.next().is_some()
    }

    /// Notes the start of a save of all changes so far.
    pub(crate) fn began(&mut self, now: Instant) {
        let Schedule { failures, took, .. } = *self;
        *self = Schedule { is_saving: true, failures, took, ..Schedule::saved_at(now) };
    }

    /// Notes the end of a save. A failed one will be retried.
    pub(crate) fn ended(&mut self, is_saved: bool, now: Instant) {
        self.is_saving = false;
        self.took = self.last.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
        if is_saved {
            self.failures = 0;
            return;
        }
        let pause = RETRY.saturating_mul(1 << self.failures.min(5)).min(LONGEST_RETRY);
        self.failures = self.failures.saturating_add(1);
        self.retry = Some(now + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn a_change_with_a_waiting_caller_is_saved_at_once() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        assert!(schedule.next().is_none() && !schedule.is_dirty());
        schedule.changed(Urgency::Later, start);
        schedule.changed(Urgency::Soon, at(start, 10));
        schedule.changed(Urgency::Now, at(start, 20));
        assert_eq!(schedule.next(), Some(at(start, 20)));
        schedule.began(at(start, 20));
        assert!(schedule.next().is_none() && schedule.is_dirty());
        schedule.ended(true, at(start, 30));
        assert!(!schedule.is_dirty());
    }

    #[test]
    fn typing_is_saved_after_a_pause_and_within_a_second_without_one() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.changed(Urgency::Soon, start);
        assert_eq!(schedule.next(), Some(at(start, 250)));
        for ms in (100..=1000).step_by(100) {
            schedule.changed(Urgency::Soon, at(start, ms));
        }
        assert_eq!(schedule.next(), Some(at(start, 600)));
    }

    #[test]
    fn outputs_are_saved_every_five_seconds_however_many_come() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        for ms in (0..5000).step_by(100) {
            schedule.changed(Urgency::Later, at(start, ms));
            assert_eq!(schedule.next(), Some(at(start, 5000)));
        }
        schedule.began(at(start, 5000));
        schedule.changed(Urgency::Later, at(start, 5010));
        assert_eq!(schedule.next(), None);
        schedule.ended(true, at(start, 5020));
        assert_eq!(schedule.next(), Some(at(start, 10_010)));
    }

    #[test]
    fn a_cell_that_has_ended_is_saved_soon_and_together_with_others_that_end_soon_after() {
        let (mut schedule, start) = (Schedule::saved_at(Instant::now()), Instant::now());
        let mut fresh = Schedule::default();
        fresh.changed(Urgency::Ended, start);
        assert_eq!(fresh.next(), Some(start), "nothing was saved just before");
        schedule.last = Some(start);
        schedule.changed(Urgency::Ended, at(start, 10));
        assert_eq!(schedule.next(), Some(at(start, 500)));
        schedule.changed(Urgency::Later, at(start, 20));
        assert_eq!(schedule.next(), Some(at(start, 500)));
    }

    #[test]
    fn a_tenth_of_the_time_goes_into_saving_outputs_at_most() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.began(start);
        schedule.ended(true, at(start, 800));
        schedule.changed(Urgency::Ended, at(start, 900));
        assert_eq!(schedule.next(), Some(at(start, 8000)));
        schedule.changed(Urgency::Later, at(start, 1000));
        assert_eq!(schedule.next(), Some(at(start, 8000)));
        schedule.changed(Urgency::Soon, at(start, 1000));
        assert_eq!(schedule.next(), Some(at(start, 1250)), "typing is not delayed");
    }

    #[test]
    fn failed_saves_are_retried_with_backoff_and_at_once_for_a_waiting_caller() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        schedule.changed(Urgency::Soon, start);
        let mut now = start;
        let pauses = [1, 2, 4, 8, 16, 30, 30].map(|seconds| {
            schedule.began(now);
            schedule.ended(false, now);
            let next = schedule.next().unwrap();
            let pause = next - now;
            now = next;
            pause == Duration::from_secs(seconds)
        });
        assert_eq!(pauses, [true; 7]);
        schedule.changed(Urgency::Now, start);
        assert_eq!(schedule.next(), Some(start));
    }
}
