//! Saving into the file itself, where it cannot be replaced by another: it has several names, is a mount
//! point, belongs to someone else, or its folder is closed to us. Copies in the state folder make up for a
//! write that was interrupted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::PathBuf;

use cellist_platform::files;
use cellist_settings::Home;

use super::content::{Content, holds};
use super::lock::Lock;
use super::place::Place;
use super::recovered;

const FOLDER: &str = "recovery";

/// What came of writing into the file.
pub(super) enum Written {
    Done,
    /// The file does not hold what was expected, before or after writing.
    Differs,
}

/// Writes `new` over `old` in the file itself.
pub(super) fn write(
    home: &Home,
    place: &Place,
    lock: &mut Lock,
    old: &Content,
    new: &Content,
) -> io::Result<Written> {
    let file = OpenOptions::new().read(true).write(true).open(&place.real)?;
    write_to(&file, home, lock, old, new)
}

/// The same for a file that is open.
pub(super) fn write_to(
    file: &File,
    home: &Home,
    lock: &mut Lock,
    old: &Content,
    new: &Content,
) -> io::Result<Written> {
    if !old.is_in(file)? {
        return Ok(Written::Differs);
    }
    let copies = Copies::of(home, lock)?;
    let prepared = copies.make(old, new).and_then(|()| {
        // Nothing is overwritten before there is room for all of it.
        files::reserve(file, new.len() as u64)?;
        lock.note(|journal| journal.in_place = true)?;
        lock.sync()
    });
    if let Err(error) = prepared {
        copies.remove(lock);
        return Err(error);
    }
    if let Err(error) = overwrite(file, new) {
        // If not even this works, the copies stay and the next one to open the notebook repairs it.
        if overwrite(file, old).is_ok() {
            copies.remove(lock);
        }
        return Err(error);
    }
    copies.remove(lock);
    // Where it cannot be read back it is still written and synced.
    Ok(if new.is_in(file).unwrap_or(true) { Written::Done } else { Written::Differs })
}

fn overwrite(mut file: &File, content: &Content) -> io::Result<()> {
    file.rewind()?;
    content.write(file)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// Completes a save that was interrupted. Returns what the user should know.
pub(super) fn repair(home: &Home, place: &Place, lock: &mut Lock) -> io::Result<Option<String>> {
    if !lock.journal.in_place {
        return Ok(None);
    }
    let copies = Copies::of(home, lock)?;
    let (Ok(old), Ok(new)) = (fs::read(&copies.old), fs::read(&copies.new)) else {
        copies.remove(lock);
        return Ok(None);
    };
    let mut file = match OpenOptions::new().read(true).write(true).open(&place.real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let why = "the file was deleted after an interrupted save; the version to be saved";
            let notice = recovered::keep_bytes(home, place, &new, why)?;
            copies.remove(lock);
            return Ok(Some(notice));
        }
        opened => opened?,
    };
    let notice = if holds(&file, [new.as_slice()])? || holds(&file, [old.as_slice()])? {
        None
    } else if is_mixture(&fs::read(&place.real)?, &old, &new) {
        file.rewind()?;
        file.write_all(&new)?;
        file.set_len(new.len() as u64)?;
        file.sync_all()?;
        Some("an interrupted save was completed".to_owned())
    } else {
        let why = "another program wrote the file after an interrupted save; the version to be saved";
        Some(recovered::keep_bytes(home, place, &new, why)?)
    };
    copies.remove(lock);
    Ok(notice)
}

/// Whether a file is what an interrupted write leaves: each byte from one of the two versions.
fn is_mixture(found: &[u8], old: &[u8], new: &[u8]) -> bool {
    let either = |(at, byte): (usize, &u8)| old.get(at) == Some(byte) || new.get(at) == Some(byte);
    found.iter().enumerate().all(either)
}

/// Both versions, in the state folder.
struct Copies {
    folder: PathBuf,
    old: PathBuf,
    new: PathBuf,
}

impl Copies {
    fn of(home: &Home, lock: &Lock) -> io::Result<Copies> {
        let folder = home.folder(FOLDER)?;
        let path = |version: &str| folder.join(format!("{}.{version}.ipynb", lock.key));
        Ok(Copies { old: path("old"), new: path("new"), folder })
    }

    fn make(&self, old: &Content, new: &Content) -> io::Result<()> {
        for (path, content) in [(&self.old, old), (&self.new, new)] {
            let mut options = OpenOptions::new();
            let file = files::private(options.write(true).create(true).truncate(true)).open(path)?;
            content.write(&file)?;
            file.sync_all()?;
        }
        files::sync_folder(&self.folder)
    }

    fn remove(&self, lock: &mut Lock) {
        // In this order: a journal that still asks for a repair must find the copies.
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
    fn what_an_interrupted_write_leaves_is_told_from_what_others_write() {
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
