//! Saving: a new file changes places with the notebook in one step, and what was there is looked at
//! afterwards. Whatever another program wrote in between is merged, and the merged notebook saved the same way.

mod put;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use cellist_notebook::{Notebook, Revision};
use cellist_platform::files::{self, Identity, Mark};
use cellist_settings::Home;

use super::content::{Content, Expected};
use super::in_place::{self, Written};
use super::load::{open_alone, read_open, wait_for_file, wait_for_writers};
use super::lock::{Lock, Noted, Step};
use super::merging::Merging;
use super::place::Place;
use super::recent::{Among, Kept, Recent};
use super::recovered;
use super::temporary::Temporary;
use crate::{Error, Problem, Result};

/// How long a save starts over because another program has written to the file again.
const PATIENCE: Duration = Duration::from_secs(10);
/// After so many rounds a new file goes to the disk only after it has become the notebook: then there is less
/// time for others to write in between. What it displaces stays until that is done.
const PATIENT_ROUNDS: usize = 3;
/// After so many rounds others are kept from opening the file, where that can be.
const HASTY_ROUNDS: usize = 8;

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
                self.sync_folder();
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
        self.sync_folder();
        Ok(())
    }

    /// Makes the new name last. Where that fails the content is in place, and only a power cut could undo it.
    fn sync_folder(&mut self) {
        if let Err(error) = files::sync_folder(self.place.folder()) {
            self.notices.push(not_durable(self.place, &error));
        }
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
        let among = match found {
            Where::InFile => Among::All,
            Where::Displaced => Among::OfItsFile,
        };
        let overwritten = recent.overwritten(theirs, mark, among);
        if let (Where::Displaced, Some(Content::Notebook(put))) = (found, &self.put) {
            // Its author may go on from it and never read ours.
            let (old, new) =
                (Kept { notebook: put, file: None }, Kept { notebook: theirs, file: Some(mark.identity()) });
            recent.keep(self.home, Some(old), new, SystemTime::now());
        }
        let taken = merging.take(theirs, overwritten.as_ref());
        let taken = taken.map_err(|error| self.place.error(Problem::Conflict(error)))?;
        if let Some(overwritten) = overwritten {
            let reinstated = overwritten.reinstate(&mut Notebook::clone(theirs));
            remarks.extend(overwritten.report(self.home, self.place, &reinstated, &merging.ours));
        }
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
        let expected = Expected::notebook(theirs, Some(mark));
        self.remember(&expected, &merging.ours, Some(mark.identity()), SystemTime::now());
        let new = Content::Notebook(Arc::clone(&merging.ours));
        let written = in_place::write_to(&file, self.home, self.lock, &expected.content, &new);
        if !matches!(written, Ok(Written::Done)) {
            self.forget(&merging.ours);
        }
        match written.map_err(|error| self.cannot_save(error))? {
            Written::Done => Ok(true),
            Written::Differs => Ok(false),
        }
    }

    /// Keeps what is in the file since a moment, and what was there before, for a few seconds.
    fn remember(&mut self, expected: &Expected, ours: &Notebook, file: Option<Identity>, at: SystemTime) {
        let old = match &expected.content {
            Content::Notebook(old) => {
                Some(Kept { notebook: old, file: expected.mark.map(|mark| mark.identity()) })
            }
            Content::Absent | Content::Bytes(_) => None,
        };
        let new = Kept { notebook: ours, file };
        Recent::of(self.home, &self.place.key()).keep(self.home, old, new, at);
        self.remembered.push(ours.revision());
    }

    /// Takes back that a version was put into the file.
    fn forget(&mut self, ours: &Notebook) {
        self.remembered.retain(|revision| *revision != ours.revision());
        Recent::of(self.home, &self.place.key()).forget(&[ours.revision()]);
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
        // The version of another program, whose saves nobody syncs.
        let _ = files::sync_folder(self.place.folder());
    }

    /// Exchanges again. `false` when the file did not hold what we put there but something newer: then that
    /// stays in it, and what would have gone back is kept elsewhere.
    fn put_back(&mut self, put: &Content, theirs: Displaced) -> bool {
        let temporary = theirs.temporary;
        let swap = || files::exchange(&temporary.path, &self.place.real);
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

/// What to know of a file that is in place while its folder could not be synced.
pub(super) fn not_durable(place: &Place, error: &io::Error) -> String {
    format!(
        "{} is saved, but its folder could not be synced ({}): a power cut now could bring the previous version back",
        place.real.display(),
        cellist_platform::in_words(error)
    )
}
