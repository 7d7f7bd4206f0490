//! The way from a command to the host of this user, or to what stands in for it.

use std::future::Future;

use cellist_kernel::guard::Guard;
use cellist_link::{Desk, Host, Link, Reply, Starter};
use cellist_session::live::Documents;
use cellist_session::sessions::{Means, Sessions};
use cellist_session::settings::Settings;
use cellist_session::{Home, Store};

use crate::answer::print_aside;
use crate::error::{CliError, Exit};
use crate::kernel::guard;
use crate::settings::artifacts;
use crate::startup;
use crate::waiting::Waiting;

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

/// The guard of a host, which writes to the host's log.
pub(crate) fn host_guard() -> Guard {
    guard().with_log(|line| cellist_serve::note(line))
}

/// A desk in this process, whose kernels end with it; one that remembers tells the next what was lost. Needs a
/// runtime.
pub(crate) fn desk(home: &Home, settings: &Settings, remembers: bool) -> Desk {
    let guard = if remembers { host_guard() } else { guard() };
    let mut means = Means::local(guard, Some(startup::trace()), home.clone(), artifacts(settings));
    means.remembers = remembers;
    let sessions = Sessions::new(settings.policy(), means);
    let documents = Documents::new(Store::new(home.clone())).reviewing(settings.notebook.review);
    Desk::new(sessions, documents, artifacts(settings))
}

/// A desk for this process alone, whose code can call tools.
pub(crate) async fn desk_here(settings: &Settings) -> Desk {
    let desk = desk(&Home::from_env(), settings, false);
    if let Err(error) = cellist_serve::bridge::open(&desk).await {
        print_aside(&format!("note: code cannot call tools: {error}"));
    }
    desk
}

/// A way to whoever keeps sessions.
pub(crate) struct Reach {
    link: Link,
    /// The desk, where that is in this process.
    here: Option<Desk>,
}

impl Reach {
    /// To the host, which is started if need be; or to this process alone. Needs a runtime.
    pub(crate) async fn open(standalone: bool, settings: &Settings) -> Result<Reach, CliError> {
        if standalone {
            let desk = desk_here(settings).await;
            return Ok(Reach { link: Link::in_process(&desk), here: Some(desk) });
        }
        Ok(Reach { link: attached().await?, here: None })
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Ends what is kept in this process.
    pub(crate) async fn close(self) {
        if let Some(desk) = self.here {
            desk.close().await;
        }
    }
}

/// The host, which is started if need be.
pub(crate) async fn attached() -> Result<Link, CliError> {
    let _waiting = Waiting::new("starting the host");
    Ok(Link::attach_or_start(&ours(), &starter()?).await?)
}

/// An answer to something that was not asked.
pub(crate) fn unexpected(reply: &Reply) -> CliError {
    let message = format!("the host answered something else: {reply:?}");
    CliError::new("host_confused", Exit::NoKernel, message).with_hint("`cellist stop` ends it")
}

/// Runs what a command has to wait for. What still waits in a thread when it is done is left behind.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::new("system", Exit::NoKernel, error.to_string()))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
