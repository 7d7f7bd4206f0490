//! Resolves a path over links to the file itself, which may not exist yet.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use cellist_notebook::Revision;
use cellist_platform::files;

use crate::{Error, Problem, Result};

/// Limit on links in a row, as in Linux. More count as a loop.
const MAX_LINKS: usize = 40;

/// A file that exists or could be created.
#[derive(Clone, Debug)]
pub(super) struct FileLocation {
    /// The path from the caller, for messages.
    pub(super) given: PathBuf,
    /// The file itself. No part of the path is a link.
    pub(super) real: PathBuf,
}

impl FileLocation {
    /// Follows links. A dangling link leads to the file that it would create.
    pub(super) fn of(path: &Path) -> Result<FileLocation> {
        let mut path_now = path.to_owned();
        for _ in 0..MAX_LINKS {
            match fs::canonicalize(&path_now) {
                Ok(real) => return Ok(FileLocation { given: path.to_owned(), real }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::new(path, unreadable(error))),
            }
            let folder = match path_now.parent() {
                None => Path::new("/"),
                Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
                Some(folder) => folder,
            };
            let folder = fs::canonicalize(folder).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    Error::new(path, Problem::NoSuchFolder { folder: folder.to_owned() })
                }
                _ => Error::new(path, unreadable(error)),
            })?;
            let Some(name) = path_now.file_name() else {
                return Err(Error::new(path, Problem::NoSuchFile));
            };
            let file = folder.join(name);
            match fs::read_link(&file) {
                Ok(target) => path_now = folder.join(target),
                Err(_) => return Ok(FileLocation { given: path.to_owned(), real: file }),
            }
        }
        Err(Error::new(path, Problem::NoSuchFile))
    }

    /// A short key, equal for all paths to the file.
    pub(super) fn key(&self) -> String {
        Revision::of([self.real.as_os_str().as_encoded_bytes()]).to_string()
    }

    pub(super) fn name(&self) -> &OsStr {
        self.real.file_name().unwrap_or_default()
    }

    pub(super) fn folder(&self) -> &Path {
        self.real.parent().unwrap_or(Path::new("/"))
    }

    pub(super) fn error(&self, problem: impl Into<Problem>) -> Error {
        Error::new(&self.given, problem)
    }

    /// Metadata of a regular file. Everything else is an error.
    pub(super) fn metadata(&self) -> Result<fs::Metadata> {
        let metadata = fs::metadata(&self.real).map_err(|error| self.error(unreadable(error)))?;
        if metadata.is_dir() {
            return Err(self.error(Problem::IsFolder));
        }
        // Opening a pipe would block until a writer comes.
        if !metadata.is_file() {
            return Err(self.error(Problem::NotAFile));
        }
        Ok(metadata)
    }

    /// Reads the whole file.
    pub(super) fn read(&self) -> Result<Vec<u8>> {
        self.metadata()?;
        let mut bytes = Vec::new();
        files::open_real(&self.real)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| self.error(unreadable(error)))?;
        Ok(bytes)
    }
}

pub(super) fn unreadable(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound => Problem::NoSuchFile,
        io::ErrorKind::IsADirectory => Problem::IsFolder,
        _ => Problem::Unreadable(error),
    }
}
