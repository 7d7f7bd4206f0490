//! Reading a notebook that other programs write as they please: not all at once, and without a lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cellist_notebook::Notebook;
use cellist_platform::fault::{self, Site};
use cellist_platform::files::{self, Mark, Writers};

use super::fresh_ids;
use super::place::{Place, unreadable};
use crate::{Problem, Result};

/// How long a file that makes no sense may still be in the middle of being written.
pub(super) const SETTLE: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(5);
/// Between attempts to catch a file that is open most of the time.
const MOMENT: Duration = Duration::from_micros(100);

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
        while Instant::now() < deadline && is_young(path)? && files::mark(&fs::metadata(path)?) == after {
            sleep(PAUSE);
        }
    }
}

fn read_once(path: &Path) -> io::Result<(Vec<u8>, Mark, Mark)> {
    fault::point(Site::NotebookFile)?;
    read_all(&files::open_real(path)?)
}

fn read_all(mut file: &File) -> io::Result<(Vec<u8>, Mark, Mark)> {
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    // One more than the file is long, so that reading its end does not double the buffer.
    let capacity = usize::try_from(metadata.len()).unwrap_or(usize::MAX).saturating_add(1);
    fault::reserve(Site::NotebookBuffer, &mut bytes, capacity)?;
    files::prepare_large(&mut bytes);
    file.read_to_end(&mut bytes)?;
    Ok((bytes, files::mark(&metadata), files::mark(&file.metadata()?)))
}

fn is_young(path: &Path) -> io::Result<bool> {
    // A time in the future comes from another clock, which says nothing about age.
    let age = fs::metadata(path)?.modified()?.elapsed();
    Ok(age.map_or(true, |age| age < SETTLE))
}

/// Reads the notebook in a file that is open.
pub(super) fn read_open(file: &File) -> io::Result<(Arc<Notebook>, Mark)> {
    let (bytes, _, mark) = read_all(file)?;
    let notebook = Notebook::parse(bytes, fresh_ids()).map_err(io::Error::other)?;
    Ok((Arc::new(notebook), mark))
}

/// Opens a file so that nobody else can until it is closed again, for reading neither: they wait. `None` where
/// the system cannot do that, or someone has the file open all the time.
pub(super) fn open_alone(path: &Path) -> Option<File> {
    let deadline = Instant::now() + SETTLE;
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    loop {
        match files::keep_others_out(&file) {
            Writers::None => break,
            Writers::Some if Instant::now() < deadline => sleep(MOMENT),
            Writers::Some | Writers::Unknown => return None,
        }
    }
    // Someone may have put another file into its place before.
    let (held, named) = (file.metadata().ok()?, fs::metadata(path).ok()?);
    files::is_same_file(&held, &named).then_some(file)
}

/// Waits until nobody has the file open for writing. `false` when someone still has after two seconds.
pub(super) fn wait_for_writers(file: &File) -> bool {
    let deadline = Instant::now() + SETTLE;
    loop {
        match files::writers(file) {
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
