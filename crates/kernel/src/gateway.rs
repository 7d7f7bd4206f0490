//! Jupyter kernels behind a gateway: a Jupyter Kernel Gateway, an Enterprise Gateway or a Jupyter Server. Kernels are
//! started and ended over HTTP, and talked to over a websocket.

mod address;
mod continuity;
mod frames;
mod leftovers;
mod link;
mod live;
mod meter;
mod notebooks;
mod rest;
mod shared;
mod socket;
mod specs;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::Backend;
use crate::current::Current;
use crate::error::{Error, Result};
use crate::jupyter::client::Client;
use crate::jupyter::kernel::{JupyterKernel, Restart, Transport};
use crate::jupyter::trace::Tracer;
use crate::kernel::{Future, Identity, Kernel, Request, State};
use crate::launch::{Launch, Started};
use crate::process::{FOR_A_KERNEL, open_files};
use frames::Form;
use live::{GatewayKernelLink, ListedKernel, Ours};

pub use address::{BadAddress, Gateway, TOKEN_VARIABLE};
pub use shared::{Announcement, SharedGateways, Standing};
pub use specs::{Specs, Wanted};

/// Variables by which a kernel calls tools of ours. A gateway elsewhere never gets them.
const BRIDGE: &str = "PI_TOOL_BRIDGE_";

/// The credentials for the gateway.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// A kernel that is wanted, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The gateway.
    pub gateway: Gateway,
    /// The kernel.
    pub kernel: Which,
    /// Variables that the gateway itself is given for the kernel.
    pub variables: Vec<(String, String)>,
}

/// Which kernel is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// A new one, which ends with us.
    Start(Wanted),
    /// One that runs, by its id. It is never ended by us.
    Join(String),
    /// The one that a Jupyter Server has for this notebook. It is never ended by us.
    OfNotebook(#[serde(with = "cellist_platform::portable_path")] std::path::PathBuf),
}

/// The kernelspecs of a gateway. Returning them proves that the gateway works and accepts our credentials.
pub async fn specs(gateway: &Gateway) -> Result<Specs> {
    rest::get(gateway, "/api/kernelspecs")
        .await
        .map_err(|trouble| trouble.error(gateway, "listing its kernels"))
}

/// The kernels that run on a gateway, by id and name. Some do not tell.
pub async fn running(gateway: &Gateway) -> Result<Vec<(String, String)>> {
    let listed = rest::get::<Vec<ListedKernel>>(gateway, "/api/kernels").await;
    let listed = listed.map_err(|trouble| trouble.error(gateway, "listing the kernels that run"))?;
    Ok(listed.into_iter().map(|ListedKernel { id, name }| (id, name)).collect())
}

/// Starts a kernel on the shared gateway of an interpreter, which is started first if it does not run.
pub async fn start_shared(
    home: &std::path::Path,
    python: &std::path::Path,
    launch: Launch,
) -> Result<Started> {
    let gateways = SharedGateways::of(home);
    let target = |gateway| Target { gateway, kernel: Which::Start(Wanted::default()), variables: Vec::new() };
    let gateway = gateways.obtain(python, &launch.environment).await?;
    has_room(&gateways, python, &gateway)?;
    match start(target(gateway.clone()), launch.clone()).await {
        // It may have ended between our look and now.
        Err(Error::Gateway { .. }) if specs(&gateway).await.is_err() => {
            start(target(gateways.obtain(python, &launch.environment).await?), launch).await
        }
        started => started,
    }
}

/// Whether a gateway has files left for one more kernel. Where it has not, the failure of a start may look like anything,
/// and take as long as a start may.
fn has_room(gateways: &SharedGateways, python: &std::path::Path, gateway: &Gateway) -> Result<()> {
    match gateways.process(python).and_then(open_files) {
        Some((open, most)) if open + u64::from(FOR_A_KERNEL) > most => {
            Err(Error::GatewayFull { url: gateway.url().to_owned(), open, most })
        }
        Some(_) | None => Ok(()),
    }
}

/// Ends the shared gateway of an interpreter, unless code runs on it; whether it did. The next kernel starts it anew.
pub async fn end_shared_unless_busy(home: &std::path::Path, python: &std::path::Path) -> bool {
    SharedGateways::of(home).end_unless_busy(python).await
}

