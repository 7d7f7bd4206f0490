//! Where a path leads: over links to the file itself, which may not exist yet.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use cellist_notebook::Revision;
use cellist_platform::files;

use crate::{Error, Problem, Result};

/// How many links in a row are followed before they count as a circle, as in the kernel.
const MAX_LINKS: usize = 40;

/// A file that exists or could be made.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The path as the caller gave it, for messages.
    pub(super) given: PathBuf,
    /// The file itself; no part of it is a link.
    pub(super) real: PathBuf,
}

impl Place {
    /// Follows links. A link to nothing leads to the file that would come into being.
    pub(super) fn of(path: &Path) -> Result<Place> {
        let mut path_now = path.to_owned();
        for _ in 0..MAX_LINKS {
            match fs::canonicalize(&path_now) {
                Ok(real) => return Ok(Place { given: path.to_owned(), real }),
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
                Err(_) => return Ok(Place { given: path.to_owned(), real: file }),
            }
        }
        Err(Error::new(path, Problem::NoSuchFile))
    }

    /// A short name for the file, the same for every path that leads to it.
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

    /// Refuses what is not a regular file; says whether there is one.
    pub(super) fn metadata(&self) -> Result<fs::Metadata> {
        let metadata = fs::metadata(&self.real).map_err(|error| self.error(unreadable(error)))?;
        if metadata.is_dir() {
            return Err(self.error(Problem::IsFolder));
        }
        // Opening a pipe would wait for someone to write to it.
        if !metadata.is_file() {
            return Err(self.error(Problem::NotAFile));
        }
        Ok(metadata)
    }

    /// The whole file.
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
