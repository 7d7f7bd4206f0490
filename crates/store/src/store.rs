//! Notebooks as files: reading, changing under a lock, saving without loss, and what was read before.

mod ancestry;
mod base;
mod content;
mod evidence;
mod gate;
mod in_place;
mod load;
mod lock;
mod mending;
mod merging;
mod names;
mod overwritten;
mod place;
mod plain;
mod provenance;
mod reads;
mod recent;
mod recovered;
mod save;
mod sweep;
mod temporary;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cellist_notebook::{Ids, Notebook, Revision, Snapshot, merge};
use cellist_platform::files::{self, Mark};
use cellist_settings::Home;

use crate::{Error, Problem, Result};
pub use base::Base;
use content::{Content, Expected};

pub use gate::{Gate, Use};
use load::load;
use lock::Lock;
use mending::Mending;
pub use mending::{Looked, Put, Seen};
use place::Place;
use recent::{Among, Recent};
use save::{Save, Saved};

/// How long a change waits for another process of ours that is changing the same notebook.
const PATIENCE: Duration = Duration::from_secs(60);

/// Access to notebooks on disk. All processes that share a state folder keep out of each other's way.
#[derive(Clone, Debug)]
pub struct Store {
    home: Home,
    patience: Duration,
    gate: Option<Gate>,
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

impl<T> Changed<T> {
    /// The same change with another value.
    pub fn map<U>(self, value: impl FnOnce(T) -> U) -> Changed<U> {
        let Changed { value: old, notebook, revision, written, notices } = self;
        Changed { value: value(old), notebook, revision, written, notices }
    }
}

/// What to do when the notebook to change does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Say so.
    Refuse,
    /// Start from an empty notebook; a file without a single byte counts as missing.
    StartEmpty,
}

/// A name for a notebook, by its real path, that files of ours can have.
pub(crate) fn key_of(path: &Path) -> Option<String> {
    Place::of(path).ok().map(|place| place.key())
}

impl Store {
    /// A store that keeps its state in `home`.
    pub fn new(home: Home) -> Store {
        Store { home, patience: PATIENCE, gate: None }
    }

    /// The same store, with another limit on the wait for processes that change the same notebook.
    pub fn with_patience(self, patience: Duration) -> Store {
        Store { patience, ..self }
    }

