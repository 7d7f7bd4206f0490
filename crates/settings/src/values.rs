//! The values that settings carry to kernels, sessions and artifacts, as types of their own.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long code may take to stop after it was interrupted, when nothing else is said.
pub const GRACE: Duration = Duration::from_secs(5);

/// The default limit for the outputs of one cell in the file: 10 MiB.
pub const MAX_OUTPUT: usize = 10 * 1024 * 1024;

/// The requested backend for running code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendWish {
    /// Whatever suits.
    #[default]
    Auto,
    /// Our own runner.
    Runner,
    /// A Jupyter kernel on this machine.
    Jupyter,
    /// A Jupyter kernel behind a gateway.
    Gateway,
}

/// The rule for code that does not stop within the grace after an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnStuck {
    /// It runs on and is reported as not stopped. Its kernel keeps its state.
    Wait,
    /// Its kernel is killed, and the state is lost.
    Kill,
}

/// How long a kernel stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelMode {
    /// As long as its session.
    #[default]
    Session,
    /// As long as the call.
    PerCall,
}

/// Whether code is run once more when its kernel died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryOnCrash {
    /// Only where no state is lost: the kernel had run no code of its user before.
    #[default]
    Auto,
    /// The first piece of a call.
    Always,
    /// Never.
    Never,
}

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How many sessions of tools are kept at a time.
    pub max_sessions: usize,
    /// How long a session stays that nobody uses.
    pub idle_timeout: Duration,
    /// How long the session of a notebook stays after its last page, agent or terminal has left.
    pub notebook_idle: Duration,
    /// How often idle sessions are looked for.
    pub sweep: Duration,
    /// How often an idle kernel is asked whether it is there.
    pub heartbeat: Duration,
}

impl Default for Policy {
    /// 4 sessions, 5 minutes and for notebooks an hour, looked for every 30 seconds, asked every 5.
    fn default() -> Policy {
        Policy {
            max_sessions: 4,
            idle_timeout: Duration::from_secs(5 * 60),
            notebook_idle: Duration::from_secs(60 * 60),
            sweep: Duration::from_secs(30),
            heartbeat: Duration::from_secs(5),
        }
    }
}

/// How much is kept, and for how long. The newest artifact stays however large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Bytes of all artifacts together, and of one at most.
    pub max_bytes: u64,
    /// How long after its last byte one is kept.
    pub max_age: Duration,
}

impl Default for Retention {
    /// 8 GiB and 30 days.
    fn default() -> Retention {
        Retention { max_bytes: 8 << 30, max_age: Duration::from_secs(30 * 24 * 60 * 60) }
    }
}
