//! Decides when running code is interrupted and when its kernel is killed. Pure: the caller passes the time.

use std::time::{Duration, Instant};

use cellist_settings::OnStuck;
use serde::{Deserialize, Serialize};

use super::cancel::CancelRequest;

/// Two stop requests within this time count as one, because some programs send a signal twice.
const ONE_WISH: Duration = Duration::from_millis(100);

/// Why running code is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The time limit was reached.
    Timeout,
    /// The caller cancelled it.
    Cancel,
    /// Its kernel is ended by another request.
    Ending(KernelEnding),
}

/// Why a kernel is ended while it runs code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEnding {
    /// A restart was requested.
    Restart,
    /// The end of the session was requested.
    Stop,
}

/// How the kernel came to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Killed {
    /// The code did not stop within the grace period.
    AfterGrace,
    /// A second stop request came.
    AskedTwice,
    /// Immediately, because the kernel had to end.
    AtOnce,
}

/// The action that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing until this time, or until the next event.
    Nothing(Option<Instant>),
    /// Interrupt the code.
    Interrupt,
    /// Report that the code did not stop within the grace period and runs on.
    Overdue,
    /// Kill the kernel, because the code did not stop.
    Kill,
}

/// A time limit for code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// No limit.
    None,
    /// A limit that the caller set.
    Given(Duration),
    /// The default limit, which applies while the caller waits.
    Usual(Duration),
}

impl Limit {
    /// Returns the duration of the limit.
    pub fn time(self) -> Option<Duration> {
        match self {
            Limit::None => None,
            Limit::Given(time) | Limit::Usual(time) => Some(time),
        }
    }

    /// Returns the remaining limit after some time was used.
    pub(crate) fn after(self, used: Duration) -> Limit {
        match self {
            Limit::None => Limit::None,
            Limit::Given(time) => Limit::Given(time.saturating_sub(used)),
            Limit::Usual(time) => Limit::Usual(time.saturating_sub(used)),
        }
    }

    /// Returns the limit that still applies once the caller has detached.
    pub(crate) fn handed_over(self) -> Limit {
        match self {
            Limit::None | Limit::Usual(_) => Limit::None,
            Limit::Given(time) => Limit::Given(time),
        }
    }
}

impl From<Option<Duration>> for Limit {
    fn from(given: Option<Duration>) -> Limit {
        given.map_or(Limit::None, Limit::Given)
    }
}

/// The clock of one execution: its limit, grace period and stop requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    limit: Option<Instant>,
    is_usual: bool,
    grace: Duration,
    on_stuck: OnStuck,
    stopping: Option<Stopping>,
}

#[derive(Clone, Copy, Debug)]
struct Stopping {
    cause: Cause,
    since: Instant,
    until: Instant,
    asked_twice: bool,
    is_overdue: bool,
    killed: Option<Killed>,
}

impl Pace {
    pub(crate) fn new(start: Instant, limit: impl Into<Limit>, grace: Duration, on_stuck: OnStuck) -> Pace {
        let limit = limit.into();
        Pace {
            limit: limit.time().map(|time| start + time),
            is_usual: matches!(limit, Limit::Usual(_)),
            grace,
            on_stuck,
            stopping: None,
        }
    }

