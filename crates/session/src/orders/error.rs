//! Errors of launch orders.

use std::path::PathBuf;

use cellist_kernel::gateway::BadAddress;
use cellist_kernel::python::Flaw;
use cellist_platform::FailureKind;
use cellist_settings::{Fault, Faults};

use crate::orders::choice::ChoiceError;

/// Why no launch order could be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum CannotOrder {
    #[error(transparent)]
    Settings(#[from] Faults),
    #[error(transparent)]
    Refused(#[from] ChoiceError),
    #[error("{} cannot be used: {flaw}", .path.display())]
    BadPython { path: PathBuf, flaw: Flaw },
    #[error(transparent)]
    BadGateway(#[from] BadAddress),
    #[error("attaching to a running kernel needs a gateway, and none is named")]
    NoGateway,
    #[error("no kernel `{0}`")]
    NoSpec(String),
    #[error("no shell was found: neither bash nor sh is on PATH")]
    NoShell,
    #[error("the search for Python and kernels was aborted")]
    Lost,
}

impl CannotOrder {
    /// Returns the kind of failure, for programs.
    pub fn kind(&self) -> FailureKind {
        match self {
            CannotOrder::Settings(_) => FailureKind::InvalidSetting,
            CannotOrder::Refused(refusal) => refusal.kind(),
            CannotOrder::BadPython { .. } => FailureKind::NoPython,
            CannotOrder::BadGateway(_) | CannotOrder::NoGateway => FailureKind::NoGateway,
            CannotOrder::NoSpec(_) => FailureKind::NoKernel,
            CannotOrder::NoShell => FailureKind::NoShell,
            CannotOrder::Lost => FailureKind::System,
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            CannotOrder::Settings(faults) => faults.iter().find_map(Fault::hint).map(str::to_owned),
            CannotOrder::Refused(refusal) => refusal.hint(),
            CannotOrder::BadPython { .. } => Some("name another one with --python PATH".to_owned()),
            CannotOrder::BadGateway(_) => Some("give one like http://127.0.0.1:8888".to_owned()),
            CannotOrder::NoGateway => Some("name it with --gateway URL or PI_PYTHON_GATEWAY_URL".to_owned()),
            CannotOrder::NoSpec(_) | CannotOrder::NoShell | CannotOrder::Lost => None,
        }
    }
}
