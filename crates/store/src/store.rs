//! Notebooks on disk: read, change under a lock, save without loss, and remember earlier reads.

mod ancestry;
mod base;
mod cell_names;
mod content;
mod evidence;
mod gate;
mod in_place;
mod leftovers;
mod load;
mod location;
mod lock;
mod merge_state;
mod overwrite_repair;
mod overwritten;
mod plain_files;
mod provenance;
mod read_snapshots;
mod recent_versions;
mod recovered;
mod save;
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
pub use base::ChangeBase;
use content::{ExpectedFile, FileContent};

pub use gate::{FileGate, Use};
use load::load;
use location::FileLocation;
use lock::NotebookLock;
use overwrite_repair::OverwriteRepair;
pub use overwrite_repair::{FileCheck, ForeignVersion, SaveRequest};
use recent_versions::{RecentVersions, VersionScope};
use save::{Save, SaveOutcome};

/// Time limit for a lock that another cellist process holds on the same notebook.
const PATIENCE: Duration = Duration::from_secs(60);

/// Access to notebooks on disk. Cheap to clone.
///
/// **Locking.** Every change takes the lock of its notebook in the state folder. Processes with the
/// same state folder take turns. Reads need no lock.
///
/// **Foreign programs** know no lock. A save detects their writes by comparing the file with the
/// content that was read, merges them and saves again. A merge conflict fails the save and leaves
/// the foreign version in the file.
///
/// **Durability.** The file is replaced atomically where the file system allows it. Otherwise
/// copies in the state folder let the next open complete an interrupted write. A killed process
/// leaves the old or the new notebook, never a mixture.
///
/// **Blocking.** All methods block the thread: for the lock up to the patience of the store, for
/// foreign writers about ten seconds.
///
/// **Errors** leave the file unchanged, apart from foreign writes. Text with no place in the file
/// goes to the `recovered` folder, and a notice names it.
#[derive(Clone, Debug)]
pub struct Store {
    home: Home,
    patience: Duration,
    gate: Option<FileGate>,
}

/// A notebook that was read.
#[derive(Debug)]
pub struct LoadedNotebook {
    /// The content.
    pub notebook: Notebook,
    /// The file itself, with links resolved.
    pub path: PathBuf,
    /// Notices for the user, one sentence each.
    pub notices: Vec<String>,
}

/// The result of a change.
#[derive(Debug)]
pub struct Changed<T> {
    /// The value that the change returned.
    pub value: T,
    /// The notebook on disk now, including merged changes of other programs.
    pub notebook: Notebook,
    /// The revision of `notebook`.
    pub revision: Revision,
    /// Whether the file was written. An unchanged notebook is not.
    pub written: bool,
    /// Notices for the user, one sentence each.
    pub notices: Vec<String>,
}

impl<T> Changed<T> {
    /// Replaces the value.
    pub fn map<U>(self, value: impl FnOnce(T) -> U) -> Changed<U> {
        let Changed { value: old, notebook, revision, written, notices } = self;
        Changed { value: value(old), notebook, revision, written, notices }
    }
}

/// The rule for a change of a notebook that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Fail with [`Problem::NoSuchFile`].
    Refuse,
    /// Start from an empty notebook. A file of zero bytes counts as missing.
    StartEmpty,
}

/// The key of a notebook in names of state files, made from its real path.
pub(crate) fn key_of(path: &Path) -> Option<String> {
    FileLocation::of(path).ok().map(|location| location.key())
}

impl Store {
    /// A store with its state in `home`.
    pub fn new(home: Home) -> Store {
        Store { home, patience: PATIENCE, gate: None }
    }

    /// Sets the time limit for locks of other processes.
    pub fn with_patience(self, patience: Duration) -> Store {
        Store { patience, ..self }
    }