    /// Why the code was told to stop, if it was.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.stopping.map(|stopping| stopping.cause)
    }

    /// How long interrupted code may take to stop.
    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    /// Whether the code was interrupted and did not stop within the grace period.
    pub(crate) fn is_overdue(&self) -> bool {
        self.stopping.is_some_and(|stopping| stopping.is_overdue)
    }

    /// How the kernel was killed, if it was.
    pub(crate) fn killed(&self) -> Option<Killed> {
        self.stopping.and_then(|stopping| stopping.killed)
    }

    /// Returns the action that is due now. Each action is returned once.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        match &mut self.stopping {
            None => match self.limit {
                Some(limit) if now >= limit => self.stop(Cause::Timeout, now),
                limit => Due::Nothing(limit),
            },
            Some(Stopping { killed: Some(_), .. }) => Due::Nothing(None),
            Some(stopping) if now < stopping.until => Due::Nothing(Some(stopping.until)),
            Some(stopping) => match self.on_stuck {
                OnStuck::Kill => {
                    let twice = stopping.asked_twice;
                    stopping.killed = Some(if twice { Killed::AskedTwice } else { Killed::AfterGrace });
                    Due::Kill
                }
                OnStuck::Wait if stopping.is_overdue => Due::Nothing(None),
                OnStuck::Wait => {
                    stopping.is_overdue = true;
                    Due::Overdue
                }
            },
        }
    }

    /// Handles a cancel request. A second stop request interrupts again, or kills if the rule says so.
    pub(crate) fn handle(&mut self, request: CancelRequest, now: Instant) -> Due {
        match (request, &mut self.stopping) {
            (CancelRequest::HandOver, _) => {
                if self.is_usual {
                    self.limit = None;
                }
                self.due(now)
            }
            (CancelRequest::End(_), Some(Stopping { killed: Some(_), .. })) => Due::Nothing(None),
            (CancelRequest::End(ending), _) => {
                let killed = Some(Killed::AtOnce);
                let cause = Cause::Ending(ending);
                let (asked_twice, is_overdue) = (false, false);
                self.stopping =
                    Some(Stopping { cause, since: now, until: now, asked_twice, is_overdue, killed });
                Due::Kill
            }
            // The code has already begun.
            (CancelRequest::Withdraw, _) => self.due(now),
            (CancelRequest::Stop, None) => self.stop(Cause::Cancel, now),
            (CancelRequest::Force, None) => {
                self.on_stuck = OnStuck::Kill;
                self.stop(Cause::Cancel, now)
            }
            (CancelRequest::Force, Some(_)) => {
                self.on_stuck = OnStuck::Kill;
                self.due(now)
            }
            (CancelRequest::Stop, Some(stopping)) => {
                let is_first = stopping.cause == Cause::Timeout && !stopping.asked_twice;
                let again = is_first || now - stopping.since >= ONE_WISH;
                if !again || stopping.killed.is_some() {
                    return self.due(now);
                }
                stopping.asked_twice = true;
                match self.on_stuck {
                    OnStuck::Kill => {
                        stopping.until = now;
                        self.due(now)
                    }
                    OnStuck::Wait => {
                        (stopping.since, stopping.until) = (now, now + self.grace);
                        stopping.is_overdue = false;
                        Due::Interrupt
                    }
                }
            }
        }
    }

    fn stop(&mut self, cause: Cause, now: Instant) -> Due {
        let (since, until) = (now, now + self.grace);
        let (asked_twice, is_overdue, killed) = (false, false, None);
        self.stopping = Some(Stopping { cause, since, until, asked_twice, is_overdue, killed });
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
        let mut pace = Pace::new(start, Some(30 * SECOND), 5 * SECOND, OnStuck::Kill);
        assert_eq!(pace.due(start), Due::Nothing(Some(start + 30 * SECOND)));
        assert_eq!(pace.due(start + 30 * SECOND), Due::Interrupt);
        assert_eq!(pace.cause(), Some(Cause::Timeout));
        assert_eq!(pace.due(start + 31 * SECOND), Due::Nothing(Some(start + 35 * SECOND)));
        assert_eq!(pace.killed(), None);
        assert_eq!(pace.due(start + 35 * SECOND), Due::Kill);
        assert_eq!(pace.due(start + 36 * SECOND), Due::Nothing(None));
        assert_eq!(pace.killed(), Some(Killed::AfterGrace));
    }

    #[test]
    fn a_second_stop_request_skips_the_grace_period() {
        let start = Instant::now();
        let mut pace = Pace::new(start, None, 5 * SECOND, OnStuck::Kill);
        assert_eq!(pace.due(start + 1000 * SECOND), Due::Nothing(None));
        assert_eq!(pace.handle(CancelRequest::Stop, start), Due::Interrupt);
        assert_eq!(pace.handle(CancelRequest::Stop, start + SECOND), Due::Kill);
        assert_eq!((pace.cause(), pace.killed()), (Some(Cause::Cancel), Some(Killed::AskedTwice)));
    }

    #[test]
    fn a_signal_that_was_sent_twice_is_one_wish() {
        let start = Instant::now();
        let mut pace = Pace::new(start, None, 5 * SECOND, OnStuck::Kill);
        assert_eq!(pace.handle(CancelRequest::Stop, start), Due::Interrupt);
        assert_eq!(
            pace.handle(CancelRequest::Stop, start + ONE_WISH / 2),
            Due::Nothing(Some(start + 5 * SECOND))
        );
        assert_eq!(pace.handle(CancelRequest::Stop, start + ONE_WISH), Due::Kill);
    }

    #[test]
    fn a_cancel_after_the_limit_leaves_the_timeout_as_the_cause() {
        let start = Instant::now();
        let mut pace = Pace::new(start, Some(SECOND), 5 * SECOND, OnStuck::Kill);
        assert_eq!(pace.due(start + SECOND), Due::Interrupt);
        assert_eq!(pace.handle(CancelRequest::Stop, start + SECOND), Due::Kill);
        assert_eq!(pace.cause(), Some(Cause::Timeout));
    }

    #[test]
    fn a_run_that_is_handed_over_keeps_only_the_limit_that_its_caller_gave() {
        let start = Instant::now();
        let mut usual = Pace::new(start, Limit::Usual(SECOND), SECOND, OnStuck::Kill);
        assert_eq!(usual.handle(CancelRequest::HandOver, start), Due::Nothing(None));
        assert_eq!(usual.due(start + 10 * SECOND), Due::Nothing(None));
        let mut given = Pace::new(start, Limit::Given(SECOND), SECOND, OnStuck::Kill);
        assert_eq!(given.handle(CancelRequest::HandOver, start), Due::Nothing(Some(start + SECOND)));
        assert_eq!(given.due(start + SECOND), Due::Interrupt);
    }

    #[test]
    fn code_that_does_not_stop_runs_on_and_is_interrupted_again_on_request() {
        let start = Instant::now();
        let mut pace = Pace::new(start, Some(3 * SECOND), 5 * SECOND, OnStuck::Wait);
        assert_eq!(pace.due(start + 3 * SECOND), Due::Interrupt);
        assert_eq!(pace.due(start + 8 * SECOND), Due::Overdue);
        assert_eq!(pace.due(start + 900 * SECOND), Due::Nothing(None));
        assert!(pace.is_overdue() && pace.killed().is_none());
        assert_eq!(pace.handle(CancelRequest::Stop, start + 901 * SECOND), Due::Interrupt);
        assert!(!pace.is_overdue());
        assert_eq!(
            pace.handle(CancelRequest::Stop, start + 901 * SECOND),
            Due::Nothing(Some(start + 906 * SECOND))
        );
        assert_eq!(pace.due(start + 906 * SECOND), Due::Overdue);
        assert_eq!((pace.cause(), pace.killed()), (Some(Cause::Timeout), None));
    }

    #[test]
    fn a_forced_interrupt_kills_code_that_has_not_stopped_within_the_grace() {
        let start = Instant::now();
        let mut fresh = Pace::new(start, None, 5 * SECOND, OnStuck::Wait);
        assert_eq!(fresh.handle(CancelRequest::Force, start), Due::Interrupt);
        assert_eq!(fresh.due(start + SECOND), Due::Nothing(Some(start + 5 * SECOND)));
        assert_eq!(fresh.due(start + 5 * SECOND), Due::Kill);
        let mut stuck = Pace::new(start, None, 5 * SECOND, OnStuck::Wait);
        assert_eq!(stuck.handle(CancelRequest::Stop, start), Due::Interrupt);
        assert_eq!(stuck.due(start + 5 * SECOND), Due::Overdue);
        assert_eq!(stuck.handle(CancelRequest::Force, start + 6 * SECOND), Due::Kill);
        assert_eq!(stuck.killed(), Some(Killed::AfterGrace));
    }

    #[test]
    fn a_kernel_that_has_to_end_ends_at_once() {
        let start = Instant::now();
        let mut pace = Pace::new(start, None, 5 * SECOND, OnStuck::Kill);
        assert_eq!(pace.handle(CancelRequest::Stop, start), Due::Interrupt);
        assert_eq!(pace.handle(CancelRequest::End(KernelEnding::Restart), start), Due::Kill);
        assert_eq!(pace.killed(), Some(Killed::AtOnce));
        assert_eq!(pace.cause(), Some(Cause::Ending(KernelEnding::Restart)));
        assert_eq!(pace.handle(CancelRequest::End(KernelEnding::Stop), start), Due::Nothing(None));
    }
}
