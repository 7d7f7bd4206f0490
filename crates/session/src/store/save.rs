//! Saving: a new file changes places with the notebook in one step, and what was there is looked at
//! afterwards. Whatever another program wrote in between is merged, and the merged notebook saved the same way.

use std::fs::{self, File};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cellist_notebook::{Notebook, Revision};

use super::content::{Content, Expected};
use super::in_place::{self, Written};
use super::load::{Reading, open_alone, read, read_open, wait_for_file, wait_for_writers};
use super::lock::{Lock, Noted, Step};
use super::merging::Merging;
use super::place::{Place, unreadable};
use super::recent::Recent;
use super::recovered;
use super::temporary::{Access, Temporary, mark_in_use};
use crate::error::{Error, Problem, Result};
use crate::home::Home;
use crate::platform::{self, Mark};

/// How long a save starts over because another program has written to the file again.
const PATIENCE: Duration = Duration::from_secs(10);
/// After so many rounds a new file goes to the disk only after it has become the notebook: then there is less
/// time for others to write in between. What it displaces stays until that is done.
const PATIENT_ROUNDS: usize = 3;
/// After so many rounds others are kept from opening the file, where that can be.
const HASTY_ROUNDS: usize = 8;

/// From how many bytes on a second thread pays.
const LARGE: usize = 4 << 20;

const THEIRS: &str = "what another program wrote meanwhile";
const SUPERSEDED: &str = "a version that another program wrote and then overwrote";

/// A save that is going on.
pub(super) struct Save<'a> {
    pub(super) home: &'a Home,
    pub(super) place: &'a Place,
    pub(super) lock: &'a mut Lock,
    pub(super) notices: &'a mut Vec<String>,
    /// What other programs wrote and we displaced. It is part of what we are about to save, and these files
    /// are removed when that is done.
    displaced: Vec<Displaced>,
    /// What we put into the file when we displaced the last of them.
    put: Option<Content>,
    /// All that we put into the file.
    remembered: Vec<Revision>,
}

/// A file that was the notebook until ours took its place.
struct Displaced {
    temporary: Temporary,
    /// Whether its author has overwritten it, so that not all of it is part of what we save.
    is_superseded: bool,
    /// Open and locked, which tells others that it is in use.
    file: File,
}

/// What is in the file after a save.
pub(super) struct Saved {
    pub(super) notebook: Arc<Notebook>,
    /// Whether we wrote it, or another program wrote just the same.
    pub(super) written: bool,
}

/// What came of one attempt to put a notebook into the file.
enum Round {
    Done,
    /// Another program wrote this, and it is in the file or among the displaced.
    Found(Arc<Notebook>, Mark, Where),
    /// What is in the file is no notebook. It is kept elsewhere by now and may be overwritten.
    Broken(Vec<u8>),
    /// There is no file any more.
    Gone,
}

/// When a new file goes to the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    None,
    SyncLater,
}

enum Prepared {
    Ready,
    /// The new file cannot be given to the owner of the old one.
    OwnerLost,
    /// A program keeps the old file open; it would write to that and not to one that takes its place.
    HeldOpen,
    /// The file is not any more what it was.
    MovedOn(Round),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    InFile,
    Displaced,
}

