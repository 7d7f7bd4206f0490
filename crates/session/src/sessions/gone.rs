//! Why a kernel is gone that a session had.

use std::time::Duration;

use cellist_kernel::Death;

/// Why a kernel is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// It died.
    Died(Death),
    /// It did not stop when it had to, and was killed.
    Killed,
    /// A call asked for a new one.
    Reset,
    /// Somebody asked for a new one.
    Restarted,
    /// Somebody ended the session.
    Stopped,
    /// Nobody used it for so long.
    Idle(Duration),
    /// Another session needed its place.
    MadeRoom,
    /// Its last user left.
    Left,
    /// The system had no files left.
    OutOfFiles,
    /// A fault of ours ended the session.
    Failed,
    /// It ended with the host that had it.
    HostEnded,
}

impl Gone {
    /// The reason, as a notice has it.
    pub(super) fn words(&self) -> String {
        match self {
            Gone::Died(Death::Exit(code)) => format!("the last one exited with code {code}"),
            Gone::Died(Death::Signal(name)) => format!("the last one was ended by {name}"),
            Gone::Died(Death::OutOfMemory) => "the last one ran out of memory".into(),
            Gone::Died(Death::Restarted) => "the last one died, and its gateway started it anew".into(),
            Gone::Died(Death::Removed) => "the last one was ended by someone else".into(),
            Gone::Died(Death::OutOfReach(_)) => "the gateway of the last one cannot be reached".into(),
            Gone::Died(Death::Refused(_)) => "the connection to the last one was ended".into(),
            Gone::Died(Death::Unknown) => "the last one died".into(),
            Gone::Killed => "the last one did not stop when it was interrupted and was killed".into(),
            Gone::Reset => "a reset was asked for".into(),
            Gone::Restarted => "a restart was asked for".into(),
            Gone::Stopped => "the last one was stopped".into(),
            Gone::Idle(time) => format!("the last one was idle for {}", in_words(*time)),
            Gone::MadeRoom => "the last one made room for another session".into(),
            Gone::Left => "the last one ended when nobody used it any more".into(),
            Gone::OutOfFiles => "the last one was ended because too many files were open".into(),
            Gone::Failed => "the last one was ended by an internal error of cellist".into(),
            Gone::HostEnded => "the host was restarted".into(),
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
    fn every_reason_can_be_said() {
        for (gone, words) in [
            (Gone::Died(Death::Exit(3)), "the last one exited with code 3"),
            (Gone::Died(Death::Signal("SIGKILL".into())), "the last one was ended by SIGKILL"),
            (Gone::Died(Death::OutOfMemory), "the last one ran out of memory"),
            (Gone::Died(Death::Unknown), "the last one died"),
            (Gone::Died(Death::Restarted), "the last one died, and its gateway started it anew"),
            (Gone::Died(Death::Removed), "the last one was ended by someone else"),
            (Gone::Died(Death::OutOfReach("x".into())), "the gateway of the last one cannot be reached"),
            (Gone::Killed, "the last one did not stop when it was interrupted and was killed"),
            (Gone::Reset, "a reset was asked for"),
            (Gone::Restarted, "a restart was asked for"),
            (Gone::Stopped, "the last one was stopped"),
            (Gone::Idle(Duration::from_secs(300)), "the last one was idle for 5 minutes"),
            (Gone::Idle(Duration::from_secs(3600)), "the last one was idle for 1 hour"),
            (Gone::Idle(Duration::from_secs(1)), "the last one was idle for 1 second"),
            (Gone::MadeRoom, "the last one made room for another session"),
            (Gone::Left, "the last one ended when nobody used it any more"),
            (Gone::OutOfFiles, "the last one was ended because too many files were open"),
            (Gone::HostEnded, "the host was restarted"),
        ] {
            assert_eq!(gone.words(), words);
        }
    }
}
