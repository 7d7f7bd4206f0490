//! A Jupyter kernel as its callers see it, the same for every transport: which requests are allowed when, and how its replies
//! read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cellist_output::MimeBundle;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::client::Client;
use super::listener::{Begin, EVENTS, ListenerCommand};
use super::setup;
use crate::comm::CommMessage;
use crate::current::{Current, DeadUnlessReady};
use crate::error::{Error, Result};
use crate::event::{Death, Event};
use crate::kernel::{
    Completeness, Completion, Execution, ExecutionId, Future, Identity, Inspection, Kernel, Request, State,
};

/// How long an idle kernel may think about an answer. The first completion of a process loads libraries, which takes
/// seconds on a machine that is busy.
const ANSWER: Duration = Duration::from_secs(20);

/// How long to try a kernel that is busy for another client.
const TAKEN: Duration = Duration::from_millis(300);

/// A restart on its way to the client of the new process, with notices.
pub(crate) type Restart<'a> = Future<'a, Result<(Arc<Client>, Vec<String>)>>;

/// The way to a Jupyter kernel: a process of ours, or one behind a gateway.
pub(crate) trait Transport: Send + Sync {
    /// Returns the kernel's identity.
    fn identity(&self, client: &Client) -> Identity;

    /// Removes from a request the values that the kernel must not get.
    fn restrict(&self, _request: &mut Request) {}

    /// Returns when the kernel has shown that it is there.
    fn beat(&self) -> Future<'_, Result<()>>;

    /// Ends the process and starts another, unless the kernel was only joined.
    fn restart<'a>(&'a self, state: &'a Arc<watch::Sender<State>>) -> Option<Restart<'a>>;

    /// Disconnects, and ends a process of ours. An idle one may be asked to leave by itself.
    fn leave(&self, is_idle: bool) -> Future<'_, ()>;

    /// Removes the remote remains of a kernel that was left.
    fn remove(&self) -> Future<'_, ()> {
        Box::pin(async {})
    }
}

pub(crate) struct JupyterKernel<T> {
    transport: T,
    state: Arc<watch::Sender<State>>,
    client: Current<Client>,
    next: AtomicU64,
}

impl<T: Transport> JupyterKernel<T> {
    /// A kernel that is ready.
    pub(crate) fn new(
        transport: T,
        client: Arc<Client>,
        state: Arc<watch::Sender<State>>,
    ) -> JupyterKernel<T> {
        state.send_replace(State::Idle);
        JupyterKernel { transport, state, client: Current::new(client), next: AtomicU64::new(1) }
    }

    /// The process as it is now.
    fn client(&self) -> Arc<Client> {
        self.client.get()
    }

    async fn beat(&self) -> Result<()> {
        if let State::Dead(death) = &*self.state.borrow() {
            return Err(Error::Dead { death: death.clone() });
        }
        self.transport.beat().await
    }

    async fn restart(&self) -> Result<Vec<String>> {
        let restarting = self.transport.restart(&self.state).ok_or_else(only_joined)?;
        self.state.send_replace(State::Starting);
        // A caller that goes away must not leave the kernel starting for ever.
        let _unless_ready = DeadUnlessReady(self.state.clone());
        let (client, notices) = restarting.await?;
        self.client.replace(client);
        self.state.send_replace(State::Idle);
        Ok(notices)
    }

    async fn shutdown(&self) {
        // A kernel that runs code would not leave by itself.
        let is_idle = *self.state.borrow() == State::Idle;
        self.transport.leave(is_idle).await;
        self.state.send_if_modified(|state| {
            let is_alive = !matches!(state, State::Dead(_));
            if is_alive {
                *state = State::Dead(Death::Unknown);
            }
            is_alive
        });
        self.transport.remove().await;
    }

    fn gone(&self) -> Error {
        refusal(&self.state.borrow()).unwrap_or(Error::Dead { death: Death::Unknown })
    }

    async fn execute(&self, mut request: Request) -> Result<Execution> {
        self.transport.restrict(&mut request);
        let client = self.client();
        let Request { code, hidden, variables, tag } = request;
        self.begin(client.clone(), move |begin| {
            let content = setup::execute(&code, hidden);
            let (request, frames) = client.session.build("execute_request", None, &content);
            let before = if begin.python { client.set_variables(&variables) } else { None };
            Begin { request, messages: before.into_iter().chain([frames]).collect(), tag, hidden, ..begin }
        })
        .await
    }

    async fn comm(&self, message: CommMessage) -> Result<Execution> {
        let client = self.client();
        self.begin(client.clone(), move |begin| {
            let (request, frames) = client.session.build_comm(&message);
            Begin { request, messages: vec![frames], hidden: true, has_reply: false, ..begin }
        })
        .await
    }

