//! One kernel process with its sockets and tasks, from its start to its end. A restart makes a new one.

mod signs;

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellist_platform::fault::{self, Site};
use serde_json::json;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::connection::{ConnectionFile, Place, Private, Sockets};
use super::faults::Faults;
use super::lanes::{self, LaneOpening};
use super::log::Log;
use super::published::Published;
use super::zmtp::{Fault, Reader, ZmtpWriter};
use super::{InterruptMode, KernelCommand};
use crate::error::{Error, Result};
use crate::event::Death;
use crate::guard::Guard;
use crate::jupyter::client::{COMMANDS, Client, KernelInfo};
use crate::jupyter::lane::Channel;
use crate::jupyter::listener::{Farewell, Interrupter, Listener, ListenerCommand};
use crate::jupyter::message::{Key, Message, Session};
use crate::jupyter::pending::Pending;
use crate::jupyter::setup::{Given, Sign};
use crate::jupyter::trace::Tracer;
use crate::kernel::State;
use crate::kernelspec::expand;
use crate::late::LateOutput;
use crate::launch::Launch;
use crate::process::{Process, Spawn};
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
    listener: Mutex<Option<JoinHandle<()>>>,
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
        // All kernels that are written in Python can listen on files. Of others some cannot: they die, or
        // wait for something that never comes.
        if command.is_python() {
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
                Some((process.clone(), command, &private)),
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

    /// Returns when the kernel has answered and was heard.
    async fn connect(
        connection: &ConnectionFile,
        child: Option<(Arc<Process>, &KernelCommand, &Private)>,
        state: &Arc<watch::Sender<State>>,
        tracer: Tracer,
    ) -> Result<ZmqProcess> {
        let failed = |source| Error::Io { what: "the kernel cannot be reached".into(), source };
        let session = Arc::new(Session::new(Key::new(&connection.key)).map_err(failed)?);
        let [iopub, shell, control, stdin] =
            [Channel::Iopub, Channel::Shell, Channel::Control, Channel::Stdin]
                .map(|channel| connection.place(channel));
        let (iopub, shell, control, stdin) = tokio::try_join!(
            lanes::subscriber(&iopub),
            lanes::dealer(&shell, &session),
            lanes::dealer(&control, &session),
            lanes::dealer(&stdin, &session),
        )
        .map_err(|fault| match fault {
            Fault::Broken(source) => failed(source),
            Fault::Violation(what) => Error::Dead { death: Death::Refused(what) },
        })?;

        let pending = Arc::new(Pending::default());
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let answering = Client::answering(&pending, &commands);
        let answer = move |message: Message| {
            let answering = answering.clone();
            async move { answering.take(message).await }
        };
        let faults = Faults {
            state: state.clone(),
            pending: pending.clone(),
            child: child.as_ref().map(|(process, _, _)| process.clone()),
        };
        let opening = |channel| LaneOpening {
            channel,
            session: session.clone(),
            tracer: tracer.clone(),
            faults: faults.clone(),
            commands: commands.downgrade(),
        };
        let shell = opening(Channel::Shell).open(shell, answer.clone());
        let control = opening(Channel::Control).open(control, answer);
        open_stdin(stdin, opening(Channel::Stdin), &session, &commands);

        let (heard, has_heard) = watch::channel(false);
        let (taking, taken) = watch::channel(false);
        let lost = Arc::new(Notify::new());
        let interrupter = match &child {
            Some((process, command, _)) if command.interrupt_mode == InterruptMode::Signal => {
                Interrupter::Signal(process.clone())
            }
            _ => Interrupter::Message(control.clone()),
        };
        let farewell =
            child.as_ref().map_or(Farewell::None, |(_, _, private)| Farewell::Sign(private.heard()));
        let late = LateOutput::default();
        let listener = Listener {
            source: Published {
                socket: Some(iopub),
                session: session.clone(),
                tracer,
                lost: lost.clone(),
                faults,
            },
            session: session.clone(),
            commands: receiver,
            shell: shell.clone(),
            interrupter,
            state: state.clone(),
            child: child.as_ref().map(|(process, _, _)| process.clone()),
            farewell,
            heard,
            taken: taking,
            late: late.clone(),
        };
        let listener = tokio::spawn(listener.run());
        let mut client = Client {
            session,
            shell,
            control,
            pending,
            commands,
            late,
            info: KernelInfo::default(),
            presumed_language: child
                .as_ref()
                .map(|(_, command, _)| command.language.clone())
                .unwrap_or_default(),
            taken,
            variables: Mutex::default(),
        };
        let listener = AbortOnDrop(Some(listener));
        client.info = client.until_ready(has_heard).await?;
        Ok(ZmqProcess {
            client: Arc::new(client),
            heartbeat: connection.place(Channel::Heartbeat),
            lost,
            process: child.map(|(process, _, _)| process),
            listener: Mutex::new(listener.keep()),
            watchers: Vec::new(),
            log: None,
            private: Mutex::new(None),
        })
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
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            let _ = listener.await;
        }
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
        if let Some(listener) = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take() {
            listener.abort();
        }
    }
}

/// A task that ends when this is dropped, unless it is kept.
struct AbortOnDrop(Option<JoinHandle<()>>);

impl AbortOnDrop {
    fn keep(mut self) -> Option<JoinHandle<()>> {
        self.0.take()
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
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

/// A kernel that asks for input although it was told not to gets an empty line.
fn open_stdin(
    socket: (Reader, ZmtpWriter),
    opening: LaneOpening,
    session: &Arc<Session>,
    commands: &mpsc::Sender<ListenerCommand>,
) {
    let (replies, mut waiting) = mpsc::channel::<Message>(1);
    let lane = opening.open(socket, move |message| {
        let replies = replies.clone();
        async move {
            if message.kind == "input_request" {
                let _ = replies.send(message).await;
            }
        }
    });
    let (session, commands) = (session.clone(), commands.downgrade());
    tokio::spawn(async move {
        // Ends with the kernel: nobody else listens to commands then.
        loop {
            let Some(commands) = commands.upgrade() else { break };
            tokio::select! {
                question = waiting.recv() => {
                    let Some(question) = question else { break };
                    let _ = commands.send(ListenerCommand::InputRequested).await;
                    let (_, frames) = session.build("input_reply", Some(&question), &json!({"value": ""}));
                    lane.send(frames).await;
                }
                () = commands.closed() => break,
            }
        }
    });
}
