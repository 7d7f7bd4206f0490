//! The inputs of a local kernel when it starts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;
use crate::trace::Trace;

/// Everything that a kernel process gets from its owner. Nothing is taken from our own environment.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The folder to run in; it must exist.
    pub cwd: PathBuf,
    /// The whole environment of the process, already filtered.
    pub environment: Vec<(OsString, OsString)>,
    /// Code of ours that runs first and is never counted or shown.
    pub prelude: Option<String>,
    /// Extension modules, in the order in which they run after the prelude.
    pub modules: Vec<Module>,
    /// How long it may take until the kernel is ready.
    pub startup_timeout: Duration,
    /// A private folder of ours for sockets, connection files and the like.
    pub runtime_dir: PathBuf,
    /// Where every message is written down, if anywhere.
    pub trace: Option<Trace>,
}

/// An extension module: a Python file that runs in the user's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// The file's name without `.py`.
    pub name: String,
    /// The file.
    #[serde(with = "cellist_platform::portable_path")]
    pub path: PathBuf,
}

/// A kernel that is ready.
pub struct Started {
    /// The kernel.
    pub kernel: Box<dyn Kernel>,
    /// Notices for the user: a module that failed, for instance.
    pub notices: Vec<String>,
}
