//! What was read of each notebook, so that a later change can say what it was based on.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cellist_notebook::{Revision, Snapshot};
use cellist_platform::files;
use cellist_settings::Home;

use super::place::Place;
use super::temporary::Temporary;

const FOLDER: &str = "read";
const LAST: &str = "last";
/// How many revisions of each notebook are kept at least.
const KEPT: usize = 32;
/// At how many the oldest go: to tell which those are means to look at each.
const MOST: usize = 48;

/// Keeps a revision and notes that it was the last one read.
pub(super) fn remember(home: &Home, place: &Place, snapshot: &Snapshot) -> io::Result<()> {
    keep(home, place, snapshot)?;
    let last = folder(home, place).join(LAST);
    if fs::read(&last).ok().as_deref() != Some(snapshot.revision.as_bytes()) {
        write(place, &last, snapshot.revision.as_bytes())?;
    }
    Ok(())
}

/// Keeps a revision.
pub(super) fn keep(home: &Home, place: &Place, snapshot: &Snapshot) -> io::Result<()> {
    let folder = home.folder(&format!("{FOLDER}/{}", place.key()))?;
    let file = folder.join(file_name(&snapshot.revision));
    if !file.is_file() {
        forget_oldest(&folder)?;
        write(place, &file, &serde_json::to_vec(snapshot)?)?;
    }
    Ok(())
}

pub(super) fn recall(home: &Home, place: &Place, revision: Revision) -> Option<Snapshot> {
    let file = folder(home, place).join(file_name(&revision.to_string()));
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

pub(super) fn last(home: &Home, place: &Place) -> Option<Revision> {
    fs::read_to_string(folder(home, place).join(LAST)).ok()?.parse().ok()
}

fn folder(home: &Home, place: &Place) -> PathBuf {
    home.path().join(FOLDER).join(place.key())
}

fn file_name(revision: &str) -> String {
    format!("{revision}.json")
}

/// Whole or not at all, for others who read at the same time.
pub(super) fn write(place: &Place, file: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = file.with_extension(format!("{}.tmp", Temporary::new(place).tag));
    let mut options = fs::OpenOptions::new();
    let written = files::private(options.write(true).create_new(true))
        .open(&temporary)
        .and_then(|mut opened| io::Write::write_all(&mut opened, bytes))
        .and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn forget_oldest(folder: &Path) -> io::Result<()> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    if entries.len() <= MOST {
        return Ok(());
    }
    let mut files = Vec::with_capacity(entries.len());
    for entry in entries.iter().filter(|entry| entry.file_name() != LAST) {
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(KEPT);
    files.drain(..surplus).try_for_each(|(_, path)| fs::remove_file(path))
}
