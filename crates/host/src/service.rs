//! The host service: owns the kernel sessions, open notebooks and conversations, and answers requests.

mod calls;
mod chat_front;
mod chat_setup;
mod chats;
mod clients;
mod feed;
mod files;
mod notebooks;
mod presence;
mod run_queue;
mod run_stop;
mod runs;
mod tools;
mod turns;

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cellist_live::Documents;
use cellist_platform::FailureKind;
use cellist_platform::aside::aside;
use cellist_session::execution::Cancel;
use cellist_session::orders::{ClientEnvironment, StageLog};
use cellist_session::sessions::{Interruption, OwnerId, SessionState, Sessions};
use cellist_store::artifact::Artifacts;
use cellist_tools::Toolbox;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::error::Failure;
use crate::protocol::notebook::NotebookAction;
use crate::protocol::request::{Event, Reply, Request};
use chats::ChatRegistry;

pub use clients::{PageUser, ServiceClient};
use feed::FeedRegistry;
use presence::Presence;
use run_queue::RunQueue;
pub use run_queue::RunSlot;
use tools::AgentRegistry;

/// The host service. Cheap to clone; all clones are one service.
///
/// - **Ownership**: it owns sessions, notebooks and conversations. They outlive the clients, until
///   [`close`](HostService::close).
/// - **Order**: call [`accept`](HostService::accept) for each request in the order of arrival, then
///   [`answer`](HostService::answer) in any order.
/// - **Cancellation**: dropping the future of `answer` gives up the reply. Code that was started goes on; the `cancel`
///   argument interrupts it.
/// - **Errors**: each failure is a [`Failure`] for the client. A caller must contain panics.
#[derive(Clone)]
pub struct HostService {
    sessions: Sessions,
    documents: Documents,
    feeds: FeedRegistry,
    presence: Presence,
    toolbox: Toolbox,
    callers: AgentRegistry,
    chats: ChatRegistry,
    runs: RunQueue,
    clients: Arc<AtomicU64>,
    stage_log: Option<StageLog>,
}

/// The numbers of sessions, notebooks and conversations in a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostedCounts {
    /// Kernel sessions.
    pub sessions: usize,
    /// The sessions that run code.
    pub busy: usize,
    /// Open notebooks.
    pub notebooks: usize,
    /// Recent conversations.
    pub chats: usize,
}

impl HostService {
    /// Creates a service with these sessions, notebooks and artifacts.
    pub fn new(sessions: Sessions, documents: Documents, artifacts: Artifacts) -> HostService {
        sessions.set_notebooks(Arc::new(documents.clone()));
        let toolbox = Toolbox::new(sessions.clone(), documents.clone(), artifacts);
        HostService {
            sessions,
            documents,
            toolbox,
            feeds: FeedRegistry::default(),
            presence: Presence::default(),
            callers: AgentRegistry::default(),
            chats: ChatRegistry::default(),
            runs: RunQueue::default(),
            clients: Arc::default(),
            stage_log: None,
        }
    }

    /// Sets the log for the stages of kernel starts. Without a log, the stages become notices of the call.
    #[must_use]
    pub fn logging_stages(self, log: StageLog) -> HostService {
        HostService { stage_log: Some(log), ..self }
    }

    /// Adds a client.
    pub fn client(&self) -> ServiceClient {
        self.join("client", None)
    }

    /// Adds a page.
    pub fn page_client(&self, user: PageUser) -> ServiceClient {
        self.join("page", Some(user))
    }

    fn join(&self, kind: &str, page: Option<PageUser>) -> ServiceClient {
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        let owner = OwnerId(format!("{kind}-{}-{number}", std::process::id()));
        self.sessions.join(owner.clone());
        ServiceClient::new(owner, page)
    }

    /// Removes a client. Its runs go on, except in sessions that it owns.
    pub fn remove_client(&self, client: &ServiceClient) {
        for document in self.feeds.remove(client) {
            self.absent(client, document.path());
        }
        self.callers.remove(client.owner());
        self.sessions.leave(client.owner());
    }