impl<'a> Save<'a> {
    pub(super) fn new(
        home: &'a Home,
        place: &'a Place,
        lock: &'a mut Lock,
        notices: &'a mut Vec<String>,
    ) -> Save<'a> {
        Save { home, place, lock, notices, displaced: Vec::new(), put: None, remembered: Vec::new() }
    }

    /// Saves `ours`, which was made from `base`, into a file that should hold what is `expected`. Returns the
    /// notebook that is in the file then.
    pub(super) fn save(
        mut self,
        base: Arc<Notebook>,
        expected: Expected,
        ours: Arc<Notebook>,
    ) -> Result<Saved> {
        // What is true only if the save succeeds.
        let mut remarks: Vec<String> = Vec::new();
        match self.rounds(base, expected, ours, &mut remarks) {
            Ok(saved) => {
                remarks.dedup();
                self.notices.append(&mut remarks);
                for displaced in std::mem::take(&mut self.displaced) {
                    if displaced.is_superseded {
                        self.keep(&displaced.temporary, SUPERSEDED);
                    } else {
                        self.discard(&displaced.temporary);
                    }
                }
                let _ = platform::sync_folder(self.place.folder());
                Ok(saved)
            }
            Err(error) => {
                self.give_way();
                // Nobody may take it for something that was saved.
                Recent::of(self.home, &self.place.key()).forget(&self.remembered);
                Err(error.with_notices(std::mem::take(self.notices)))
            }
        }
    }

    /// Saves a notebook as a new file.
    pub(super) fn create(mut self, notebook: &Notebook) -> Result<()> {
        if !self.make(notebook)? {
            return Err(self.place.error(Problem::AlreadyExists));
        }
        let _ = platform::sync_folder(self.place.folder());
        Ok(())
    }

    fn rounds(
        &mut self,
        base: Arc<Notebook>,
        mut expected: Expected,
        ours: Arc<Notebook>,
        remarks: &mut Vec<String>,
    ) -> Result<Saved> {
        let deadline = Instant::now() + PATIENCE;
        let mut merging = Merging::new(base, ours);
        for number in 0.. {
            let haste = if number < PATIENT_ROUNDS { Haste::None } else { Haste::SyncLater };
            if number >= HASTY_ROUNDS && self.save_alone(&mut merging, remarks)? {
                return Ok(Saved { notebook: merging.ours, written: true });
            }
            let ours = Arc::clone(&merging.ours);
            let (theirs, mark, found) = match self.round(&expected, &ours, haste)? {
                Round::Done => return Ok(Saved { notebook: ours, written: true }),
                Round::Gone if wait_for_file(&self.place.real) => continue,
                Round::Gone => return Err(self.place.error(Problem::Gone)),
                Round::Broken(bytes) => {
                    expected = Expected::bytes(bytes);
                    continue;
                }
                Round::Found(..) if Instant::now() >= deadline => break,
                Round::Found(theirs, mark, found) => (theirs, mark, found),
            };
            self.take(&mut merging, &theirs, mark, found, remarks)?;
            expected = match found {
                Where::InFile => Expected::notebook(theirs, Some(mark)),
                Where::Displaced => {
                    merging.seen(&ours);
                    Expected::notebook(ours, None)
                }
            };
            if merging.ours.revision() == expected.content.revision() {
                return Ok(Saved { notebook: merging.ours, written: self.put.is_some() });
            }
        }
        Err(self.place.error(Problem::KeepsChanging))
    }

    /// Merges what another program wrote.
    fn take(
        &mut self,
        merging: &mut Merging,
        theirs: &Arc<Notebook>,
        mark: Mark,
        found: Where,
        remarks: &mut Vec<String>,
    ) -> Result<()> {
        let recent = Recent::of(self.home, &self.place.key());
        let taken = merging.take(theirs, mark.modified, &recent);
        let taken = taken.map_err(|error| self.place.error(Problem::Conflict(error)))?;
        if taken.supersedes {
            let earlier = self.displaced.len() - usize::from(found == Where::Displaced);
            self.displaced[..earlier].iter_mut().for_each(|earlier| earlier.is_superseded = true);
        }
        remarks.push("another program changed the file meanwhile; both changes are in it now".into());
        remarks.extend(taken.notices);
        Ok(())
    }

    /// Saves into the file itself while nobody else can open it, for files that never come to rest. `false`
    /// when the file cannot be had alone.
    fn save_alone(&mut self, merging: &mut Merging, remarks: &mut Vec<String>) -> Result<bool> {
        let Some(file) = open_alone(&self.place.real) else { return Ok(false) };
        let Ok((theirs, mark)) = read_open(&file) else { return Ok(false) };
        self.take(merging, &theirs, mark, Where::InFile, remarks)?;
        let (old, new) = (Content::Notebook(theirs), Content::Notebook(Arc::clone(&merging.ours)));
        let now = SystemTime::now();
        let written = in_place::write_to(&file, self.home, self.lock, &old, &new);
        match written.map_err(|error| self.cannot_save(error))? {
            Written::Done => {
                let expected = Expected { content: old, mark: None };
                self.remember(&expected, &merging.ours, now);
                Ok(true)
            }
            Written::Differs => Ok(false),
        }
    }

    /// One attempt to put `ours` where `expected` is.
    fn round(&mut self, expected: &Expected, ours: &Arc<Notebook>, haste: Haste) -> Result<Round> {
        let opened = match File::open(&self.place.real) {
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
        if platform::is_read_only(&metadata) {
            return Err(self.place.error(Problem::ReadOnly));
        }
        platform::may_write(&self.place.real).map_err(|error| self.cannot_save(error))?;
        let replaceable = !platform::has_several_names(&metadata) && platform::may_give_to_owner(&metadata);
        if !replaceable {
            return self.write_in_place(expected, ours);
        }
        let temporary = Temporary::new(self.place);
        self.note(&temporary, Step::Writing)?;
        // The journal names both revisions; they are worked out while the disk has its own work to do.
        let written = thread::scope(|scope| {
            if ours.original().len() >= LARGE {
                scope.spawn(|| (expected.content.revision(), ours.revision()));
            }
            temporary.write(Access::Private, ours)
        });
        let new = match written {
            Ok(new) => new,
            Err(error) => {
                self.discard(&temporary);
                return if platform::forbids_replacing(&error) {
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
        match platform::exchange(&temporary.path, &self.place.real) {
            Ok(()) => {
                self.remember(expected, ours, now);
                self.compare(old, &new, temporary, expected, ours)
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let round = new.sync_all().map_err(|error| self.cannot_save(error));
                let round = round.and_then(|()| self.rename(&temporary, expected, ours));
                self.discard(&temporary);
                round
            }
            Err(error) => {
                self.discard(&temporary);
                match error.kind() {
                    io::ErrorKind::NotFound => Ok(Round::Gone),
                    _ if platform::forbids_replacing(&error) => self.write_in_place(expected, ours),
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
        let kept = platform::copy_attributes(old, new).map_err(|error| self.cannot_save(error))?;
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
    fn rename(&mut self, temporary: &Temporary, expected: &Expected, ours: &Notebook) -> Result<Round> {
        let file = File::open(&self.place.real).map_err(|error| self.place.error(unreadable(error)))?;
        if !expected.content.is_in(&file).map_err(|error| self.cannot_save(error))? {
            return self.look_or_keep();
        }
        let now = SystemTime::now();
        fs::rename(&temporary.path, &self.place.real)
            .and_then(|()| platform::sync_folder(self.place.folder()))
            .map_err(|error| self.cannot_save(error))?;
        self.remember(expected, ours, now);
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
            if platform::exchange(&temporary.path, &self.place.real).is_ok() {
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
    fn make(&mut self, ours: &Notebook) -> Result<bool> {
        let temporary = Temporary::new(self.place);
        self.note(&temporary, Step::Writing)?;
        let new = temporary.write(Access::Usual, ours);
        let new = new.and_then(|new| new.sync_all().map(|()| new)).map_err(|error| {
            self.discard(&temporary);
            self.cannot_save(error)
        })?;
        let named = match platform::rename_new(&temporary.path, &self.place.real) {
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
        let now = SystemTime::now();
        match in_place::write(self.home, self.place, self.lock, &expected.content, &new) {
            Ok(Written::Done) => {
                self.remember(expected, ours, now);
                Ok(Round::Done)
            }
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
        let now = fs::metadata(&self.place.real).map(|metadata| platform::mark(&metadata)).ok();
        match expected.mark {
            Some(mark) if now != Some(mark) => {
                let newest = File::open(&self.place.real);
                !expected.content.is_in(newest.as_ref().unwrap_or(old)).unwrap_or(false)
            }
            Some(_) | None => false,
        }
    }

    /// Keeps what is in the file since a moment, and what was there before, for a few seconds.
    fn remember(&mut self, expected: &Expected, ours: &Notebook, at: SystemTime) {
        let old = match &expected.content {
            Content::Notebook(old) => Some(&**old),
            Content::Absent | Content::Bytes(_) => None,
        };
        Recent::of(self.home, &self.place.key()).keep(self.home, old, ours, at);
        self.remembered.push(ours.revision());
    }

    fn note(&mut self, temporary: &Temporary, step: Step) -> Result<()> {
        let noted = self.lock.note(|journal| {
            journal.temporaries.retain(|noted| noted.tag != temporary.tag);
            journal.temporaries.push(Noted { tag: temporary.tag.clone(), step });
        });
        let folder = || self.home.path().to_owned();
        noted.map_err(|error| self.place.error(Problem::NoState { folder: folder(), error }))
    }

    fn discard(&mut self, temporary: &Temporary) {
        if temporary.remove().is_ok() {
            self.lock.forget_temporary(&temporary.tag);
        }
    }

    fn cannot_save(&self, error: io::Error) -> Error {
        self.place.error(Problem::CannotSave(error))
    }

    /// Puts what another program wrote back into the file, because ours cannot be saved with it.
    fn give_way(&mut self) {
        if let (Some(put), Some(theirs)) = (self.put.take(), self.displaced.pop()) {
            self.put_back(&put, theirs);
        }
        for displaced in std::mem::take(&mut self.displaced) {
            self.keep(&displaced.temporary, THEIRS);
        }
        let _ = platform::sync_folder(self.place.folder());
    }

    /// Exchanges again. `false` when the file did not hold what we put there but something newer: then that
    /// stays in it, and what would have gone back is kept elsewhere.
    fn put_back(&mut self, put: &Content, theirs: Displaced) -> bool {
        let temporary = theirs.temporary;
        let swap = || platform::exchange(&temporary.path, &self.place.real);
        let is_ours = || {
            let file = File::open(&temporary.path)?;
            Ok::<_, io::Error>(wait_for_writers(&file) && put.is_in(&file)?)
        };
        match swap().and_then(|()| is_ours()) {
            Ok(true) => {
                Recent::of(self.home, &self.place.key()).forget(&[put.revision()]);
                self.discard(&temporary);
                return true;
            }
            Ok(false) => {
                let _ = swap();
            }
            Err(_) => {}
        }
        self.keep(&temporary, THEIRS);
        false
    }

    /// Moves a temporary file to where it is safe and says so.
    fn keep(&mut self, temporary: &Temporary, why: &str) {
        let notice = recovered::keep(self.home, self.place, temporary, why);
        self.lock.forget_temporary(&temporary.tag);
        self.notices.push(notice);
    }
}

/// The file that has the temporary name now: the one that was open already, unless someone has put another
/// into its place.
fn opened_already(old: File, temporary: &Temporary) -> File {
    let Ok(displaced) = File::open(&temporary.path) else { return old };
    match (old.metadata(), displaced.metadata()) {
        (Ok(one), Ok(other)) if platform::is_same_file(&one, &other) => old,
        _ => {
            mark_in_use(&displaced);
            displaced
        }
    }
}
