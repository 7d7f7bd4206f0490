//! The flags that choose a kernel. The host decides on it, by these and by the environment of the command.

use std::path::{Path, PathBuf};

use cellist_kernel::guard::Guard;
use cellist_platform::Variables;
use cellist_session::orders::{ClientEnvironment, KernelRequest, RunningKernel};
use cellist_settings::{BackendWish, Faults, Home, Resolved};
use clap::{Args, ValueEnum};

use crate::error::CliError;
use crate::notebook_access::files;
use crate::settings::settings_in;

/// Flags for the kernel's backend and environment.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KernelFlags {
    /// How to run code; default: the python.backend setting
    #[arg(long, value_enum, value_name = "BACKEND", display_order = 500)]
    backend: Option<BackendFlag>,
    /// The Python to use: an executable or an environment folder
    #[arg(long, value_name = "PATH", display_order = 502)]
    python: Option<PathBuf>,
    /// The URL of a Jupyter Kernel Gateway, Enterprise Gateway or Jupyter Server
    #[arg(long, value_name = "URL", display_order = 503)]
    gateway: Option<String>,
    /// Also pass this environment variable to the kernel; `all` passes every variable
    #[arg(long, value_name = "NAME", display_order = 504)]
    pass_env: Vec<String>,
    /// Set a setting for this command only; see `cellist settings`
    #[arg(long, value_name = "NAME=VALUE", display_order = 505)]
    set: Vec<String>,
}

/// Flags for one particular kernel.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KernelChoiceFlags {
    /// Use the kernel of this name; see `cellist kernels`
    #[arg(long, value_name = "NAME", display_order = 501)]
    pub(crate) kernel: Option<String>,
    /// Use a running kernel, by its connection file; it keeps running afterwards
    #[arg(
        long,
        value_name = "FILE",
        display_order = 503,
        conflicts_with_all = ["backend", "kernel", "python", "gateway", "pass_env"]
    )]
    existing: Option<PathBuf>,
    /// Use a running kernel of the gateway, by its id; it keeps running afterwards
    #[arg(long, value_name = "ID", display_order = 503, conflicts_with_all = ["kernel", "existing"])]
    pub(crate) kernel_id: Option<String>,
}

impl KernelChoiceFlags {
    pub(crate) fn is_given(&self) -> bool {
        self.kernel.is_some() || self.kernel_id.is_some()
    }

    /// Whether another program started the kernel.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.existing.is_some()
    }

    /// The request for this kernel.
    pub(crate) fn request(&self) -> Result<KernelRequest, CliError> {
        let existing = match &self.existing {
            Some(file) => {
                files::check_look(file)?;
                Some(RunningKernel::Existing(absolute(file)))
            }
            None => None,
        };
        let running = existing.or_else(|| self.kernel_id.clone().map(RunningKernel::Id));
        Ok(KernelRequest { kernel: self.kernel.clone(), running, ..KernelRequest::default() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendFlag {
    /// ipykernel if installed, otherwise the runner; a kernelspec for other languages
    Auto,
    /// The embedded runner, which needs only Python
    Runner,
    /// A Jupyter kernel over ZeroMQ
    Jupyter,
    /// A Jupyter gateway: the one given by --gateway, or the shared one
    Gateway,
}

impl KernelFlags {
    /// Whether a flag affects the choice of the kernel.
    pub(crate) fn are_given(&self) -> bool {
        let KernelFlags { backend, python, gateway, pass_env, set } = self;
        let is_chosen = backend.is_some_and(|backend| backend != BackendFlag::Auto);
        let is_set = set.iter().any(|setting| setting.trim_start().starts_with("python."));
        is_chosen || is_set || python.is_some() || gateway.is_some() || !pass_env.is_empty()
    }

    /// The environment for kernels: these flags and the variables of this process.
    pub(crate) fn environment(&self) -> ClientEnvironment {
        ClientEnvironment {
            variables: Variables::of_process().into_list(),
            withheld: Vec::new(),
            backend: self.backend.map(BackendWish::from),
            python: self.python.as_deref().map(absolute),
            gateway: self.gateway.clone(),
            gateway_token: None,
            pass_env: self.pass_env.clone(),
            set: self.set.clone(),
        }
    }

    /// The settings for work in a folder.
    pub(crate) fn settings(&self, folder: &Path) -> Result<Resolved, Faults> {
        settings_in(folder, &self.set)
    }
}

impl From<BackendFlag> for BackendWish {
    fn from(backend: BackendFlag) -> BackendWish {
        match backend {
            BackendFlag::Auto => BackendWish::Auto,
            BackendFlag::Runner => BackendWish::Runner,
            BackendFlag::Jupyter => BackendWish::Jupyter,
            BackendFlag::Gateway => BackendWish::Gateway,
        }
    }
}

/// An absolute path. A bare name is looked up on `PATH`.
fn absolute(path: &Path) -> PathBuf {
    if path.components().count() > 1 || path.exists() {
        return std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    }
    path.to_owned()
}

/// This binary as a guard, which outlives this process.
pub(crate) fn guard() -> Guard {
    match std::env::current_exe() {
        Ok(program) => Guard::new(program, ["guard"]).with_ledger(Home::from_env().path().join("run")),
        Err(_) => Guard::none(),
    }
}
