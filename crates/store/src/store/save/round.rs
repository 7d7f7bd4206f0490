//! One round of a save, by the first method that works: exchange, rename, or write in place.

use std::fs::{self, File};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use cellist_notebook::Notebook;
use cellist_platform::fault::{self, Site};
use cellist_platform::files::{self, Identity};

use super::super::content::{ExpectedFile, FileContent};
use super::super::in_place::{self, InPlaceOutcome};
use super::super::load::{ReadOutcome, read, wait_for_writers};
use super::super::location::unreadable;
use super::super::lock::SaveStep;
use super::super::recovered;
use super::super::temporary::{TemporaryAccess, TemporaryFile, mark_in_use};
use super::{DisplacedFile, FoundIn, Save, SaveRound, SyncTiming};
use crate::{Problem, Result};

/// Size from which computing revisions on a second thread pays off.
const LARGE: usize = 4 << 20;

enum Preparation {
    Ready,
    /// The new file cannot get the owner of the old one.
    OwnerLost,
    /// A program has the old file open. It would continue to write to the displaced file.
    HeldOpen,
    /// The file has other content than expected.
    MovedOn(SaveRound),
}

impl Save<'_> {
    /// Tries once to replace `expected` by `ours`.
    pub(super) fn round(
        &mut self,
        expected: &ExpectedFile,
        ours: &Arc<Notebook>,
        timing: SyncTiming,
    ) -> Result<SaveRound> {
        let opened = fault::open(Site::SavedFile, File::options().read(true), &self.location.real);
        let opened = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened.map_err(|error| self.location.error(unreadable(error)))?),
        };
        match (opened, &expected.content) {
            (None, FileContent::Absent) if self.create_file(ours)? => Ok(SaveRound::Done),
            (None, FileContent::Absent) => self.read_or_recover(),
            (None, _) => Ok(SaveRound::Gone),
            (Some(_), FileContent::Absent) => self.read_or_recover(),
            (Some(old), _) => self.replace(old, expected, ours, timing),
        }
    }

    fn replace(
        &mut self,
        old: File,
        expected: &ExpectedFile,
        ours: &Arc<Notebook>,
        timing: SyncTiming,
    ) -> Result<SaveRound> {
        let metadata = self.location.metadata()?;
        if files::is_read_only(&metadata) {
            return Err(self.location.error(Problem::ReadOnly));
        }
        files::may_write(&self.location.real).map_err(|error| self.cannot_save(error))?;
        let replaceable = !files::has_several_names(&metadata) && files::may_give_to_owner(&metadata);
        if !replaceable {
            return self.write_in_place(expected, ours);
        }
        let temporary = TemporaryFile::new(self.location);
        self.note(&temporary, SaveStep::Writing)?;
        // The journal needs both revisions. A thread computes them while the disk writes.
        let written = thread::scope(|scope| {
            if ours.original().len() >= LARGE {
                let revisions = || (expected.content.revision(), ours.revision());
                // Without the thread they are computed on demand.
                let started = fault::point(Site::RevisionThread)
                    .and_then(|()| thread::Builder::new().spawn_scoped(scope, revisions));
                drop(started);
            }
            temporary.write(TemporaryAccess::Private, ours)
        });
        let new = match written {
            Ok(new) => new,
            Err(error) => {
                self.discard(&temporary);
                return if files::forbids_replacing(&error) {
                    self.write_in_place(expected, ours)
                } else {
                    Err(self.cannot_save(error))
                };
            }
        };
        // Marks both files: either may have the temporary name from now on.
        mark_in_use(&old);
        match self.prepare(&temporary, &old, &new, expected, ours, timing) {
            Ok(Preparation::Ready) => {}
            Ok(Preparation::OwnerLost | Preparation::HeldOpen) => {
                self.discard(&temporary);
                return self.write_in_place(expected, ours);
            }
            Ok(Preparation::MovedOn(round)) => {
                self.discard(&temporary);
                return Ok(round);
            }
            Err(error) => {
                self.discard(&temporary);
                return Err(error);
            }
        }
        let now = SystemTime::now();
        match files::exchange(&temporary.path, &self.location.real) {
            Ok(()) => {
                self.remember(expected, ours, identity(&new), now);
                self.compare(old, &new, temporary, expected, ours)
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let round = new.sync_all().map_err(|error| self.cannot_save(error));
                let round = round.and_then(|()| self.rename(&temporary, &new, expected, ours));
                self.discard(&temporary);
                round
            }
            Err(error) => {
                self.discard(&temporary);
                match error.kind() {
                    io::ErrorKind::NotFound => Ok(SaveRound::Gone),
                    _ if files::forbids_replacing(&error) => self.write_in_place(expected, ours),
                    _ => Err(self.cannot_save(error)),
                }
            }
        }
    }

    /// Gives the written file the attributes of the notebook, syncs it and updates the journal.
    fn prepare(
        &mut self,
        temporary: &TemporaryFile,
        old: &File,
        new: &File,
        expected: &ExpectedFile,
        ours: &Notebook,
        timing: SyncTiming,
    ) -> Result<Preparation> {
        let kept = files::copy_attributes(old, new).map_err(|error| self.cannot_save(error))?;
        if !kept {
            return Ok(Preparation::OwnerLost);
        }
        if timing == SyncTiming::BeforeExchange {
            new.sync_all().map_err(|error| self.cannot_save(error))?;
        }
        let revisions = (expected.content.revision(), ours.revision());
        let step = SaveStep::Exchanging { old: revisions.0.to_string(), new: revisions.1.to_string() };
        self.note(temporary, step)?;
        // Nothing slow from here on: a shorter gap leaves less to merge.
        if !wait_for_writers(old) {
            return Ok(Preparation::HeldOpen);
        }
        if self.has_moved_on(old, expected) {
            match self.read_found()? {
                SaveRound::Broken(_) => {} // The exchange displaces it, then it is recovered.
                round => return Ok(Preparation::MovedOn(round)),
            }
        }
        Ok(Preparation::Ready)
    }

    /// Renames where files cannot be exchanged. A foreign write between comparison and rename is
    /// lost.
    fn rename(
        &mut self,
        temporary: &TemporaryFile,
        new: &File,
        expected: &ExpectedFile,
        ours: &Notebook,
    ) -> Result<SaveRound> {
        let file = File::open(&self.location.real).map_err(|error| self.location.error(unreadable(error)))?;
        if !expected.content.is_in(&file).map_err(|error| self.cannot_save(error))? {
            return self.read_or_recover();
        }
        let now = SystemTime::now();
        fs::rename(&temporary.path, &self.location.real).map_err(|error| self.cannot_save(error))?;
        self.remember(expected, ours, identity(new), now);
        Ok(SaveRound::Done)
    }

    /// Compares the displaced file with the expected content.
    fn compare(
        &mut self,
        old: File,
        new: &File,
        temporary: TemporaryFile,
        expected: &ExpectedFile,
        ours: &Arc<Notebook>,
    ) -> Result<SaveRound> {
        // A link or folder that was put into the file's place is foreign. It goes back.
        if fs::symlink_metadata(&temporary.path).is_ok_and(|metadata| !metadata.is_file()) {
            if files::exchange(&temporary.path, &self.location.real).is_ok() {
                self.discard(&temporary);
            }
            return Err(self.location.error(Problem::NotAFile));
        }
        let put = FileContent::Notebook(Arc::clone(ours));
        let file = displaced_file(old, &temporary);
        let displaced = DisplacedFile { temporary, file, is_superseded: false };
        if !wait_for_writers(&displaced.file) {
            // A program still has it open for writing. It goes back, and ours is written in place.
            return if self.put_back(&put, displaced) {
                self.write_in_place(expected, ours)
            } else {
                self.read_or_recover()
            };
        }
        let found = match expected.content.is_in(&displaced.file) {
            // Usually synced already. The displaced file is removed only after this sync.
            Ok(true) => new.sync_all().map(|()| None),
            Ok(false) => read(&displaced.temporary.path).map(Some),
            Err(error) => Err(error),
        };
        match found {
            Ok(None) => {
                self.discard(&displaced.temporary);
                Ok(SaveRound::Done)
            }
            Ok(Some(ReadOutcome::Broken(error))) => {
                let why = format!("another program left a broken file ({error}), which");
                self.keep(&displaced.temporary, &why);
                Ok(SaveRound::Done)
            }
            Ok(Some(ReadOutcome::Notebook(theirs, mark))) => {
                self.put = Some(put);
                self.displaced.push(displaced);
                Ok(SaveRound::Found(theirs, mark, FoundIn::Displaced))
            }
            Err(error) => {
                self.put = Some(put);
                self.displaced.push(displaced);
                Err(self.cannot_save(error))
            }
        }
    }

    /// Creates the file. `false` if it exists by now.
    pub(super) fn create_file(&mut self, ours: &Notebook) -> Result<bool> {
        let temporary = TemporaryFile::new(self.location);
        self.note(&temporary, SaveStep::Writing)?;
        let new = temporary.write(TemporaryAccess::Usual, ours);
        let new = new.and_then(|new| new.sync_all().map(|()| new)).map_err(|error| {
            self.discard(&temporary);
            self.cannot_save(error)
        })?;
        let named = match files::rename_new(&temporary.path, &self.location.real) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                if fs::exists(&self.location.real).unwrap_or(true) {
                    Err(io::ErrorKind::AlreadyExists.into())
                } else {
                    fs::rename(&temporary.path, &self.location.real)
                }
            }
            named => named,
        };
        drop(new);
        self.discard(&temporary);
        match named {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.cannot_save(error)),
        }
    }

    fn write_in_place(&mut self, expected: &ExpectedFile, ours: &Arc<Notebook>) -> Result<SaveRound> {
        let new = FileContent::Notebook(Arc::clone(ours));
        let file = self.location.metadata().ok().map(|metadata| files::mark(&metadata).identity());
        // Before the write: a process killed right after it would leave an unrecorded version of
        // ours.
        self.remember(expected, ours, file, SystemTime::now());
        let written = in_place::write(self.home, self.location, self.lock, &expected.content, &new);
        if !matches!(written, Ok(InPlaceOutcome::Done)) {
            self.forget(ours);
        }
        match written {
            Ok(InPlaceOutcome::Done) => Ok(SaveRound::Done),
            Ok(InPlaceOutcome::Differs) => self.read_or_recover(),
            Err(error) => Err(self.cannot_save(error)),
        }
    }

    /// Reads the unexpected content of the file.
    fn read_found(&mut self) -> Result<SaveRound> {
        match read(&self.location.real).map_err(|error| self.location.error(unreadable(error)))? {
            ReadOutcome::Notebook(theirs, mark) => Ok(SaveRound::Found(theirs, mark, FoundIn::InFile)),
            ReadOutcome::Broken(_) => Ok(SaveRound::Broken(self.location.read()?)),
        }
    }

    /// [`Save::read_found`] for callers that overwrite the file without displacing it.
    fn read_or_recover(&mut self) -> Result<SaveRound> {
        let round = self.read_found()?;
        if let SaveRound::Broken(bytes) = &round {
            let why = "another program left a broken file, which";
            let notice = recovered::keep_bytes(self.home, self.location, bytes, why)
                .map_err(|error| self.cannot_save(error))?;
            self.notices.push(notice);
        }
        Ok(round)
    }

    /// Whether the file visibly differs from `expected`. Reads it only if its mark has changed.
    fn has_moved_on(&self, old: &File, expected: &ExpectedFile) -> bool {
        let now = fs::metadata(&self.location.real).map(|metadata| files::mark(&metadata)).ok();
        match expected.mark {
            Some(mark) if now != Some(mark) => {
                let newest = File::open(&self.location.real);
                !expected.content.is_in(newest.as_ref().unwrap_or(old)).unwrap_or(false)
            }
            Some(_) | None => false,
        }
    }
}

/// The file with the temporary name now: normally the one that was open, unless another one was
/// moved there.
fn displaced_file(old: File, temporary: &TemporaryFile) -> File {
    let Ok(displaced) = File::open(&temporary.path) else { return old };
    match (old.metadata(), displaced.metadata()) {
        (Ok(one), Ok(other)) if files::is_same_file(&one, &other) => old,
        _ => {
            mark_in_use(&displaced);
            displaced
        }
    }
}

fn identity(file: &File) -> Option<Identity> {
    file.metadata().ok().map(|metadata| files::mark(&metadata).identity())
}
