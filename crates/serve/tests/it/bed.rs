//! A host in this process, with its own state folder.

use std::time::Duration;

use cellist_host::{Host as Reach, HostAddress, HostService};
use cellist_kernel::guard::Guard;
use cellist_live::Documents;
use cellist_serve::{HostServer, IdlePolicy, ServeOptions};
use cellist_session::sessions::{Policy, SessionServices, Sessions};
use cellist_settings::Home;
use cellist_store::Store;
use cellist_store::artifact::{Artifacts, Retention};
use testkit::Scratch;
use tokio::task::JoinHandle;

/// A timeout for a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) home: Home,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        let scratch = Scratch::new();
        let home = Home::at(scratch.path().join("home"));
        Bed { scratch, home }
    }

    /// Starts a host of a version.
    pub(crate) fn serve(&self, version: &str, staying: IdlePolicy) -> JoinHandle<()> {
        let serving =
            ServeOptions { home: self.home.clone(), version: version.into(), staying, log: None, page: None };
        let host = HostServer::open(serving, &Guard::none()).unwrap();
        let (serving, service) = (host, self.service());
        tokio::spawn(async move { serving.run(service).await.expect("it was to serve no page") })
    }

    pub(crate) fn service(&self) -> HostService {
        let artifacts = Artifacts::new(&self.home, Retention::default());
        let means = SessionServices::local(Guard::none(), None, self.home.clone(), artifacts.clone());
        let sessions = Sessions::new(Policy::default(), means);
        HostService::new(sessions, Documents::new(Store::new(self.home.clone())), artifacts)
    }

    /// The host's registration, as a client of a version looks for it.
    pub(crate) fn seen_by(&self, version: &str) -> Reach {
        Reach::of(&self.home, version)
    }

    pub(crate) fn address(&self) -> Option<HostAddress> {
        Reach::place(&self.home).said()
    }
}

pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("it takes too long")
}
