//! The host process: keeps the kernels and open notebooks of a user for all clients. It registers,
//! listens, and stops on request, when idle, or when it loses its registration.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cellist_host::FailureKind;
use cellist_host::hello::HostState;
use cellist_host::{BrowserView, Failure, HostService, PageLink, PageLinkRequest};
use cellist_kernel::guard::Guard;
use cellist_kernel::process::raise_open_files;
use cellist_platform::clock::now_ms;
use cellist_settings::Home;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;

use crate::bridge;
use crate::idle::IdleTimer;
use crate::listen::{self, ConnectionTable, SpareDescriptor};
use crate::log::note;
use crate::page::{self, PageServer};
use crate::registration::HostRegistration;
use crate::unix_client;

/// Time for kernels to end when the host stops. After that the guard kills them.
const KERNELS_END: Duration = Duration::from_secs(20);

/// The options of a host.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The state folder.
    pub home: Home,
    /// The version of the program.
    pub version: String,
    /// The rule for an idle host.
    pub staying: IdlePolicy,
    /// The file that standard error goes to.
    pub log: Option<PathBuf>,
    /// The page to serve from the start.
    pub page: Option<PageLinkRequest>,
}

/// The rule for an idle host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdlePolicy {
    /// Stop after being idle for this long.
    WhileNeeded(Duration),
    /// Run until it is stopped.
    UntilStopped,
}

/// The reason why a host cannot start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message documents each variant")]
pub enum CannotServe {
    #[error("a host is already running")]
    Taken,
    #[error("{}: the state folder cannot be used: {error}", .folder.display())]
    NoState { folder: PathBuf, error: io::Error },
}

/// A registered host.
///
/// [`HostServer::open`] takes the registration of the state folder, and [`HostServer::run`] serves
/// until a stop is requested. On a stop the host first closes its socket, then ends kernels and
/// notebooks. It keeps its lock until they have ended or a time limit is over. The guard ends
/// kernels that take longer.
#[derive(Debug)]
pub struct HostServer {
    options: ServeOptions,
    registration: HostRegistration,
    started: u64,
}

/// State shared by all parts of a host.
pub(crate) struct HostShared {
    pub(crate) service: HostService,
    options: ServeOptions,
    started: u64,
    clients: AtomicUsize,
    is_closed: AtomicBool,
    stopping: watch::Sender<Option<&'static str>>,
    page: OnceCell<Arc<PageServer>>,
    /// Connections to the host's socket.
    connections: Arc<ConnectionTable>,
}

impl HostServer {
    /// Registers as the host of the state folder. Fails if another host is registered. Needs a
    /// runtime.
    pub fn open(options: ServeOptions, guard: &Guard) -> Result<HostServer, CannotServe> {
        let failed = |error| CannotServe::NoState { folder: options.home.path().to_owned(), error };
        options.home.refuse_foreign().map_err(failed)?;
        let registration = HostRegistration::open(&options.home, &options.version, guard).map_err(failed)?;
        let registration = registration.ok_or(CannotServe::Taken)?;
        guard.sweep();
        raise_open_files();
        Ok(HostServer { options, registration, started: now_ms() })
    }

    /// Serves until a stop is requested, then ends kernels and notebooks. Fails if the page cannot
    /// be served from the start.
    pub async fn run(self, service: HostService) -> Result<(), Failure> {
        let HostServer { options, mut registration, started } = self;
        note(format_args!(
            "cellist {} serves {} (pid {})",
            options.version,
            options.home.path().display(),
            std::process::id()
        ));
        let shared = Arc::new(HostShared {
            service: service.keeping_chats(&options.home),
            options,
            started,
            clients: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            stopping: watch::Sender::new(None),
            page: OnceCell::new(),
            connections: ConnectionTable::new(MAX_GREETING, MAX_CLIENTS),
        });
        let mut served = Ok(());
        if let Some(ask) = &shared.options.page {
            match shared.page(ask).await {
                // Other users may read a log file.
                Ok(PageLink { link, .. }) if io::stderr().is_terminal() => {
                    note(format_args!("open the page once with {link}"));
                }
                Ok(_) => note("open the page with `cellist open`"),
                Err(failure) => {
                    served = Err(failure);
                    shared.stop("the page cannot be served");
                }
            }
        }
        if let Err(error) = bridge::open(&shared.service).await {
            note(format_args!("code in kernels cannot call tools: {error}"));
        }
        let watching = tokio::spawn(watch_signals_and_idleness(shared.clone()));
        let mut check = tokio::time::interval(CHECK_INTERVAL);
        let mut spare = SpareDescriptor::reserve();
        loop {
            tokio::select! {
                () = shared.stopped() => break,
                () = async { tokio::select! { _ = check.tick() => (), () = registration.disturbed() => () } } => {
                    if !registration.restore() {
                        shared.stop("the state folder is gone or has another host");
                    }
                },
                accepted = registration.socket.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let slot = shared.connections.slot();
                        tokio::spawn(unix_client::serve_connection(stream, slot, shared.clone()));
                        spare.reserve_again();
                    }
                    Err(error) => {
                        listen::accept_failed("a client", &error);
                        // Usually too many open files, which passes.
                        if !spare.release() {
                            tokio::time::sleep(listen::PAUSE).await;
                        }
                    }
                },
            }
        }
        watching.abort();
        let why = (*shared.stopping.borrow()).unwrap_or("requested");
        note(format_args!("stopping: {why}"));
        let claim = registration.close();
        if tokio::time::timeout(KERNELS_END, shared.service.close()).await.is_err() {
            note("some kernels did not end in time; the guard ends them");
        }
        if let Some(page) = shared.page.get() {
            page.close();
        }
        drop(claim);
        served
    }
}

