//! Removes the locks of deleted notebooks.

use std::fs::{self, File};
use std::path::Path;

use super::{SaveJournal, parse_journal};

/// Number of lock files after which they are scanned.
pub(super) const EVERY: usize = 32;

/// Scans the locks in a folder once there are many. A process that waits for a removed lock notices
/// that and takes its successor.
pub(super) fn sweep(folder: &Path) {
    let entries = || fs::read_dir(folder).into_iter().flatten().flatten();
    if !entries().count().is_multiple_of(EVERY) {
        return;
    }
    for entry in entries() {
        let path = entry.path();
        if let Ok(mut file) = File::options().read(true).write(true).open(&path)
            && file.try_lock().is_ok()
            && parse_journal(&mut file).is_some_and(|journal| is_stale(&journal))
        {
            // The lock is held during the removal.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether the notebook is gone and no save is pending.
fn is_stale(journal: &SaveJournal) -> bool {
    let SaveJournal { pid: _, path, temporaries, in_place } = journal;
    temporaries.is_empty() && !in_place && !path.is_empty() && matches!(fs::exists(path), Ok(false))
}
