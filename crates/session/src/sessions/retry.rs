//! What is done when a kernel dies while it runs code: decided from a few facts alone.

use cellist_settings::RetryOnCrash;

/// A death, with what counts about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crash {
    /// Whether the kernel had run code of its user before.
    pub(super) had_state: bool,
    /// Whether it was the first piece of its call.
    pub(super) is_first: bool,
    /// How many kernels of the session have died in a row without one run that came to its end.
    pub(super) before: u32,
}

/// What is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The code is run once more on a new kernel.
    RunAgain,
    /// The run has failed.
    Fail,
    /// The run has failed, and not for the first time.
    GiveUp,
}

/// Decides about a kernel that died while it ran code.
pub(super) fn remedy(retry: RetryOnCrash, crash: Crash) -> Remedy {
    match (crash.before, retry) {
        (1.., _) => Remedy::GiveUp,
        (0, RetryOnCrash::Auto) if !crash.had_state => Remedy::RunAgain,
        (0, RetryOnCrash::Always) if crash.is_first => Remedy::RunAgain,
        (0, RetryOnCrash::Auto | RetryOnCrash::Always | RetryOnCrash::Never) => Remedy::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_run_again_once_and_only_where_its_session_wants_that() {
        use Remedy::{Fail, GiveUp, RunAgain};
        use RetryOnCrash::{Always, Auto, Never};
        for (retry, had_state, is_first, before, expected) in [
            (Auto, false, true, 0, RunAgain),
            (Auto, true, true, 0, Fail),
            (Auto, true, false, 0, Fail),
            // A piece behind one that reset the kernel has nothing to stand on either.
            (Auto, false, false, 0, RunAgain),
            (Always, false, true, 0, RunAgain),
            (Always, true, true, 0, RunAgain),
            (Always, true, false, 0, Fail),
            (Always, false, false, 0, Fail),
            (Never, false, true, 0, Fail),
            (Never, true, false, 0, Fail),
            (Auto, false, true, 1, GiveUp),
            (Auto, true, true, 1, GiveUp),
            (Always, true, true, 1, GiveUp),
            (Always, false, true, 2, GiveUp),
            (Never, false, true, 1, GiveUp),
        ] {
            let crash = Crash { had_state, is_first, before };
            assert_eq!(remedy(retry, crash), expected, "{retry:?} {crash:?}");
        }
    }
}
