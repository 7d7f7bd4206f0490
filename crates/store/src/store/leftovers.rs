//! Removes temporary files that an interrupted save left beside a notebook.

use std::fs::{self, File};
use std::io;

use cellist_platform::files;
use cellist_settings::Home;

use super::content::{holds, revision_of};
use super::load::{SETTLE, wait_for_writers};
use super::location::FileLocation;
use super::lock::{NotebookLock, SaveStep};
use super::recent_versions::RecentVersions;
use super::recovered;
use super::temporary::{TemporaryFile, is_unused};

/// Removes unused temporary files. A file with text of another program moves to the `recovered`
/// folder, with a notice.
pub(super) fn sweep(
    home: &Home,
    location: &FileLocation,
    lock: &mut NotebookLock,
    notices: &mut Vec<String>,
) {
    // We cannot have made a temporary file in a folder that cannot be listed.
    let found = TemporaryFile::all(location).unwrap_or_default();
    let mut in_use = Vec::new();
    for temporary in found {
        let noted = lock.journal.temporaries.iter().find(|noted| noted.tag == temporary.tag);
        let step = noted.map(|noted| noted.step.clone());
        match verdict(location, &temporary, step.as_ref()) {
            Ok(LeftoverVerdict::InUse) | Err(_) => in_use.push(temporary.tag),
            Ok(LeftoverVerdict::Remove) => {
                let _ = temporary.remove();
            }
            Ok(LeftoverVerdict::Keep) => {
                let why = "a version of the notebook that an interrupted save left behind";
                notices.push(recovered::keep(home, location, &temporary, why));
            }
        }
    }
    if !lock.journal.temporaries.is_empty() {
        // The interrupted save may or may not have put its version into the file. Either way the
        // history is incomplete.
        RecentVersions::of(home, &location.key()).clear();
        let _ = lock.note(|journal| journal.temporaries.retain(|noted| in_use.contains(&noted.tag)));
    }
}

enum LeftoverVerdict {
    InUse,
    Remove,
    Keep,
}

fn verdict(
    location: &FileLocation,
    temporary: &TemporaryFile,
    step: Option<&SaveStep>,
) -> io::Result<LeftoverVerdict> {
    if !fs::symlink_metadata(&temporary.path)?.is_file() {
        return Ok(LeftoverVerdict::InUse);
    }
    let file = File::open(&temporary.path)?;
    // A process with another state folder locks its file while it works.
    if !is_unused(&file) {
        return Ok(LeftoverVerdict::InUse);
    }
    let is_known = match step {
        Some(SaveStep::Writing) => true,
        // A program that opened the notebook before the exchange may still be writing.
        Some(SaveStep::Exchanging { .. }) | None if !wait_for_writers(&file) => {
            return Ok(LeftoverVerdict::InUse);
        }
        Some(SaveStep::Exchanging { old, new }) => {
            let revision = revision_of(&file)?.to_string();
            revision == *old || revision == *new
        }
        // A file exists for a moment before its process locks it.
        None if is_new(&file)? => return Ok(LeftoverVerdict::InUse),
        None => holds(&file, [fs::read(&location.real)?.as_slice()])?,
    };
    Ok(if is_known { LeftoverVerdict::Remove } else { LeftoverVerdict::Keep })
}

fn is_new(file: &File) -> io::Result<bool> {
    let age = files::named_at(&file.metadata()?).elapsed();
    Ok(age.map_or(true, |age| age < SETTLE))
}
