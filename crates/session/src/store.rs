//! Notebooks as files: reading, changing under a lock, saving without loss, and what was read before.

mod place;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cellist_notebook::{Ids, Notebook, Revision, Snapshot};

use crate::error::{Error, Problem, Result};
use crate::home::Home;
use place::Place;

/// Access to notebooks on disk. All processes that share a state folder keep out of each other's way.
#[derive(Clone, Debug)]
pub struct Store {
    home: Home,
}

/// A notebook that was read.
#[derive(Debug)]
pub struct Opened {
    /// Its content.
    pub notebook: Notebook,
    /// The file itself, where the path given led over links.
    pub path: PathBuf,
    /// What the user should know, one sentence each.
    pub notices: Vec<String>,
}

/// What a change came to.
#[derive(Debug)]
pub struct Changed<T> {
    /// What the change returned.
    pub value: T,
    /// The notebook as it is on disk now, with what others changed meanwhile.
    pub notebook: Notebook,
    /// The revision of that.
    pub revision: Revision,
    /// Whether the file was written; it is not when nothing changed.
    pub written: bool,
    /// What the user should know, one sentence each.
    pub notices: Vec<String>,
}

/// What to do when the notebook to change does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Say so.
    Refuse,
    /// Start from an empty notebook; an empty file counts as missing.
    StartEmpty,
}

impl Store {
    /// A store that keeps its state in `home`.
    pub fn new(home: Home) -> Store {
        Store { home }
    }

    /// Its state folder.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Reads a notebook. One that another program is just writing is waited for, two seconds at most.
    pub fn open(&self, path: &Path) -> Result<Opened> {
        let place = Place::of(path)?;
        let bytes = place.read()?;
        let notebook = Notebook::parse(bytes, fresh_ids())
            .map_err(|error| Error::new(path, Problem::NotANotebook(error)))?;
        Ok(Opened { notebook, path: place.real, notices: Vec::new() })
    }

    /// Reads any file, with errors as clear as those for notebooks.
    pub fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        Place::of(path)?.read()
    }

    /// Changes a notebook: locks it, loads it, lets `change` have it, and saves what came of it together
    /// with what other programs did to the file meanwhile. An unchanged notebook is not written.
    pub fn change<T>(
        &self,
        path: &Path,
        missing: Missing,
        mut change: impl FnMut(&mut Notebook) -> cellist_notebook::Result<T>,
    ) -> Result<Changed<T>> {
        let mut notebook = match self.open(path) {
            Ok(opened) => opened.notebook,
            Err(error)
                if missing == Missing::StartEmpty && matches!(error.problem(), Problem::NoSuchFile) =>
            {
                Notebook::empty(fresh_ids())
            }
            Err(error) => return Err(error),
        };
        let value = change(&mut notebook).map_err(|error| refused(path, error))?;
        let written = notebook.is_changed() || !path.exists();
        if written {
            write(path, &notebook)?;
        }
        Ok(Changed { value, revision: notebook.revision(), notebook, written, notices: Vec::new() })
    }

    /// Makes a new file; one that exists is not touched.
    pub fn create(&self, path: &Path, notebook: &Notebook) -> Result<Changed<()>> {
        if Place::of(path)?.real.exists() {
            return Err(Error::new(path, Problem::AlreadyExists));
        }
        write(path, notebook)?;
        let (notebook, revision) = (notebook.clone(), notebook.revision());
        Ok(Changed { value: (), notebook, revision, written: true, notices: Vec::new() })
    }

    /// Replaces the whole file by `bytes`, which must be a notebook. With a `base`, the file must still be at
    /// that revision.
    pub fn replace_raw(&self, path: &Path, bytes: Vec<u8>, base: Option<Revision>) -> Result<Changed<()>> {
        let notebook = Notebook::parse(bytes, fresh_ids()).map_err(|error| refused(path, error))?;
        if let (Some(base), Ok(opened)) = (base, self.open(path)) {
            let current = opened.notebook.revision();
            if base != current {
                return Err(Error::new(path, Problem::ChangedSince { base, current }));
            }
        }
        write(path, &notebook)?;
        let revision = notebook.revision();
        Ok(Changed { value: (), notebook, revision, written: true, notices: Vec::new() })
    }

    /// Keeps what was read of a notebook, so that a later change can say that it was based on it. A state
    /// folder that cannot be written to is no error: the change is then refused if the file moved on.
    pub fn remember(&self, path: &Path, snapshot: &Snapshot) {
        let Ok(place) = Place::of(path) else { return };
        let Ok(folder) = self.home.folder(&format!("read/{}", place.key())) else { return };
        if let Ok(json) = serde_json::to_vec(snapshot) {
            let _ = fs::write(folder.join(format!("{}.json", snapshot.revision)), json);
            let _ = fs::write(folder.join("last"), &snapshot.revision);
        }
    }

    /// What was read of a notebook at a revision, if it is still kept.
    pub fn recall(&self, path: &Path, revision: Revision) -> Option<Snapshot> {
        let folder = self.home.path().join("read").join(Place::of(path).ok()?.key());
        let json = fs::read(folder.join(format!("{revision}.json"))).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// The revision of a notebook that was last remembered.
    pub fn last_read(&self, path: &Path) -> Option<Revision> {
        let folder = self.home.path().join("read").join(Place::of(path).ok()?.key());
        fs::read_to_string(folder.join("last")).ok()?.trim().parse().ok()
    }
}

/// Ids for cells to come that no other process makes.
pub(crate) fn fresh_ids() -> Ids {
    Ids::seeded(getrandom::u64().unwrap_or_else(|_| std::process::id().into()))
}

fn refused(path: &Path, error: cellist_notebook::Error) -> Error {
    let problem = match error {
        cellist_notebook::Error::Conflicts(_) => Problem::Conflict(error),
        _ => Problem::Refused(error),
    };
    Error::new(path, problem)
}

fn write(path: &Path, notebook: &Notebook) -> Result<()> {
    let place = Place::of(path)?;
    let saved = (|| {
        let mut temporary = place.real.clone().into_os_string();
        temporary.push(".cellist.tmp");
        let mut file = fs::File::create(&temporary)?;
        for piece in notebook.pieces().iter() {
            file.write_all(piece)?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &place.real)
    })();
    saved.map_err(|error| Error::new(path, Problem::CannotSave(error)))
}
