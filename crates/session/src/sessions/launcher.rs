//! Starts the kernels of sessions.

use std::path::PathBuf;
use std::sync::Arc;

use cellist_kernel::guard::Guard;
use cellist_kernel::{Future, Order, Result, Started, Trace};
use cellist_settings::Home;
use cellist_store::artifact::Artifacts;

use super::bridge::Bridge;
use super::workplace::Workplace;

/// Starts kernels from launch orders.
pub trait Launcher: Send + Sync {
    /// Starts a kernel and returns when it is ready. Dropping the future leaves no process behind.
    fn launch<'a>(&'a self, order: &'a Order) -> Future<'a, Result<Started>>;
}

/// The services that sessions use.
#[derive(Clone)]
pub struct SessionServices {
    /// Starts kernels.
    pub launcher: Arc<dyn Launcher>,
    /// The state folder.
    pub home: Home,
    /// Stores output that is too large to show.
    pub artifacts: Artifacts,
    /// The bridge from kernel code to tools.
    pub bridge: Bridge,
    /// Whether to record sessions for the next host, which reports that their state is gone.
    pub remembers: bool,
    /// The executor of session tasks.
    pub workplace: Workplace,
}

impl SessionServices {
    /// Starts kernels as child processes, each session on its own thread. Logs messages to `trace` if an order asks
    /// for it.
    pub fn local(guard: Guard, trace: Option<Trace>, home: Home, artifacts: Artifacts) -> SessionServices {
        // Kept between starts, so that Python compiles the runner once.
        let runtime_dir = home.path().join("run");
        let launcher = Arc::new(LocalLauncher { guard, trace, runtime_dir });
        SessionServices {
            launcher,
            home,
            artifacts,
            bridge: Bridge::default(),
            remembers: false,
            workplace: Workplace::OwnThread,
        }
    }
}

struct LocalLauncher {
    guard: Guard,
    trace: Option<Trace>,
    runtime_dir: PathBuf,
}

impl Launcher for LocalLauncher {
    fn launch<'a>(&'a self, order: &'a Order) -> Future<'a, Result<Started>> {
        Box::pin(order.start(&self.guard, &self.runtime_dir, self.trace.clone()))
    }
}
