//! The way from a command to the host of this user.

use std::future::Future;

use cellist_link::{Host, Starter};
use cellist_session::Home;

use crate::error::{CliError, Exit};

/// The version that hosts and their clients compare.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The host of this user, running or not.
pub(crate) fn ours() -> Host {
    Host::of(&Home::from_env(), VERSION)
}

/// Our own binary, as a host in the background.
pub(crate) fn starter() -> Result<Starter, CliError> {
    let program = std::env::current_exe().map_err(|error| {
        CliError::new("system", Exit::NoKernel, format!("this program is not there: {error}"))
    })?;
    Ok(Starter { program, arguments: vec!["serve".into(), "--detached".into()] })
}

/// Runs what a command has to wait for. What still waits in a thread when it is done is left behind.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::new("system", Exit::NoKernel, error.to_string()))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
