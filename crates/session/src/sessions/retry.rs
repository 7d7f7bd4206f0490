//! Decides whether code runs again after its kernel died. Pure.

use cellist_settings::RetryOnCrash;

/// The death of a kernel while it ran code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crash {
    /// Whether the kernel had run user code before.
    pub(super) had_state: bool,
    /// Whether the code was the first piece of its call.
    pub(super) is_first: bool,
    /// Number of kernels of the session that died in a row, without a completed run between them.
    pub(super) before: u32,
}

/// The reaction to a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Run the code again on a new kernel.
    RunAgain,
    /// Report a failure.
    Fail,
    /// Report a repeated failure.
    GiveUp,
}

/// Decides how to react to a kernel that died while it ran code.
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
            // A piece after a reset depends on no earlier state either.
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
