//! One kernel process with its sockets and tasks, from its start to its end. A restart makes a new one.

mod connecting;
mod signs;

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellist_platform::fault::{self, Site};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::KernelCommand;
use super::connection::{ConnectionFile, Place, Private, Sockets};
use super::log::Log;
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::jupyter::client::Client;
use crate::jupyter::lane::Channel;
use crate::jupyter::listener::ListenerCommand;
use crate::jupyter::opening::ListenerHandle;
use crate::jupyter::setup::{Given, Sign};
use crate::jupyter::trace::Tracer;
use crate::kernel::State;
use crate::kernelspec::expand;
use crate::launch::Launch;
use crate::process::{Process, Spawn};
use connecting::Child;
use signs::{BEAT, beat, watch_beats, watch_death};

/// How long a kernel may take to leave when asked, as long as Jupyter gives it.
const LEAVE: Duration = Duration::from_secs(5);

/// How long a kernel may take to leave that has nothing to say any more.
const CLOSED: Duration = Duration::from_millis(300);

/// How long a kernel that runs already may take to answer.
const JOIN: Duration = Duration::from_secs(5);

pub(super) struct ZmqProcess {
    pub(super) client: Arc<Client>,
    heartbeat: Place,
    /// Told when the connection to the kernel ends.
    lost: Arc<Notify>,
    pub(super) process: Option<Arc<Process>>,
    listener: ListenerHandle,
    watchers: Vec<JoinHandle<()>>,
    // Dropped after the process.
    log: Option<Log>,
    private: Mutex<Option<Private>>,
}

impl ZmqProcess {
    /// Starts a kernel process and waits until it can be used; its processes are gone when this fails or is
    /// dropped.
    pub(super) async fn start(
        command: &KernelCommand,
        launch: &Launch,
        guard: &Guard,
        state: &Arc<watch::Sender<State>>,
    ) -> Result<(ZmqProcess, Vec<String>)> {
        if !launch.cwd.is_dir() {
            return Err(Error::NoFolder { path: launch.cwd.clone() });
        }
        let within = launch.startup_timeout;
        // ipykernel can listen on files. Of other kernels some cannot: they die, or wait for something that never comes.
        if command.is_ipykernel() {
            return ZmqProcess::start_on(Sockets::Files, within, command, launch, guard, state).await;
        }
        let began = Instant::now();
        match ZmqProcess::start_on(Sockets::Files, within / 2, command, launch, guard, state).await {
            Err(Error::DiedAtStart { .. } | Error::NotReady { .. }) => {
                let left = within.saturating_sub(began.elapsed());
                ZmqProcess::start_on(Sockets::Ports, left, command, launch, guard, state).await.map_err(
                    |error| match error {
                        Error::NotReady { stderr, .. } => Error::NotReady { within, stderr },
                        other => other,
                    },
                )
            }
            other => other,
        }
    }

    async fn start_on(
        sockets: Sockets,
        within: Duration,
        command: &KernelCommand,
        launch: &Launch,
        guard: &Guard,
        state: &Arc<watch::Sender<State>>,
    ) -> Result<(ZmqProcess, Vec<String>)> {
        let tracer = Tracer::new(launch.trace.clone());
        let private = Private::create(&launch.runtime_dir, sockets, &command.name, guard)?;
        let (process, mut log) = spawn(command, launch, &private, guard)?;
        let ready = async {
            let mut live = ZmqProcess::connect(
                &private.connection,
                Some(Child { process: &process, command, private: &private }),
                state,
                tracer,
            )
            .await?;
            let heard = private.heard();
            let given = Given { launch, heard: Sign::File(&heard), elsewhere: None };
            let notices = live.client.set_up(&given).await?;
            live.watchers.push(watch_death(&process, state, &live.client.pending));
            Ok::<_, Error>((live, notices))
        };
        let failure = tokio::select! {
            ready = ready => match ready {
                Ok((mut live, notices)) => {
                    live.log = Some(log);
                    live.private = Mutex::new(Some(private));
                    return Ok((live, notices));
                }
                Err(error) => error,
            },
            death = process.wait() => Error::DiedAtStart { death, stderr: String::new() },
            () = tokio::time::sleep(within) => Error::NotReady { within, stderr: String::new() },
        };
        process.kill_tree().await;
        let said = log.last_words().await;
        Err(match failure {
            Error::DiedAtStart { .. } if said.contains("No module named ipykernel") => no_ipykernel(command),
            Error::DiedAtStart { death, .. } => Error::DiedAtStart { death, stderr: said },
            Error::NotReady { within, .. } => Error::NotReady { within, stderr: said },
            other => other,
        })
    }

