//! Watches the folder of a notebook and reports when another program may have written the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use cellist_platform::contained::catch;
use cellist_platform::fault::{self, Site};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Watches until dropped.
#[derive(Debug)]
pub(super) struct FolderWatch {
    /// `None` if the system cannot watch; the next save still finds foreign changes.
    _watcher: Option<RecommendedWatcher>,
    changed: Arc<Notify>,
}

impl FolderWatch {
    /// Watches the folder instead of the file, because a save by rename replaces the file.
    pub(super) fn new(path: &Path) -> FolderWatch {
        let changed = Arc::new(Notify::new());
        // The library panics if it gets no thread, and then aborts in its destructor. So a thread is tried first.
        // Without a watcher, the check before each change suffices.
        let has_thread = thread::Builder::new().spawn(|| ()).is_ok_and(|thread| thread.join().is_ok());
        let watching = || has_thread.then(|| watch(path.to_owned(), Arc::clone(&changed)).ok()).flatten();
        let watcher = catch(watching).ok().flatten();
        FolderWatch { _watcher: watcher, changed }
    }

    /// Waits until the file may have changed. Cancel-safe.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

fn watch(path: PathBuf, changed: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let name = path.file_name().map(ToOwned::to_owned);
    fault::point(Site::FolderWatch).map_err(notify::Error::io)?;
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = match event {
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => false,
            Ok(event) => {
                event.need_rescan() || event.paths.iter().any(|path| path.file_name() == name.as_deref())
            }
            // Events were lost.
            Err(_) => true,
        };
        if concerns {
            changed.notify_one();
        }
    })?;
    watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}
