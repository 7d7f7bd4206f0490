//! Access to the user's host, or to a service in this process.

use std::future::Future;
use std::path::PathBuf;

use cellist_host::{Host, HostClient, HostService, HostStarter, Reply};
use cellist_kernel::guard::Guard;
use cellist_live::Documents;
use cellist_session::orders::ClientEnvironment;
use cellist_session::sessions::{SessionServices, Sessions, Workplace};
use cellist_settings::{Home, Settings};
use cellist_store::Store;

use crate::error::{CliError, Exit, FailureKind};
use crate::kernel::{KernelFlags, guard};
use crate::kernel_log;
use crate::notebook_access::files;
use crate::output::print_to_stderr;
use crate::settings::artifacts;
use crate::spinner::Spinner;

/// The version that hosts and their clients compare.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn user_host() -> Host {
    Host::of(&Home::from_env(), VERSION)
}

/// Starts this binary as a background host.
pub(crate) fn starter() -> Result<HostStarter, CliError> {
    let program = std::env::current_exe().map_err(|error| {
        CliError::new(
            FailureKind::System,
            Exit::NoKernel,
            format!("cannot find the path of this program: {error}"),
        )
    })?;
    Ok(HostStarter { program, arguments: vec!["serve".into(), "--detached".into()] })
}

/// The guard of a host, which writes to the host's log.
pub(crate) fn host_guard() -> Guard {
    guard().with_log(|line| cellist_serve::note(line))
}

/// A service in this process, whose kernels end with it. One that `remembers` reports lost sessions to its
/// successor. Needs a runtime.
pub(crate) fn service(home: &Home, settings: &Settings, remembers: bool) -> HostService {
    let guard = if remembers { host_guard() } else { guard() };
    let mut means =
        SessionServices::local(guard, Some(kernel_log::trace()), home.clone(), artifacts(settings));
    means.remembers = remembers;
    let sessions = Sessions::new(settings.policy(), means);
    let documents = Documents::new(Store::new(home.clone())).reviewing(settings.notebook.review);
    let service = HostService::new(sessions, documents, artifacts(settings));
    if remembers { service } else { service.logging_stages(kernel_log::stages()) }
}

/// Sessions for one command that runs code on this thread. Needs a runtime.
pub(crate) fn sessions_for_run(settings: &Settings) -> Sessions {
    let mut means =
        SessionServices::local(guard(), Some(kernel_log::trace()), Home::from_env(), artifacts(settings));
    means.workplace = Workplace::Shared;
    Sessions::new(settings.policy(), means)
}

fn service_for_run(settings: &Settings) -> HostService {
    let sessions = sessions_for_run(settings);
    let documents = Documents::new(files::store()).reviewing(settings.notebook.review);
    HostService::new(sessions, documents, artifacts(settings)).logging_stages(kernel_log::stages())
}

/// A service for this process only, whose code can call tools.
pub(crate) async fn service_here(settings: &Settings) -> HostService {
    let service = service(&Home::from_env(), settings, false);
    if let Err(error) = cellist_serve::bridge::open(&service).await {
        print_to_stderr(&format!("note: code cannot call tools: {error}"));
    }
    service
}

/// A client of the host, or of a service in this process.
pub(crate) struct HostAccess {
    client: HostClient,
    /// The service, if it is in this process.
    here: Option<HostService>,
}

impl HostAccess {
    /// Connects to the host, starting it if necessary, or to a service in this process. The flags select
    /// kernels. Needs a runtime.
    pub(crate) async fn open(
        standalone: bool,
        settings: &Settings,
        flags: &KernelFlags,
    ) -> Result<HostAccess, CliError> {
        if standalone {
            return Ok(HostAccess::of(service_here(settings).await, flags));
        }
        let client = attach_or_start().await?;
        client.set_environment(to_send(settings, flags));
        Ok(HostAccess { client, here: None })
    }

    /// Connects to a service in this process, for one command that runs code. Needs a runtime.
    pub(crate) fn for_run(settings: &Settings, flags: &KernelFlags) -> HostAccess {
        HostAccess::of(service_for_run(settings), flags)
    }

    fn of(service: HostService, flags: &KernelFlags) -> HostAccess {
        let client = HostClient::in_process(&service);
        client.set_environment(flags.environment());
        HostAccess { client, here: Some(service) }
    }

    pub(crate) fn client(&self) -> &HostClient {
        &self.client
    }

    /// Ends the kernels and notebooks of this process. Returns the copies of notebooks that could not be saved.
    pub(crate) async fn close(self) -> Vec<PathBuf> {
        match self.here {
            Some(service) => service.close().await,
            None => Vec::new(),
        }
    }
}

/// The environment for the host, without secrets.
pub(crate) fn to_send(settings: &Settings, flags: &KernelFlags) -> ClientEnvironment {
    let mut environment = flags.environment();
    let _ = environment.withhold(settings);
    environment
}

/// Connects to the host, starting it if necessary.
pub(crate) async fn attach_or_start() -> Result<HostClient, CliError> {
    let _waiting = Spinner::new("starting the host");
    Ok(HostClient::attach_or_start(&user_host(), &starter()?).await?)
}

/// A reply that does not match the request.
pub(crate) fn unexpected(reply: &Reply) -> CliError {
    cellist_host::Error::Unexpected(Box::new(reply.clone())).into()
}

/// Runs a future to completion. Blocking tasks that still run are abandoned.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::new(FailureKind::System, Exit::NoKernel, error.to_string()))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
