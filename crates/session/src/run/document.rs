//! The notebook that is run: what it holds now, and how that gets into the file beside what others write.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cellist_notebook::{CellId, Notebook, OnConflict, merge};
use cellist_output::Output;
use cellist_platform::aside::{Aside, aside};
use cellist_store::{Changed, Error, Problem, Result, SaveRequest, Store};
use serde_json::Value;

/// A notebook with the file that it came from and the file that its outputs go to.
#[derive(Debug)]
pub struct Document {
    store: Store,
    path: PathBuf,
    output: PathBuf,
    in_place: bool,
    /// What is in the file, as far as we know.
    base: Notebook,
    /// That, with what we changed since.
    ours: Notebook,
    is_dirty: bool,
    notices: Vec<String>,
}

/// A save that goes on beside the run.
pub(crate) struct Saving {
    /// What is being saved.
    snapshot: Notebook,
    outcome: Aside<(Result<Changed<()>>, Duration)>,
}

/// How a save stands.
pub(crate) enum Looked {
    /// It is not done yet.
    Going(Saving),
    /// It is over, after this time.
    Over(Duration),
}

impl Document {
    /// Opens a notebook; outputs go to `output`, or into the notebook itself.
    pub fn open(store: &Store, path: &Path, output: Option<&Path>) -> Result<Document> {
        let opened = store.open(path)?;
        let same = |output: &Path| output.canonicalize().is_ok_and(|real| real == opened.path);
        let output = output.filter(|output| !same(output));
        Ok(Document {
            store: store.clone(),
            path: path.to_owned(),
            output: output.unwrap_or(path).to_owned(),
            in_place: output.is_none(),
            base: opened.notebook.clone(),
            ours: opened.notebook,
            is_dirty: output.is_some(),
            notices: opened.notices,
        })
    }

    /// The file that it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that its outputs go to.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// What it holds now.
    pub fn notebook(&self) -> &Notebook {
        &self.ours
    }

    pub(crate) fn note(&mut self, notice: &str) {
        self.notices.push(notice.to_owned());
    }

    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Where a cell stands now, unless someone deleted it.
    pub(crate) fn find(&self, id: &CellId) -> Option<usize> {
        self.ours.cells().iter().position(|cell| cell.id() == id)
    }

    pub(crate) fn change<T>(&mut self, change: impl FnOnce(&mut Notebook) -> T) -> T {
        self.is_dirty = true;
        change(&mut self.ours)
    }

    pub(crate) fn set_outputs(&mut self, id: &CellId, outputs: &[Output], execution_count: Option<u64>) {
        if let Some(index) = self.find(id) {
            self.change(|notebook| notebook.set_outputs(index, outputs, execution_count));
        }
    }

    pub(crate) fn set_metadata(&mut self, id: &CellId, key: &str, value: &Value) {
        if let Some(index) = self.find(id) {
            self.change(|notebook| notebook.set_cell_metadata(index, key, value));
        }
    }

    /// Begins to save what has changed, if anything has. Must be settled before the next one begins.
    pub(crate) fn begin_save(&mut self) -> Option<Saving> {
        if !std::mem::take(&mut self.is_dirty) {
            return None;
        }
        let snapshot = self.ours.clone();
        let (store, output, in_place) = (self.store.clone(), self.output.clone(), self.in_place);
        let (base, ours) = (self.base.clone(), self.ours.clone());
        let outcome = aside(move || {
            let begun = Instant::now();
            let saved = if in_place {
                let on_conflict = OnConflict::Refuse;
                let put = SaveRequest { base: &base, ours: &ours, knows_overwritten: false, on_conflict };
                store.put(&output, put, |_| {})
            } else {
                store.replace_raw(&output, ours.to_bytes(), None)
            };
            (saved, begun.elapsed())
        });
        Some(Saving { snapshot, outcome })
    }

    /// Takes note of a save that may be done by now; gives back one that is not.
    pub(crate) fn look(&mut self, mut saving: Saving) -> Looked {
        match saving.outcome.try_done() {
            Some(Ok((saved, took))) => {
                // What could not be saved now may be saved later; the last save tells.
                let _ = self.settle(saving.snapshot, saved);
                Looked::Over(took)
            }
            None => Looked::Going(saving),
            Some(Err(_)) => {
                self.is_dirty = true;
                Looked::Over(Duration::ZERO)
            }
        }
    }

    /// Waits for a save and takes note of it.
    pub(crate) async fn finish(&mut self, saving: Saving) -> Result<()> {
        match saving.outcome.await {
            Ok((saved, _)) => self.settle(saving.snapshot, saved),
            Err(error) => {
                self.is_dirty = true;
                Err(Error::new(&self.output, Problem::CannotSave(error.into())))
            }
        }
    }

    fn settle(&mut self, snapshot: Notebook, saved: Result<Changed<()>>) -> Result<()> {
        let saved = match saved {
            Ok(saved) => saved,
            Err(error) => {
                self.is_dirty = true;
                return Err(error);
            }
        };
        self.notices.extend(saved.notices);
        if !self.in_place || saved.revision == snapshot.revision() {
            self.base = snapshot;
            return Ok(());
        }
        // Someone else's changes are in the file now; the run goes on with them.
        match merge(&snapshot, &self.ours, &saved.notebook, OnConflict::Refuse) {
            Ok(merged) => {
                self.notices
                    .push("the notebook was changed by another program meanwhile; both are kept".into());
                self.ours = merged.notebook;
                self.base = saved.notebook;
                self.base.take_names(&merged.their_names);
            }
            // The next save meets the same difference and says what cannot be merged.
            Err(_) => self.is_dirty = true,
        }
        Ok(())
    }

    /// Puts what could not be saved where it is not lost, and says where that is.
    pub(crate) fn rescue(&self) -> Option<PathBuf> {
        self.store.rescue(&self.path, &self.ours)
    }
}