    /// Connects to a kernel that another program started.
    pub(super) async fn join(
        connection: &ConnectionFile,
        state: &Arc<watch::Sender<State>>,
        tracer: Tracer,
    ) -> Result<ZmqProcess> {
        let joined = tokio::time::timeout(JOIN, ZmqProcess::connect(connection, None, state, tracer));
        let mut live = joined.await.map_err(|_| Error::NoAnswer { within: JOIN })??;
        live.watchers.push(watch_beats(connection.place(Channel::Heartbeat), state, &live));
        Ok(live)
    }

    /// Returns when the kernel has shown that it is there.
    pub(super) async fn beat(&self) -> Result<()> {
        match tokio::time::timeout(BEAT, beat(&self.heartbeat)).await {
            Ok(Some(())) => Ok(()),
            Ok(None) | Err(_) => Err(Error::NoAnswer { within: BEAT }),
        }
    }

    /// Asks a kernel of ours to leave, kills the rest of it, and removes its files; lets go of another's.
    pub(super) async fn end(&self, ask: bool) {
        if let Some(process) = &self.process {
            if ask {
                process.look_at_tree();
                let client = &self.client;
                let (_, frames) = client.session.build("shutdown_request", None, &json!({"restart": false}));
                client.control.send(frames).await;
                // ipykernel closes its publishing socket after the users' exit handlers, and may then
                // wait for ten seconds for a thread of its own that waits for that socket.
                let closed = async {
                    self.lost.notified().await;
                    sleep(CLOSED).await;
                };
                tokio::select! {
                    _ = process.wait() => {}
                    () = closed => {}
                    () = sleep(LEAVE) => {}
                }
            }
            process.kill_tree().await;
        } else {
            let _ = self.client.commands.send(ListenerCommand::Leave).await;
        }
        self.listener.ended().await;
        self.client.pending.close();
        self.private.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for ZmqProcess {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            process.kill();
        }
        self.watchers.iter().for_each(JoinHandle::abort);
    }
}

fn spawn(
    command: &KernelCommand,
    launch: &Launch,
    private: &Private,
    guard: &Guard,
) -> Result<(Arc<Process>, Log)> {
    let failed = |source| Error::Io { what: "no pipe can be made".into(), source };
    let (reader, writer) = fault::pipe(Site::KernelLogPipe).map_err(failed)?;
    let log = Log::read(reader).map_err(failed)?;
    let mut argv = command.argv_for(&private.file).into_iter();
    let program = argv.next().unwrap_or_default();
    let mut environment = launch.environment.clone();
    for (name, value) in &command.env {
        let known = |name: &str| {
            let (_, value) = launch.environment.iter().rev().find(|(known, _)| known == name)?;
            Some(value.to_string_lossy().into_owned())
        };
        let value = value.to_str().map_or_else(|| value.clone(), |value| expand(value, known).into());
        environment.push((name.clone(), value));
    }
    // ipykernel leaves by itself when this process is gone.
    environment.push(("JPY_PARENT_PID".into(), std::process::id().to_string().into()));
    let spawn = Spawn {
        program: program.clone().into(),
        arguments: argv.collect(),
        cwd: launch.cwd.clone(),
        environment,
        stdin: Stdio::null(),
        stdout: writer.try_clone().map_err(failed)?.into(),
        stderr: writer.into(),
        descriptors: Vec::new(),
    };
    let process = Process::spawn(spawn, guard).map_err(|error| match error {
        Error::CannotStart { program, reason } => Error::Unsupported {
            message: format!(
                "the kernel {} ({}) cannot be started: {}: {reason}",
                command.name,
                command.display_name,
                program.display()
            ),
            hint: Some(format!("install {}, or choose another kernel", program.display())),
        },
        other => other,
    })?;
    Ok((Arc::new(process), log))
}

fn no_ipykernel(command: &KernelCommand) -> Error {
    let python = command.python.clone().or_else(|| command.argv.first().map(Into::into)).unwrap_or_default();
    Error::Unsupported {
        message: format!("ipykernel is not installed for {}", python.display()),
        hint: Some(format!("{} -m pip install ipykernel", python.display())),
    }
}
