//! The connection of an agent to the host service. Made on the first request, and again when the
//! host is gone.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cellist_host::{Error, Event, Host, HostClient, HostService, HostStarter, Reply, Request};
use cellist_tools::{CallProgress, Caller, EditorState, ToolAnswer, ToolName};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The place where calls are executed.
#[derive(Clone)]
pub enum ServiceLocation {
    /// The host process, which is started if needed.
    Host {
        /// The registration to look for.
        host: Host,
        /// The command that starts a host.
        starter: HostStarter,
    },
    /// This process.
    Here(Box<HostService>),
}

/// An agent. Cheap to create: it connects on its first request.
pub(super) struct McpAgent {
    location: ServiceLocation,
    caller: Caller,
    /// Whether the client has disconnected. Its running calls then continue.
    gone: Arc<AtomicBool>,
    attaching: Mutex<Option<Attaching>>,
}

/// A connection to a service in progress, shared by all callers.
type Attaching = Shared<BoxFuture<'static, Result<HostClient, HostUnreachable>>>;

/// The reason why no service can be reached, with a hint.
#[derive(Clone, Debug)]
pub(super) struct HostUnreachable(String);

impl fmt::Display for HostUnreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Error> for HostUnreachable {
    fn from(error: Error) -> HostUnreachable {
        match error.hint() {
            Some(hint) => HostUnreachable(format!("{error}: {hint}")),
            None => HostUnreachable(error.to_string()),
        }
    }
}

/// A tool call in progress.
pub(super) struct PendingCall<'a> {
    pub(super) tool: ToolName,
    pub(super) arguments: Value,
    pub(super) news: &'a watch::Sender<Option<CallProgress>>,
    /// Cancelled when the client no longer wants the answer.
    pub(super) unwanted: &'a CancellationToken,
}

impl McpAgent {
    pub(super) fn new(location: ServiceLocation, caller: Caller, gone: Arc<AtomicBool>) -> McpAgent {
        McpAgent { location, caller, gone, attaching: Mutex::new(None) }
    }

    /// The current connection, or a new one. Connecting continues if the caller is cancelled. Needs
    /// a runtime.
    pub(super) fn attach(&self, name: Option<&str>) -> Attaching {
        let mut slot = self.attaching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attaching) = &*slot {
            let is_of_use = match attaching.peek() {
                None => true,
                Some(Ok(client)) => client.is_open(),
                Some(Err(_)) => false,
            };
            if is_of_use {
                return attaching.clone();
            }
        }
        let mut caller = self.caller.clone();
        if let Some(name) = name {
            caller.name = name.chars().filter(|letter| !letter.is_control()).take(60).collect();
        }
        let task = tokio::spawn(attach(self.location.clone(), caller));
        let attaching = async move {
            task.await.unwrap_or_else(|_| Err(HostUnreachable("connecting to the host was cancelled".into())))
        };
        let attaching = attaching.boxed().shared();
        *slot = Some(attaching.clone());
        attaching
    }

    /// Makes a request with an immediate answer.
    pub(super) async fn ask(&self, request: Request, name: Option<&str>) -> Result<Reply, HostUnreachable> {
        Ok(self.attach(name).await?.ask(request).await?)
    }

    /// The state of the editor. With `known`, waits until it differs from that.
    pub(super) async fn editor(
        &self,
        known: Option<&EditorState>,
        name: Option<&str>,
    ) -> Option<EditorState> {
        let request = match known {
            Some(known) => Request::NextEditor(Box::new(known.clone())),
            None => Request::Editor(None),
        };
        match self.ask(request, name).await {
            Ok(Reply::Editor(editor)) => Some(*editor),
            Ok(_) | Err(_) => None,
        }
    }

    /// Calls a tool. Repeats a call once after a lost connection if it only reads.
    pub(super) async fn call(&self, call: &PendingCall<'_>, name: Option<&str>) -> ToolAnswer {
        let mut may_repeat = call.tool.definition().only_looks(self.caller.mode);
        loop {
            let client = match self.attach(name).await {
                Ok(client) => client,
                Err(error) => return ToolAnswer::failure(error),
            };
            match self.execute(&client, call).await {
                Ok(Reply::Tool(answer)) => return *answer,
                Ok(other) => {
                    return ToolAnswer::failure(format_args!("unexpected reply from the host: {other:?}"));
                }
                Err(Error::Lost) if may_repeat => may_repeat = false,
                Err(Error::Lost) => {
                    return ToolAnswer::failure(
                        "the connection to the host was lost before it answered. The call may or may not have run: \
                         check its effects before you repeat it",
                    );
                }
                Err(error) => return ToolAnswer::failure(HostUnreachable::from(error)),
            }
        }
    }

    async fn execute(&self, client: &HostClient, call: &PendingCall<'_>) -> Result<Reply, Error> {
        let (tool, arguments) = (call.tool.as_str().to_owned(), call.arguments.clone());
        let pending = client.begin(Request::Tool { tool, arguments });
        let (stop, mut events) = (pending.stop(), pending.events());
        let done = pending.done();
        tokio::pin!(done);
        let (mut is_wanted, mut is_heard) = (true, true);
        loop {
            tokio::select! {
                biased;
                reply = &mut done => return reply,
                () = call.unwanted.cancelled(), if is_wanted => {
                    // A call of a client that disconnected continues.
                    if self.gone.load(Ordering::SeqCst) {
                        return Err(Error::Lost);
                    }
                    stop.stop();
                    is_wanted = false;
                }
                news = events.changed(), if is_heard => match news {
                    Ok(()) => {
                        if let Some(Event::Tool(progress)) = events.borrow_and_update().clone() {
                            call.news.send_replace(Some(progress));
                        }
                    }
                    Err(_) => is_heard = false,
                },
            }
        }
    }
}

async fn attach(location: ServiceLocation, caller: Caller) -> Result<HostClient, HostUnreachable> {
    let client = match location {
        ServiceLocation::Host { host, starter } => HostClient::attach_or_start(&host, &starter).await?,
        ServiceLocation::Here(service) => HostClient::in_process(&service),
    };
    client.ask(Request::Introduce(Box::new(caller))).await?;
    Ok(client)
}
