//! The host's place in the state folder: its lock, its socket and the file that says how to reach it. Those of a living host
//! that were removed are made anew.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cellist_host::Address;
use cellist_kernel::guard::Guard;
use cellist_platform::fault::{self, Site};
use cellist_platform::registration::Claim;
use cellist_settings::Home;
use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::log::note;
use crate::socket::Socket;

/// A host's registration, for as long as this is kept.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) socket: Socket,
    claim: Claim,
    address: Address,
    folders: [PathBuf; 2],
    /// Where the system cannot watch, the host still looks now and then.
    watcher: Option<RecommendedWatcher>,
    disturbed: Arc<Notify>,
    /// When to look at a disturbance that was noticed.
    due: Mutex<Option<Instant>>,
}

/// A folder that is being removed is emptied file by file: nothing is put back into it meanwhile.
const SETTLING: Duration = Duration::from_millis(250);

impl Registered {
    /// Registers in the state folder; `None` when another host is there. Needs a runtime.
    pub(crate) fn open(home: &Home, version: &str, guard: &Guard) -> io::Result<Option<Registered>> {
        let Some(claim) = cellist_host::Host::place(home).claim()? else { return Ok(None) };
        let run = home.path().join("run");
        let socket = Socket::bind(&run, guard)?;
        let address =
            Address { pid: std::process::id(), version: version.to_owned(), socket: socket.path.clone() };
        claim.announce(&address)?;
        let disturbed = Arc::new(Notify::new());
        let watcher = watcher(Arc::clone(&disturbed));
        let folders = [home.path().to_owned(), run];
        let mut registered =
            Registered { socket, claim, address, folders, watcher, disturbed, due: Mutex::default() };
        registered.watch();
        Ok(Some(registered))
    }

    /// Waits until a file of ours may have been removed. May be dropped at any time.
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
                // Not quiet yet.
                () = self.disturbed.notified() => {
                    *self.due.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + SETTLING);
                }
            }
        }
    }

    /// Makes anew whatever was removed. `false` when the place is lost: the state folder is gone, or another host has it.
    pub(crate) fn restore(&mut self) -> bool {
        *self.due.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        if !self.claim.holds() {
            if !self.claim.restore() {
                return false;
            }
            note("its lock in the state folder was removed, and made anew");
            // It is another folder now.
            self.watch();
        }
        match self.socket.restore() {
            Ok(true) => note("its socket was removed, and made anew"),
            Ok(false) => {}
            Err(error) => note(format_args!("its socket was removed and cannot be made anew: {error}")),
        }
        if !self.claim.is_announced() {
            match self.claim.announce(&self.address) {
                Ok(()) => note("its registration was removed, and made anew"),
                Err(error) => note(format_args!("its registration cannot be made anew: {error}")),
            }
        }
        true
    }

    /// Lets nobody in any more. The place is kept until the result is dropped.
    pub(crate) fn close(self) -> Claim {
        self.claim
    }

    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for folder in &self.folders {
            let _ = watcher.unwatch(folder);
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
        // Something may have been removed before it was watched.
        self.disturbed.notify_one();
    }
}

fn watcher(disturbed: Arc<Notify>) -> Option<RecommendedWatcher> {
    // The library panics where it gets no thread, so one is tried. Without a watcher, a look now and then has to do.
    fault::thread(Site::WatcherThread, thread::Builder::new(), || ()).ok()?.join().ok()?;
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = match event {
            Ok(event) => {
                event.need_rescan()
                    || matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
            }
            // Something was missed.
            Err(_) => true,
        };
        if concerns {
            disturbed.notify_one();
        }
    });
    watcher.ok()
}
