//! Saves an open notebook, and merges writes of other programs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cellist_notebook::{Notebook, OnConflict};
use cellist_platform::aside::{NotDone, aside};
use cellist_platform::clock::now_ms;
use cellist_platform::contained::catch;
use cellist_platform::files::Mark;
use cellist_platform::in_words;
use cellist_store::receipts::Receipts;
use cellist_store::{
    Changed, Error, ErrorKind, FileCheck, ForeignVersion, Problem, Result, SaveRequest, Store,
};

use super::{DocumentTask, RunningSave, heard};
use crate::document::{DocumentCommand, Waiter};
use crate::schedule::Urgency;

/// How often a save with a conflict is retried at once.
const CONFLICTS: u32 = 3;

/// The result of a save.
pub(super) struct SaveOutcome {
    saved: Result<Changed<()>>,
    /// Identity of the written file.
    mark: Option<Mark>,
    /// Whether the receipts were written.
    receipts: io::Result<()>,
}

impl DocumentTask {
    pub(super) fn begin_save(&mut self) {
        self.saves.schedule.began(Instant::now());
        let (snapshot, base) = (Arc::clone(self.state.notebook()), Arc::clone(&self.file.base));
        let (store, path, ours) =
            (self.file.store.clone(), Arc::clone(&self.file.path), Arc::clone(&snapshot));
        let news = self.history.news(&mut self.state);
        let (heard, history) = (self.history.unsaved(&self.state), self.history.clone());
        let about = heard.clone();
        let receipts = self.state.take_receipts();
        let knows_overwritten = self.file.knows_overwritten;
        let outcome = aside(move || {
            let put =
                SaveRequest { base: &base, ours: &ours, knows_overwritten, on_conflict: OnConflict::Mark };
            let saved = store.put(&path, put, |revision| {
                if let Some(heard) = &about {
                    history.saving(revision, heard);
                }
            });
            history.add(&news);
            if let (Ok(_), Some(heard)) = (&saved, &about) {
                history.saved(heard);
            }
            let receipts = Receipts::new(store.home()).add(&path, &receipts);
            SaveOutcome { saved, mark: store.mark(&path), receipts }
        });
        self.saves.running = Some(RunningSave { snapshot, version: self.state.version(), heard, outcome });
    }

    pub(super) fn settle(&mut self, SaveOutcome { saved, mark, receipts }: SaveOutcome) {
        if let Err(error) = receipts {
            let notice = format!("the record of this run was not saved: {}", in_words(&error));
            if !self.notices.list.contains(&notice) {
                self.note(vec![notice]);
            }
        }
        let Some(RunningSave { snapshot, version, heard, .. }) = self.saves.running.take() else { return };
        self.saves.schedule.ended(saved.is_ok(), Instant::now());
        match saved {
            Ok(saved) => {
                (self.file.saved, self.file.mark) = (version, mark);
                if let Some(heard) = heard {
                    self.history.set_saved(heard);
                }
                (self.saves.problem, self.saves.conflicts, self.saves.failed) = (None, 0, None);
                self.note(saved.notices);
                self.file.knows_overwritten = false;
                if saved.revision == snapshot.revision() {
                    self.file.base = snapshot;
                } else {
                    // The file also contains changes of others.
                    let in_file = Arc::new(saved.notebook);
                    self.absorb(&snapshot, &in_file, &in_file);
                }
                self.answer(version, Ok(()));
            }
            Err(error) => {
                // A file check merges the foreign write, and the save is retried at once.
                self.saves.conflicts += 1;
                if error.kind() == ErrorKind::Conflict && self.saves.conflicts <= CONFLICTS {
                    self.file.is_suspect = true;
                    self.saves.schedule.changed(Urgency::Now, Instant::now());
                    return;
                }
                (self.saves.problem, self.saves.failed) = (Some(error.to_string()), Some(version));
                self.answer(version, Err(Arc::new(error)));
            }
        }
    }

    /// Answers the callers that wait for a version.
    pub(super) fn answer(&mut self, version: u64, saved: std::result::Result<(), Arc<Error>>) {
        let (done, waiting) =
            std::mem::take(&mut self.saves.waiters).into_iter().partition(|(for_, _)| *for_ <= version);
        self.saves.waiters = waiting;
        let done: Vec<(u64, Waiter)> = done;
        // A caller reads the view after the answer.
        self.publish();
        done.into_iter().for_each(|(_, waiter)| waiter(saved.clone()));
    }

