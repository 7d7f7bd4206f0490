//! Reasons for the loss of a session's kernel.

use std::time::Duration;

use cellist_kernel::Death;

/// Why a kernel is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LossReason {
    /// The kernel died.
    Died(Death),
    /// The code did not stop, and the kernel was killed.
    Killed,
    /// A call asked for a reset.
    Reset,
    /// A restart was requested.
    Restarted,
    /// The session was stopped.
    Stopped,
    /// The session was idle for this long.
    Idle(Duration),
    /// Another session needed its slot.
    MadeRoom,
    /// Its last owner left.
    Left,
    /// The process ran out of file descriptors.
    OutOfFiles,
    /// An internal error ended the session.
    Failed,
    /// Its host ended.
    HostEnded,
}

impl LossReason {
    /// Returns the reason in words, for a notice.
    pub(super) fn words(&self) -> String {
        match self {
            LossReason::Died(Death::Exit(code)) => format!("the last one exited with code {code}"),
            LossReason::Died(Death::Signal(name)) => format!("the last one was ended by {name}"),
            LossReason::Died(Death::OutOfMemory) => "the last one ran out of memory".into(),
            LossReason::Died(Death::Restarted) => "the last one died, and its gateway started it anew".into(),
            LossReason::Died(Death::Removed) => "the last one was ended by another program".into(),
            LossReason::Died(Death::OutOfReach(_)) => "the gateway of the last one cannot be reached".into(),
            LossReason::Died(Death::Refused(_)) => "the connection to the last one was ended".into(),
            LossReason::Died(Death::Unknown) => "the last one died".into(),
            LossReason::Killed => "the last one did not stop when it was interrupted and was killed".into(),
            LossReason::Reset => "a reset was asked for".into(),
            LossReason::Restarted => "a restart was asked for".into(),
            LossReason::Stopped => "the last one was stopped".into(),
            LossReason::Idle(time) => format!("the last one was idle for {}", in_words(*time)),
            LossReason::MadeRoom => "the last one made room for another session".into(),
            LossReason::Left => "the last one ended when nobody used it any more".into(),
            LossReason::OutOfFiles => "the last one was ended because too many files were open".into(),
            LossReason::Failed => "the last one was ended by an internal error of cellist".into(),
            LossReason::HostEnded => "the host was restarted".into(),
        }
    }
}

fn in_words(time: Duration) -> String {
    let (count, unit) = match time.as_secs() {
        seconds if seconds >= 3600 && seconds % 3600 == 0 => (seconds / 3600, "hour"),
        seconds if seconds >= 60 && seconds % 60 == 0 => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_words() {
        for (gone, words) in [
            (LossReason::Died(Death::Exit(3)), "the last one exited with code 3"),
            (LossReason::Died(Death::Signal("SIGKILL".into())), "the last one was ended by SIGKILL"),
            (LossReason::Died(Death::OutOfMemory), "the last one ran out of memory"),
            (LossReason::Died(Death::Unknown), "the last one died"),
            (LossReason::Died(Death::Restarted), "the last one died, and its gateway started it anew"),
            (LossReason::Died(Death::Removed), "the last one was ended by another program"),
            (
                LossReason::Died(Death::OutOfReach("x".into())),
                "the gateway of the last one cannot be reached",
            ),
            (LossReason::Killed, "the last one did not stop when it was interrupted and was killed"),
            (LossReason::Reset, "a reset was asked for"),
            (LossReason::Restarted, "a restart was asked for"),
            (LossReason::Stopped, "the last one was stopped"),
            (LossReason::Idle(Duration::from_secs(300)), "the last one was idle for 5 minutes"),
            (LossReason::Idle(Duration::from_secs(3600)), "the last one was idle for 1 hour"),
            (LossReason::Idle(Duration::from_secs(1)), "the last one was idle for 1 second"),
            (LossReason::MadeRoom, "the last one made room for another session"),
            (LossReason::Left, "the last one ended when nobody used it any more"),
            (LossReason::OutOfFiles, "the last one was ended because too many files were open"),
            (LossReason::HostEnded, "the host was restarted"),
        ] {
            assert_eq!(gone.words(), words);
        }
    }
}
