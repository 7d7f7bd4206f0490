//! A temporary folder for a test.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// An empty folder, removed when dropped.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes a folder in the system's temporary folder.
    #[expect(clippy::new_without_default, reason = "making a folder is not a default value")]
    pub fn new() -> Self {
        Self(tempfile::Builder::new().prefix("cellist-").tempdir().expect("the temporary folder is writable"))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and makes its parent folders. Returns its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a file in a folder has a parent"))
            .and_then(|()| fs::write(&path, bytes))
            .unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
        path
    }

    /// Copies a file into the folder under its own name. Returns the path of the copy.
    pub fn copy(&self, file: &Path) -> PathBuf {
        let bytes =
            fs::read(file).unwrap_or_else(|error| panic!("{} cannot be read: {error}", file.display()));
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        self.write(&name, bytes)
    }
}
