//! The registration of the host in the state folder: lock, socket and address file. Restores them
//! if they are removed while the host runs.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cellist_host::HostAddress;
use cellist_kernel::guard::Guard;
use cellist_platform::fault::{self, Site};
use cellist_platform::registration::Claim;
use cellist_settings::Home;
use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::log::note;
use crate::socket::HostSocket;

/// A registration, until it is dropped.
#[derive(Debug)]
pub(crate) struct HostRegistration {
    pub(crate) socket: HostSocket,
    claim: Claim,
    address: HostAddress,
    folders: [PathBuf; 2],
    /// `None` if the system cannot watch folders. The host then only checks at intervals.
    watcher: Option<RecommendedWatcher>,
    disturbed: Arc<Notify>,
    /// Time of the next check after a change was noticed.
    due: Mutex<Option<Instant>>,
}

/// A folder is removed file by file. The host waits until that is over before it restores files.
const SETTLING: Duration = Duration::from_millis(250);

impl HostRegistration {
    /// Registers in the state folder. `None` if another host is registered. Needs a runtime.
    pub(crate) fn open(home: &Home, version: &str, guard: &Guard) -> io::Result<Option<HostRegistration>> {
        let Some(claim) = cellist_host::Host::place(home).claim()? else { return Ok(None) };
        let run = home.path().join("run");
        let socket = HostSocket::bind(&run, guard)?;
        let address =
            HostAddress { pid: std::process::id(), version: version.to_owned(), socket: socket.path.clone() };
        claim.announce(&address)?;
        let disturbed = Arc::new(Notify::new());
        let watcher = watcher(Arc::clone(&disturbed));
        let folders = [home.path().to_owned(), run];
        let mut registered =
            HostRegistration { socket, claim, address, folders, watcher, disturbed, due: Mutex::default() };
        registered.watch();
        Ok(Some(registered))
    }

    /// Waits until a file of the registration may have been removed. Safe to cancel.
    pub(crate) async fn disturbed(&self) {
        loop {
            let due = *self.due.lock().unwrap_or_else(PoisonError::into_inner);
            let settled = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = settled => return,
                // Changes continue.
                () = self.disturbed.notified() => {
                    *self.due.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + SETTLING);
                }
            }
        }
    }

    /// Restores removed files. `false` if the registration is lost: the state folder is gone, or
    /// another host has taken it.
    pub(crate) fn restore(&mut self) -> bool {
        *self.due.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        if !self.claim.holds() {
            if !self.claim.restore() {
                return false;
            }
            note("restored the removed lock in the state folder");
            // The folder is a new one.
            self.watch();
        }
        match self.socket.restore() {
            Ok(true) => note("restored the removed socket"),
            Ok(false) => {}
            Err(error) => note(format_args!("cannot restore the removed socket: {error}")),
        }
        if !self.claim.is_announced() {
            match self.claim.announce(&self.address) {
                Ok(()) => note("restored the removed registration"),
                Err(error) => note(format_args!("cannot restore the registration: {error}")),
            }
        }
        true
    }

    /// Stops listening. The lock is kept until the result is dropped.
    pub(crate) fn close(self) -> Claim {
        self.claim
    }

    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for folder in &self.folders {
            let _ = watcher.unwatch(folder);
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
        // A file may have been removed before the watch began.
        self.disturbed.notify_one();
    }
}

fn watcher(disturbed: Arc<Notify>) -> Option<RecommendedWatcher> {
    // The library panics without a thread, so this tries one first. Without a watcher, the checks
    // at intervals remain.
    fault::thread(Site::WatcherThread, thread::Builder::new(), || ()).ok()?.join().ok()?;
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = match event {
            Ok(event) => {
                event.need_rescan()
                    || matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
            }
            // Events were lost.
            Err(_) => true,
        };
        if concerns {
            disturbed.notify_one();
        }
    });
    watcher.ok()
}
