//! Where requests are answered: owns kernel sessions and open notebooks, in whichever process that is.

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
use crate::protocol::notebook::NotebookAsk;
use crate::protocol::request::{Event, Reply, Request};
use chats::Chats;

pub use clients::{Client, PageUser};
use feed::Feeds;
use presence::Presence;
pub use run_queue::RunPlace;
use run_queue::RunQueue;
use tools::Callers;

/// Answers requests. Cheap to clone; all clones are one service.
#[derive(Clone)]
pub struct HostService {
    sessions: Sessions,
    documents: Documents,
    feeds: Feeds,
    presence: Presence,
    toolbox: Toolbox,
    callers: Callers,
    chats: Chats,
    runs: RunQueue,
    clients: Arc<AtomicU64>,
    stage_log: Option<StageLog>,
}

/// What a service keeps for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Kernel sessions.
    pub sessions: usize,
    /// How many of them run code.
    pub busy: usize,
    /// Open notebooks.
    pub notebooks: usize,
    /// Conversations that someone may come back to.
    pub chats: usize,
}

impl HostService {
    /// A service that keeps these sessions, notebooks and artifacts.
    pub fn new(sessions: Sessions, documents: Documents, artifacts: Artifacts) -> HostService {
        sessions.set_notebooks(Arc::new(documents.clone()));
        let toolbox = Toolbox::new(sessions.clone(), documents.clone(), artifacts);
        HostService {
            sessions,
            documents,
            toolbox,
            feeds: Feeds::default(),
            presence: Presence::default(),
            callers: Callers::default(),
            chats: Chats::default(),
            runs: RunQueue::default(),
            clients: Arc::default(),
            stage_log: None,
        }
    }

    /// Logs the stages of starts, for clients that ask for them. Without a log, they are notices of a call.
    #[must_use]
    pub fn logging_stages(self, log: StageLog) -> HostService {
        HostService { stage_log: Some(log), ..self }
    }

    /// A new client.
    pub fn client(&self) -> Client {
        self.join("client", None)
    }

    /// A new page.
    pub fn page_client(&self, user: PageUser) -> Client {
        self.join("page", Some(user))
    }

    fn join(&self, kind: &str, page: Option<PageUser>) -> Client {
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        let owner = OwnerId(format!("{kind}-{}-{number}", std::process::id()));
        self.sessions.join(owner.clone());
        Client::new(owner, page)
    }

    /// A client is gone. What it asked for goes on.
    pub fn left(&self, client: &Client) {
        for document in self.feeds.let_go(client) {
            self.absent(client, document.path());
        }
        self.callers.let_go(client.owner());
        self.sessions.leave(client.owner());
    }

    /// Notes the cells that agents read, until the service ends.
    pub async fn watch_agents(&self) {
        let mut glances = self.toolbox.cells_read();
        loop {
            match glances.recv().await {
                Ok(glance) => self.presence.read(glance),
                // Older glances are not worth waiting for.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// The open notebooks that it keeps.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The tools that agents call.
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// The kernel sessions that it keeps.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// What it keeps now.
    pub fn keeping(&self) -> Keeping {
        let sessions = self.sessions.list();
        let busy = sessions.iter().filter(|session| session.state == SessionState::Busy).count();
        Keeping {
            sessions: sessions.len(),
            busy,
            notebooks: self.documents.list().len(),
            chats: self.chats.count(),
        }
    }

    /// Takes a request in: notes the environment of its client, and gives a run its place among those of its notebook.
    /// Requests must enter in the order in which they came; they are answered in any order.
    pub fn enter(&self, client: &Client, request: &Request) -> Option<RunPlace> {
        if let Request::Environment(environment) = request {
            client.set_environment(ClientEnvironment::clone(environment));
        }
        let Request::Notebook(asked) = request else { return None };
        let NotebookAsk::Run(_) = asked.ask else { return None };
        let path = self.documents.store().real_path(&asked.path).ok()?;
        Some(self.runs.enter(path, self.clients.fetch_add(1, Ordering::Relaxed)))
    }

    /// Carries a request out. Dropping the future gives up on the answer, not on code that was started.
    pub async fn answer(
        &self,
        client: &Client,
        request: Request,
        place: Option<RunPlace>,
        events: watch::Sender<Option<Event>>,
        cancel: Cancel,
    ) -> Result<Reply, Failure> {
        match request {
            Request::Sessions => Ok(Reply::Sessions(self.sessions.list())),
            // Taken in when it came.
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
                let found = patiently(|| self.sessions.complete(&key, code.clone(), cursor)).await;
                let found = found.unwrap_or_default();
                Ok(Reply::Completion { matches: found.matches, start: found.start, end: found.end })
            }
            Request::Inspect { session, code, cursor } => {
                let key = self.find(&session)?;
                let found = patiently(|| self.sessions.inspect(&key, code.clone(), cursor)).await;
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
                Err(Failure::bad_input(FailureKind::NoPage, "only a host serves the page"))
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

    /// Ends everything that it keeps, and waits for that. Returns the copies of notebooks that could not be saved.
    pub async fn close(&self) -> Vec<PathBuf> {
        // Notebooks first: they may still get outputs from running code, and are saved with them.
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

/// Asks a session that has no time until it has: one that has just answered is busy for a moment longer.
async fn patiently<T, F: Future<Output = Option<T>>>(ask: impl Fn() -> F) -> Option<T> {
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