    pub(super) fn begin_look(&mut self) {
        self.file.is_suspect = false;
        let (store, path, known) =
            (self.file.store.clone(), Arc::clone(&self.file.path), self.file.base.revision());
        self.file.check = Some(aside(move || store.look(&path, known)));
    }

    pub(super) fn take_in(&mut self, looked: Result<FileCheck>) {
        self.file.check = None;
        self.file.mark = looked.as_ref().ok().and_then(|looked| looked.mark);
        match looked.map(|looked| looked.seen) {
            Ok(None) => {
                self.saves.problem = self.saves.problem.take().filter(|_| self.saves.schedule.is_dirty())
            }
            Ok(Some(ForeignVersion { in_file, mended, notices })) => {
                self.saves.problem = self.saves.problem.take().filter(|_| self.saves.schedule.is_dirty());
                self.note(notices);
                let base = Arc::clone(&self.file.base);
                self.absorb(&base, &mended, &in_file);
                self.file.knows_overwritten = true;
            }
            // The file may be back in a event; a save reports the problem.
            Err(error) => self.saves.problem = Some(error.to_string()),
        }
    }

    /// Merges `theirs`, which another program made of `base`. The file contains `in_file`.
    pub(super) fn absorb(&mut self, base: &Notebook, theirs: &Notebook, in_file: &Arc<Notebook>) {
        let before = self.state.version();
        let names = match self.state.absorb(base, theirs, now_ms()) {
            Ok((remarks, names)) => {
                self.note(remarks);
                names
            }
            Err(error) => return self.note(vec![error.to_string()]),
        };
        self.absorbed += 1;
        let is_all = self.state.notebook().revision() == in_file.revision();
        let was_clean = self.file.saved == before;
        self.file.base = match is_all {
            true => Arc::clone(self.state.notebook()),
            false => {
                let mut in_file = Notebook::clone(in_file);
                in_file.rename_from(theirs, &names);
                Arc::new(in_file)
            }
        };
        if is_all && was_clean {
            self.file.saved = self.state.version();
        } else if !is_all {
            self.saves.schedule.changed(Urgency::Soon, Instant::now());
        }
    }

    pub(super) fn saved_or_not(&mut self, saved: std::result::Result<SaveOutcome, NotDone>) {
        let cannot = |error: NotDone| SaveOutcome {
            saved: Err(Error::new(&self.file.path, Problem::CannotSave(error.into()))),
            mark: self.file.mark,
            receipts: Ok(()),
        };
        let saved = saved.unwrap_or_else(cannot);
        self.settle(saved);
    }

    pub(super) fn looked_or_not(&mut self, looked: std::result::Result<Result<FileCheck>, NotDone>) {
        let cannot = |error: NotDone| Err(Error::new(&self.file.path, Problem::Unreadable(error.into())));
        let looked = looked.unwrap_or_else(cannot);
        self.take_in(looked);
    }

    /// Saves the pending changes. If that fails, returns the path of a copy.
    pub(super) async fn close(mut self) -> Option<PathBuf> {
        // Once for pending changes, and again for foreign writes meanwhile.
        for _ in 0..3 {
            while let Ok(
                DocumentCommand::Do(work) | DocumentCommand::DoFresh(work) | DocumentCommand::DoQuietly(work),
            ) = self.commands.try_recv()
            {
                self.carry_out(work);
            }
            if let Some(saved) = heard(self.saves.running.as_mut().map(|saving| &mut saving.outcome)).await {
                self.saved_or_not(saved);
            }
            if let Some(looked) = heard(self.file.check.as_mut()).await {
                self.looked_or_not(looked);
            }
            if self.file.is_suspect {
                self.begin_look();
                continue;
            }
            if !self.saves.schedule.is_dirty() || self.saves.failed == Some(self.state.version()) {
                break;
            }
            self.begin_save();
        }
        if let Some(saved) = heard(self.saves.running.as_mut().map(|saving| &mut saving.outcome)).await {
            self.saved_or_not(saved);
        }
        if !self.saves.schedule.is_dirty() {
            return None;
        }
        rescue(self.file.store, self.file.path, Arc::clone(self.state.notebook())).await
    }
}

/// Writes a copy of a notebook that cannot be saved, and returns its path. Falls back to the current thread.
pub(super) async fn rescue(store: Store, path: Arc<Path>, ours: Arc<Notebook>) -> Option<PathBuf> {
    let (own, place, kept) = (store.clone(), Arc::clone(&path), Arc::clone(&ours));
    match aside(move || own.rescue(&place, &kept)).await {
        Ok(rescued) => rescued,
        Err(_) => catch(|| store.rescue(&path, &ours)).ok().flatten(),
    }
}
