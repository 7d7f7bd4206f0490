//! When code that runs is interrupted, and when it is given up: a decision from times alone.

use std::time::{Duration, Instant};

/// Why code is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It ran longer than it may.
    Timeout,
    /// Whoever asked for it does not want it any more.
    Cancel,
}

/// What is due now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing until then, or until something happens.
    Nothing(Option<Instant>),
    /// The code is to be interrupted.
    Interrupt,
    /// It did not stop: the kernel is to be ended.
    Kill,
}

/// The times of one execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    limit: Option<Instant>,
    grace: Duration,
    stopping: Option<Stopping>,
}

#[derive(Clone, Copy, Debug)]
struct Stopping {
    cause: Cause,
    until: Instant,
    killed: bool,
}

impl Pace {
    pub(crate) fn new(start: Instant, limit: Option<Duration>, grace: Duration) -> Pace {
        Pace { limit: limit.map(|limit| start + limit), grace, stopping: None }
    }

    /// Why the code was told to stop, if it was.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.stopping.map(|stopping| stopping.cause)
    }

    /// How long code may take to stop.
    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    /// Whether the kernel had to be ended.
    pub(crate) fn killed(&self) -> bool {
        self.stopping.is_some_and(|stopping| stopping.killed)
    }

    /// What is due at this time. Each thing is due once.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        match &mut self.stopping {
            None => match self.limit {
                Some(limit) if now >= limit => self.stop(Cause::Timeout, now),
                limit => Due::Nothing(limit),
            },
            Some(stopping) if stopping.killed => Due::Nothing(None),
            Some(stopping) if now >= stopping.until => {
                stopping.killed = true;
                Due::Kill
            }
            Some(stopping) => Due::Nothing(Some(stopping.until)),
        }
    }

    /// Somebody asks to stop. Who asks again has no patience left.
    pub(crate) fn cancel(&mut self, now: Instant) -> Due {
        match &mut self.stopping {
            None => self.stop(Cause::Cancel, now),
            Some(stopping) => {
                stopping.until = now;
                self.due(now)
            }
        }
    }

    fn stop(&mut self, cause: Cause, now: Instant) -> Due {
        self.stopping = Some(Stopping { cause, until: now + self.grace, killed: false });
        Due::Interrupt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn code_over_its_limit_is_interrupted_then_given_up() {
        let start = Instant::now();
        let mut pace = Pace::new(start, Some(30 * SECOND), 5 * SECOND);
        assert_eq!(pace.due(start), Due::Nothing(Some(start + 30 * SECOND)));
        assert_eq!(pace.due(start + 30 * SECOND), Due::Interrupt);
        assert_eq!(pace.cause(), Some(Cause::Timeout));
        assert_eq!(pace.due(start + 31 * SECOND), Due::Nothing(Some(start + 35 * SECOND)));
        assert!(!pace.killed());
        assert_eq!(pace.due(start + 35 * SECOND), Due::Kill);
        assert_eq!(pace.due(start + 36 * SECOND), Due::Nothing(None));
        assert!(pace.killed());
    }

    #[test]
    fn who_asks_twice_does_not_wait_for_the_grace() {
        let start = Instant::now();
        let mut pace = Pace::new(start, None, 5 * SECOND);
        assert_eq!(pace.due(start + 1000 * SECOND), Due::Nothing(None));
        assert_eq!(pace.cancel(start), Due::Interrupt);
        assert_eq!(pace.cancel(start + SECOND), Due::Kill);
        assert_eq!((pace.cause(), pace.killed()), (Some(Cause::Cancel), true));
    }

    #[test]
    fn a_cancel_after_the_limit_leaves_the_timeout_as_the_cause() {
        let start = Instant::now();
        let mut pace = Pace::new(start, Some(SECOND), 5 * SECOND);
        assert_eq!(pace.due(start + SECOND), Due::Interrupt);
        assert_eq!(pace.cancel(start + 2 * SECOND), Due::Kill);
        assert_eq!(pace.cause(), Some(Cause::Timeout));
    }
}
