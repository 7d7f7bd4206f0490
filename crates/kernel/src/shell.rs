//! Commands of a shell, as a kernel: each piece of code is a process of its own, in its own group, and nothing is kept from
//! one to the next. Both streams go through one pipe, so that they stay in order.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use cellist_output::StreamName;
use cellist_platform::fault::{self, Site};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use crate::Backend;
use crate::error::{Error, Result};
use crate::event::{Death, Event, Outcome, Status};
use crate::guard::Guard;
use crate::kernel::{Execution, ExecutionId, Future, Identity, Kernel, Request, State};
use crate::launch::{Launch, Started};
use crate::process::{Process, Signal, Spawn};

/// Events that a reader may be behind before the command waits.
const EVENTS: usize = 64;
/// How much is read at a time.
const PIECE: usize = 64 * 1024;
/// How long the rest of the output may take once the command has ended: all of it is there by then, unless something that
/// left the command's group and session writes on.
const REST: Duration = Duration::from_millis(500);

/// The name of the exception that a failed command raises.
const FAILED: &str = "CommandFailed";

/// Makes a shell ready, which starts nothing yet.
pub fn start(program: &Path, launch: Launch, guard: &Guard) -> Result<Started> {
    if !launch.cwd.is_dir() {
        return Err(Error::NoFolder { path: launch.cwd });
    }
    let shell = Shell {
        program: program.to_owned(),
        launch,
        guard: guard.clone(),
        state: Arc::new(watch::Sender::new(State::Idle)),
        running: Mutex::default(),
    };
    Ok(Started { kernel: Box::new(shell), notices: Vec::new() })
}

struct Shell {
    program: PathBuf,
    launch: Launch,
    guard: Guard,
    state: Arc<watch::Sender<State>>,
    running: Mutex<RunningCommand>,
}

/// The command that was started last.
#[derive(Default)]
struct RunningCommand {
    count: u64,
    process: Option<Arc<Process>>,
    interrupted: Arc<AtomicBool>,
}

impl Shell {
    fn running(&self) -> MutexGuard<'_, RunningCommand> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, request: Request) -> Result<Execution> {
        let mut running = self.running();
        match &*self.state.borrow() {
            State::Busy(_) => return Err(Error::Busy),
            State::Dead(death) => return Err(Error::Dead { death: death.clone() }),
            State::Starting | State::Idle => {}
        }
        let (process, output) = self.spawn(request)?;
        let (process, interrupted) = (Arc::new(process), Arc::new(AtomicBool::new(false)));
        running.count += 1;
        running.process = Some(Arc::clone(&process));
        running.interrupted = Arc::clone(&interrupted);
        let id = ExecutionId(running.count);
        self.state.send_replace(State::Busy(id));
        let (sender, events) = mpsc::channel(EVENTS);
        let state = Arc::clone(&self.state);
        tokio::spawn(async move {
            let outcome = follow(&process, output, &interrupted, &sender).await;
            // One that was ended stays so. The reader of the end may run the next command at once.
            state.send_if_modified(|state| {
                let is_busy = matches!(state, State::Busy(_));
                if is_busy {
                    *state = State::Idle;
                }
                is_busy
            });
            let _ = sender.send(Event::Done(outcome)).await;
        });
        Ok(Execution { id, events })
    }

    fn spawn(&self, request: Request) -> Result<(Process, pipe::Receiver)> {
        let no_pipe = |source| Error::Io { what: "there is no pipe for the output".to_owned(), source };
        let (reader, writer) = fault::pipe(Site::ShellPipe).map_err(no_pipe)?;
        let other = writer.try_clone().map_err(no_pipe)?;
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(no_pipe)?;
        let mut environment = self.launch.environment.clone();
        for (name, value) in request.variables {
            environment.retain(|(known, _)| *known != *name);
            environment.extend(value.map(|value| (name.into(), value.into())));
        }
        let spawn = Spawn {
            program: self.program.clone(),
            arguments: vec!["-c".into(), request.code.into()],
            cwd: self.launch.cwd.clone(),
            environment,
            stdin: Stdio::null(),
            stdout: writer.into(),
            stderr: other.into(),
            descriptors: Vec::new(),
        };
        Ok((Process::spawn(spawn, &self.guard)?, output))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The task that follows a command holds the process, too.
        if let Some(process) = self.running().process.take() {
            process.kill();
        }
    }
}

