//! The host: one process of a user that keeps kernels and open notebooks for all others. It registers, listens, and
//! leaves when it is told to, when nobody needs it any more, or when its place was taken away.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cellist_host::FailureKind;
use cellist_host::hello::HostState;
use cellist_host::{BrowserView, Failure, HostService, PageAsk, PageLink};
use cellist_kernel::guard::Guard;
use cellist_kernel::process::raise_open_files;
use cellist_platform::clock::now_ms;
use cellist_settings::Home;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;

use crate::bridge;
use crate::idle::Idle;
use crate::listen::{self, Crowd, Spare};
use crate::log::note;
use crate::page::{self, Page};
use crate::registered::Registered;
use crate::visitor;

/// How long kernels may take to end when the host does. After that its guard ends them.
const CLOSING: Duration = Duration::from_secs(20);

/// How a host is to serve.
#[derive(Clone, Debug)]
pub struct Serving {
    /// The state folder that it serves.
    pub home: Home,
    /// Its version.
    pub version: String,
    /// When it leaves by itself.
    pub staying: Staying,
    /// Where its standard error goes, if that is a file.
    pub log: Option<PathBuf>,
    /// How the page is served from the start, if it is.
    pub page: Option<PageAsk>,
}

/// When a host leaves by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staying {
    /// When it was not needed for this long.
    WhileNeeded(Duration),
    /// Never.
    UntilStopped,
}

/// Why a host cannot serve.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum CannotServe {
    #[error("a host is already running")]
    Taken,
    #[error("{}: the state folder cannot be used: {error}", .folder.display())]
    NoState { folder: PathBuf, error: io::Error },
}

/// A host that can be reached.
#[derive(Debug)]
pub struct Host {
    serving: Serving,
    registered: Registered,
    started: u64,
}

/// What all parts of a host share.
pub(crate) struct Shared {
    pub(crate) service: HostService,
    serving: Serving,
    started: u64,
    clients: AtomicUsize,
    is_closed: AtomicBool,
    leaving: watch::Sender<Option<&'static str>>,
    page: OnceCell<Arc<Page>>,
    /// Whoever is at the socket.
    visitors: Arc<Crowd>,
}

impl Host {
    /// Becomes the host of the state folder, if there is none. Needs a runtime.
    pub fn open(serving: Serving, guard: &Guard) -> Result<Host, CannotServe> {
        let failed = |error| CannotServe::NoState { folder: serving.home.path().to_owned(), error };
        serving.home.refuse_foreign().map_err(failed)?;
        let registered = Registered::open(&serving.home, &serving.version, guard).map_err(failed)?;
        let registered = registered.ok_or(CannotServe::Taken)?;
        guard.sweep();
        raise_open_files();
        Ok(Host { serving, registered, started: now_ms() })
    }

    /// Serves until it is time to leave; everything that it keeps has ended then. Fails when it cannot serve what it was
    /// to serve from the start.
    pub async fn run(self, service: HostService) -> Result<(), Failure> {
        let Host { serving, mut registered, started } = self;
        note(format_args!(
            "cellist {} serves {} as process {}",
            serving.version,
            serving.home.path().display(),
            std::process::id()
        ));
        let shared = Arc::new(Shared {
            service: service.keeping_chats(&serving.home),
            serving,
            started,
            clients: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            leaving: watch::Sender::new(None),
            page: OnceCell::new(),
            visitors: Crowd::new(MOST_GREETING, MOST_CLIENTS),
        });
        let mut served = Ok(());
        if let Some(ask) = &shared.serving.page {
            match shared.page(ask).await {
                // A log may be read by others.
                Ok(PageLink { link, .. }) if io::stderr().is_terminal() => {
                    note(format_args!("open it once with {link}"));
                }
                Ok(_) => note("open it with `cellist open`"),
                Err(failure) => {
                    served = Err(failure);
                    shared.leave("the page cannot be served");
                }
            }
        }
        if let Err(error) = bridge::open(&shared.service).await {
            note(format_args!("code cannot call tools: {error}"));
        }
        let watching = tokio::spawn(watch_over(shared.clone()));
        let mut look = tokio::time::interval(HOLD);
        let mut spare = Spare::hold();
        loop {
            tokio::select! {
                () = shared.left() => break,
                () = async { tokio::select! { _ = look.tick() => (), () = registered.disturbed() => () } } => {
                    if !registered.restore() {
                        shared.leave("its place in the state folder is gone");
                    }
                },
                visit = registered.socket.listener.accept() => match visit {
                    Ok((stream, _)) => {
                        let seat = shared.visitors.seat();
                        tokio::spawn(visitor::receive(stream, seat, shared.clone()));
                        spare.hold_again();
                    }
                    Err(error) => {
                        listen::failed("a visitor", &error);
                        // Most likely there are too many open files, and a moment later there are fewer.
                        if !spare.give_up() {
                            tokio::time::sleep(listen::PAUSE).await;
                        }
                    }
                },
            }
        }
        watching.abort();
        let why = (*shared.leaving.borrow()).unwrap_or("it was told to");
        note(format_args!("leaves: {why}"));
        let claim = registered.close();
        if tokio::time::timeout(CLOSING, shared.service.close()).await.is_err() {
            note("not all kernels ended in time; the guard ends them");
        }
        if let Some(page) = shared.page.get() {
            page.close();
        }
        drop(claim);
        served
    }
}

