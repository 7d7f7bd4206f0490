//! Snapshots of earlier reads, for changes that name the revision they were made from.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cellist_notebook::{Revision, Snapshot};
use cellist_platform::files;
use cellist_settings::Home;

use super::location::FileLocation;
use super::temporary::TemporaryFile;

const FOLDER: &str = "read";
const LAST: &str = "last";
/// Revisions of a notebook that are always kept.
const KEPT: usize = 32;
/// Number of files that triggers a cleanup, which has to stat each one.
const MOST: usize = 48;

/// Keeps a snapshot and marks it as the last one read.
pub(super) fn remember(home: &Home, location: &FileLocation, snapshot: &Snapshot) -> io::Result<()> {
    keep(home, location, snapshot)?;
    let last = folder(home, location).join(LAST);
    if fs::read(&last).ok().as_deref() != Some(snapshot.revision.as_bytes()) {
        write(location, &last, snapshot.revision.as_bytes())?;
    }
    Ok(())
}

/// Keeps a snapshot.
pub(super) fn keep(home: &Home, location: &FileLocation, snapshot: &Snapshot) -> io::Result<()> {
    let folder = home.folder(&format!("{FOLDER}/{}", location.key()))?;
    let file = folder.join(file_name(&snapshot.revision));
    if !file.is_file() {
        forget_oldest(&folder)?;
        write(location, &file, &serde_json::to_vec(snapshot)?)?;
    }
    Ok(())
}

pub(super) fn recall(home: &Home, location: &FileLocation, revision: Revision) -> Option<Snapshot> {
    let file = folder(home, location).join(file_name(&revision.to_string()));
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

pub(super) fn last(home: &Home, location: &FileLocation) -> Option<Revision> {
    fs::read_to_string(folder(home, location).join(LAST)).ok()?.parse().ok()
}

fn folder(home: &Home, location: &FileLocation) -> PathBuf {
    home.path().join(FOLDER).join(location.key())
}

fn file_name(revision: &str) -> String {
    format!("{revision}.json")
}

/// Writes a file atomically, for concurrent readers.
pub(super) fn write(location: &FileLocation, file: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = file.with_extension(format!("{}.tmp", TemporaryFile::new(location).tag));
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
