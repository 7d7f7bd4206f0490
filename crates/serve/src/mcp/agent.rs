//! An agent's way to whoever carries out its calls: taken when it is first needed, and taken anew when the host that was
//! there is gone.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cellist_host::{Error, Event, Host, HostClient, HostService, Reply, Request, Starter};
use cellist_tools::{CallProgress, Caller, EditorState, ToolAnswer, ToolName};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Where calls are carried out.
#[derive(Clone)]
pub enum Reach {
    /// By the host, which is started if need be.
    Host {
        /// The host.
        host: Host,
        /// How one is started.
        starter: Starter,
    },
    /// In this process.
    Here(Box<HostService>),
}

/// An agent. Cheap to keep: it is attached when it first asks something.
pub(super) struct Agent {
    reach: Reach,
    caller: Caller,
    /// Whether its client has gone away, and so does not mean to stop what runs.
    gone: Arc<AtomicBool>,
    attaching: Mutex<Option<Attaching>>,
}

/// The way to a service, or why there is none.
type Attaching = Shared<BoxFuture<'static, Result<HostClient, Unreachable>>>;

/// Why nobody carries out a call, with what to do about it.
#[derive(Clone, Debug)]
pub(super) struct Unreachable(String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Error> for Unreachable {
    fn from(error: Error) -> Unreachable {
        match error.hint() {
            Some(hint) => Unreachable(format!("{error}: {hint}")),
            None => Unreachable(error.to_string()),
        }
    }
}

/// A call on its way.
pub(super) struct Errand<'a> {
    pub(super) tool: ToolName,
    pub(super) arguments: Value,
    pub(super) news: &'a watch::Sender<Option<CallProgress>>,
    /// When the answer is not wanted any more.
    pub(super) unwanted: &'a CancellationToken,
}

impl Agent {
    pub(super) fn new(reach: Reach, caller: Caller, gone: Arc<AtomicBool>) -> Agent {
        Agent { reach, caller, gone, attaching: Mutex::new(None) }
    }

    /// The way to the service that was taken, or a new one. Goes on by itself when nobody waits for it. Needs a runtime.
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
        let task = tokio::spawn(attach(self.reach.clone(), caller));
        let attaching = async move {
            task.await.unwrap_or_else(|_| Err(Unreachable("the way to the host was given up".into())))
        };
        let attaching = attaching.boxed().shared();
        *slot = Some(attaching.clone());
        attaching
    }

    /// Asks something that is answered at once.
    pub(super) async fn ask(&self, request: Request, name: Option<&str>) -> Result<Reply, Unreachable> {
        Ok(self.attach(name).await?.ask(request).await?)
    }

    /// What is in front of a person; as soon as that is something else than what is known, where something is.
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

    /// Calls a tool.
    pub(super) async fn call(&self, errand: &Errand<'_>, name: Option<&str>) -> ToolAnswer {
        let mut may_repeat = errand.tool.definition().only_looks(self.caller.mode);
        loop {
            let client = match self.attach(name).await {
                Ok(client) => client,
                Err(error) => return ToolAnswer::failure(error),
            };
            match self.carry_out(&client, errand).await {
                Ok(Reply::Tool(answer)) => return *answer,
                Ok(other) => {
                    return ToolAnswer::failure(format_args!("the host answered something else: {other:?}"));
                }
                Err(Error::Lost) if may_repeat => may_repeat = false,
                Err(Error::Lost) => {
                    return ToolAnswer::failure(
                        "the connection to the host was lost before it answered: whether the call was carried out is \
                         not known. Look at what is there before you repeat it",
                    );
                }
                Err(error) => return ToolAnswer::failure(Unreachable::from(error)),
            }
        }
    }

    async fn carry_out(&self, client: &HostClient, errand: &Errand<'_>) -> Result<Reply, Error> {
        let (tool, arguments) = (errand.tool.as_str().to_owned(), errand.arguments.clone());
        let pending = client.begin(Request::Tool { tool, arguments });
        let (stop, mut events) = (pending.stop(), pending.events());
        let done = pending.done();
        tokio::pin!(done);
        let (mut is_wanted, mut is_heard) = (true, true);
        loop {
            tokio::select! {
                biased;
                reply = &mut done => return reply,
                () = errand.unwanted.cancelled(), if is_wanted => {
                    // What a client that went away has begun goes on.
                    if self.gone.load(Ordering::SeqCst) {
                        return Err(Error::Lost);
                    }
                    stop.stop();
                    is_wanted = false;
                }
                news = events.changed(), if is_heard => match news {
                    Ok(()) => {
                        if let Some(Event::Tool(progress)) = events.borrow_and_update().clone() {
                            errand.news.send_replace(Some(progress));
                        }
                    }
                    Err(_) => is_heard = false,
                },
            }
        }
    }
}

async fn attach(reach: Reach, caller: Caller) -> Result<HostClient, Unreachable> {
    let client = match reach {
        Reach::Host { host, starter } => HostClient::attach_or_start(&host, &starter).await?,
        Reach::Here(service) => HostClient::in_process(&service),
    };
    client.ask(Request::Introduce(Box::new(caller))).await?;
    Ok(client)
}
