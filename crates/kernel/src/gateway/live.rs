//! One kernel process behind a gateway with its connection and its tasks. A restart makes a new one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Target;
use super::address::Gateway;
use super::frames::Form;
use super::leftovers::Kept;
use super::link::GatewayLink;
use super::rest::{self, Trouble};
use super::socket::Socket;
use crate::error::{Error, Result};
use crate::jupyter::client::Client;
use crate::jupyter::lane::{self, Channel};
use crate::jupyter::listener::{Farewell, Interrupter, ListenerCommand, Peer};
use crate::jupyter::message::Key;
use crate::jupyter::opening::{ClientOpening, ListenerHandle};
use crate::jupyter::setup::{Given, Sign};
use crate::jupyter::trace::Tracer;
use crate::kernel::State;
use crate::launch::Launch;

/// How long a gateway may take to end a kernel: it waits for one that is busy before it kills it.
const END: Duration = Duration::from_secs(20);

/// How long a connection to a kernel that runs already may take.
const JOIN: Duration = Duration::from_secs(15);

/// A kernel as a gateway lists it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ListedKernel {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
}

pub(super) struct GatewayKernelLink {
    pub(super) client: Arc<Client>,
    /// The form of messages that its server speaks.
    pub(super) form: Form,
    listener: ListenerHandle,
    connection: ConnectionTask,
}

/// The owner of a kernel; of one of ours the server's protocol version may be known.
enum Whose {
    Ours(Option<Form>),
    Others,
}

impl GatewayKernelLink {
    /// Connects to a kernel that was just started and sets it up.
    pub(super) async fn set_up(
        target: &Target,
        kernel: &ListedKernel,
        launch: &Launch,
        state: &Arc<watch::Sender<State>>,
        form: Option<Form>,
    ) -> Result<(GatewayKernelLink, Vec<String>)> {
        let tracer = Tracer::new(launch.trace.clone());
        let live =
            GatewayKernelLink::connect(&target.gateway, kernel, Whose::Ours(form), state, tracer).await?;
        let variables: Vec<(String, String)> = launch
            .environment
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
            .collect();
        let given = Given { launch, heard: Sign::Message, elsewhere: Some(&variables) };
        let notices = live.client.set_up(&given).await?;
        Ok((live, notices))
    }

    /// Connects to a kernel that runs, which may belong to another client.
    pub(super) async fn join(
        gateway: &Gateway,
        kernel: &ListedKernel,
        state: &Arc<watch::Sender<State>>,
        tracer: Tracer,
    ) -> Result<GatewayKernelLink> {
        let joined = GatewayKernelLink::connect(gateway, kernel, Whose::Others, state, tracer);
        tokio::time::timeout(JOIN, joined).await.map_err(|_| Error::NoAnswer { within: JOIN })?
    }

    async fn connect(
        gateway: &Gateway,
        kernel: &ListedKernel,
        whose: Whose,
        state: &Arc<watch::Sender<State>>,
        tracer: Tracer,
    ) -> Result<GatewayKernelLink> {
        // Nothing is signed: the server does that, towards the kernel.
        let opening = ClientOpening::new(Key::new(""))
            .map_err(|source| Error::Io { what: "no name can be made up".into(), source })?;
        let (form, ours) = match whose {
            Whose::Ours(form) => (form, true),
            Whose::Others => (None, false),
        };
        let socket = Socket::open(gateway, &kernel.id, opening.session.id(), form)
            .await
            .map_err(|trouble| trouble.error(gateway, "connecting to a kernel"))?;
        let (shell, outgoing) = lane::queue(Channel::Shell);
        let link = GatewayLink {
            gateway: gateway.clone(),
            kernel: kernel.id.clone(),
            session: opening.session.clone(),
            outgoing,
            answering: opening.answering(),
            pending: opening.pending.clone(),
            commands: opening.commands.clone(),
            state: state.clone(),
            tracer,
        };
        let form = socket.form();
        let (link, source) = link.begin(socket);
        let connection = ConnectionTask(tokio::spawn(link));
        let peer = Peer {
            control: shell.on(Channel::Control),
            shell,
            interrupter: Interrupter::Call(interrupter(gateway, &kernel.id)),
            farewell: if ours { Farewell::Message } else { Farewell::None },
            child: None,
            state: state.clone(),
        };
        let (client, listener) = opening.connect(source, peer, String::new()).await?;
        Ok(GatewayKernelLink { client, form, listener, connection })
    }

    /// Detaches from the kernel; running code is reported as dead.
    pub(super) async fn leave(&self) {
        let _ = self.client.commands.send(ListenerCommand::Leave).await;
        self.listener.ended().await;
        self.client.pending.close();
        self.connection.0.abort();
    }
}

/// The task that has the connection. It ends when this is dropped.
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn interrupter(gateway: &Gateway, kernel: &str) -> Box<dyn Fn() + Send + Sync> {
    let (gateway, path) = (gateway.clone(), format!("/api/kernels/{kernel}/interrupt"));
    Box::new(move || {
        let (gateway, path) = (gateway.clone(), path.clone());
        tokio::spawn(async move {
            // One that does not arrive did not work, which the caller notices.
            let _ = rest::ask(&gateway, Method::POST, &path, Some(&json!({})), rest::ANSWER).await;
        });
    })
}

/// A kernel that a gateway started for us, until we end it. It is noted down, so that one whose owner is killed does
/// not stay.
pub(super) struct Ours {
    gateway: Gateway,
    pub(super) kernel: ListedKernel,
    kept: Mutex<Option<Kept>>,
}

impl Ours {
    /// Has a kernel started. A server that failed is asked once more; one that did not answer may have started one.
    pub(super) async fn create(target: &Target, name: &str, launch: &Launch) -> Result<Ours> {
        let gateway = &target.gateway;
        let mut body = json!({ "name": name });
        if !target.variables.is_empty() {
            body["env"] =
                target.variables.iter().map(|(name, value)| (name.clone(), value.as_str())).collect();
        }
        let within = launch.startup_timeout;
        let create = || rest::ask(gateway, Method::POST, "/api/kernels", Some(&body), within);
        let created = match create().await {
            Err(trouble) if trouble.is_fault_of_server() => create().await,
            created => created,
        };
        let kernel: ListedKernel = created
            .and_then(|answer| rest::read(&answer))
            .map_err(|trouble| trouble.error(gateway, "starting a kernel"))?;
        let kept = Mutex::new(Kept::note(&launch.runtime_dir, gateway, &kernel.id));
        Ok(Ours { gateway: gateway.clone(), kernel, kept })
    }

    /// Starts it anew in its place.
    pub(super) async fn restart(&self, within: Duration) -> Result<()> {
        let path = format!("/api/kernels/{}/restart", self.kernel.id);
        let restarted = rest::ask(&self.gateway, Method::POST, &path, Some(&json!({})), within).await;
        restarted.map(drop).map_err(|trouble| trouble.error(&self.gateway, "restarting a kernel"))
    }

    /// Ends it. One whose gateway is unreachable now is left to the next client there.
    pub(super) async fn end(&self) {
        let path = format!("/api/kernels/{}", self.kernel.id);
        let ended = rest::ask(&self.gateway, Method::DELETE, &path, None, END).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(kept), Err(Trouble::Unreachable(_) | Trouble::TimedOut(_))) = (kept, ended) {
            kept.leave();
        }
    }
}
