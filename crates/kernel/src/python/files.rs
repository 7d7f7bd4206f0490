//! The file system as the search for Python sees it.

use std::fs;
use std::path::{Path, PathBuf};

/// A look at files. Tests give their own.
pub trait Files {
    /// The file at a path, links followed.
    fn kind(&self, path: &Path) -> Kind;
    /// Where a link points, as it says.
    fn link(&self, path: &Path) -> Option<PathBuf>;
    /// The path with all links followed; unchanged where that cannot be.
    fn real(&self, path: &Path) -> PathBuf;
    /// The start of a text file: enough for a settings file or a script.
    fn text(&self, path: &Path) -> Option<String>;
    /// The names in a folder, sorted.
    fn names(&self, folder: &Path) -> Vec<String>;
}

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, or a link that leads nowhere.
    Missing,
    /// A folder.
    Folder,
    /// A file.
    File {
        /// Whether it may be executed.
        executable: bool,
    },
}

impl Kind {
    /// Whether it is a file.
    pub fn is_file(self) -> bool {
        matches!(self, Kind::File { .. })
    }
}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// No settings file or shim is longer; of a binary only this much is looked at.
const LONGEST_TEXT: u64 = 64 * 1024;

impl Files for Disk {
    fn kind(&self, path: &Path) -> Kind {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Kind::Folder,
            Ok(metadata) => Kind::File { executable: is_executable(&metadata) },
            Err(_) => Kind::Missing,
        }
    }

    fn link(&self, path: &Path) -> Option<PathBuf> {
        fs::read_link(path).ok()
    }

    fn real(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }

    fn text(&self, path: &Path) -> Option<String> {
        use std::io::Read;
        let mut bytes = Vec::new();
        fs::File::open(path).ok()?.take(LONGEST_TEXT).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    true
}
