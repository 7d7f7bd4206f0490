//! Puts away the locks of notebooks that are gone.

use std::fs::{self, File};
use std::path::Path;

use super::{Journal, parse_journal};

/// At every so many locks they are looked through.
pub(super) const EVERY: usize = 32;

/// Looks through the locks in a folder, if there are many by now. Whoever waits for one that goes sees that, and takes
/// the one that comes in its place.
pub(super) fn sweep(folder: &Path) {
    let entries = || fs::read_dir(folder).into_iter().flatten().flatten();
    if !entries().count().is_multiple_of(EVERY) {
        return;
    }
    for entry in entries() {
        let path = entry.path();
        if let Ok(mut file) = File::options().read(true).write(true).open(&path)
            && file.try_lock().is_ok()
            && parse_journal(&mut file).is_some_and(|journal| is_forgotten(&journal))
        {
            // The lock is held until it is gone.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether nothing is left to do for a notebook that is not there.
fn is_forgotten(journal: &Journal) -> bool {
    let Journal { pid: _, path, temporaries, in_place } = journal;
    temporaries.is_empty() && !in_place && !path.is_empty() && matches!(fs::exists(path), Ok(false))
}
