//! Saves a notebook: exchanges a new file with the notebook atomically, then compares the displaced
//! file with the expected content. A foreign write in between is merged, and the result is saved in
//! the same way.

mod round;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use cellist_notebook::{Notebook, Revision};
use cellist_platform::files::{self, Identity, Mark};
use cellist_settings::Home;

use super::content::{ExpectedFile, FileContent};
use super::in_place::{self, InPlaceOutcome};
use super::load::{open_exclusively, read_open, wait_for_file, wait_for_writers};
use super::location::FileLocation;
use super::lock::{JournalEntry, NotebookLock, SaveStep};
use super::merge_state::MergeState;
use super::recent_versions::{PlacedVersion, RecentVersions, VersionScope};
use super::recovered;
use super::temporary::TemporaryFile;
use crate::{Error, Problem, Result};

/// Time after which a save gives up on a file that another program keeps writing.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rounds after which the sync moves behind the exchange. This shortens the time in which others
/// can write. The displaced file stays until the sync is done.
const PATIENT_ROUNDS: usize = 3;
/// Rounds after which the file is opened exclusively, where the system can do that.
const HASTY_ROUNDS: usize = 8;

const THEIRS: &str = "the version of another program";
const SUPERSEDED: &str = "a version that another program wrote and then overwrote";

/// A save in progress.
///
/// It runs in rounds. Each round exchanges files once. It completes the save, or finds a foreign
/// version to merge for the next round. On an error the last foreign version goes back into the
/// file, and earlier ones go to the `recovered` folder. Before each step the journal of the lock
/// names the temporary file. A later save can therefore clean up after a kill.
pub(super) struct Save<'a> {
    pub(super) home: &'a Home,
    pub(super) location: &'a FileLocation,
    pub(super) lock: &'a mut NotebookLock,
    pub(super) notices: &'a mut Vec<String>,
    /// Foreign versions that we displaced. Their text is merged into the next round, and the files
    /// are removed at the end.
    displaced: Vec<DisplacedFile>,
    /// The content that displaced the last of them.
    put: Option<FileContent>,
    /// Revisions of ours that were put into the file.
    remembered: Vec<Revision>,
}

/// A file that was the notebook until ours replaced it.
struct DisplacedFile {
    temporary: TemporaryFile,
    /// Whether its author has overwritten it since, so that parts of it are not merged.
    is_superseded: bool,
    /// Open and locked, so that no sweep removes it.
    file: File,
}

/// The content of the file after a save.
pub(super) struct SaveOutcome {
    pub(super) notebook: Arc<Notebook>,
    /// `false` if another program wrote equal content first.
    pub(super) written: bool,
}

/// The result of one round.
enum SaveRound {
    Done,
    /// A foreign version, in the file or in a displaced file.
    Found(Arc<Notebook>, Mark, FoundIn),
    /// The file is not a notebook. A copy is in the `recovered` folder, so it may be overwritten.
    Broken(Vec<u8>),
    /// The file has disappeared.
    Gone,
}

/// The time of the sync of a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncTiming {
    BeforeExchange,
    AfterExchange,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FoundIn {
    InFile,
    Displaced,
}

