//! Reading a notebook that other programs write as they please: not all at once, and without a lock.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cellist_notebook::Notebook;

use super::fresh_ids;
use super::place::{Place, unreadable};
use crate::error::{Problem, Result};
use crate::platform::{self, Mark, Writers};

/// How long a file that makes no sense may still be in the middle of being written.
pub(super) const SETTLE: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(5);

/// What a file turned out to be.
pub(super) enum Reading {
    Notebook(Arc<Notebook>, Mark),
    /// No notebook, and it has not become one in time.
    Broken(cellist_notebook::Error),
}

/// Reads the notebook at a place.
pub(super) fn load(place: &Place) -> Result<(Arc<Notebook>, Mark)> {
    place.metadata()?;
    match read(&place.real).map_err(|error| place.error(unreadable(error)))? {
        Reading::Notebook(notebook, mark) => Ok((notebook, mark)),
        Reading::Broken(error) => Err(place.error(Problem::NotANotebook(error))),
    }
}

/// Reads a file until it is a notebook, or so old that nobody can be writing it still.
pub(super) fn read(path: &Path) -> io::Result<Reading> {
    let deadline = Instant::now() + SETTLE;
    loop {
        let (bytes, before, after) = read_once(path)?;
        let in_time = Instant::now() < deadline;
        // What was read while it changed may be half of each version, even if it parses.
        if before != after && in_time {
            sleep(PAUSE);
            continue;
        }
        match Notebook::parse(bytes, fresh_ids()) {
            Ok(notebook) => return Ok(Reading::Notebook(Arc::new(notebook), after)),
            Err(error) if !in_time || !is_young(path)? => return Ok(Reading::Broken(error)),
            Err(_) => {}
        }
        while Instant::now() < deadline && is_young(path)? && platform::mark(&fs::metadata(path)?) == after {
            sleep(PAUSE);
        }
    }
}

fn read_once(path: &Path) -> io::Result<(Vec<u8>, Mark, Mark)> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    // One more than the file is long, so that reading its end does not double the buffer.
    let capacity = usize::try_from(metadata.len()).unwrap_or(usize::MAX).saturating_add(1);
    bytes.try_reserve_exact(capacity).map_err(|_| io::ErrorKind::OutOfMemory)?;
    platform::prepare_large(&mut bytes);
    file.read_to_end(&mut bytes)?;
    Ok((bytes, platform::mark(&metadata), platform::mark(&file.metadata()?)))
}

fn is_young(path: &Path) -> io::Result<bool> {
    // A time in the future comes from another clock, which says nothing about age.
    let age = fs::metadata(path)?.modified()?.elapsed();
    Ok(age.map_or(true, |age| age < SETTLE))
}

/// Waits until nobody has the file open for writing. `false` when someone still has after two seconds.
pub(super) fn wait_for_writers(file: &File) -> bool {
    let deadline = Instant::now() + SETTLE;
    loop {
        match platform::writers(file) {
            Writers::None | Writers::Unknown => return true,
            Writers::Some if Instant::now() >= deadline => return false,
            Writers::Some => sleep(PAUSE),
        }
    }
}

/// Waits for a file to come back: some programs save by moving it away and writing another.
pub(super) fn wait_for_file(path: &Path) -> bool {
    let deadline = Instant::now() + SETTLE;
    while !path.is_file() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(PAUSE);
    }
    true
}
