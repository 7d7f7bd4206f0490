//! Jupyter kernels over ZeroMQ: started by us, or joined while they run.

mod connection;
mod faults;
mod lanes;
mod live;
mod log;
mod published;
mod receiving;
mod zmtp;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::Backend;
use crate::current::Current;
use crate::error::Result;
use crate::guard::Guard;
use crate::jupyter::client::Client;
use crate::jupyter::kernel::{JupyterKernel, Restart, Transport};
use crate::jupyter::trace::Tracer;
use crate::kernel::{Future, Identity, Kernel, State};
use crate::launch::{Launch, Started};
use crate::trace::Trace;
use connection::ConnectionFile;
use live::ZmqProcess;

/// How a kernel is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCommand {
    /// The program and its arguments; `{connection_file}` stands for the file that it must read.
    #[serde(with = "cellist_platform::portable_path")]
    pub argv: Vec<OsString>,
    /// Variables on top of those of the launch; `${NAME}` in a value stands for one of them.
    #[serde(with = "cellist_platform::portable_path")]
    pub env: Vec<(OsString, OsString)>,
    /// The name of the kernelspec, such as `python3`.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// The language, as the kernelspec has it.
    pub language: String,
    /// The interpreter, where it is a local Python.
    #[serde(with = "cellist_platform::portable_path")]
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

    /// Whether it runs ipykernel itself, whose sockets and options are known.
    fn is_ipykernel(&self) -> bool {
        let runs = |pair: &[OsString]| pair[0] == "-m" && IPYKERNEL.iter().any(|module| pair[1] == *module);
        self.argv.windows(2).any(runs)
    }

    fn argv_for(&self, file: &Path) -> Vec<OsString> {
        let mut argv: Vec<OsString> = self.argv.iter().map(|argument| fill_in(argument, file)).collect();
        let has_history = argv.iter().any(|argument| argument.as_bytes().starts_with(HISTORY.as_bytes()));
        if self.is_ipykernel() && !has_history {
            // Code that we run stays out of the user's own history.
            argv.push(format!("{HISTORY}=:memory:").into());
        }
        argv
    }
}

/// The modules that start ipykernel.
const IPYKERNEL: [&str; 2] = ["ipykernel_launcher", "ipykernel"];

/// The option that names the file of IPython's history.
const HISTORY: &str = "--HistoryManager.hist_file";

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
    let (live, notices) = ZmqProcess::start(&command, &launch, guard, &state).await?;
    let origin = ZmqKernelOrigin::Started {
        command: Box::new(command),
        launch: Box::new(launch),
        guard: guard.clone(),
    };
    Ok(Started { kernel: kernel(origin, live, state), notices })
}

/// Connects to a kernel that runs already, which is not set up, and never ended, by us.
pub async fn join(connection_file: &Path, trace: Option<Trace>) -> Result<Started> {
    let connection = ConnectionFile::read(connection_file)?;
    let state = Arc::new(watch::Sender::new(State::Starting));
    let live = ZmqProcess::join(&connection, &state, Tracer::new(trace)).await?;
    let origin = ZmqKernelOrigin::Joined { name: connection.kernel_name };
    Ok(Started { kernel: kernel(origin, live, state), notices: Vec::new() })
}

struct ZmqTransport {
    origin: ZmqKernelOrigin,
    live: Current<ZmqProcess>,
}

enum ZmqKernelOrigin {
    Started { command: Box<KernelCommand>, launch: Box<Launch>, guard: Guard },
    Joined { name: String },
}

fn kernel(origin: ZmqKernelOrigin, live: ZmqProcess, state: Arc<watch::Sender<State>>) -> Box<dyn Kernel> {
    let client = live.client.clone();
    Box::new(JupyterKernel::new(ZmqTransport { origin, live: Current::new(live) }, client, state))
}

impl Transport for ZmqTransport {
    fn identity(&self, client: &Client) -> Identity {
        let (name, python) = match &self.origin {
            ZmqKernelOrigin::Started { command, .. } => (command.name.clone(), command.python.clone()),
            ZmqKernelOrigin::Joined { name } => (name.clone(), None),
        };
        let pid = self.live.get().process.as_ref().map(|process| process.id());
        Identity { python, pid, ..client.identity(Backend::Jupyter, name) }
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        // Not a question on the shell's channel: output of threads would be taken for a part of the reply.
        Box::pin(async { self.live.get().beat().await })
    }

    fn restart<'a>(&'a self, state: &'a Arc<watch::Sender<State>>) -> Option<Restart<'a>> {
        let ZmqKernelOrigin::Started { command, launch, guard } = &self.origin else { return None };
        Some(Box::pin(async move {
            self.live.get().end(false).await;
            let (live, notices) = ZmqProcess::start(command, launch, guard, state).await?;
            let client = live.client.clone();
            self.live.replace(live);
            Ok((client, notices))
        }))
    }

    fn leave(&self, is_idle: bool) -> Future<'_, ()> {
        Box::pin(async move { self.live.get().end(is_idle).await })
    }
}
