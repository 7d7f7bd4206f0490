//! The embedded runner: any Python from 3.8 on, with nothing installed. The Python side is `runner/cellist_runner/`;
//! the protocol between the two is described in `docs/runner-protocol.md`.

mod boot;
mod frames;
mod link;
mod marks;
mod order;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cellist_platform::fault::{self, Site};
use serde_json::json;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};

use crate::Backend;
use crate::comm::CommMessage;
use crate::current::{Current, DeadUnlessReady};
use crate::error::{Error, Result};
use crate::event::{Death, Event};
use crate::guard::Guard;
use crate::kernel::{
    Completeness, Completion, Execution, ExecutionId, Future, Identity, Inspection, Kernel, Request, State,
};
use crate::late::LateOutput;
use crate::launch::{Launch, Started};
use crate::process::{Process, Spawn};
use crate::waiting::EVENTS;
use boot::Boot;
use frames::{Ask, Hello, PROTOCOL, RunnerReply};
use link::{Pipes, RunnerCommand, RunnerOpening, RunnerTask, RunnerWork};

/// How long an idle runner may think about an answer.
const ANSWER: Duration = Duration::from_secs(5);

/// How long a busy one may.
const BUSY_ANSWER: Duration = Duration::from_millis(300);

/// Commands that may wait for the task, which never takes long.
const COMMANDS: usize = 16;

/// Starts a runner in the given interpreter and returns when it is ready.
///
/// The runner's compiled form is kept in the launch's runtime folder: where that folder stays from one start to the
/// next, the next start is faster.
pub async fn start(python: &Path, launch: Launch, guard: &Guard) -> Result<Started> {
    let state = Arc::new(watch::Sender::new(State::Starting));
    let live = RunnerProcess::start(python, &launch, guard, &state).await?;
    let notices = live.hello.notices.clone();
    state.send_replace(State::Idle);
    let kernel = Runner {
        python: python.to_owned(),
        launch,
        guard: guard.clone(),
        state,
        live: Current::new(live),
        next: AtomicU64::new(1),
    };
    Ok(Started { kernel: Box::new(kernel), notices })
}

struct Runner {
    python: PathBuf,
    launch: Launch,
    guard: Guard,
    state: Arc<watch::Sender<State>>,
    live: Current<RunnerProcess>,
    next: AtomicU64,
}

/// One process of a runner.
struct RunnerProcess {
    hello: Hello,
    pid: u32,
    commands: mpsc::Sender<RunnerCommand>,
    late: LateOutput,
}

impl RunnerProcess {
    async fn start(
        python: &Path,
        launch: &Launch,
        guard: &Guard,
        state: &Arc<watch::Sender<State>>,
    ) -> Result<RunnerProcess> {
        let token = random_token()?;
        let Boot { arguments, first } = Boot::new(&launch.runtime_dir);
        let (requests_in, requests) = pipe()?;
        let (frames, frames_out) = pipe()?;
        let (stdout, stdout_in) = pipe()?;
        let (stderr, stderr_in) = pipe()?;
        let process = Process::spawn(
            Spawn {
                program: python.to_owned(),
                arguments,
                cwd: launch.cwd.clone(),
                environment: launch.environment.clone(),
                stdin: Stdio::null(),
                stdout: stdout_in.into(),
                stderr: stderr_in.into(),
                descriptors: vec![(requests_in.into(), boot::REQUESTS), (frames_out.into(), boot::FRAMES)],
            },
            guard,
        )?;
        let pipes = Pipes {
            stdout: reader(stdout)?,
            stderr: reader(stderr)?,
            frames: reader(frames)?,
            requests: pipe::Sender::from_owned_fd(requests.into()).map_err(no_pipe)?,
        };
        let ask = Ask::start(&token, launch);
        if let Some(trace) = &launch.trace {
            trace.line(&format!("> {}", ask.traced()));
        }
        let first = [first.as_bytes(), &ask.line()].concat();
        let pid = process.id();
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let (within, state, trace) = (launch.startup_timeout, state.clone(), launch.trace.clone());
        let late = LateOutput::default();
        let opening =
            RunnerOpening { process, pipes, token, first, within, late: late.clone(), state, trace };
        let ready = RunnerTask::spawn(opening, receiver);
        let hello = ready.await.map_err(|_| Error::Dead { death: Death::Unknown })?;
        let hello = hello.map_err(|error| or_no_python(python, error))?;
        if hello.protocol != PROTOCOL {
            let what = format!("protocol {} where {PROTOCOL} is spoken", hello.protocol);
            return Err(Error::Protocol { what });
        }
        Ok(RunnerProcess { hello, pid, commands, late })
    }

    /// Ends the process, gently if it is idle.
    async fn leave(&self) {
        let (gone, leaving) = oneshot::channel();
        if self.commands.send(RunnerCommand::Leave { gone }).await.is_ok() {
            // The task ends without an answer only when the process has.
            let _ = leaving.await;
        }
    }
}

impl Runner {
    fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn gone(&self) -> Error {
        match &*self.state.borrow() {
            State::Dead(death) => Error::Dead { death: death.clone() },
            State::Starting | State::Idle | State::Busy(_) => Error::Dead { death: Death::Unknown },
        }
    }

    async fn begin(&self, work: RunnerWork) -> Result<Execution> {
        let id = ExecutionId(self.next());
        let (sender, events) = mpsc::channel(EVENTS);
        let (begun, answer) = oneshot::channel();
        let command = RunnerCommand::Execute { id, work, events: sender, begun };
        self.live.get().commands.send(command).await.map_err(|_| self.gone())?;
        answer.await.map_err(|_| self.gone())??;
        Ok(Execution { id, events })
    }