/// Limits on connections before and after the greeting. Lower if few files may be open.
const MAX_GREETING: usize = 256;
const MAX_CLIENTS: usize = 1024;

/// Interval of the check whether clients can still find the host.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

impl HostShared {
    /// The state of the host. Only attached clients are counted.
    pub(crate) fn state(&self) -> HostState {
        let keeping = self.service.counts();
        HostState {
            version: self.options.version.clone(),
            pid: std::process::id(),
            started: self.started,
            background: self.options.staying != IdlePolicy::UntilStopped,
            sessions: keeping.sessions,
            busy: keeping.busy,
            notebooks: keeping.notebooks,
            chats: keeping.chats,
            clients: self.clients.load(Ordering::SeqCst),
            log: self.options.log.clone(),
            page: self.page.get().map(|page| page.port()),
        }
    }

    /// The host's version.
    pub(crate) fn version(&self) -> &str {
        &self.options.version
    }

    /// Whether the limit on clients is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.connections.is_full()
    }

    /// The state folder.
    pub(crate) fn home(&self) -> &Home {
        &self.options.home
    }

    /// A link to the page. Starts to serve the page if needed.
    pub(crate) async fn page(self: &Arc<HostShared>, ask: &PageLinkRequest) -> Result<PageLink, Failure> {
        let failed = |error: io::Error| {
            let port = ask.port.map(|port| format!(" on port {port}")).unwrap_or_default();
            let why = cellist_platform::in_words(&error);
            Failure::bad_input(FailureKind::NoPage, format!("the page cannot be served{port}: {why}"))
        };
        let page =
            self.page.get_or_try_init(|| PageServer::listen(self.clone(), ask)).await.map_err(failed)?;
        if let Some(port) = ask.port.filter(|port| *port != page.port()) {
            let message = format!("the page is already served on port {}, not {port}", page.port());
            return Err(Failure::bad_input(FailureKind::OtherPort, message));
        }
        page.link(ask).map_err(failed)
    }

    /// The signed-in browsers.
    pub(crate) fn browsers(&self) -> Vec<BrowserView> {
        self.page.get().map_or_else(|| page::browsers(self.home()), |page| page.browsers())
    }

    /// Revokes one browser, or all.
    pub(crate) fn revoke(&self, id: Option<&str>) -> Result<Vec<BrowserView>, Failure> {
        let gone = self.page.get().map_or_else(|| page::revoke(self.home(), id), |page| page.revoke(id));
        gone.map_err(|error| {
            let why = cellist_platform::in_words(&error);
            Failure::bad_input(FailureKind::NotKept, format!("the list of browsers cannot be written: {why}"))
        })
    }

    /// Requests the stop of the host. The first reason wins.
    pub(crate) fn stop(&self, why: &'static str) {
        self.stopping.send_if_modified(|stopping| stopping.replace(why).is_none());
    }

    /// Resolves when a stop is requested.
    pub(crate) async fn stopped(&self) {
        let _ = self.stopping.subscribe().wait_for(Option::is_some).await;
    }

    /// Counts a client until the result is dropped. `None` once the host is closed.
    pub(crate) fn attach(self: &Arc<HostShared>) -> Option<AttachedClient> {
        self.clients.fetch_add(1, Ordering::SeqCst);
        let attached = AttachedClient(self.clone());
        (!self.is_closed.load(Ordering::SeqCst)).then_some(attached)
    }

    /// Refuses all new clients.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    /// Refuses all new clients, unless the host is in use. Returns whether it is closed.
    pub(crate) fn close_if_unneeded(&self) -> bool {
        // A client that arrives between these lines is refused or counted.
        let was_closed = self.is_closed.swap(true, Ordering::SeqCst);
        let is_needed = self.state().is_needed();
        if is_needed && !was_closed {
            self.is_closed.store(false, Ordering::SeqCst);
        }
        !is_needed
    }
}

/// An attached client.
pub(crate) struct AttachedClient(Arc<HostShared>);

impl Drop for AttachedClient {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Stops the host on signals and when it is idle.
async fn watch_signals_and_idleness(shared: Arc<HostShared>) {
    let mut kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
    // A background host survives the end of its terminal.
    if shared.options.staying == IdlePolicy::UntilStopped {
        kinds.push(SignalKind::hangup());
    }
    for kind in kinds {
        let Ok(mut signals) = signal(kind) else { continue };
        let shared = shared.clone();
        tokio::spawn(async move {
            signals.recv().await;
            shared.stop("received a signal");
        });
    }
    let IdlePolicy::WhileNeeded(linger) = shared.options.staying else { return };
    let _ignored = signal(SignalKind::hangup());
    let mut idle = IdleTimer::new(linger);
    let mut ticks = tokio::time::interval(idle.interval());
    loop {
        ticks.tick().await;
        if idle.expires(shared.state().is_needed(), Instant::now()) && shared.close_if_unneeded() {
            shared.stop("idle");
        }
    }
}
