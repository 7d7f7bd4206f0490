//! Jupyter kernels over ZeroMQ: started by us, or joined while they run.

mod connection;
mod lanes;
mod listener;
mod live;
mod log;
mod reading;
mod setup;
mod text;
mod trace;
mod wire;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellist_output::MimeBundle;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::error::{Error, Result};
use crate::event::Death;
use crate::guard::Guard;
use crate::kernel::{
    Backend, Completeness, Completion, Execution, ExecutionId, Future, Identity, Inspection, Kernel, Request,
    State,
};
use crate::launch::{Launch, Started};
use crate::trace::Trace;
use connection::Connection;
use listener::{Begin, Command, EVENTS};
use live::{Live, is_python};
use trace::Tracer;

/// How long an idle kernel may think about an answer. The first completion of a process loads libraries, which takes
/// seconds on a machine that is busy.
const ANSWER: Duration = Duration::from_secs(20);

/// How long to try a kernel that works for someone else.
const TAKEN: Duration = Duration::from_millis(300);

/// How a kernel is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCommand {
    /// The program and its arguments; `{connection_file}` stands for the file that it must read.
    #[serde(with = "crate::order")]
    pub argv: Vec<OsString>,
    /// Variables on top of those of the launch; `${NAME}` in a value stands for one of them.
    #[serde(with = "crate::order")]
    pub env: Vec<(OsString, OsString)>,
    /// The name of the kernelspec, such as `python3`.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// The language, as the kernelspec has it.
    pub language: String,
    /// The interpreter, where it is a local Python.
    #[serde(with = "crate::order")]
    pub python: Option<PathBuf>,
    /// How it is interrupted.
    pub interrupt_mode: InterruptMode,
}

/// How a kernel is interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InterruptMode {
    /// By SIGINT.
    #[default]
    Signal,
    /// By a message.
    Message,
}

impl KernelCommand {
    /// The ipykernel of a Python, without any kernelspec.
    pub fn ipykernel(python: &Path) -> KernelCommand {
        let argv = [python.as_os_str(), "-m".as_ref(), "ipykernel_launcher".as_ref(), "-f".as_ref()];
        let mut argv: Vec<OsString> = argv.map(OsString::from).into();
        argv.push(CONNECTION_FILE.into());
        KernelCommand {
            argv,
            env: Vec::new(),
            name: "python3".into(),
            display_name: "Python 3 (ipykernel)".into(),
            language: "python".into(),
            python: Some(python.to_owned()),
            interrupt_mode: InterruptMode::Signal,
        }
    }

    /// Whether the kernel itself is written in Python, whatever it runs.
    fn is_python(&self) -> bool {
        let program = self.argv.first().map(Path::new).and_then(Path::file_name);
        self.python.is_some() || program.is_some_and(|name| name.as_bytes().starts_with(b"python"))
    }

    fn argv_for(&self, file: &Path) -> Vec<OsString> {
        self.argv.iter().map(|argument| fill_in(argument, file)).collect()
    }
}

const CONNECTION_FILE: &str = "{connection_file}";

fn fill_in(argument: &OsString, file: &Path) -> OsString {
    let (argument, name) = (argument.as_bytes(), CONNECTION_FILE.as_bytes());
    match memchr::memmem::find(argument, name) {
        Some(at) => OsString::from_vec(
            [&argument[..at], file.as_os_str().as_bytes(), &argument[at + name.len()..]].concat(),
        ),
        None => OsString::from_vec(argument.to_vec()),
    }
}

/// Starts a kernel and returns when it is ready and set up.
pub async fn start(command: KernelCommand, launch: Launch, guard: &Guard) -> Result<Started> {
    let state = Arc::new(watch::Sender::new(State::Starting));
    let (live, notices) = Live::start(&command, &launch, guard, &state).await?;
    state.send_replace(State::Idle);
    let origin =
        Origin::Started { command: Box::new(command), launch: Box::new(launch), guard: guard.clone() };
    Ok(Started { kernel: Box::new(ZmqKernel::new(origin, live, state)), notices })
}