impl<'a> Save<'a> {
    pub(super) fn new(
        home: &'a Home,
        location: &'a FileLocation,
        lock: &'a mut NotebookLock,
        notices: &'a mut Vec<String>,
    ) -> Save<'a> {
        Save { home, location, lock, notices, displaced: Vec::new(), put: None, remembered: Vec::new() }
    }

    /// Saves `ours`, which was made from `base`, to a file with the content `expected`. Returns the
    /// notebook in the file afterwards.
    pub(super) fn save(
        mut self,
        base: Arc<Notebook>,
        expected: ExpectedFile,
        ours: Arc<Notebook>,
    ) -> Result<SaveOutcome> {
        // Notices that hold only if the save succeeds.
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
                self.restore_theirs();
                // These versions were not saved; a later save must not restore them.
                RecentVersions::of(self.home, &self.location.key()).forget(&self.remembered);
                Err(error.with_notices(std::mem::take(self.notices)))
            }
        }
    }

    /// Saves a notebook as a new file.
    pub(super) fn create(mut self, notebook: &Notebook) -> Result<()> {
        if !self.create_file(notebook)? {
            return Err(self.location.error(Problem::AlreadyExists));
        }
        self.sync_folder();
        Ok(())
    }

    /// Syncs the folder, so that the new name survives a power failure. The content is in place
    /// even if this fails.
    fn sync_folder(&mut self) {
        if let Err(error) = files::sync_folder(self.location.folder()) {
            self.notices.push(not_durable(self.location, &error));
        }
    }

    fn rounds(
        &mut self,
        base: Arc<Notebook>,
        mut expected: ExpectedFile,
        ours: Arc<Notebook>,
        remarks: &mut Vec<String>,
    ) -> Result<SaveOutcome> {
        let deadline = Instant::now() + PATIENCE;
        let mut merging = MergeState::new(base, ours);
        for number in 0.. {
            let timing =
                if number < PATIENT_ROUNDS { SyncTiming::BeforeExchange } else { SyncTiming::AfterExchange };
            if number >= HASTY_ROUNDS && self.save_exclusively(&mut merging, remarks)? {
                return Ok(SaveOutcome { notebook: merging.ours, written: true });
            }
            let ours = Arc::clone(&merging.ours);
            let (theirs, mark, found) = match self.round(&expected, &ours, timing)? {
                SaveRound::Done => return Ok(SaveOutcome { notebook: ours, written: true }),
                SaveRound::Gone if wait_for_file(&self.location.real) => continue,
                SaveRound::Gone => return Err(self.location.error(Problem::Gone)),
                SaveRound::Broken(bytes) => {
                    expected = ExpectedFile::bytes(bytes);
                    continue;
                }
                SaveRound::Found(..) if Instant::now() >= deadline => break,
                SaveRound::Found(theirs, mark, found) => (theirs, mark, found),
            };
            self.merge(&mut merging, &theirs, mark, found, remarks)?;
            expected = match found {
                FoundIn::InFile => ExpectedFile::notebook(theirs, Some(mark)),
                FoundIn::Displaced => {
                    merging.record_ours(&ours);
                    ExpectedFile::notebook(ours, None)
                }
            };
            if merging.ours.revision() == expected.content.revision() {
                return Ok(SaveOutcome { notebook: merging.ours, written: self.put.is_some() });
            }
        }
        Err(self.location.error(Problem::KeepsChanging))
    }

    /// Merges a foreign version.
    fn merge(
        &mut self,
        merging: &mut MergeState,
        theirs: &Arc<Notebook>,
        mark: Mark,
        found: FoundIn,
        remarks: &mut Vec<String>,
    ) -> Result<()> {
        let recent = RecentVersions::of(self.home, &self.location.key());
        let among = match found {
            FoundIn::InFile => VersionScope::All,
            FoundIn::Displaced => VersionScope::OfItsFile,
        };
        let overwritten = recent.overwritten(theirs, mark, among);
        if let (FoundIn::Displaced, Some(FileContent::Notebook(put))) = (found, &self.put) {
            // Its author may continue from it without reading ours.
            let (old, new) = (
                PlacedVersion { notebook: put, file: None },
                PlacedVersion { notebook: theirs, file: Some(mark.identity()) },
            );
            recent.keep(self.home, Some(old), new, SystemTime::now());
        }
        let taken = merging.merge_theirs(theirs, overwritten.as_ref());
        let taken = taken.map_err(|error| self.location.error(Problem::Conflict(error)))?;
        if let Some(overwritten) = overwritten {
            let reinstated = overwritten.reinstate(&mut Notebook::clone(theirs));
            remarks.extend(overwritten.report(self.home, self.location, &reinstated, &merging.ours));
        }
        if taken.supersedes {
            let earlier = self.displaced.len() - usize::from(found == FoundIn::Displaced);
            self.displaced[..earlier].iter_mut().for_each(|earlier| earlier.is_superseded = true);
        }
        remarks.push("another program changed the file during the save; both changes were merged".into());
        remarks.extend(taken.notices);
        Ok(())
    }

    /// Writes in place while the file is open exclusively, for files that never come to rest.
    /// `false` if the file cannot be opened that way.
    fn save_exclusively(&mut self, merging: &mut MergeState, remarks: &mut Vec<String>) -> Result<bool> {
        let Some(file) = open_exclusively(&self.location.real) else { return Ok(false) };
        let Ok((theirs, mark)) = read_open(&file) else { return Ok(false) };
        self.merge(merging, &theirs, mark, FoundIn::InFile, remarks)?;
        let expected = ExpectedFile::notebook(theirs, Some(mark));
        self.remember(&expected, &merging.ours, Some(mark.identity()), SystemTime::now());
        let new = FileContent::Notebook(Arc::clone(&merging.ours));
        let written = in_place::write_to(&file, self.home, self.lock, &expected.content, &new);
        if !matches!(written, Ok(InPlaceOutcome::Done)) {
            self.forget(&merging.ours);
        }
        match written.map_err(|error| self.cannot_save(error))? {
            InPlaceOutcome::Done => Ok(true),
            InPlaceOutcome::Differs => Ok(false),
        }
    }

    /// Records the version that is now in the file, and the one before it.
    fn remember(&mut self, expected: &ExpectedFile, ours: &Notebook, file: Option<Identity>, at: SystemTime) {
        let old = match &expected.content {
            FileContent::Notebook(old) => {
                Some(PlacedVersion { notebook: old, file: expected.mark.map(|mark| mark.identity()) })
            }
            FileContent::Absent | FileContent::Bytes(_) => None,
        };
        let new = PlacedVersion { notebook: ours, file };
        RecentVersions::of(self.home, &self.location.key()).keep(self.home, old, new, at);
        self.remembered.push(ours.revision());
    }

    /// Removes the record of a version.
    fn forget(&mut self, ours: &Notebook) {
        self.remembered.retain(|revision| *revision != ours.revision());
        RecentVersions::of(self.home, &self.location.key()).forget(&[ours.revision()]);
    }

    fn note(&mut self, temporary: &TemporaryFile, step: SaveStep) -> Result<()> {
        let noted = self.lock.note(|journal| {
            journal.temporaries.retain(|noted| noted.tag != temporary.tag);
            journal.temporaries.push(JournalEntry { tag: temporary.tag.clone(), step });
        });
        let folder = || self.home.path().to_owned();
        noted.map_err(|error| self.location.error(Problem::NoState { folder: folder(), error }))
    }

    fn discard(&mut self, temporary: &TemporaryFile) {
        if temporary.remove().is_ok() {
            self.lock.forget_temporary(&temporary.tag);
        }
    }

    fn cannot_save(&self, error: io::Error) -> Error {
        self.location.error(Problem::CannotSave(error))
    }

    /// Restores the last foreign version in the file after a failed save.
    fn restore_theirs(&mut self) {
        if let (Some(put), Some(theirs)) = (self.put.take(), self.displaced.pop()) {
            self.put_back(&put, theirs);
        }
        for displaced in std::mem::take(&mut self.displaced) {
            self.keep(&displaced.temporary, THEIRS);
        }
        // Best effort: the version is foreign, and its author may not have synced it either.
        let _ = files::sync_folder(self.location.folder());
    }

    /// Exchanges the files again. `false` if the file has newer content than ours: that stays, and
    /// the displaced version goes to the `recovered` folder.
    fn put_back(&mut self, put: &FileContent, theirs: DisplacedFile) -> bool {
        let temporary = theirs.temporary;
        let swap = || files::exchange(&temporary.path, &self.location.real);
        let is_ours = || {
            let file = File::open(&temporary.path)?;
            Ok::<_, io::Error>(wait_for_writers(&file) && put.is_in(&file)?)
        };
        match swap().and_then(|()| is_ours()) {
            Ok(true) => {
                RecentVersions::of(self.home, &self.location.key()).forget(&[put.revision()]);
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

    /// Moves a temporary file to the `recovered` folder, with a notice.
    fn keep(&mut self, temporary: &TemporaryFile, why: &str) {
        let notice = recovered::keep(self.home, self.location, temporary, why);
        self.lock.forget_temporary(&temporary.tag);
        self.notices.push(notice);
    }
}

/// Notice for a file whose folder could not be synced.
pub(super) fn not_durable(location: &FileLocation, error: &io::Error) -> String {
    format!(
        "{} is saved, but its folder could not be synced ({}): a power cut now could bring the previous version back",
        location.real.display(),
        cellist_platform::in_words(error)
    )
}