    /// Records the cells that agents read, until the service ends.
    pub async fn watch_agents(&self) {
        let mut glances = self.toolbox.cells_read();
        loop {
            match glances.recv().await {
                Ok(glance) => self.presence.read(glance),
                // Missed reads are outdated anyway.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// The open notebooks.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The tools that agents call.
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// The kernel sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Counts the sessions, notebooks and conversations.
    pub fn counts(&self) -> HostedCounts {
        let sessions = self.sessions.list();
        let busy = sessions.iter().filter(|session| session.state == SessionState::Busy).count();
        HostedCounts {
            sessions: sessions.len(),
            busy,
            notebooks: self.documents.list().len(),
            chats: self.chats.count(),
        }
    }

    /// Accepts a request: sets the environment of its client, and queues a run of a page. Must be called in the order of
    /// arrival.
    pub fn accept(&self, client: &ServiceClient, request: &Request) -> Option<RunSlot> {
        if let Request::Environment(environment) = request {
            client.set_environment(ClientEnvironment::clone(environment));
        }
        let Request::Notebook(asked) = request else { return None };
        let NotebookAction::Run(_) = asked.ask else { return None };
        let path = self.documents.store().real_path(&asked.path).ok()?;
        Some(self.runs.enter(path, self.clients.fetch_add(1, Ordering::Relaxed)))
    }

    /// Answers a request. Dropping the future gives up the reply, but does not stop code.
    pub async fn answer(
        &self,
        client: &ServiceClient,
        request: Request,
        place: Option<RunSlot>,
        events: watch::Sender<Option<Event>>,
        cancel: Cancel,
    ) -> Result<Reply, Failure> {
        match request {
            Request::Sessions => Ok(Reply::Sessions(self.sessions.list())),
            // Applied by `accept`.
            Request::Environment(_) => Ok(Reply::Done),
            Request::Start(call) => self.start(client, *call, events, cancel).await,
            Request::Call(call) => self.call(client, *call, events, cancel).await,
            Request::Interrupt { session, force } => {
                let running = self.sessions.running(&self.find(&session)?)?;
                Ok(Reply::Interrupted(match running {
                    Some(ticket) => ticket.interrupt(force).await,
                    None => Interruption::NothingRan,
                }))
            }
            Request::Complete { session, code, cursor } => {
                let key = self.find(&session)?;
                let found = retry_while_busy(|| self.sessions.complete(&key, code.clone(), cursor)).await;
                let found = found.unwrap_or_default();
                Ok(Reply::Completion { matches: found.matches, start: found.start, end: found.end })
            }
            Request::Inspect { session, code, cursor } => {
                let key = self.find(&session)?;
                let found = retry_while_busy(|| self.sessions.inspect(&key, code.clone(), cursor)).await;
                let known = found.filter(|found| found.found).map(|found| found.data.readable().into_owned());
                Ok(Reply::Inspection(known))
            }
            Request::Restart(named) => {
                self.sessions.restart(&self.find(&named)?).await?;
                Ok(Reply::Done)
            }
            Request::End(named) => {
                self.sessions.stop(&self.find(&named)?).await?;
                Ok(Reply::Done)
            }
            Request::Run(run) => self.run(client, *run, events, cancel).await,
            Request::Editor(report) => {
                let editor = match report {
                    Some(report) => self.toolbox.apply_report(*report),
                    None => self.toolbox.editor(),
                };
                Ok(Reply::Editor(Box::new(editor)))
            }
            Request::NextEditor(known) => Ok(self.next_editor(&known, cancel).await),
            Request::Context { editor, redaction } => self.context(&editor, &redaction).await,
            Request::Introduce(caller) => {
                self.callers.introduce(client, *caller);
                Ok(Reply::Done)
            }
            Request::Consent { path } => {
                self.callers.consent(client, path);
                Ok(Reply::Done)
            }
            Request::Files { folder } => {
                let folder = folder.map_or_else(|| client.page().map(PageUser::folder), Ok)?;
                blocking(move || files::list(&folder)).await.map(Reply::Folder)
            }
            Request::Create { folder, name } => {
                let store = self.documents.store().clone();
                let made = blocking(move || files::create(&store, &folder, &name)).await?;
                Ok(Reply::Created(made.to_string_lossy().into_owned()))
            }
            Request::Chat(ask) => Ok(Reply::Chat(self.chat(client, *ask, cancel).await?)),
            Request::Page(_) | Request::Browsers | Request::Revoke(_) => {
                Err(Failure::bad_input(FailureKind::NoPage, "the page needs a host"))
            }
            Request::Tool { tool, arguments } => {
                let answer = self.use_tool(client, &tool, &arguments, events, cancel).await?;
                Ok(Reply::Tool(Box::new(answer)))
            }
            Request::Notebooks => Ok(Reply::Notebooks(self.open_notebooks())),
            Request::Notebook(asked) => {
                Ok(Reply::Notebook(self.on_notebook(client, *asked, place, cancel).await?))
            }
        }
    }

    /// Saves and closes all notebooks, and ends all sessions. Returns the rescue copies of notebooks that could not be saved.
    pub async fn close(&self) -> Vec<PathBuf> {
        // Notebooks first, so that outputs of running code are still saved.
        let rescued = self.documents.close().await;
        self.sessions.close().await;
        rescued
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    aside(work).await.map_err(Failure::internal)?
}

/// Retries while the session is busy: after a reply it stays busy for a moment.
async fn retry_while_busy<T, F: Future<Output = Option<T>>>(ask: impl Fn() -> F) -> Option<T> {
    const PATIENCE: Duration = Duration::from_secs(2);
    const PAUSE: Duration = Duration::from_millis(20);
    let until = Instant::now() + PATIENCE;
    loop {
        let answer = ask().await;
        if answer.is_some() || Instant::now() >= until {
            return answer;
        }
        sleep(PAUSE).await;
    }
}

impl fmt::Debug for HostService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostService").finish_non_exhaustive()
    }
}
