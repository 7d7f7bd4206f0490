//! How sessions come by their kernels.

use std::path::PathBuf;
use std::sync::Arc;

use cellist_kernel::guard::Guard;
use cellist_kernel::{Future, Order, Result, Started, Trace};
use cellist_settings::Home;
use cellist_store::artifact::Artifacts;

use super::bridge::Bridge;
use super::workplace::Workplace;

/// Starts what an order says.
pub trait Launcher: Send + Sync {
    /// Starts a kernel and returns when it is ready. Dropping the future leaves nothing behind.
    fn launch<'a>(&'a self, order: &'a Order) -> Future<'a, Result<Started>>;
}

/// What sessions work with.
#[derive(Clone)]
pub struct Means {
    /// Starts kernels.
    pub launcher: Arc<dyn Launcher>,
    /// The state folder.
    pub home: Home,
    /// Where outputs go that are too large to be shown.
    pub artifacts: Artifacts,
    /// The way from the code in them to tools.
    pub bridge: Bridge,
    /// Whether sessions are written down for the next host, which says that their state is gone.
    pub remembers: bool,
    /// Where the work of a session is done.
    pub workplace: Workplace,
}

impl Means {
    /// Kernels as processes of ours, that go when we do, each served by a thread of its own. Messages go to `trace` where an order wants them written down.
    pub fn local(guard: Guard, trace: Option<Trace>, home: Home, artifacts: Artifacts) -> Means {
        // Stays from one start to the next, so that the runner is compiled once.
        let runtime_dir = home.path().join("run");
        let launcher = Arc::new(Local { guard, trace, runtime_dir });
        Means {
            launcher,
            home,
            artifacts,
            bridge: Bridge::default(),
            remembers: false,
            workplace: Workplace::OwnThread,
        }
    }
}

struct Local {
    guard: Guard,
    trace: Option<Trace>,
    runtime_dir: PathBuf,
}

impl Launcher for Local {
    fn launch<'a>(&'a self, order: &'a Order) -> Future<'a, Result<Started>> {
        Box::pin(order.start(&self.guard, &self.runtime_dir, self.trace.clone()))
    }
}
