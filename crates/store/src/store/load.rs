//! Reads a notebook while other programs may write it, in several steps and without a lock.

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
use super::location::{FileLocation, unreadable};
use crate::{Problem, Result};

/// Time for which a file that does not parse may be an unfinished write.
pub(super) const SETTLE: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(5);
/// Pause between attempts to open a file that is open most of the time.
const MOMENT: Duration = Duration::from_micros(100);

/// The result of reading a file.
pub(super) enum ReadOutcome {
    Notebook(Arc<Notebook>, Mark),
    /// Not a notebook, even after waiting.
    Broken(cellist_notebook::Error),
}

/// Reads the notebook at a location.
pub(super) fn load(location: &FileLocation) -> Result<(Arc<Notebook>, Mark)> {
    location.metadata()?;
    match read(&location.real).map_err(|error| location.error(unreadable(error)))? {
        ReadOutcome::Notebook(notebook, mark) => Ok((notebook, mark)),
        ReadOutcome::Broken(error) => Err(location.error(Problem::NotANotebook(error))),
    }
}

/// Reads a file until it parses, or is too old to be an unfinished write.
pub(super) fn read(path: &Path) -> io::Result<ReadOutcome> {
    let deadline = Instant::now() + SETTLE;
    loop {
        let (bytes, before, after) = read_once(path)?;
        let in_time = Instant::now() < deadline;
        // A read that overlaps a write may mix two versions, even if it parses.
        if before != after && in_time {
            sleep(PAUSE);
            continue;
        }
        match Notebook::parse(bytes, fresh_ids()) {
            Ok(notebook) => return Ok(ReadOutcome::Notebook(Arc::new(notebook), after)),
            Err(error) if !in_time || !is_young(path)? => return Ok(ReadOutcome::Broken(error)),
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
    // One byte more than the length, so that reading the end does not double the buffer.
    let capacity = usize::try_from(metadata.len()).unwrap_or(usize::MAX).saturating_add(1);
    fault::reserve(Site::NotebookBuffer, &mut bytes, capacity)?;
    files::prepare_large(&mut bytes);
    file.read_to_end(&mut bytes)?;
    Ok((bytes, files::mark(&metadata), files::mark(&file.metadata()?)))
}

fn is_young(path: &Path) -> io::Result<bool> {
    // A time in the future comes from another clock and shows no age.
    let age = fs::metadata(path)?.modified()?.elapsed();
    Ok(age.map_or(true, |age| age < SETTLE))
}

/// Reads the notebook in an open file.
pub(super) fn read_open(file: &File) -> io::Result<(Arc<Notebook>, Mark)> {
    let (bytes, _, mark) = read_all(file)?;
    let notebook = Notebook::parse(bytes, fresh_ids()).map_err(io::Error::other)?;
    Ok((Arc::new(notebook), mark))
}

/// Opens a file exclusively: other opens wait until it is closed. `None` if the system cannot do
/// that, or another process keeps the file open.
pub(super) fn open_exclusively(path: &Path) -> Option<File> {
    let deadline = Instant::now() + SETTLE;
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    loop {
        match files::keep_others_out(&file) {
            Writers::None => break,
            Writers::Some if Instant::now() < deadline => sleep(MOMENT),
            Writers::Some | Writers::Unknown => return None,
        }
    }
    // Another file may have been moved to the path in between.
    let (held, named) = (file.metadata().ok()?, fs::metadata(path).ok()?);
    files::is_same_file(&held, &named).then_some(file)
}

/// Waits until no process has the file open for writing. `false` after two seconds.
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

/// Waits for a file to reappear: some programs save by moving it away and writing a new one.
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
