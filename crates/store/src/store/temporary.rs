//! Temporary files beside a notebook, and what becomes of them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use cellist_notebook::Notebook;
use cellist_platform::fault::{self, Site};
use cellist_platform::files;

use super::content;
use super::place::Place;

const MARK: &str = ".cellist-";
const ENDING: &str = ".tmp";
/// What file systems allow for a name.
const LONGEST_NAME: usize = 255;

/// A file beside the notebook. It is not removed by being dropped: after an exchange it holds what someone
/// else may have written, and only the one who compared that knows whether it may go.
pub(super) struct Temporary {
    pub(super) tag: String,
    pub(super) path: PathBuf,
}

/// Who may use a new file.
#[derive(Clone, Copy)]
pub(super) enum Access {
    /// This user alone, until it is given the permissions of the file that it replaces.
    Private,
    /// Whoever may use any new file of this user.
    Usual,
}

impl Temporary {
    pub(super) fn new(place: &Place) -> Temporary {
        let random = getrandom::u32().unwrap_or_else(|_| std::process::id());
        Temporary::tagged(place, format!("{random:08x}"))
    }

    pub(super) fn tagged(place: &Place, tag: String) -> Temporary {
        let mut name = beginning(place.name());
        name.push(&tag);
        name.push(ENDING);
        Temporary { path: place.folder().join(name), tag }
    }

    /// The temporary files beside the notebook, whoever left them.
    pub(super) fn all(place: &Place) -> io::Result<Vec<Temporary>> {
        let beginning = beginning(place.name());
        let mut found = Vec::new();
        for entry in fs::read_dir(place.folder())? {
            let name = entry?.file_name();
            let tag = (name.as_encoded_bytes().strip_prefix(beginning.as_encoded_bytes()))
                .and_then(|rest| rest.strip_suffix(ENDING.as_bytes()))
                .and_then(|tag| std::str::from_utf8(tag).ok())
                .filter(|tag| tag.len() == 8 && tag.bytes().all(|byte| byte.is_ascii_hexdigit()));
            if let Some(tag) = tag {
                found.push(Temporary::tagged(place, tag.to_owned()));
            }
        }
        Ok(found)
    }

    /// Makes the file with a notebook in it, and locks it as long as the handle is open, so that others see
    /// that it is in use.
    pub(super) fn write(&self, access: Access, notebook: &Notebook) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        match access {
            Access::Private => files::private(&mut options),
            Access::Usual => &mut options,
        };
        let file = fault::open(Site::TemporaryFile, &options, &self.path)?;
        mark_in_use(&file);
        content::write(&file, notebook)?;
        Ok(file)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Moves the file to a folder that may be on another disk.
    pub(super) fn move_to(&self, target: &Path) -> io::Result<()> {
        if fs::rename(&self.path, target).is_ok() {
            return Ok(());
        }
        fs::copy(&self.path, target)?;
        File::open(target)?.sync_all()?;
        self.remove()
    }
}

/// Tells those who put away temporary files that this one is in use, as long as it is open. Any number may
/// do so; where there are no such locks, only the journal says whose a file is.
pub(super) fn mark_in_use(file: &File) {
    let _ = file.try_lock_shared();
}

/// Whether nobody uses a temporary file; nobody can as long as it stays open.
pub(super) fn is_unused(file: &File) -> bool {
    file.try_lock().is_ok()
}

/// How the names of a notebook's temporary files begin.
fn beginning(name: &OsStr) -> OsString {
    let room = LONGEST_NAME - MARK.len() - ENDING.len() - 8 - 1;
    let mut beginning = OsString::from(".");
    if name.len() <= room {
        beginning.push(name);
    } else {
        // Cut between characters; what is not UTF-8 is named by its lossy form.
        let name = name.to_string_lossy();
        beginning.push(&name[..name.floor_char_boundary(room)]);
    }
    beginning.push(MARK);
    beginning
}