    /// The state folder.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Resolves links. The file need not exist.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf> {
        Ok(FileLocation::of(path)?.real)
    }

    /// Opens a file for reading by its real path. Fails if a part of the path has become a link
    /// since.
    pub fn open_real(&self, real: &Path) -> io::Result<File> {
        files::open_real(real)
    }

    /// The file with the history of a notebook.
    pub fn history_file(&self, path: &Path) -> Result<PathBuf> {
        let location = FileLocation::of(path)?;
        let folder = self.home.folder("history").map_err(|error| {
            location.error(Problem::NoState { folder: self.home.path().to_owned(), error })
        })?;
        Ok(folder.join(format!("{}.jsonl", location.key())))
    }

    /// Runs `work` while holding the lock of the notebook.
    pub fn locked<T>(&self, path: &Path, work: impl FnOnce() -> T) -> Result<T> {
        let _lock = NotebookLock::take(&self.home, &FileLocation::of(path)?, self.patience)?;
        Ok(work())
    }

    /// Saves a notebook that could not be saved to its file into the `recovered` folder. Returns
    /// the path.
    pub fn rescue(&self, path: &Path, notebook: &Notebook) -> Option<PathBuf> {
        let folder = self.home.folder("recovered").ok()?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = folder.join(format!("{stem}-unsaved-{:016x}.ipynb", getrandom::u64().unwrap_or_default()));
        // The gate closes the state folder to agents. A rescue is for the user, so it skips the
        // gate.
        self.clone().with_gate(None).create(&path, notebook).ok().map(|_| path)
    }

    /// Reads a notebook from its file. Waits up to two seconds for a program that is writing it. A
    /// notice reports changes of ours that another program overwrote without having read them.
    pub fn open(&self, path: &Path) -> Result<LoadedNotebook> {
        let location = self.location(path, Use::Look)?;
        let (notebook, mark, mut notices) = self.load(&location)?;
        let overwritten =
            RecentVersions::of(&self.home, &location.key()).overwritten(&notebook, mark, VersionScope::All);
        notices.extend(overwritten.iter().flat_map(|overwritten| overwritten.warnings(&notebook)));
        Ok(LoadedNotebook { notebook: Arc::unwrap_or_clone(notebook), path: location.real, notices })
    }

    /// Checks the permissions of a file before any work is done for it. A missing file passes.
    pub fn check_writable(&self, path: &Path) -> Result<()> {
        let location = FileLocation::of(path)?;
        match fs::metadata(&location.real) {
            Ok(metadata) if files::is_read_only(&metadata) => Err(location.error(Problem::ReadOnly)),
            Ok(_) => {
                files::may_write(&location.real).map_err(|error| location.error(Problem::CannotSave(error)))
            }
            Err(_) => Ok(()),
        }
    }

    /// Reads any file, with the error messages of notebooks.
    pub fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        self.location(path, Use::Look)?.read()
    }

    /// Changes a notebook. Locks and loads it, calls `change`, and saves the result merged with
    /// concurrent changes of other programs. Restores sources of ours that another program
    /// overwrote without having read them. Does not write an unchanged notebook.
    pub fn change<T>(
        &self,
        path: &Path,
        missing: Missing,
        change: impl FnOnce(&mut Notebook) -> cellist_notebook::Result<T>,
    ) -> Result<Changed<T>> {
        self.try_change(path, missing, |notebook| change(notebook).map_err(|error| Error::new(path, error)))
    }

    /// [`Store::change`] for a `change` with its own error type.
    pub fn try_change<T, E: From<Error>>(
        &self,
        path: &Path,
        missing: Missing,
        change: impl FnOnce(&mut Notebook) -> std::result::Result<T, E>,
    ) -> std::result::Result<Changed<T>, E> {
        let location = self.location(path, Use::Change)?;
        // Fails early: a file that cannot be changed needs no lock and no state folder.
        location.metadata().map(drop).or_else(|error| start_anyway(error, missing))?;
        let find = || self.find(&location, missing);
        self.update(&location, find, |found, _, repair| {
            let mut notebook = found.clone();
            let value = change(&mut notebook)?;
            // The change may have replaced the notebook by another parsed text.
            let is_same_text = std::ptr::eq(notebook.original(), found.original());
            let is_new = notebook.is_changed() || !is_same_text && notebook.revision() != found.revision();
            // Applies the change first: its positions refer to the file that the caller has seen.
            if is_new {
                repair.restore_since(found, &mut notebook);
            }
            Ok((value, is_new.then_some(notebook)))
        })
    }

    /// Saves `ours`, which was made from `base`, merged with the file's current content.
    ///
    /// Calls `about_to` with the coming revision before the file is written, so that the caller can
    /// recognize its own write. The file must exist. A conflict is handled by `on_conflict`; if
    /// that refuses, the file stays as it is.
    pub fn put(
        &self,
        path: &Path,
        SaveRequest { base, ours, knows_overwritten, on_conflict }: SaveRequest<'_>,
        about_to: impl Fn(Revision),
    ) -> Result<Changed<()>> {
        let location = self.location(path, Use::Change)?;
        location.metadata()?;
        let make = |found: &Notebook, repair: &mut OverwriteRepair<'_>| {
            if found.revision() != base.revision() {
                let mut theirs = found.clone();
                repair.restore(&mut theirs);
                return merge(base, ours, &theirs, on_conflict).map(|merged| merged.notebook);
            }
            let mut ours = ours.clone();
            if !knows_overwritten && ours.revision() != base.revision() {
                repair.restore_since(base, &mut ours);
            }
            Ok(ours)
        };
        let find = || self.find(&location, Missing::Refuse);
        self.update(&location, find, |found, _, repair| {
            let made = make(found, repair).map_err(|error| location.error(error))?;
            about_to(made.revision());
            let is_new = made.revision() != found.revision();
            Ok(((), is_new.then_some(made)))
        })
    }

    /// Reads the file of an open notebook, unless it is still at the revision `known`.
    pub fn look(&self, path: &Path, known: Revision) -> Result<FileCheck> {
        // Before reading: a write in between then shows up at the next check.
        let mark = self.mark(path);
        if Revision::of([self.read_file(path)?.as_slice()]) == known {
            return Ok(FileCheck { seen: None, mark });
        }
        let location = FileLocation::of(path)?;
        let (in_file, mark, mut notices) = self.load(&location)?;
        let mut repair = OverwriteRepair::new(&self.home, &location, &in_file, Some(mark));
        let mut mended = Notebook::clone(&in_file);
        repair.restore(&mut mended);
        notices.append(&mut repair.notices);
        Ok(FileCheck { seen: Some(ForeignVersion { in_file, mended, notices }), mark: Some(mark) })
    }

    /// Identity, size and times of the file, without reading it.
    pub fn mark(&self, path: &Path) -> Option<Mark> {
        fs::metadata(path).ok().map(|metadata| files::mark(&metadata))
    }

    /// Creates a new file. Fails if it exists.
    pub fn create(&self, path: &Path, notebook: &Notebook) -> Result<Changed<()>> {
        let location = self.location(path, Use::Change)?;
        match location.metadata() {
            Ok(_) => return Err(location.error(Problem::AlreadyExists)),
            Err(error) => start_anyway(error, Missing::StartEmpty)?,
        }
        let mut notices = Vec::new();
        let mut lock = self.lock(&location, &mut notices)?;
        leftovers::sweep(&self.home, &location, &mut lock, &mut notices);
        Save::new(&self.home, &location, &mut lock, &mut notices).create(notebook)?;
        let (notebook, revision) = (notebook.clone(), notebook.revision());
        Ok(Changed { value: (), notebook, revision, written: true, notices })
    }

    /// Replaces the file by `bytes`, which must be a notebook. The current content need not be one.
    /// With a `base`, the file must still be at that revision.
    pub fn replace_raw(&self, path: &Path, bytes: Vec<u8>, base: Option<Revision>) -> Result<Changed<()>> {
        let location = self.location(path, Use::Change)?;
        let notebook = Notebook::parse(bytes, fresh_ids()).map_err(|error| location.error(error))?;
        let find = || match self
            .find(&location, if base.is_some() { Missing::Refuse } else { Missing::StartEmpty })
        {
            Err(error) if matches!(error.problem(), Problem::NotANotebook(_)) => {
                let bytes = location.read()?;
                Ok((Arc::new(Notebook::empty(fresh_ids())), ExpectedFile::bytes(bytes)))
            }
            found => found,
        };
        self.update(&location, find, |found, expected, _| {
            let current = expected.content.revision();
            match base {
                Some(base) if base != current => Err(location.error(Problem::ChangedSince { base, current })),
                Some(_) | None => Ok((
                    (),
                    (current != notebook.revision()).then(|| cell_names::with_names_of(&notebook, found)),
                )),
            }
        })
    }

    /// Keeps a snapshot that a caller has read, as the base of a later merge. Best effort: without
    /// it, a later change cannot be merged.
    pub fn remember(&self, path: &Path, snapshot: &Snapshot) {
        if let Ok(location) = FileLocation::of(path) {
            cell_names::keep_reported(&self.home, &location, snapshot);
            let _ = read_snapshots::remember(&self.home, &location, snapshot);
        }
    }

    /// Keeps a snapshot whose revision was reported to a caller, as the base of a later merge. Does
    /// not count as read.
    pub fn keep(&self, path: &Path, snapshot: &Snapshot) {
        if let Ok(location) = FileLocation::of(path) {
            cell_names::keep_reported(&self.home, &location, snapshot);
            let _ = read_snapshots::keep(&self.home, &location, snapshot);
        }
    }

    /// The snapshot of a revision, if it is still kept.
    pub fn recall(&self, path: &Path, revision: Revision) -> Option<Snapshot> {
        read_snapshots::recall(&self.home, &FileLocation::of(path).ok()?, revision)
    }

    /// The revision that was last remembered.
    pub fn last_read(&self, path: &Path) -> Option<Revision> {
        read_snapshots::last(&self.home, &FileLocation::of(path).ok()?)
    }

    /// Locks, loads by `find`, and saves the notebook that `make` returns.
    fn update<T, E: From<Error>>(
        &self,
        location: &FileLocation,
        find: impl FnOnce() -> Result<(Arc<Notebook>, ExpectedFile)>,
        make: impl FnOnce(
            &Notebook,
            &ExpectedFile,
            &mut OverwriteRepair<'_>,
        ) -> std::result::Result<(T, Option<Notebook>), E>,
    ) -> std::result::Result<Changed<T>, E> {
        let mut notices = Vec::new();
        let mut lock = self.lock(location, &mut notices)?;
        leftovers::sweep(&self.home, location, &mut lock, &mut notices);
        let (found, expected) = find()?;
        let mark = expected.mark.filter(|_| matches!(expected.content, FileContent::Notebook(_)));
        let mut repair = OverwriteRepair::new(&self.home, location, &found, mark);
        let (value, made) = make(&found, &expected, &mut repair)?;
        notices.append(&mut repair.notices);
        let saved = match (made, &expected.content) {
            (None, FileContent::Notebook(_)) => SaveOutcome { notebook: found, written: false },
            (made, _) => {
                let ours = made.map_or_else(|| Arc::clone(&found), Arc::new);
                let base = repair.base(found);
                Save::new(&self.home, location, &mut lock, &mut notices).save(base, expected, ours)?
            }
        };
        let notebook = Arc::unwrap_or_clone(saved.notebook);
        if saved.written {
            cell_names::keep_saved(&self.home, location, &notebook);
        }
        Ok(Changed { value, revision: notebook.revision(), notebook, written: saved.written, notices })
    }

    /// Loads a notebook, after completing an interrupted write in place.
    fn load(&self, location: &FileLocation) -> Result<(Arc<Notebook>, Mark, Vec<String>)> {
        let mut notices = Vec::new();
        // Another process writes in place, or was killed while it did.
        if lock::peek(&self.home, location).is_some_and(|journal| journal.in_place) {
            // A file that cannot be repaired is loaded as it is.
            let _ = self.lock(location, &mut notices);
        }
        let (mut notebook, mark) = load(location)?;
        cell_names::restore(&self.home, location, Arc::make_mut(&mut notebook));
        Ok((notebook, mark, notices))
    }

    /// The notebook in the file, or an empty one to start from.
    fn find(&self, location: &FileLocation, missing: Missing) -> Result<(Arc<Notebook>, ExpectedFile)> {
        match load(location) {
            Ok((mut notebook, mark)) => {
                cell_names::restore(&self.home, location, Arc::make_mut(&mut notebook));
                Ok((Arc::clone(&notebook), ExpectedFile::notebook(notebook, Some(mark))))
            }
            Err(error) => {
                let empty = Arc::new(Notebook::empty(fresh_ids()));
                let is_blank = || location.read().is_ok_and(|bytes| bytes.is_empty());
                match error.problem() {
                    Problem::NotANotebook(_) if missing == Missing::StartEmpty && is_blank() => {
                        Ok((empty, ExpectedFile::bytes(Vec::new())))
                    }
                    _ => {
                        start_anyway(error, missing)?;
                        Ok((empty, ExpectedFile::nothing()))
                    }
                }
            }
        }
    }

    /// Locks a notebook and completes an interrupted write in place.
    fn lock(&self, location: &FileLocation, notices: &mut Vec<String>) -> Result<NotebookLock> {
        let mut lock = NotebookLock::take(&self.home, location, self.patience)?;
        let repaired = in_place::repair(&self.home, location, &mut lock)
            .map_err(|error| location.error(Problem::CannotSave(error)))?;
        notices.extend(repaired);
        Ok(lock)
    }
}

/// A generator of cell ids that no other process repeats.
fn fresh_ids() -> Ids {
    Ids::seeded(getrandom::u64().unwrap_or_else(|_| std::process::id().into()))
}

/// Accepts a missing file if the caller allows to start empty.
fn start_anyway(error: Error, missing: Missing) -> Result<()> {
    match (missing, error.problem()) {
        (Missing::StartEmpty, Problem::NoSuchFile) => Ok(()),
        (Missing::StartEmpty | Missing::Refuse, _) => Err(error),
    }
}