    async fn question<'a>(&self, ask: impl FnOnce(u64) -> Ask<'a>) -> Result<RunnerReply> {
        let busy = matches!(*self.state.borrow(), State::Busy(_));
        let within = if busy { BUSY_ANSWER } else { ANSWER };
        let id = self.next();
        let ask = ask(id);
        let (answer, answered) = oneshot::channel();
        let traced = self.launch.trace.as_ref().map(|_| ask.traced());
        let command = RunnerCommand::Question { id, line: ask.line(), traced, answer };
        self.live.get().commands.send(command).await.map_err(|_| self.gone())?;
        match tokio::time::timeout(within, answered).await {
            Ok(Ok(RunnerReply { error: Some(what), .. })) => Err(Error::Protocol { what }),
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) => Err(self.gone()),
            Err(_) if busy => Err(Error::Busy),
            Err(_) => Err(Error::NoAnswer { within }),
        }
    }
}

impl Kernel for Runner {
    fn identity(&self) -> Identity {
        let live = self.live.get();
        Identity {
            backend: Backend::Runner,
            name: "python3".into(),
            language: "python".into(),
            version: Some(live.hello.python.clone()),
            python: Some(self.python.clone()),
            pid: Some(live.pid),
            language_info: Some(json!({
                "codemirror_mode": {"name": "ipython", "version": 3},
                "file_extension": ".py",
                "mimetype": "text/x-python",
                "name": "python",
                "nbconvert_exporter": "python",
                "pygments_lexer": "ipython3",
                "version": live.hello.python,
            })),
        }
    }

    fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    fn execute(&self, request: Request) -> Future<'_, Result<Execution>> {
        Box::pin(self.begin(RunnerWork::Code(request)))
    }

    fn comm(&self, message: CommMessage) -> Future<'_, Result<Execution>> {
        Box::pin(self.begin(RunnerWork::Comm(message)))
    }

    fn late(&self) -> Future<'_, Event> {
        let late = self.live.get().late.clone();
        Box::pin(async move { late.next().await })
    }

    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>> {
        Box::pin(async move {
            self.live.get().commands.send(RunnerCommand::Interrupt(execution)).await.map_err(|_| self.gone())
        })
    }

    fn complete<'a>(&'a self, code: &'a str, cursor: usize) -> Future<'a, Result<Completion>> {
        Box::pin(async move {
            let RunnerReply { matches, start, end, .. } =
                self.question(|id| Ask::Complete { id, code, cursor }).await?;
            Ok(Completion { matches, start, end })
        })
    }

    fn inspect<'a>(&'a self, code: &'a str, cursor: usize, detail: bool) -> Future<'a, Result<Inspection>> {
        Box::pin(async move {
            let RunnerReply { found, data, .. } =
                self.question(|id| Ask::Inspect { id, code, cursor, detail }).await?;
            Ok(Inspection { found, data })
        })
    }

    fn is_complete<'a>(&'a self, code: &'a str) -> Future<'a, Result<Completeness>> {
        Box::pin(async move {
            let RunnerReply { status, indent, .. } = self.question(|id| Ask::IsComplete { id, code }).await?;
            Ok(match status.as_deref() {
                Some("complete") => Completeness::Complete,
                Some("incomplete") => Completeness::Incomplete { indent },
                Some("invalid") => Completeness::Invalid,
                _ => Completeness::Unknown,
            })
        })
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        Box::pin(async move { self.question(|id| Ask::Ping { id }).await.map(drop) })
    }

    fn restart(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(async move {
            self.live.get().leave().await;
            self.state.send_replace(State::Starting);
            let _unless_ready = DeadUnlessReady(self.state.clone());
            let live = match RunnerProcess::start(&self.python, &self.launch, &self.guard, &self.state).await
            {
                Ok(live) => live,
                Err(error) => {
                    let death = match &error {
                        Error::DiedAtStart { death, .. } => death.clone(),
                        _ => Death::Unknown,
                    };
                    self.state.send_replace(State::Dead(death));
                    return Err(error);
                }
            };
            let notices = live.hello.notices.clone();
            self.live.replace(live);
            self.state.send_replace(State::Idle);
            Ok(notices)
        })
    }

    fn shutdown(&self) -> Future<'_, ()> {
        Box::pin(async move { self.live.get().leave().await })
    }
}

/// A program that is no Python prints strange things when it is started as one; this is their start.
fn or_no_python(program: &Path, error: Error) -> Error {
    let names = [Some(program.to_owned()), program.canonicalize().ok()];
    let mut names = names.iter().flatten().filter_map(|path| path.file_name());
    let is_python = names.any(|name| name.to_string_lossy().to_lowercase().contains("py"));
    match error {
        Error::DiedAtStart { death, stderr } if !is_python && !stderr.starts_with(boot::TOO_OLD) => {
            let how = cellist_output::notices::kernel_died(&death);
            Error::Unsupported {
                message: format!("{} is not a Python, it seems. {how}", program.display()),
                hint: Some("name a Python with --python PATH".into()),
            }
        }
        other => other,
    }
}

fn pipe() -> Result<(io::PipeReader, io::PipeWriter)> {
    fault::pipe(Site::RunnerPipe).map_err(no_pipe)
}

fn reader(pipe: io::PipeReader) -> Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(pipe.into()).map_err(no_pipe)
}

fn no_pipe(source: io::Error) -> Error {
    Error::Io { what: "a pipe to the runner cannot be made".into(), source }
}

/// The random prefix that tells our marks from any text of a program.
fn random_token() -> Result<String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(|error| Error::Io {
        what: "there is no randomness to be had".into(),
        source: io::Error::other(error.to_string()),
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
