//! A kernel as its callers see it, the same for every way that messages travel: what it may be asked when, and how its
//! answers read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cellist_output::MimeBundle;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::client::Client;
use super::listener::{Begin, Command, EVENTS};
use super::setup;
use crate::current::Current;
use crate::error::{Error, Result};
use crate::event::{Death, Event};
use crate::kernel::{Completeness, Completion, Execution, ExecutionId, Inspection, Request, State};

/// How long an idle kernel may think about an answer. The first completion of a process loads libraries, which takes
/// seconds on a machine that is busy.
const ANSWER: Duration = Duration::from_secs(20);

/// How long to try a kernel that works for someone else.
const TAKEN: Duration = Duration::from_millis(300);

pub(crate) struct Front {
    pub(crate) state: Arc<watch::Sender<State>>,
    client: Current<Client>,
    next: AtomicU64,
}

impl Front {
    pub(crate) fn new(client: Arc<Client>, state: Arc<watch::Sender<State>>) -> Front {
        Front { state, client: Current::new(client), next: AtomicU64::new(1) }
    }

    /// The process as it is now.
    pub(crate) fn client(&self) -> Arc<Client> {
        self.client.get()
    }

    /// Another process is in the place of the last one, and ready.
    pub(crate) fn replace(&self, client: Arc<Client>) {
        self.client.replace(client);
        self.state.send_replace(State::Idle);
    }

    /// From now on the kernel is starting. Whoever waits for it may go away, and it must not be starting for ever
    /// then: it is dead when what this returns is dropped before it is ready.
    pub(crate) fn starting(&self) -> impl Drop {
        self.state.send_replace(State::Starting);
        DeadUnlessReady(self.state.clone())
    }

    /// It is gone, by our doing, unless it was before.
    pub(crate) fn end(&self) {
        self.state.send_if_modified(|state| match state {
            State::Dead(_) => false,
            _ => {
                *state = State::Dead(Death::Unknown);
                true
            }
        });
    }

    /// How it died, if it did.
    pub(crate) fn death(&self) -> Option<Death> {
        match &*self.state.borrow() {
            State::Dead(death) => Some(death.clone()),
            State::Starting | State::Idle | State::Busy(_) => None,
        }
    }

    fn gone(&self) -> Error {
        refusal(&self.state.borrow()).unwrap_or(Error::Dead { death: Death::Unknown })
    }

    pub(crate) async fn execute(&self, request: Request) -> Result<Execution> {
        let client = self.client();
        let place = client.commands.reserve().await.map_err(|_| self.gone())?;
        // From here on nothing waits: either all of it happens or nothing.
        let id = ExecutionId(self.next.fetch_add(1, Ordering::Relaxed));
        let mut refused = None;
        self.state.send_if_modified(|state| {
            refused = refusal(state);
            if refused.is_none() {
                *state = State::Busy(id);
            }
            refused.is_none()
        });
        if let Some(refused) = refused {
            return Err(refused);
        }
        let python = client.is_python();
        let mut messages = Vec::new();
        if python {
            messages.extend(client.set_variables(&request.variables));
        }
        let content = setup::execute(&request.code, request.hidden);
        let (message, frames) = client.session.build("execute_request", None, &content);
        messages.push(frames);
        let (sender, events) = mpsc::channel(EVENTS);
        let (tag, hidden) = (request.tag, request.hidden);
        let begin = Begin { id, request: message, tag, messages, hidden, python, events: sender };
        place.send(Command::Begin(begin));
        Ok(Execution { id, events })
    }

    pub(crate) async fn late(&self) -> Event {
        let client = self.client();
        client.late.next().await
    }

    pub(crate) async fn interrupt(&self, execution: ExecutionId) -> Result<()> {
        if *self.state.borrow() == State::Busy(execution) {
            // A listener that is gone has told that the kernel is, too.
            let _ = self.client().commands.send(Command::Interrupt(execution)).await;
        }
        Ok(())
    }

    async fn ask<T: DeserializeOwned>(&self, kind: &str, content: serde_json::Value) -> Result<T> {
        let client = self.client();
        if let Some(refusal) = refusal(&self.state.borrow()) {
            return Err(refusal);
        }
        let within = if *client.taken.borrow() { TAKEN } else { ANSWER };
        let answer = tokio::time::timeout(within, client.ask(kind, &content)).await;
        let answer = answer.map_err(|_| Error::NoAnswer { within })?.ok_or_else(|| self.gone())?;
        answer.read().map_err(|error| Error::Protocol { what: format!("{}: {error}", answer.kind) })
    }

    pub(crate) async fn complete(&self, code: &str, cursor: usize) -> Result<Completion> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(default)]
            matches: Vec<String>,
            cursor_start: Option<usize>,
            cursor_end: Option<usize>,
        }
        let content = json!({"code": code, "cursor_pos": cursor});
        let reply: Reply = self.ask("complete_request", content).await?;
        let (start, end) = (reply.cursor_start.unwrap_or(cursor), reply.cursor_end.unwrap_or(cursor));
        Ok(Completion { matches: reply.matches, start, end })
    }

    pub(crate) async fn inspect(&self, code: &str, cursor: usize, detail: bool) -> Result<Inspection> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(default)]
            found: bool,
            #[serde(default)]
            data: MimeBundle,
        }
        let content = json!({"code": code, "cursor_pos": cursor, "detail_level": u8::from(detail)});
        let Reply { found, data } = self.ask("inspect_request", content).await?;
        Ok(Inspection { found, data })
    }

    pub(crate) async fn is_complete(&self, code: &str) -> Result<Completeness> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(default)]
            status: String,
            #[serde(default)]
            indent: String,
        }
        let Reply { status, indent } = self.ask("is_complete_request", json!({"code": code})).await?;
        Ok(match status.as_str() {
            "complete" => Completeness::Complete,
            "incomplete" => Completeness::Incomplete { indent },
            "invalid" => Completeness::Invalid,
            _ => Completeness::Unknown,
        })
    }
}

/// Why code cannot be run or asked about now, if so.
fn refusal(state: &State) -> Option<Error> {
    match state {
        State::Idle => None,
        State::Starting | State::Busy(_) => Some(Error::Busy),
        State::Dead(death) => Some(Error::Dead { death: death.clone() }),
    }
}

/// The error of asking for the restart of a kernel that somebody else started.
pub(crate) fn only_joined() -> Error {
    Error::Unsupported {
        message: "a kernel that was only joined cannot be restarted from here".into(),
        hint: Some("restart it where it was started".into()),
    }
}

struct DeadUnlessReady(Arc<watch::Sender<State>>);

impl Drop for DeadUnlessReady {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            let unready = *state == State::Starting;
            if unready {
                *state = State::Dead(Death::Unknown);
            }
            unready
        });
    }
}