    /// Sends a request as an execution. From the moment on that it is written nothing waits: all of it happens or nothing.
    async fn begin(&self, client: Arc<Client>, write: impl FnOnce(Begin) -> Begin) -> Result<Execution> {
        let place = client.commands.reserve().await.map_err(|_| self.gone())?;
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
        let (sender, events) = mpsc::channel(EVENTS);
        let (request, messages, python) = (String::new(), Vec::new(), client.is_python());
        let blank = Begin {
            id,
            request,
            messages,
            tag: None,
            hidden: false,
            python,
            has_reply: true,
            events: sender,
        };
        place.send(ListenerCommand::Begin(write(blank)));
        Ok(Execution { id, events })
    }

    async fn interrupt(&self, execution: ExecutionId) -> Result<()> {
        if *self.state.borrow() == State::Busy(execution) {
            // A listener that is gone has told that the kernel is, too.
            let _ = self.client().commands.send(ListenerCommand::Interrupt(execution)).await;
        }
        Ok(())
    }

    async fn ask<R: DeserializeOwned>(&self, kind: &str, content: serde_json::Value) -> Result<R> {
        let client = self.client();
        if let Some(refusal) = refusal(&self.state.borrow()) {
            return Err(refusal);
        }
        let within = if *client.taken.borrow() { TAKEN } else { ANSWER };
        let answer = tokio::time::timeout(within, client.ask(kind, &content)).await;
        let answer = answer.map_err(|_| Error::NoAnswer { within })?.ok_or_else(|| self.gone())?;
        answer.read().map_err(|error| Error::Protocol { what: format!("{}: {error}", answer.kind) })
    }

    async fn complete(&self, code: &str, cursor: usize) -> Result<Completion> {
        #[derive(Deserialize)]
        struct CompleteReply {
            #[serde(default)]
            matches: Vec<String>,
            cursor_start: Option<usize>,
            cursor_end: Option<usize>,
        }
        let content = json!({"code": code, "cursor_pos": cursor});
        let reply: CompleteReply = self.ask("complete_request", content).await?;
        let (start, end) = (reply.cursor_start.unwrap_or(cursor), reply.cursor_end.unwrap_or(cursor));
        Ok(Completion { matches: reply.matches, start, end })
    }

    async fn inspect(&self, code: &str, cursor: usize, detail: bool) -> Result<Inspection> {
        #[derive(Deserialize)]
        struct InspectReply {
            #[serde(default)]
            found: bool,
            #[serde(default)]
            data: MimeBundle,
        }
        let content = json!({"code": code, "cursor_pos": cursor, "detail_level": u8::from(detail)});
        let InspectReply { found, data } = self.ask("inspect_request", content).await?;
        Ok(Inspection { found, data })
    }

    async fn is_complete(&self, code: &str) -> Result<Completeness> {
        #[derive(Deserialize)]
        struct IsCompleteReply {
            #[serde(default)]
            status: String,
            #[serde(default)]
            indent: String,
        }
        let IsCompleteReply { status, indent } =
            self.ask("is_complete_request", json!({"code": code})).await?;
        Ok(match status.as_str() {
            "complete" => Completeness::Complete,
            "incomplete" => Completeness::Incomplete { indent },
            "invalid" => Completeness::Invalid,
            _ => Completeness::Unknown,
        })
    }
}

impl<T: Transport> Kernel for JupyterKernel<T> {
    fn identity(&self) -> Identity {
        self.transport.identity(&self.client())
    }

    fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    fn execute(&self, request: Request) -> Future<'_, Result<Execution>> {
        Box::pin(self.execute(request))
    }

    fn comm(&self, message: CommMessage) -> Future<'_, Result<Execution>> {
        Box::pin(self.comm(message))
    }

    fn late(&self) -> Future<'_, Event> {
        let client = self.client();
        Box::pin(async move { client.late.next().await })
    }

    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>> {
        Box::pin(self.interrupt(execution))
    }

    fn complete<'a>(&'a self, code: &'a str, cursor: usize) -> Future<'a, Result<Completion>> {
        Box::pin(self.complete(code, cursor))
    }

    fn inspect<'a>(&'a self, code: &'a str, cursor: usize, detail: bool) -> Future<'a, Result<Inspection>> {
        Box::pin(self.inspect(code, cursor, detail))
    }

    fn is_complete<'a>(&'a self, code: &'a str) -> Future<'a, Result<Completeness>> {
        Box::pin(self.is_complete(code))
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        Box::pin(self.beat())
    }

    fn restart(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(self.restart())
    }

    fn shutdown(&self) -> Future<'_, ()> {
        Box::pin(self.shutdown())
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

/// The error of requesting a restart of a kernel that is not ours.
fn only_joined() -> Error {
    Error::Unsupported {
        message: "a kernel that was only joined cannot be restarted from here".into(),
        hint: Some("restart it where it was started".into()),
    }
}