/// The most visitors that have not said what they want, and the most clients. Both are less where few files may be open.
const MOST_GREETING: usize = 256;
const MOST_CLIENTS: usize = 1024;

/// How often the host makes sure that others can still find it.
const HOLD: Duration = Duration::from_secs(10);

impl Shared {
    /// What the host is now. A visitor is not counted among the clients unless it is attached.
    pub(crate) fn state(&self) -> HostState {
        let keeping = self.service.keeping();
        HostState {
            version: self.serving.version.clone(),
            pid: std::process::id(),
            started: self.started,
            background: self.serving.staying != Staying::UntilStopped,
            sessions: keeping.sessions,
            busy: keeping.busy,
            notebooks: keeping.notebooks,
            chats: keeping.chats,
            clients: self.clients.load(Ordering::SeqCst),
            log: self.serving.log.clone(),
            page: self.page.get().map(|page| page.port()),
        }
    }

    /// The host's version.
    pub(crate) fn version(&self) -> &str {
        &self.serving.version
    }

    /// Whether there are as many clients as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.visitors.is_full()
    }

    /// The state folder.
    pub(crate) fn home(&self) -> &Home {
        &self.serving.home
    }

    /// A link to the page, which is served from now on.
    pub(crate) async fn page(self: &Arc<Shared>, ask: &PageAsk) -> Result<PageLink, Failure> {
        let failed = |error: io::Error| {
            let port = ask.port.map(|port| format!(" at port {port}")).unwrap_or_default();
            let why = cellist_platform::in_words(&error);
            Failure::bad_input(FailureKind::NoPage, format!("the page cannot be served{port}: {why}"))
        };
        let page = self.page.get_or_try_init(|| Page::listen(self.clone(), ask)).await.map_err(failed)?;
        if let Some(port) = ask.port.filter(|port| *port != page.port()) {
            let message = format!("the page is served at port {} already, not at {port}", page.port());
            return Err(Failure::bad_input(FailureKind::OtherPort, message));
        }
        page.link(ask).map_err(failed)
    }

    /// The browsers that were let in.
    pub(crate) fn browsers(&self) -> Vec<BrowserView> {
        self.page.get().map_or_else(|| page::browsers(self.home()), |page| page.browsers())
    }

    /// Ends a browser, or all of them.
    pub(crate) fn revoke(&self, id: Option<&str>) -> Result<Vec<BrowserView>, Failure> {
        let gone = self.page.get().map_or_else(|| page::revoke(self.home(), id), |page| page.revoke(id));
        gone.map_err(|error| {
            let why = cellist_platform::in_words(&error);
            Failure::bad_input(FailureKind::NotKept, format!("the list of browsers cannot be written: {why}"))
        })
    }

    /// Ends the host.
    pub(crate) fn leave(&self, why: &'static str) {
        self.leaving.send_if_modified(|leaving| leaving.replace(why).is_none());
    }

    /// Resolves when the host leaves.
    pub(crate) async fn left(&self) {
        let _ = self.leaving.subscribe().wait_for(Option::is_some).await;
    }

    /// Counts a client for as long as the result is kept; none is let in once the host is closed.
    pub(crate) fn attached(self: &Arc<Shared>) -> Option<Attached> {
        self.clients.fetch_add(1, Ordering::SeqCst);
        let attached = Attached(self.clone());
        (!self.is_closed.load(Ordering::SeqCst)).then_some(attached)
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    /// Lets nobody in any more, unless someone needs the host.
    pub(crate) fn close_if_unneeded(&self) -> bool {
        // A client that comes between the two lines is either refused or seen.
        let was_closed = self.is_closed.swap(true, Ordering::SeqCst);
        let is_needed = self.state().is_needed();
        if is_needed && !was_closed {
            self.is_closed.store(false, Ordering::SeqCst);
        }
        !is_needed
    }
}

/// A client that is attached.
pub(crate) struct Attached(Arc<Shared>);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends the host on signals, and when nobody needs it.
async fn watch_over(shared: Arc<Shared>) {
    let mut kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
    // In the background nobody hangs up on purpose.
    if shared.serving.staying == Staying::UntilStopped {
        kinds.push(SignalKind::hangup());
    }
    for kind in kinds {
        let Ok(mut signals) = signal(kind) else { continue };
        let shared = shared.clone();
        tokio::spawn(async move {
            signals.recv().await;
            shared.leave("a signal asked it to");
        });
    }
    let Staying::WhileNeeded(linger) = shared.serving.staying else { return };
    let _ignored = signal(SignalKind::hangup());
    let mut idle = Idle::new(linger);
    let mut ticks = tokio::time::interval(idle.pace());
    loop {
        ticks.tick().await;
        if idle.leaves(shared.state().is_needed(), Instant::now()) && shared.close_if_unneeded() {
            shared.leave("nobody needs it");
        }
    }
}
