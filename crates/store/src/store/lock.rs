//! Locks a notebook against other cellist processes by a file in the state folder. The file is also
//! the journal of a save: the next holder learns from it how far an interrupted save came.

mod stale_locks;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use cellist_platform::fault::{self, Site};
use cellist_platform::file_lock::{is_at, lock_within};
use cellist_platform::files;
use cellist_settings::Home;
use serde::{Deserialize, Serialize};

use super::location::FileLocation;
use crate::{Problem, Result};

const FOLDER: &str = "locks";

/// The exclusive right to change a notebook, until it is dropped or the process ends.
pub(super) struct NotebookLock {
    file: File,
    /// The name of the lock. Recovery copies use it too.
    pub(super) key: String,
    pub(super) journal: SaveJournal,
}

/// The steps of the current holder, or of the last one when it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SaveJournal {
    pub(super) pid: u32,
    /// The notebook, for a person inspecting the file.
    pub(super) path: String,
    pub(super) temporaries: Vec<JournalEntry>,
    pub(super) in_place: bool,
}

/// A temporary file beside the notebook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    pub(super) tag: String,
    pub(super) step: SaveStep,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SaveStep {
    /// The file is being written. The notebook is untouched.
    Writing,
    /// The file has the new version before the exchange, and the old one after it.
    Exchanging { old: String, new: String },
}

impl NotebookLock {
    /// Waits for the lock of a notebook, up to `patience`.
    pub(super) fn take(home: &Home, location: &FileLocation, patience: Duration) -> Result<NotebookLock> {
        loop {
            let key = lock_key(location);
            let unusable = |error| location.error(Problem::NoState { folder: home.path().to_owned(), error });
            let path = home.folder(FOLDER).map_err(unusable)?.join(format!("{key}.json"));
            let file = lock(&path, patience).map_err(unusable)?;
            let Some(mut file) = file else {
                let pid = read_journal(&path).map(|journal| journal.pid).filter(|pid| *pid != 0);
                return Err(location.error(Problem::Locked { pid }));
            };
            // The file may have gained or lost a name, which changes its key. A sweep may have
            // removed the lock file.
            if lock_key(location) != key || !is_at(&file, &path) {
                continue;
            }
            let journal = parse_journal(&mut file);
            if journal.is_none() {
                stale_locks::sweep(&home.path().join(FOLDER));
            }
            let mut lock = NotebookLock { file, key, journal: journal.unwrap_or_default() };
            lock.journal.pid = std::process::id();
            lock.journal.path = location.real.display().to_string();
            lock.write().map_err(unusable)?;
            return Ok(lock);
        }
    }

    /// Changes the journal and writes it.
    pub(super) fn note(&mut self, change: impl FnOnce(&mut SaveJournal)) -> io::Result<()> {
        change(&mut self.journal);
        self.write()
    }

    /// Makes the journal survive a power failure.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub(super) fn forget_temporary(&mut self, tag: &str) {
        // If this fails, the next save looks for a missing file.
        let _ = self.note(|journal| journal.temporaries.retain(|noted| noted.tag != tag));
    }

    /// Writes the journal as one line in one short write. A killed process leaves the old or the
    /// new line. Bytes after the line are the rest of a longer one.
    fn write(&mut self) -> io::Result<()> {
        let mut line = serde_json::to_vec(&self.journal)?;
        line.push(b'\n');
        self.file.rewind()?;
        self.file.write_all(&line)?;
        self.file.set_len(line.len() as u64)
    }
}

/// Reads the journal without the lock.
pub(super) fn peek(home: &Home, location: &FileLocation) -> Option<SaveJournal> {
    read_journal(&home.path().join(FOLDER).join(format!("{}.json", lock_key(location))))
}

fn read_journal(path: &Path) -> Option<SaveJournal> {
    parse_journal(&mut File::open(path).ok()?)
}

fn parse_journal(file: &mut File) -> Option<SaveJournal> {
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.read_to_end(&mut text).ok()?;
    serde_json::from_slice(text.split(|&byte| byte == b'\n').next()?).ok()
}

/// The key of the lock. A file with several names is locked by its inode, any other one by its
/// path: its inode changes with each save.
fn lock_key(location: &FileLocation) -> String {
    match fs::metadata(&location.real) {
        Ok(metadata) if files::has_several_names(&metadata) => {
            let mark = files::mark(&metadata);
            format!("file-{:x}-{:x}", mark.device, mark.number)
        }
        _ => location.key(),
    }
}

/// Opens and locks a file. `None` after the time limit.
fn lock(path: &Path, patience: Duration) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    files::private(options.read(true).write(true).create(true).truncate(false));
    let file = fault::open(Site::LockFile, &options, path)?;
    lock_within(file, patience, Site::LockThread)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn location(folder: &Path) -> (Home, FileLocation) {
        let home = Home::at(folder.join("home"));
        (home, FileLocation::of(&folder.join("nb.ipynb")).unwrap())
    }

    #[test]
    fn a_waiter_for_a_removed_lock_takes_its_successor() {
        let folder = tempfile::tempdir().unwrap();
        let (home, location) = location(folder.path());
        let patience = Duration::from_secs(60);
        let first = NotebookLock::take(&home, &location, patience).ok().unwrap();
        let path = home.path().join(FOLDER).join(format!("{}.json", first.key));
        let waiting = {
            let (home, location) = (home.clone(), location.clone());
            thread::spawn(move || NotebookLock::take(&home, &location, patience).ok().unwrap())
        };
        // The thread waits for the lock or is about to open the file. Either way it must not get
        // the removed file.
        fs::remove_file(&path).unwrap();
        drop(first);
        let second = waiting.join().unwrap();
        assert!(is_at(&second.file, &path));
        assert!(NotebookLock::take(&home, &location, Duration::ZERO).is_err(), "nobody else has it");
    }

    #[test]
    fn locks_of_deleted_notebooks_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (home, _) = location(folder.path());
        let take = |name: &str| {
            let location = FileLocation::of(&folder.path().join(name)).unwrap();
            NotebookLock::take(&home, &location, Duration::ZERO).ok().unwrap()
        };
        fs::write(folder.path().join("stays.ipynb"), "").unwrap();
        let stays = take("stays.ipynb").key;
        let mut torn = take("torn.ipynb");
        torn.note(|journal| journal.in_place = true).unwrap();
        let torn = torn.key.clone();
        let held = take("held.ipynb");
        for number in 0..stale_locks::EVERY {
            drop(take(&format!("{number}.ipynb")));
        }
        let names =
            || fs::read_dir(home.path().join(FOLDER)).unwrap().flatten().map(|entry| entry.file_name());
        assert!(names().count() < 10, "{:?}", names().collect::<Vec<_>>());
        for key in [&stays, &torn, &held.key] {
            assert!(names().any(|name| name.to_str() == Some(&format!("{key}.json"))), "{key}");
        }
    }
}