/// Starts or joins a kernel and returns when it is ready.
pub async fn start(target: Target, launch: Launch) -> Result<Started> {
    let gateway = &target.gateway;
    let state = Arc::new(watch::Sender::new(State::Starting));
    let join = match &target.kernel {
        Which::Start(_) => None,
        Which::Join(id) => Some(named(gateway, id).await?),
        Which::OfNotebook(path) => Some(notebooks::kernel_of(gateway, path).await?),
    };
    if let Some(kernel) = join {
        let live =
            GatewayKernelLink::join(gateway, &kernel, &state, Tracer::new(launch.trace.clone())).await?;
        let kernel =
            GatewayTransport::kernel(target, launch, GatewayKernelOrigin::Joined(kernel), live, state);
        return Ok(Started { kernel, notices: Vec::new() });
    }
    let wanted = match &target.kernel {
        Which::Start(wanted) => wanted.clone(),
        Which::Join(_) | Which::OfNotebook(_) => Wanted::default(),
    };
    let name = specs(gateway).await?.choose(gateway, &wanted)?;
    leftovers::sweep(&launch.runtime_dir, gateway).await;
    let ours = Ours::create(&target, &name, &launch).await?;
    match ready(&target, &ours, &launch, &state, None).await {
        Ok((live, notices)) => {
            let kernel = GatewayTransport::kernel(
                target,
                launch,
                GatewayKernelOrigin::Started(Box::new(ours)),
                live,
                state,
            );
            Ok(Started { kernel, notices })
        }
        Err(error) => {
            ours.end().await;
            Err(error)
        }
    }
}

async fn ready(
    target: &Target,
    ours: &Ours,
    launch: &Launch,
    state: &Arc<watch::Sender<State>>,
    form: Option<Form>,
) -> Result<(GatewayKernelLink, Vec<String>)> {
    let within = launch.startup_timeout;
    let ready =
        tokio::time::timeout(within, GatewayKernelLink::set_up(target, &ours.kernel, launch, state, form));
    ready.await.map_err(|_| Error::NotReady { within, stderr: String::new() })?
}

async fn named(gateway: &Gateway, id: &str) -> Result<ListedKernel> {
    let kernel = rest::get(gateway, &format!("/api/kernels/{id}")).await;
    kernel.map_err(|trouble| match trouble.is_status(hyper::StatusCode::NOT_FOUND) {
        true => Error::Gateway {
            message: format!("the gateway {} has no kernel {id}", gateway.url()),
            hint: Some("see `cellist kernels --gateway URL` for those that run there".into()),
        },
        false => trouble.error(gateway, "looking for a kernel"),
    })
}

struct GatewayTransport {
    target: Target,
    launch: Launch,
    origin: GatewayKernelOrigin,
    live: Current<GatewayKernelLink>,
}

enum GatewayKernelOrigin {
    Started(Box<Ours>),
    Joined(ListedKernel),
}

impl GatewayKernelOrigin {
    fn kernel(&self) -> &ListedKernel {
        match self {
            GatewayKernelOrigin::Started(ours) => &ours.kernel,
            GatewayKernelOrigin::Joined(kernel) => kernel,
        }
    }
}

impl GatewayTransport {
    fn kernel(
        target: Target,
        launch: Launch,
        origin: GatewayKernelOrigin,
        live: GatewayKernelLink,
        state: Arc<watch::Sender<State>>,
    ) -> Box<dyn Kernel> {
        let client = live.client.clone();
        let transport = GatewayTransport { target, launch, origin, live: Current::new(live) };
        Box::new(JupyterKernel::new(transport, client, state))
    }
}

impl Transport for GatewayTransport {
    fn identity(&self, client: &Client) -> Identity {
        client.identity(Backend::Gateway, self.origin.kernel().name.clone())
    }

    fn restrict(&self, request: &mut Request) {
        if !self.target.gateway.is_shared() {
            request.variables.retain(|(name, _)| !name.starts_with(BRIDGE));
        }
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        const BEAT: Duration = Duration::from_secs(5);
        Box::pin(async {
            let gateway = &self.target.gateway;
            let path = format!("/api/kernels/{}", self.origin.kernel().id);
            let beat = rest::ask(gateway, hyper::Method::GET, &path, None, BEAT).await;
            beat.map(drop).map_err(|trouble| trouble.error(gateway, "looking for a kernel"))
        })
    }

    fn restart<'a>(&'a self, state: &'a Arc<watch::Sender<State>>) -> Option<Restart<'a>> {
        let GatewayKernelOrigin::Started(ours) = &self.origin else { return None };
        Some(Box::pin(async move {
            let last = self.live.get();
            last.leave().await;
            ours.restart(self.launch.startup_timeout).await?;
            let (live, notices) = ready(&self.target, ours, &self.launch, state, Some(last.form)).await?;
            let client = live.client.clone();
            self.live.replace(live);
            Ok((client, notices))
        }))
    }

    fn leave(&self, _is_idle: bool) -> Future<'_, ()> {
        Box::pin(async { self.live.get().leave().await })
    }

    fn remove(&self) -> Future<'_, ()> {
        Box::pin(async {
            if let GatewayKernelOrigin::Started(ours) = &self.origin {
                ours.end().await;
            }
        })
    }
}
