//! A kernel that breaks the protocol: its connections end, and every caller is told why.

use std::sync::Arc;

use tokio::sync::watch;

use crate::event::Death;
use crate::jupyter::pending::Pending;
use crate::kernel::State;
use crate::process::Process;

/// Ends a kernel that broke the protocol.
#[derive(Clone)]
pub(super) struct Faults {
    pub(super) state: Arc<watch::Sender<State>>,
    pub(super) pending: Arc<Pending>,
    /// The process, if it is ours.
    pub(super) child: Option<Arc<Process>>,
}

impl Faults {
    /// Ends it, because it sent this. Returns the death to report.
    pub(super) fn end(&self, what: String) -> Death {
        let death = Death::Refused(what);
        self.state.send_if_modified(|state| match state {
            State::Idle | State::Busy(_) => {
                *state = State::Dead(death.clone());
                true
            }
            State::Starting | State::Dead(_) => false,
        });
        self.pending.close_with(death.clone());
        if let Some(process) = &self.child {
            process.kill();
        }
        death
    }
}
