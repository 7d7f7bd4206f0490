//! Where requests are answered: owns kernel sessions and open notebooks, in whichever process that is.

mod calls;
mod chats;
mod held;
mod notebooks;
mod runs;
mod tools;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cellist_session::artifact::Artifacts;
use cellist_session::execution::Cancel;
use cellist_session::live::Documents;
use cellist_session::sessions::{Interruption, OwnerId, SessionState, Sessions};
use cellist_tools::Toolbox;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::error::Failure;
use crate::request::{Event, Reply, Request};
pub use chats::AboutCell;
use chats::Chats;
use held::Held;
use runs::Runs;
use tools::Callers;

/// Answers requests. Cheap to clone; all clones are one desk.
#[derive(Clone)]
pub struct Desk {
    sessions: Sessions,
    documents: Documents,
    held: Held,
    toolbox: Toolbox,
    callers: Callers,
    runs: Runs,
    chats: Chats,
    clients: Arc<AtomicU64>,
}

/// Someone who asks: a connection, or a front end in this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client(OwnerId);

/// What a desk keeps for others.
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

impl Desk {
    /// A desk that keeps these sessions, notebooks and artifacts.
    pub fn new(sessions: Sessions, documents: Documents, artifacts: Artifacts) -> Desk {
        sessions.tell_notebooks(Arc::new(documents.clone()));
        let toolbox = Toolbox::new(sessions.clone(), documents.clone(), artifacts);
        let (held, callers, runs, chats) =
            (Held::default(), Callers::default(), Runs::default(), Chats::default());
        Desk { sessions, documents, held, toolbox, callers, runs, chats, clients: Arc::default() }
    }

    /// Someone new.
    pub fn client(&self) -> Client {
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        let owner = OwnerId(format!("client-{}-{number}", std::process::id()));
        self.sessions.join(owner.clone());
        Client(owner)
    }

    /// Someone went away. What it asked for goes on.
    pub fn left(&self, client: &Client) {
        self.held.let_go(client);
        self.callers.let_go(client);
        self.sessions.leave(&client.0);
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

    /// Carries a request out. Dropping the future gives up on the answer, not on what was begun.
    pub async fn answer(
        &self,
        client: &Client,
        request: Request,
        events: watch::Sender<Option<Event>>,
        cancel: Cancel,
    ) -> Result<Reply, Failure> {
        match request {
            Request::Sessions => Ok(Reply::Sessions(self.sessions.list())),
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
            Request::RunNews { run, from } => Ok(Reply::RunNews(self.runs.news(&run, from))),
            Request::Editor(report) => {
                let editor = match report {
                    Some(report) => self.toolbox.hear(*report),
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
            Request::Chat(ask) => Ok(Reply::Chat(self.chat(client, *ask, cancel).await?)),
            Request::Page(_) | Request::Browsers | Request::Revoke(_) => {
                Err(Failure::bad_input("no_page", "only a host serves the page"))
            }
            Request::Tool { tool, arguments } => {
                let answer = self.use_tool(client, &tool, &arguments, events, cancel).await?;
                Ok(Reply::Tool(Box::new(answer)))
            }
            Request::Notebooks => Ok(Reply::Notebooks(self.open_notebooks())),
            Request::Notebook(asked) => {
                Ok(Reply::Notebook(self.on_notebook(client, *asked, events, cancel).await?))
            }
        }
    }

    /// Ends everything that it keeps, and waits for that.
    pub async fn close(&self) {
        // Notebooks first: they may still get outputs from what runs, and are saved with them.
        self.documents.close().await;
        self.sessions.close().await;
    }
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

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
