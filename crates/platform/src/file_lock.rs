//! Locks on files, for as long as a process lives.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::fault::{self, Site};
use crate::files::is_same_file;

/// Locks a file; `None` when another process has the lock for too long. `site` is the thread that waits.
pub fn lock_within(file: File, patience: Duration, site: Site) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Waiting in the system is fair where trying again and again is not. A thread that waits too long is left
    // behind; when it has the lock at last, nobody takes the file from it and that gives the lock back.
    let (sender, receiver) = mpsc::sync_channel(0);
    fault::thread(site, thread::Builder::new(), move || {
        let locked = file.lock().map(|()| file);
        let _ = sender.send(locked);
    })?;
    match receiver.recv_timeout(patience) {
        Ok(locked) => locked.map(Some),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the thread that waits for it ended")),
    }
}

/// Whether an open file is the one that has this name: not so once it was removed or replaced.
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => is_same_file(&held, &named),
        _ => false,
    }
}
