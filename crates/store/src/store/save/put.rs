//! One attempt to put a notebook into its file, in the first way that works there: by exchange, by renaming, or
//! by writing into the file itself.

use std::fs::{self, File};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use cellist_notebook::Notebook;
use cellist_platform::fault::{self, Site};
use cellist_platform::files::{self, Identity};

use super::super::content::{Content, Expected};
use super::super::in_place::{self, Written};
use super::super::load::{Reading, read, wait_for_writers};
use super::super::lock::Step;
use super::super::place::unreadable;
use super::super::recovered;
use super::super::temporary::{Access, Temporary, mark_in_use};
use super::{Displaced, Haste, Round, Save, Where};
use crate::{Problem, Result};

/// From how many bytes on a second thread pays.
const LARGE: usize = 4 << 20;

enum Prepared {
    Ready,
    /// The new file cannot be given to the owner of the old one.
    OwnerLost,
    /// A program keeps the old file open; it would write to that and not to one that takes its place.
    HeldOpen,
    /// The file is not any more what it was.
    MovedOn(Round),
}

impl Save<'_> {
    /// One attempt to put `ours` where `expected` is.
    pub(super) fn round(&mut self, expected: &Expected, ours: &Arc<Notebook>, haste: Haste) -> Result<Round> {
        let opened = fault::open(Site::SavedFile, File::options().read(true), &self.place.real);
        let opened = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened.map_err(|error| self.place.error(unreadable(error)))?),
        };
        match (opened, &expected.content) {
            (None, Content::Absent) if self.make(ours)? => Ok(Round::Done),
            (None, Content::Absent) => self.look_or_keep(),
            (None, _) => Ok(Round::Gone),
            (Some(_), Content::Absent) => self.look_or_keep(),
            (Some(old), _) => self.replace(old, expected, ours, haste),
        }
    }

    fn replace(
        &mut self,
        old: File,
        expected: &Expected,
        ours: &Arc<Notebook>,
        haste: Haste,
    ) -> Result<Round> {
        let metadata = self.place.metadata()?;
        if files::is_read_only(&metadata) {
            return Err(self.place.error(Problem::ReadOnly));
        }
        files::may_write(&self.place.real).map_err(|error| self.cannot_save(error))?;
        let replaceable = !files::has_several_names(&metadata) && files::may_give_to_owner(&metadata);
        if !replaceable {
            return self.write_in_place(expected, ours);
        }
        let temporary = Temporary::new(self.place);
        self.note(&temporary, Step::Writing)?;
        // The journal names both revisions; they are worked out while the disk has its own work to do.
        let written = thread::scope(|scope| {
            if ours.original().len() >= LARGE {
                let revisions = || (expected.content.revision(), ours.revision());
                // Without a thread they are worked out when they are asked for.
                let started = fault::point(Site::RevisionThread)
                    .and_then(|()| thread::Builder::new().spawn_scoped(scope, revisions));
                drop(started);
            }
            temporary.write(Access::Private, ours)
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
        // From now on: whichever of the two files has the temporary name is in use.
        mark_in_use(&old);
        match self.prepare(&temporary, &old, &new, expected, ours, haste) {
            Ok(Prepared::Ready) => {}
            Ok(Prepared::OwnerLost | Prepared::HeldOpen) => {
                self.discard(&temporary);
                return self.write_in_place(expected, ours);
            }
            Ok(Prepared::MovedOn(round)) => {
                self.discard(&temporary);
                return Ok(round);
            }
            Err(error) => {
                self.discard(&temporary);
                return Err(error);
            }
        }
        let now = SystemTime::now();
        match files::exchange(&temporary.path, &self.place.real) {
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
                    io::ErrorKind::NotFound => Ok(Round::Gone),
                    _ if files::forbids_replacing(&error) => self.write_in_place(expected, ours),
                    _ => Err(self.cannot_save(error)),
                }
            }
        }
    }

    /// Makes a written file fit to take the notebook's place.
    fn prepare(
        &mut self,
        temporary: &Temporary,
        old: &File,
        new: &File,
        expected: &Expected,
        ours: &Notebook,
        haste: Haste,
    ) -> Result<Prepared> {
        let kept = files::copy_attributes(old, new).map_err(|error| self.cannot_save(error))?;
        if !kept {
            return Ok(Prepared::OwnerLost);
        }
        if haste == Haste::None {
            new.sync_all().map_err(|error| self.cannot_save(error))?;
        }
        let revisions = (expected.content.revision(), ours.revision());
        let step = Step::Exchanging { old: revisions.0.to_string(), new: revisions.1.to_string() };
        self.note(temporary, step)?;
        // Nothing slow after this: the less time until the exchange, the less is there to merge.
        if !wait_for_writers(old) {
            return Ok(Prepared::HeldOpen);
        }
        if self.moved_on(old, expected) {
            match self.look()? {
                Round::Broken(_) => {} // The exchange displaces it, and then it is kept.
                round => return Ok(Prepared::MovedOn(round)),
            }
        }
        Ok(Prepared::Ready)
    }

    /// Where two files cannot change places: what is written between the comparison and the renaming is lost.
    fn rename(
        &mut self,
        temporary: &Temporary,
        new: &File,
        expected: &Expected,
        ours: &Notebook,
    ) -> Result<Round> {
        let file = File::open(&self.place.real).map_err(|error| self.place.error(unreadable(error)))?;
        if !expected.content.is_in(&file).map_err(|error| self.cannot_save(error))? {
            return self.look_or_keep();
        }
        let now = SystemTime::now();
        fs::rename(&temporary.path, &self.place.real).map_err(|error| self.cannot_save(error))?;
        self.remember(expected, ours, identity(new), now);
        Ok(Round::Done)
    }

    /// Looks at what was in the file when ours took its place.
    fn compare(
        &mut self,
        old: File,
        new: &File,
        temporary: Temporary,
        expected: &Expected,
        ours: &Arc<Notebook>,
    ) -> Result<Round> {
        // A link or a folder that came into the file's place is none of ours to take away.
        if fs::symlink_metadata(&temporary.path).is_ok_and(|metadata| !metadata.is_file()) {
            if files::exchange(&temporary.path, &self.place.real).is_ok() {
                self.discard(&temporary);
            }
            return Err(self.place.error(Problem::NotAFile));
        }
        let put = Content::Notebook(Arc::clone(ours));
        let file = opened_already(old, &temporary);
        let displaced = Displaced { temporary, file, is_superseded: false };
        if !wait_for_writers(&displaced.file) {
            // It is still open for writing: it goes back, and ours is written into it.
            return if self.put_back(&put, displaced) {
                self.write_in_place(expected, ours)
            } else {
                self.look_or_keep()
            };
        }
        let found = match expected.content.is_in(&displaced.file) {
            // Most often that is done already. What was there stays until what is there now is on the disk.
            Ok(true) => new.sync_all().map(|()| None),
            Ok(false) => read(&displaced.temporary.path).map(Some),
            Err(error) => Err(error),
        };
        match found {
            Ok(None) => {
                self.discard(&displaced.temporary);
                Ok(Round::Done)
            }
            Ok(Some(Reading::Broken(error))) => {
                let why = format!("another program left a broken file ({error}), which");
                self.keep(&displaced.temporary, &why);
                Ok(Round::Done)
            }
            Ok(Some(Reading::Notebook(theirs, mark))) => {
                self.put = Some(put);
                self.displaced.push(displaced);
                Ok(Round::Found(theirs, mark, Where::Displaced))
            }
            Err(error) => {
                self.put = Some(put);
                self.displaced.push(displaced);
                Err(self.cannot_save(error))
            }
        }
    }

    /// Makes the file. `false` when there is one by now.
    pub(super) fn make(&mut self, ours: &Notebook) -> Result<bool> {
        let temporary = Temporary::new(self.place);
        self.note(&temporary, Step::Writing)?;
        let new = temporary.write(Access::Usual, ours);
        let new = new.and_then(|new| new.sync_all().map(|()| new)).map_err(|error| {
            self.discard(&temporary);
            self.cannot_save(error)
        })?;
        let named = match files::rename_new(&temporary.path, &self.place.real) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                if fs::exists(&self.place.real).unwrap_or(true) {
                    Err(io::ErrorKind::AlreadyExists.into())
                } else {
                    fs::rename(&temporary.path, &self.place.real)
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

    fn write_in_place(&mut self, expected: &Expected, ours: &Arc<Notebook>) -> Result<Round> {
        let new = Content::Notebook(Arc::clone(ours));
        let file = self.place.metadata().ok().map(|metadata| files::mark(&metadata).identity());
        // Before it is written: a process that is killed right after would leave a version of ours that nobody knows.
        self.remember(expected, ours, file, SystemTime::now());
        let written = in_place::write(self.home, self.place, self.lock, &expected.content, &new);
        if !matches!(written, Ok(Written::Done)) {
            self.forget(ours);
        }
        match written {
            Ok(Written::Done) => Ok(Round::Done),
            Ok(Written::Differs) => self.look_or_keep(),
            Err(error) => Err(self.cannot_save(error)),
        }
    }

    /// Reads what is in the file in place of what was expected.
    fn look(&mut self) -> Result<Round> {
        match read(&self.place.real).map_err(|error| self.place.error(unreadable(error)))? {
            Reading::Notebook(theirs, mark) => Ok(Round::Found(theirs, mark, Where::InFile)),
            Reading::Broken(_) => Ok(Round::Broken(self.place.read()?)),
        }
    }

    /// As `look`, for those who overwrite the file without displacing it.
    fn look_or_keep(&mut self) -> Result<Round> {
        let round = self.look()?;
        if let Round::Broken(bytes) = &round {
            let why = "another program left a broken file, which";
            let notice = recovered::keep_bytes(self.home, self.place, bytes, why)
                .map_err(|error| self.cannot_save(error))?;
            self.notices.push(notice);
        }
        Ok(round)
    }

    /// Whether the file is seen to hold something else than expected, without reading it if nothing hints at it.
    fn moved_on(&self, old: &File, expected: &Expected) -> bool {
        let now = fs::metadata(&self.place.real).map(|metadata| files::mark(&metadata)).ok();
        match expected.mark {
            Some(mark) if now != Some(mark) => {
                let newest = File::open(&self.place.real);
                !expected.content.is_in(newest.as_ref().unwrap_or(old)).unwrap_or(false)
            }
            Some(_) | None => false,
        }
    }
}

/// The file that has the temporary name now: the one that was open already, unless someone has put another
/// into its place.
fn opened_already(old: File, temporary: &Temporary) -> File {
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
