//! A kernel's sockets: connected, and each given its task.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::sync::{Notify, mpsc, watch};

use super::ZmqProcess;
use crate::error::{Error, Result};
use crate::event::Death;
use crate::jupyter::lane::{Channel, Lane};
use crate::jupyter::listener::{Farewell, Interrupter, ListenerCommand, Peer};
use crate::jupyter::message::{Key, Message, Session};
use crate::jupyter::opening::ClientOpening;
use crate::jupyter::trace::Tracer;
use crate::kernel::State;
use crate::process::Process;
use crate::zmq::connection::{ConnectionFile, Private};
use crate::zmq::faults::Faults;
use crate::zmq::lanes::{self, LaneOpening};
use crate::zmq::published::Published;
use crate::zmq::receiving::Receiving;
use crate::zmq::zmtp::{Fault, Reader, ZmtpWriter};
use crate::zmq::{InterruptMode, KernelCommand};

/// A kernel process of ours, which is starting.
#[derive(Clone, Copy)]
pub(super) struct Child<'a> {
    pub(super) process: &'a Arc<Process>,
    pub(super) command: &'a KernelCommand,
    pub(super) private: &'a Private,
}

impl ZmqProcess {
    /// Returns when the kernel has answered and was heard.
    pub(super) async fn connect(
        connection: &ConnectionFile,
        child: Option<Child<'_>>,
        state: &Arc<watch::Sender<State>>,
        tracer: Tracer,
    ) -> Result<ZmqProcess> {
        let opening = ClientOpening::new(Key::new(&connection.key)).map_err(unreachable)?;
        let sockets = KernelSockets::connect(connection, &opening.session).await?;
        let process = child.map(|child| child.process.clone());
        let faults =
            Faults { state: state.clone(), pending: opening.pending.clone(), child: process.clone() };
        let (iopub, shell, control) = sockets.open(&opening, &faults, &tracer);
        let lost = Arc::new(Notify::new());
        let source = Published {
            socket: Some(iopub),
            session: opening.session.clone(),
            tracer,
            lost: lost.clone(),
            faults,
        };
        let interrupter = match child {
            Some(Child { process, command, .. }) if command.interrupt_mode == InterruptMode::Signal => {
                Interrupter::Signal(process.clone())
            }
            _ => Interrupter::Message,
        };
        let peer = Peer {
            shell,
            control,
            interrupter,
            farewell: child.map_or(Farewell::None, |child| Farewell::Sign(child.private.heard())),
            child: process.clone(),
            state: state.clone(),
        };
        let language = child.map(|child| child.command.language.clone()).unwrap_or_default();
        let (client, listener) = opening.connect(source, peer, language).await?;
        Ok(ZmqProcess {
            client,
            heartbeat: connection.place(Channel::Heartbeat),
            lost,
            process,
            listener,
            watchers: Vec::new(),
            log: None,
            private: Mutex::new(None),
        })
    }
}

/// The connections to a kernel that have no task yet.
struct KernelSockets {
    iopub: Receiving,
    shell: (Reader, ZmtpWriter),
    control: (Reader, ZmtpWriter),
    stdin: (Reader, ZmtpWriter),
}

impl KernelSockets {
    /// Waits for each socket of the kernel, for as long as the caller lets it.
    async fn connect(connection: &ConnectionFile, session: &Session) -> Result<KernelSockets> {
        let [iopub, shell, control, stdin] =
            [Channel::Iopub, Channel::Shell, Channel::Control, Channel::Stdin]
                .map(|channel| connection.place(channel));
        let (iopub, shell, control, stdin) = tokio::try_join!(
            lanes::subscriber(&iopub),
            lanes::dealer(&shell, session),
            lanes::dealer(&control, session),
            lanes::dealer(&stdin, session),
        )
        .map_err(|fault| match fault {
            Fault::Broken(source) => unreachable(source),
            Fault::Violation(what) => Error::Dead { death: Death::Refused(what) },
        })?;
        Ok(KernelSockets { iopub, shell, control, stdin })
    }

    /// Gives each its task, but for the one on which the kernel publishes.
    fn open(self, client: &ClientOpening, faults: &Faults, tracer: &Tracer) -> (Receiving, Lane, Lane) {
        let answering = client.answering();
        let answer = move |message: Message| {
            let answering = answering.clone();
            async move { answering.take(message).await }
        };
        let opening = |channel| LaneOpening {
            channel,
            session: client.session.clone(),
            tracer: tracer.clone(),
            faults: faults.clone(),
            commands: client.commands.downgrade(),
        };
        let shell = opening(Channel::Shell).open(self.shell, answer.clone());
        let control = opening(Channel::Control).open(self.control, answer);
        open_stdin(self.stdin, opening(Channel::Stdin), &client.session, &client.commands);
        (self.iopub, shell, control)
    }
}

fn unreachable(source: std::io::Error) -> Error {
    Error::Io { what: "the kernel cannot be reached".into(), source }
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