/// Connects to a kernel that runs already, which is not set up, and never ended, by us.
pub async fn join(connection_file: &Path, trace: Option<Trace>) -> Result<Started> {
    let connection = Connection::read(connection_file)?;
    let state = Arc::new(watch::Sender::new(State::Starting));
    let live = Live::join(&connection, &state, Tracer::new(trace)).await?;
    state.send_replace(State::Idle);
    let origin = Origin::Joined { name: connection.kernel_name };
    Ok(Started { kernel: Box::new(ZmqKernel::new(origin, live, state)), notices: Vec::new() })
}

struct ZmqKernel {
    origin: Origin,
    state: Arc<watch::Sender<State>>,
    live: Mutex<Arc<Live>>,
    next: AtomicU64,
}

enum Origin {
    Started { command: Box<KernelCommand>, launch: Box<Launch>, guard: Guard },
    Joined { name: String },
}

impl ZmqKernel {
    fn new(origin: Origin, live: Live, state: Arc<watch::Sender<State>>) -> ZmqKernel {
        ZmqKernel { origin, state, live: Mutex::new(Arc::new(live)), next: AtomicU64::new(1) }
    }

    fn live(&self) -> Arc<Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn language(&self, live: &Live) -> String {
        live.info.language().unwrap_or_else(|| match &self.origin {
            Origin::Started { command, .. } => command.language.to_lowercase(),
            Origin::Joined { .. } => String::new(),
        })
    }

    /// Why code cannot be run or asked about now, if so.
    fn refusal(state: &State) -> Option<Error> {
        match state {
            State::Idle => None,
            State::Starting | State::Busy(_) => Some(Error::Busy),
            State::Dead(death) => Some(Error::Dead { death: death.clone() }),
        }
    }

    async fn run(&self, request: Request) -> Result<Execution> {
        let live = self.live();
        let gone = || Self::refusal(&self.state.borrow()).unwrap_or(Error::Dead { death: Death::Unknown });
        let place = live.commands.reserve().await.map_err(|_| gone())?;
        // From here on nothing waits: either all of it happens or nothing.
        let id = ExecutionId(self.next.fetch_add(1, Ordering::Relaxed));
        let mut refusal = None;
        self.state.send_if_modified(|state| {
            refusal = Self::refusal(state);
            if refusal.is_none() {
                *state = State::Busy(id);
            }
            refusal.is_none()
        });
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let python = is_python(&self.language(&live));
        let mut messages = Vec::new();
        if python {
            messages.extend(live.set_variables(&request.variables));
        }
        let content = setup::execute(&request.code, request.hidden);
        let (message, frames) = live.session.build("execute_request", None, &content);
        messages.push(frames);
        let (sender, events) = mpsc::channel(EVENTS);
        let hidden = request.hidden;
        place.send(Command::Begin(Begin { id, request: message, messages, hidden, python, events: sender }));
        Ok(Execution { id, events })
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, kind: &str, content: serde_json::Value) -> Result<T> {
        let live = self.live();
        if let Some(refusal) = Self::refusal(&self.state.borrow()) {
            return Err(refusal);
        }
        let within = if *live.taken.borrow() { TAKEN } else { ANSWER };
        let gone = || Self::refusal(&self.state.borrow()).unwrap_or(Error::Dead { death: Death::Unknown });
        let answer = tokio::time::timeout(within, live.ask(kind, &content)).await;
        let answer = answer.map_err(|_| Error::NoAnswer { within })?.ok_or_else(gone)?;
        answer.read().map_err(|error| Error::Protocol { what: format!("{}: {error}", answer.kind) })
    }