    /// Its state folder.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The file that a path leads to, over links; it need not exist.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf> {
        Ok(Place::of(path)?.real)
    }

    /// Opens a file by its real path for reading. A link that has come into the path since is not followed.
    pub fn open_real(&self, real: &Path) -> io::Result<File> {
        files::open_real(real)
    }

    /// Where the history of a notebook is kept.
    pub fn history_file(&self, path: &Path) -> Result<PathBuf> {
        let place = Place::of(path)?;
        let folder = self
            .home
            .folder("history")
            .map_err(|error| place.error(Problem::NoState { folder: self.home.path().to_owned(), error }))?;
        Ok(folder.join(format!("{}.jsonl", place.key())))
    }

    /// Does something while no other process of ours changes the notebook or what is kept for it.
    pub fn locked<T>(&self, path: &Path, work: impl FnOnce() -> T) -> Result<T> {
        let _lock = Lock::take(&self.home, &Place::of(path)?, self.patience)?;
        Ok(work())
    }

    /// Puts a notebook that could not be saved where it is not lost, and says where that is.
    pub fn rescue(&self, path: &Path, notebook: &Notebook) -> Option<PathBuf> {
        let folder = self.home.folder("recovered").ok()?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = folder.join(format!("{stem}-unsaved-{:016x}.ipynb", getrandom::u64().unwrap_or_default()));
        // The state folder is out of reach for agents, and not for what is kept there for a person.
        self.clone().behind(None).create(&path, notebook).ok().map(|_| path)
    }

    /// Reads a notebook as it is in the file. One that another program is just writing is waited for, two seconds at
    /// most. Where a program wrote over changes of ours that it had not read, a notice says so.
    pub fn open(&self, path: &Path) -> Result<Opened> {
        let place = self.place(path, Use::Look)?;
        let (notebook, mark, mut notices) = self.load(&place)?;
        let overwritten = Recent::of(&self.home, &place.key()).overwritten(&notebook, mark, Among::All);
        notices.extend(overwritten.iter().flat_map(|overwritten| overwritten.warnings(&notebook)));
        Ok(Opened { notebook: Arc::unwrap_or_clone(notebook), path: place.real, notices })
    }

    /// Whether a file could be written to as far as can be told before it is: its own permissions.
    pub fn check_writable(&self, path: &Path) -> Result<()> {
        let place = Place::of(path)?;
        match fs::metadata(&place.real) {
            Ok(metadata) if files::is_read_only(&metadata) => Err(place.error(Problem::ReadOnly)),
            Ok(_) => files::may_write(&place.real).map_err(|error| place.error(Problem::CannotSave(error))),
            Err(_) => Ok(()),
        }
    }

    /// Reads any file, with errors as clear as those for notebooks.
    pub fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        self.place(path, Use::Look)?.read()
    }

    /// Changes a notebook: locks it, loads it, lets `change` have it, and saves the result together with changes that
    /// other programs made to the file meanwhile. Sources of ours that a program wrote over without having read them
    /// come back with the change. An unchanged notebook is not written.
    pub fn change<T>(
        &self,
        path: &Path,
        missing: Missing,
        change: impl FnOnce(&mut Notebook) -> cellist_notebook::Result<T>,
    ) -> Result<Changed<T>> {
        self.try_change(path, missing, |notebook| change(notebook).map_err(|error| Error::new(path, error)))
    }

    /// Changes a notebook as [`Store::change`] does, where `change` has reasons of its own not to.
    pub fn try_change<T, E: From<Error>>(
        &self,
        path: &Path,
        missing: Missing,
        change: impl FnOnce(&mut Notebook) -> std::result::Result<T, E>,
    ) -> std::result::Result<Changed<T>, E> {
        let place = self.place(path, Use::Change)?;
        // What cannot be changed anyway needs no lock and no state folder.
        place.metadata().map(drop).or_else(|error| start_anyway(error, missing))?;
        let find = || self.find(&place, missing);
        self.update(&place, find, |found, _, mending| {
            let mut notebook = found.clone();
            let value = change(&mut notebook)?;
            // What a change put in the notebook's place may be another's text as it was read.
            let is_same_text = std::ptr::eq(notebook.original(), found.original());
            let is_new = notebook.is_changed() || !is_same_text && notebook.revision() != found.revision();
            // The change comes first: its positions are those of the file that the caller has seen.
            if is_new {
                mending.bring_back_beside(found, &mut notebook);
            }
            Ok((value, is_new.then_some(notebook)))
        })
    }

    /// Saves `ours`, which was made from `base`, merged with the changes of others. `about_to` is told which revision the
    /// file is about to get.
    pub fn put(
        &self,
        path: &Path,
        Put { base, ours, knows_overwritten, on_conflict }: Put<'_>,
        about_to: impl Fn(Revision),
    ) -> Result<Changed<()>> {
        let place = self.place(path, Use::Change)?;
        place.metadata()?;
        let make = |found: &Notebook, mending: &mut Mending<'_>| {
            if found.revision() != base.revision() {
                let mut theirs = found.clone();
                mending.bring_back(&mut theirs);
                return merge(base, ours, &theirs, on_conflict).map(|merged| merged.notebook);
            }
            let mut ours = ours.clone();
            if !knows_overwritten && ours.revision() != base.revision() {
                mending.bring_back_beside(base, &mut ours);
            }
            Ok(ours)
        };
        let find = || self.find(&place, Missing::Refuse);
        self.update(&place, find, |found, _, mending| {
            let made = make(found, mending).map_err(|error| place.error(error))?;
            about_to(made.revision());
            let is_new = made.revision() != found.revision();
            Ok(((), is_new.then_some(made)))
        })
    }

    /// The notebook in a file for an owner that has it open, unless it is at the revision that the owner knows.
    pub fn look(&self, path: &Path, known: Revision) -> Result<Looked> {
        // Before reading: a write in between makes the file look changed once more.
        let mark = self.mark(path);
        if Revision::of([self.read_file(path)?.as_slice()]) == known {
            return Ok(Looked { seen: None, mark });
        }
        let place = Place::of(path)?;
        let (in_file, mark, mut notices) = self.load(&place)?;
        let mut mending = Mending::new(&self.home, &place, &in_file, Some(mark));
        let mut mended = Notebook::clone(&in_file);
        mending.bring_back(&mut mended);
        notices.append(&mut mending.notices);
        Ok(Looked { seen: Some(Seen { in_file, mended, notices }), mark: Some(mark) })
    }

    /// The file at a path, as far as it can be told without reading it.
    pub fn mark(&self, path: &Path) -> Option<Mark> {
        fs::metadata(path).ok().map(|metadata| files::mark(&metadata))
    }

    /// Makes a new file; one that exists is not touched.
    pub fn create(&self, path: &Path, notebook: &Notebook) -> Result<Changed<()>> {
        let place = self.place(path, Use::Change)?;
        match place.metadata() {
            Ok(_) => return Err(place.error(Problem::AlreadyExists)),
            Err(error) => start_anyway(error, Missing::StartEmpty)?,
        }
        let mut notices = Vec::new();
        let mut lock = self.lock(&place, &mut notices)?;
        sweep::sweep(&self.home, &place, &mut lock, &mut notices);
        Save::new(&self.home, &place, &mut lock, &mut notices).create(notebook)?;
        let (notebook, revision) = (notebook.clone(), notebook.revision());
        Ok(Changed { value: (), notebook, revision, written: true, notices })
    }

    /// Replaces the whole file by `bytes`, which must be a notebook; what is there need not be one. With a
    /// `base`, the file must still be at that revision.
    pub fn replace_raw(&self, path: &Path, bytes: Vec<u8>, base: Option<Revision>) -> Result<Changed<()>> {
        let place = self.place(path, Use::Change)?;
        let notebook = Notebook::parse(bytes, fresh_ids()).map_err(|error| place.error(error))?;
        let find =
            || match self.find(&place, if base.is_some() { Missing::Refuse } else { Missing::StartEmpty }) {
                Err(error) if matches!(error.problem(), Problem::NotANotebook(_)) => {
                    let bytes = place.read()?;
                    Ok((Arc::new(Notebook::empty(fresh_ids())), Expected::bytes(bytes)))
                }
                found => found,
            };
        self.update(&place, find, |found, expected, _| {
            let current = expected.content.revision();
            match base {
                Some(base) if base != current => Err(place.error(Problem::ChangedSince { base, current })),
                Some(_) | None => {
                    Ok(((), (current != notebook.revision()).then(|| names::named_as(&notebook, found))))
                }
            }
        })
    }

    /// Keeps what was read of a notebook, so that a later change can say that it was based on it. A state
    /// folder that cannot be written to is no error: a later change just cannot be merged.
    pub fn remember(&self, path: &Path, snapshot: &Snapshot) {
        if let Ok(place) = Place::of(path) {
            names::told(&self.home, &place, snapshot);
            let _ = reads::remember(&self.home, &place, snapshot);
        }
    }

    /// Keeps a revision that someone was told of, so that a later change can say that it was based on it. It
    /// does not count as read.
    pub fn keep(&self, path: &Path, snapshot: &Snapshot) {
        if let Ok(place) = Place::of(path) {
            names::told(&self.home, &place, snapshot);
            let _ = reads::keep(&self.home, &place, snapshot);
        }
    }

    /// What was read of a notebook at a revision, if it is still kept.
    pub fn recall(&self, path: &Path, revision: Revision) -> Option<Snapshot> {
        reads::recall(&self.home, &Place::of(path).ok()?, revision)
    }

    /// The revision of a notebook that was last remembered.
    pub fn last_read(&self, path: &Path) -> Option<Revision> {
        reads::last(&self.home, &Place::of(path).ok()?)
    }

    /// Locks, loads by `find`, and saves what `make` makes of it, if anything.
    fn update<T, E: From<Error>>(
        &self,
        place: &Place,
        find: impl FnOnce() -> Result<(Arc<Notebook>, Expected)>,
        make: impl FnOnce(&Notebook, &Expected, &mut Mending<'_>) -> std::result::Result<(T, Option<Notebook>), E>,
    ) -> std::result::Result<Changed<T>, E> {
        let mut notices = Vec::new();
        let mut lock = self.lock(place, &mut notices)?;
        sweep::sweep(&self.home, place, &mut lock, &mut notices);
        let (found, expected) = find()?;
        let mark = expected.mark.filter(|_| matches!(expected.content, Content::Notebook(_)));
        let mut mending = Mending::new(&self.home, place, &found, mark);
        let (value, made) = make(&found, &expected, &mut mending)?;
        notices.append(&mut mending.notices);
        let saved = match (made, &expected.content) {
            (None, Content::Notebook(_)) => Saved { notebook: found, written: false },
            (made, _) => {
                let ours = made.map_or_else(|| Arc::clone(&found), Arc::new);
                let base = mending.base(found);
                Save::new(&self.home, place, &mut lock, &mut notices).save(base, expected, ours)?
            }
        };
        let notebook = Arc::unwrap_or_clone(saved.notebook);
        if saved.written {
            names::saved(&self.home, place, &notebook);
        }
        Ok(Changed { value, revision: notebook.revision(), notebook, written: saved.written, notices })
    }

    /// Loads a notebook, and completes a save into the file itself that was interrupted.
    fn load(&self, place: &Place) -> Result<(Arc<Notebook>, Mark, Vec<String>)> {
        let mut notices = Vec::new();
        // Another process writes into the file itself, or was killed while it did.
        if lock::peek(&self.home, place).is_some_and(|journal| journal.in_place) {
            // If the file cannot be repaired, it is still loaded as it is.
            let _ = self.lock(place, &mut notices);
        }
        let (mut notebook, mark) = load(place)?;
        names::restore(&self.home, place, Arc::make_mut(&mut notebook));
        Ok((notebook, mark, notices))
    }

    /// The notebook at a place, or the empty one to start from.
    fn find(&self, place: &Place, missing: Missing) -> Result<(Arc<Notebook>, Expected)> {
        match load(place) {
            Ok((mut notebook, mark)) => {
                names::restore(&self.home, place, Arc::make_mut(&mut notebook));
                Ok((Arc::clone(&notebook), Expected::notebook(notebook, Some(mark))))
            }
            Err(error) => {
                let empty = Arc::new(Notebook::empty(fresh_ids()));
                let is_blank = || place.read().is_ok_and(|bytes| bytes.is_empty());
                match error.problem() {
                    Problem::NotANotebook(_) if missing == Missing::StartEmpty && is_blank() => {
                        Ok((empty, Expected::bytes(Vec::new())))
                    }
                    _ => {
                        start_anyway(error, missing)?;
                        Ok((empty, Expected::nothing()))
                    }
                }
            }
        }
    }

    /// Locks a notebook, and completes a save into the file itself that was interrupted.
    fn lock(&self, place: &Place, notices: &mut Vec<String>) -> Result<Lock> {
        let mut lock = Lock::take(&self.home, place, self.patience)?;
        let repaired = in_place::repair(&self.home, place, &mut lock)
            .map_err(|error| place.error(Problem::CannotSave(error)))?;
        notices.extend(repaired);
        Ok(lock)
    }
}

/// Ids for cells to come that no other process makes.
fn fresh_ids() -> Ids {
    Ids::seeded(getrandom::u64().unwrap_or_else(|_| std::process::id().into()))
}

/// Whether a file that is missing is no reason to stop.
fn start_anyway(error: Error, missing: Missing) -> Result<()> {
    match (missing, error.problem()) {
        (Missing::StartEmpty, Problem::NoSuchFile) => Ok(()),
        (Missing::StartEmpty | Missing::Refuse, _) => Err(error),
    }
}