/// Passes on the output of a command until it has ended, and returns how it ended.
async fn follow(
    process: &Process,
    mut output: pipe::Receiver,
    interrupted: &AtomicBool,
    events: &mpsc::Sender<Event>,
) -> Outcome {
    // A dropped receiver does not stop the command.
    let _ = events.send(Event::Started { execution_count: None }).await;
    let mut buffer = BytesMut::new();
    let mut until: Option<Instant> = None;
    let ended = process.wait();
    tokio::pin!(ended);
    let mut death = None;
    loop {
        buffer.reserve(PIECE);
        let reading = output.read_buf(&mut buffer);
        let read = match until {
            None => tokio::select! {
                biased;
                read = reading => read,
                how = &mut ended => {
                    death = Some(how);
                    until = Some(Instant::now() + REST);
                    continue;
                }
            },
            Some(until) => match timeout_at(until, reading).await {
                Ok(read) => read,
                Err(_) => break,
            },
        };
        match read {
            Ok(0) | Err(_) => break,
            Ok(_) => {
                let bytes: Bytes = buffer.split().freeze();
                let _ = events.send(Event::Stream { name: StreamName::Stdout, bytes, late: false }).await;
            }
        }
    }
    let death = match death {
        Some(death) => death,
        None => ended.await,
    };
    let cancelled = interrupted.load(Ordering::Relaxed);
    let status = if death == Death::Exit(0) { Status::Ok } else { Status::Error };
    if status == Status::Error && !cancelled {
        let (name, message, traceback) = (FAILED.to_owned(), said(&death), Vec::new());
        let _ = events.send(Event::Error { name, message, traceback }).await;
    }
    Outcome { status, execution_count: None, cancelled }
}

/// The error of a command that failed.
fn said(death: &Death) -> String {
    match death {
        Death::Exit(code) => format!("exit code {code}"),
        Death::Signal(name) => format!("it was ended by {name}"),
        Death::OutOfMemory => "it ran out of memory".to_owned(),
        Death::Restarted | Death::Removed | Death::OutOfReach(_) | Death::Refused(_) | Death::Unknown => {
            "nobody knows how it ended".to_owned()
        }
    }
}

impl Kernel for Shell {
    fn identity(&self) -> Identity {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        Identity {
            backend: Backend::Shell,
            name: name.to_string_lossy().into_owned(),
            language: "bash".to_owned(),
            version: None,
            python: None,
            pid: self.running().process.as_ref().map(|process| process.id()),
            language_info: None,
        }
    }

    fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    fn execute(&self, request: Request) -> Future<'_, Result<Execution>> {
        Box::pin(async move { self.begin(request) })
    }

    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>> {
        Box::pin(async move {
            let running = self.running();
            if let Some(process) = running.process.as_ref().filter(|_| execution.0 == running.count) {
                running.interrupted.store(true, Ordering::Relaxed);
                process.signal(Signal::INT);
            }
            Ok(())
        })
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn restart(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(async {
            self.shutdown().await;
            self.state.send_replace(State::Idle);
            Ok(Vec::new())
        })
    }

    fn shutdown(&self) -> Future<'_, ()> {
        Box::pin(async {
            self.state.send_replace(State::Dead(Death::Exit(0)));
            let process = {
                let mut running = self.running();
                running.interrupted.store(true, Ordering::Relaxed);
                running.process.take()
            };
            if let Some(process) = process {
                process.kill_tree().await;
            }
        })
    }
}