    async fn start_again(&self) -> Result<Vec<String>> {
        let Origin::Started { command, launch, guard } = &self.origin else {
            return Err(Error::Unsupported {
                message: "a kernel that was only joined cannot be restarted from here".into(),
                hint: Some("restart it where it was started".into()),
            });
        };
        self.state.send_replace(State::Starting);
        // Whoever waits for this may go away, and the kernel must not be starting for ever then.
        let unless_ready = DeadUnlessReady(&self.state);
        self.live().end(false).await;
        let (live, notices) = Live::start(command, launch, guard, &self.state).await?;
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        self.state.send_replace(State::Idle);
        drop(unless_ready);
        Ok(notices)
    }
}

struct DeadUnlessReady<'a>(&'a watch::Sender<State>);

impl Drop for DeadUnlessReady<'_> {
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

impl Kernel for ZmqKernel {
    fn identity(&self) -> Identity {
        let live = self.live();
        let (name, python) = match &self.origin {
            Origin::Started { command, .. } => (command.name.clone(), command.python.clone()),
            Origin::Joined { name } => (name.clone(), None),
        };
        Identity {
            backend: Backend::Jupyter,
            name,
            language: self.language(&live),
            version: live.info.version(),
            python,
            pid: live.process.as_ref().map(|process| process.id()),
            language_info: Some(live.info.language_info.clone()).filter(serde_json::Value::is_object),
        }
    }

    fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    fn execute(&self, request: Request) -> Future<'_, Result<Execution>> {
        Box::pin(self.run(request))
    }

    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>> {
        Box::pin(async move {
            if *self.state.borrow() == State::Busy(execution) {
                // A listener that is gone has told that the kernel is, too.
                let _ = self.live().commands.send(Command::Interrupt(execution)).await;
            }
            Ok(())
        })
    }

    fn complete<'a>(&'a self, code: &'a str, cursor: usize) -> Future<'a, Result<Completion>> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(default)]
            matches: Vec<String>,
            cursor_start: Option<usize>,
            cursor_end: Option<usize>,
        }
        Box::pin(async move {
            let content = json!({"code": code, "cursor_pos": cursor});
            let reply: Reply = self.ask("complete_request", content).await?;
            let (start, end) = (reply.cursor_start.unwrap_or(cursor), reply.cursor_end.unwrap_or(cursor));
            Ok(Completion { matches: reply.matches, start, end })
        })
    }

    fn inspect<'a>(&'a self, code: &'a str, cursor: usize, detail: bool) -> Future<'a, Result<Inspection>> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(default)]
            found: bool,
            #[serde(default)]
            data: MimeBundle,
        }
        Box::pin(async move {
            let content = json!({"code": code, "cursor_pos": cursor, "detail_level": u8::from(detail)});
            let Reply { found, data } = self.ask("inspect_request", content).await?;
            Ok(Inspection { found, data })
        })
    }

    fn is_complete<'a>(&'a self, code: &'a str) -> Future<'a, Result<Completeness>> {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(default)]
            status: String,
            #[serde(default)]
            indent: String,
        }
        Box::pin(async move {
            let Reply { status, indent } = self.ask("is_complete_request", json!({"code": code})).await?;
            Ok(match status.as_str() {
                "complete" => Completeness::Complete,
                "incomplete" => Completeness::Incomplete { indent },
                "invalid" => Completeness::Invalid,
                _ => Completeness::Unknown,
            })
        })
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        Box::pin(async move {
            let live = self.live();
            if let State::Dead(death) = &*self.state.borrow() {
                return Err(Error::Dead { death: death.clone() });
            }
            // Not a question on the shell's channel: what threads print would be taken for a part of the answer.
            live.beat().await
        })
    }

    fn restart(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(self.start_again())
    }

    fn shutdown(&self) -> Future<'_, ()> {
        Box::pin(async move {
            let live = self.live();
            // What runs would keep the kernel from leaving by itself.
            let idle = *self.state.borrow() == State::Idle;
            live.end(idle).await;
            self.state.send_if_modified(|state| match state {
                State::Dead(_) => false,
                _ => {
                    *state = State::Dead(Death::Unknown);
                    true
                }
            });
        })
    }
}
