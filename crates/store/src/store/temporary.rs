//! Temporary files beside a notebook.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use cellist_notebook::Notebook;
use cellist_platform::fault::{self, Site};
use cellist_platform::files;

use super::content;
use super::location::FileLocation;

const MARK: &str = ".cellist-";
const ENDING: &str = ".tmp";
/// Limit of file systems.
const LONGEST_NAME: usize = 255;

/// A file beside the notebook. Dropping it does not remove the file: after an exchange it has the
/// old content, which must be compared first.
pub(super) struct TemporaryFile {
    pub(super) tag: String,
    pub(super) path: PathBuf,
}

/// Permissions of a new file.
#[derive(Clone, Copy)]
pub(super) enum TemporaryAccess {
    /// For this user only, until it gets the permissions of the file that it replaces.
    Private,
    /// The default of the process.
    Usual,
}

impl TemporaryFile {
    pub(super) fn new(location: &FileLocation) -> TemporaryFile {
        let random = getrandom::u32().unwrap_or_else(|_| std::process::id());
        TemporaryFile::tagged(location, format!("{random:08x}"))
    }

    pub(super) fn tagged(location: &FileLocation, tag: String) -> TemporaryFile {
        let mut name = beginning(location.name());
        name.push(&tag);
        name.push(ENDING);
        TemporaryFile { path: location.folder().join(name), tag }
    }

    /// All temporary files beside the notebook, from any process.
    pub(super) fn all(location: &FileLocation) -> io::Result<Vec<TemporaryFile>> {
        let beginning = beginning(location.name());
        let mut found = Vec::new();
        for entry in fs::read_dir(location.folder())? {
            let name = entry?.file_name();
            let tag = (name.as_encoded_bytes().strip_prefix(beginning.as_encoded_bytes()))
                .and_then(|rest| rest.strip_suffix(ENDING.as_bytes()))
                .and_then(|tag| std::str::from_utf8(tag).ok())
                .filter(|tag| tag.len() == 8 && tag.bytes().all(|byte| byte.is_ascii_hexdigit()));
            if let Some(tag) = tag {
                found.push(TemporaryFile::tagged(location, tag.to_owned()));
            }
        }
        Ok(found)
    }

    /// Creates the file with a notebook and locks it while it is open, which marks it as in use.
    pub(super) fn write(&self, access: TemporaryAccess, notebook: &Notebook) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        match access {
            TemporaryAccess::Private => files::private(&mut options),
            TemporaryAccess::Usual => &mut options,
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

    /// Moves the file to a folder on any disk.
    pub(super) fn move_to(&self, target: &Path) -> io::Result<()> {
        if fs::rename(&self.path, target).is_ok() {
            return Ok(());
        }
        fs::copy(&self.path, target)?;
        File::open(target)?.sync_all()?;
        self.remove()
    }
}

/// Marks a file as in use while it is open, by a shared lock. On systems without file locks only
/// the journal marks it.
pub(super) fn mark_in_use(file: &File) {
    let _ = file.try_lock_shared();
}

/// Whether no process uses a temporary file. Locks it, so that none can until it is closed.
pub(super) fn is_unused(file: &File) -> bool {
    file.try_lock().is_ok()
}

/// The prefix of a notebook's temporary files.
fn beginning(name: &OsStr) -> OsString {
    let room = LONGEST_NAME - MARK.len() - ENDING.len() - 8 - 1;
    let mut beginning = OsString::from(".");
    if name.len() <= room {
        beginning.push(name);
    } else {
        // Cut between characters. A name that is not UTF-8 is used in its lossy form.
        let name = name.to_string_lossy();
        beginning.push(&name[..name.floor_char_boundary(room)]);
    }
    beginning.push(MARK);
    beginning
}
