//! Puts away what an interrupted save left beside a notebook.

use std::fs::{self, File};
use std::io;

use cellist_platform::files;
use cellist_settings::Home;

use super::content::{holds, revision_of};
use super::load::{SETTLE, wait_for_writers};
use super::lock::{Lock, Step};
use super::place::Place;
use super::recent::Recent;
use super::recovered;
use super::temporary::{Temporary, is_unused};

/// Removes temporary files that nobody uses. One that holds what another program wrote is kept elsewhere, and
/// the notices say where.
pub(super) fn sweep(home: &Home, place: &Place, lock: &mut Lock, notices: &mut Vec<String>) {
    // A folder that cannot be listed cannot hold a temporary file of ours either.
    let found = Temporary::all(place).unwrap_or_default();
    let mut in_use = Vec::new();
    for temporary in found {
        let noted = lock.journal.temporaries.iter().find(|noted| noted.tag == temporary.tag);
        let step = noted.map(|noted| noted.step.clone());
        match verdict(place, &temporary, step.as_ref()) {
            Ok(Verdict::InUse) | Err(_) => in_use.push(temporary.tag),
            Ok(Verdict::Remove) => {
                let _ = temporary.remove();
            }
            Ok(Verdict::Keep) => {
                let why = "a version of the notebook that an interrupted save left behind";
                notices.push(recovered::keep(home, place, &temporary, why));
            }
        }
    }
    if !lock.journal.temporaries.is_empty() {
        // Whether the interrupted save came to the exchange or not, its version is not among these.
        Recent::of(home, &place.key()).clear();
        let _ = lock.note(|journal| journal.temporaries.retain(|noted| in_use.contains(&noted.tag)));
    }
}

enum Verdict {
    InUse,
    Remove,
    Keep,
}

fn verdict(place: &Place, temporary: &Temporary, step: Option<&Step>) -> io::Result<Verdict> {
    if !fs::symlink_metadata(&temporary.path)?.is_file() {
        return Ok(Verdict::InUse);
    }
    let file = File::open(&temporary.path)?;
    // A process with another state folder says so as long as it is at work.
    if !is_unused(&file) {
        return Ok(Verdict::InUse);
    }
    let is_known = match step {
        Some(Step::Writing) => true,
        // Who opened the notebook before it was exchanged may not have finished writing.
        Some(Step::Exchanging { .. }) | None if !wait_for_writers(&file) => return Ok(Verdict::InUse),
        Some(Step::Exchanging { old, new }) => {
            let revision = revision_of(&file)?.to_string();
            revision == *old || revision == *new
        }
        // There is a moment between getting the name and being marked as in use.
        None if is_new(&file)? => return Ok(Verdict::InUse),
        None => holds(&file, [fs::read(&place.real)?.as_slice()])?,
    };
    Ok(if is_known { Verdict::Remove } else { Verdict::Keep })
}

fn is_new(file: &File) -> io::Result<bool> {
    let age = files::named_at(&file.metadata()?).elapsed();
    Ok(age.map_or(true, |age| age < SETTLE))
}
