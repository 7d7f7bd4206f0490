//! Looks after the folder of a notebook: says when another program may have written the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use cellist_platform::contained::catch;
use cellist_platform::fault::{self, Site};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Watches for as long as it is kept.
#[derive(Debug)]
pub(super) struct FolderWatch {
    /// Where the system cannot watch, changes of others are still found with the next save.
    _watcher: Option<RecommendedWatcher>,
    changed: Arc<Notify>,
}

impl FolderWatch {
    /// Watches the folder of a file, not the file: those who save by renaming put another one there.
    pub(super) fn new(path: &Path) -> FolderWatch {
        let changed = Arc::new(Notify::new());
        // The library panics where it gets no thread, and aborts in its destructor then, so a thread is tried first. Without
        // a watcher, a look before each change has to do.
        let has_thread = thread::Builder::new().spawn(|| ()).is_ok_and(|thread| thread.join().is_ok());
        let watching = || has_thread.then(|| watch(path.to_owned(), Arc::clone(&changed)).ok()).flatten();
        let watcher = catch(watching).ok().flatten();
        FolderWatch { _watcher: watcher, changed }
    }

    /// Waits until the file may be another. May be dropped at any time.
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
            // Something was missed.
            Err(_) => true,
        };
        if concerns {
            changed.notify_one();
        }
    })?;
    watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}
