//! How someone who wants code to run gets a kernel: their variables and wishes decide, wherever the kernel is started.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Someone who wants code to run, as far as it decides on what.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Asker {
    /// Their environment, without what no kernel may ever get.
    #[serde(with = "cellist_kernel::order")]
    pub variables: Vec<(OsString, OsString)>,
    /// The names of what was left out of it.
    pub withheld: Vec<String>,
    /// The way to run code that was asked for, as the setting `python.backend` is written.
    pub backend: Option<String>,
    /// The Python that was named.
    #[serde(with = "cellist_kernel::order")]
    pub python: Option<PathBuf>,
    /// The gateway that was named.
    pub gateway: Option<String>,
    /// Variables that kernels get although they are not on the list.
    pub pass_env: Vec<String>,
    /// Settings that were given on the command line, as `name=value`.
    pub set: Vec<String>,
}
