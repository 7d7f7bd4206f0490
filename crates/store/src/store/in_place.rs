//! Writes into the file itself where it cannot be replaced: it has several names, is a mount point,
//! belongs to another user, or its folder is not writable. Copies in the state folder allow an
//! interrupted write to be completed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::PathBuf;

use cellist_platform::files;
use cellist_settings::Home;

use super::content::{FileContent, holds};
use super::location::FileLocation;
use super::lock::NotebookLock;
use super::recovered;

const FOLDER: &str = "recovery";

/// The result of a write in place.
pub(super) enum InPlaceOutcome {
    Done,
    /// The file had other content than expected, before or after the write.
    Differs,
}

/// Writes `new` over `old` in the file.
pub(super) fn write(
    home: &Home,
    location: &FileLocation,
    lock: &mut NotebookLock,
    old: &FileContent,
    new: &FileContent,
) -> io::Result<InPlaceOutcome> {
    let file = OpenOptions::new().read(true).write(true).open(&location.real)?;
    write_to(&file, home, lock, old, new)
}

/// [`write()`] for an open file.
pub(super) fn write_to(
    file: &File,
    home: &Home,
    lock: &mut NotebookLock,
    old: &FileContent,
    new: &FileContent,
) -> io::Result<InPlaceOutcome> {
    if !old.is_in(file)? {
        return Ok(InPlaceOutcome::Differs);
    }
    let copies = RecoveryCopies::of(home, lock)?;
    let prepared = copies.make(old, new).and_then(|()| {
        // Reserves the space first: nothing is overwritten on a full disk.
        files::reserve(file, new.len() as u64)?;
        lock.note(|journal| journal.in_place = true)?;
        lock.sync()
    });
    if let Err(error) = prepared {
        copies.remove(lock);
        return Err(error);
    }
    if let Err(error) = overwrite(file, new) {
        // If the rollback fails too, the copies stay and the next open repairs the file.
        if overwrite(file, old).is_ok() {
            copies.remove(lock);
        }
        return Err(error);
    }
    copies.remove(lock);
    // A failed read-back does not undo the synced write.
    Ok(if new.is_in(file).unwrap_or(true) { InPlaceOutcome::Done } else { InPlaceOutcome::Differs })
}

fn overwrite(mut file: &File, content: &FileContent) -> io::Result<()> {
    file.rewind()?;
    content.write(file)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// Completes an interrupted write. Returns a notice for the user.
pub(super) fn repair(
    home: &Home,
    location: &FileLocation,
    lock: &mut NotebookLock,
) -> io::Result<Option<String>> {
    if !lock.journal.in_place {
        return Ok(None);
    }
    let copies = RecoveryCopies::of(home, lock)?;
    let (Ok(old), Ok(new)) = (fs::read(&copies.old), fs::read(&copies.new)) else {
        copies.remove(lock);
        return Ok(None);
    };
    let mut file = match OpenOptions::new().read(true).write(true).open(&location.real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let why = "the file was deleted after an interrupted save; the unsaved version";
            let notice = recovered::keep_bytes(home, location, &new, why)?;
            copies.remove(lock);
            return Ok(Some(notice));
        }
        opened => opened?,
    };
    let notice = if holds(&file, [new.as_slice()])? || holds(&file, [old.as_slice()])? {
        None
    } else if is_mixture(&fs::read(&location.real)?, &old, &new) {
        file.rewind()?;
        file.write_all(&new)?;
        file.set_len(new.len() as u64)?;
        file.sync_all()?;
        Some("an interrupted save was completed".to_owned())
    } else {
        let why = "another program wrote the file after an interrupted save; the unsaved version";
        Some(recovered::keep_bytes(home, location, &new, why)?)
    };
    copies.remove(lock);
    Ok(notice)
}

/// Whether a file looks like an interrupted write: every byte is from one of the two versions.
fn is_mixture(found: &[u8], old: &[u8], new: &[u8]) -> bool {
    let either = |(at, byte): (usize, &u8)| old.get(at) == Some(byte) || new.get(at) == Some(byte);
    found.iter().enumerate().all(either)
}

/// Copies of both versions in the state folder.
struct RecoveryCopies {
    folder: PathBuf,
    old: PathBuf,
    new: PathBuf,
}

impl RecoveryCopies {
    fn of(home: &Home, lock: &NotebookLock) -> io::Result<RecoveryCopies> {
        let folder = home.folder(FOLDER)?;
        let path = |version: &str| folder.join(format!("{}.{version}.ipynb", lock.key));
        Ok(RecoveryCopies { old: path("old"), new: path("new"), folder })
    }

    fn make(&self, old: &FileContent, new: &FileContent) -> io::Result<()> {
        for (path, content) in [(&self.old, old), (&self.new, new)] {
            let mut options = OpenOptions::new();
            let file = files::private(options.write(true).create(true).truncate(true)).open(path)?;
            content.write(&file)?;
            file.sync_all()?;
        }
        files::sync_folder(&self.folder)
    }

    fn remove(&self, lock: &mut NotebookLock) {
        // Journal first: a journal that asks for a repair must find the copies.
        if lock.note(|journal| journal.in_place = false).is_ok() {
            let _ = fs::remove_file(&self.old);
            let _ = fs::remove_file(&self.new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_mixture;

    #[test]
    fn an_interrupted_write_is_a_mixture_of_two_versions() {
        let (old, new) = (b"old text", b"new and longer text");
        let check = |found: &[u8], expected| assert_eq!(is_mixture(found, old, new), expected, "{found:?}");
        check(b"new text", true);
        check(b"old text", true);
        check(b"new and longer text", true);
        check(b"new and lon", true);
        check(b"", true);
        check(b"own text", false);
        check(b"new and longer text and more", false);
    }
}
