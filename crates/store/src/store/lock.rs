//! Keeps our own processes apart, by a lock on a side file, and notes in that file what a save is about to
//! do, so that the next one can tell what an interrupted one has left behind.

mod forgotten;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use cellist_platform::fault::{self, Site};
use cellist_platform::file_lock::{is_at, lock_within};
use cellist_platform::files;
use cellist_settings::Home;
use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::{Problem, Result};

const FOLDER: &str = "locks";

/// The right to change a notebook, until it is dropped or the process ends.
pub(super) struct Lock {
    file: File,
    /// The name of the lock, which also names what else is kept for the notebook.
    pub(super) key: String,
    pub(super) journal: Journal,
}

/// What the holder of a lock is doing, or its last holder was doing when it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Journal {
    pub(super) pid: u32,
    /// The notebook, for a person who looks into the file.
    pub(super) path: String,
    pub(super) temporaries: Vec<Noted>,
    pub(super) in_place: bool,
}

/// A temporary file beside the notebook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Noted {
    pub(super) tag: String,
    pub(super) step: Step,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// It is being written and has not changed places with the notebook yet.
    Writing,
    /// It holds what is to be saved, or, once it has changed places with the notebook, what was there.
    Exchanging { old: String, new: String },
}

impl Lock {
    /// Waits for the lock of the notebook at `place`.
    pub(super) fn take(home: &Home, place: &Place, patience: Duration) -> Result<Lock> {
        loop {
            let key = lock_key(place);
            let unusable = |error| place.error(Problem::NoState { folder: home.path().to_owned(), error });
            let path = home.folder(FOLDER).map_err(unusable)?.join(format!("{key}.json"));
            let file = lock(&path, patience).map_err(unusable)?;
            let Some(mut file) = file else {
                let pid = read_journal(&path).map(|journal| journal.pid).filter(|pid| *pid != 0);
                return Err(place.error(Problem::Locked { pid }));
            };
            // A name that the file got or lost meanwhile makes it another lock, and one that was put away is none.
            if lock_key(place) != key || !is_at(&file, &path) {
                continue;
            }
            let journal = parse_journal(&mut file);
            if journal.is_none() {
                forgotten::sweep(&home.path().join(FOLDER));
            }
            let mut lock = Lock { file, key, journal: journal.unwrap_or_default() };
            lock.journal.pid = std::process::id();
            lock.journal.path = place.real.display().to_string();
            lock.write().map_err(unusable)?;
            return Ok(lock);
        }
    }

    /// Changes the journal.
    pub(super) fn note(&mut self, change: impl FnOnce(&mut Journal)) -> io::Result<()> {
        change(&mut self.journal);
        self.write()
    }

    /// Makes the journal outlast a power failure too.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub(super) fn forget_temporary(&mut self, tag: &str) {
        // If this fails, the next save looks for a file that is not there.
        let _ = self.note(|journal| journal.temporaries.retain(|noted| noted.tag != tag));
    }

    /// One short write of one line: a process that is killed leaves the old journal or the new one. What may
    /// follow the line is the rest of a longer one before it.
    fn write(&mut self) -> io::Result<()> {
        let mut line = serde_json::to_vec(&self.journal)?;
        line.push(b'\n');
        self.file.rewind()?;
        self.file.write_all(&line)?;
        self.file.set_len(line.len() as u64)
    }
}

/// The journal of a notebook that may be locked by someone else.
pub(super) fn peek(home: &Home, place: &Place) -> Option<Journal> {
    read_journal(&home.path().join(FOLDER).join(format!("{}.json", lock_key(place))))
}

fn read_journal(path: &Path) -> Option<Journal> {
    parse_journal(&mut File::open(path).ok()?)
}

fn parse_journal(file: &mut File) -> Option<Journal> {
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.read_to_end(&mut text).ok()?;
    serde_json::from_slice(text.split(|&byte| byte == b'\n').next()?).ok()
}

/// One lock for all names of a file that has several, else one for its path. The number of a file with one
/// name changes with each save.
fn lock_key(place: &Place) -> String {
    match fs::metadata(&place.real) {
        Ok(metadata) if files::has_several_names(&metadata) => {
            let mark = files::mark(&metadata);
            format!("file-{:x}-{:x}", mark.device, mark.number)
        }
        _ => place.key(),
    }
}

/// Opens and locks a file; `None` when someone else has the lock for too long.
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

    fn place(folder: &Path) -> (Home, Place) {
        let home = Home::at(folder.join("home"));
        (home, Place::of(&folder.join("nb.ipynb")).unwrap())
    }

    #[test]
    fn whoever_waits_for_a_lock_that_is_put_away_gets_the_one_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (home, place) = place(folder.path());
        let patience = Duration::from_secs(60);
        let first = Lock::take(&home, &place, patience).ok().unwrap();
        let path = home.path().join(FOLDER).join(format!("{}.json", first.key));
        let waiting = {
            let (home, place) = (home.clone(), place.clone());
            thread::spawn(move || Lock::take(&home, &place, patience).ok().unwrap())
        };
        // It waits, or is about to open the file: either way it may not get the one that goes.
        fs::remove_file(&path).unwrap();
        drop(first);
        let second = waiting.join().unwrap();
        assert!(is_at(&second.file, &path));
        assert!(Lock::take(&home, &place, Duration::ZERO).is_err(), "nobody else has it");
    }

    #[test]
    fn locks_of_notebooks_that_are_gone_are_put_away() {
        let folder = tempfile::tempdir().unwrap();
        let (home, _) = place(folder.path());
        let take = |name: &str| {
            let place = Place::of(&folder.path().join(name)).unwrap();
            Lock::take(&home, &place, Duration::ZERO).ok().unwrap()
        };
        fs::write(folder.path().join("stays.ipynb"), "").unwrap();
        let stays = take("stays.ipynb").key;
        let mut torn = take("torn.ipynb");
        torn.note(|journal| journal.in_place = true).unwrap();
        let torn = torn.key.clone();
        let held = take("held.ipynb");
        for number in 0..forgotten::EVERY {
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
