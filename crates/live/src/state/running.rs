//! Writes runs of cells into an open notebook. Outputs are written in place, because not every version is observed.

use std::sync::Arc;

use cellist_notebook::{CellId, CellType, Notebook};
use cellist_output::Output;
use cellist_session::cells::{LANGUAGE, is_run, may_fail, title};
use cellist_session::execution::{CellOutputs, RunOutputs, TIMING, WIDGETS};
use cellist_session::sessions::LateOutputs;
use cellist_store::receipts::Receipt;
use serde_json::Value;

use super::State;
use crate::act::Act;
use crate::actor::Author;
use crate::condition::CellRun;

/// A cell at the start of its run.
#[derive(Clone, Debug)]
pub(crate) struct BegunCell {
    pub(crate) index: usize,
    pub(crate) title: String,
    pub(crate) source: String,
    /// Whether the cell may fail without ending the run.
    pub(crate) may_fail: bool,
}

/// A cell at the end of its run.
#[derive(Clone, Debug)]
pub(crate) struct EndedCell {
    pub(crate) cell: CellId,
    pub(crate) outputs: CellOutputs,
    /// Whether to write execution times into the notebook.
    pub(crate) has_timing: bool,
    /// The kernel's `language_info`, if it is new.
    pub(crate) language: Option<Value>,
    pub(crate) receipt: Receipt,
    /// Whether its kernel was lost.
    pub(crate) is_lost: bool,
}

impl State {
    /// Starts a cell and returns its newest source; `None` if it is deleted or not a code cell.
    pub(crate) fn begin_cell(&mut self, cell: &CellId, run: CellRun) -> Option<BegunCell> {
        let index = self.notebook.position(cell)?;
        let found = Some(&self.notebook.cells()[index]).filter(|cell| is_run(cell))?;
        let (source, may_fail) = (found.source().into_owned(), may_fail(found));
        let title = title(&self.notebook, index);
        self.conditions_mut().begin(cell, run);
        Some(BegunCell { index, title, source, may_fail })
    }

    /// Writes the new outputs of a run into the notebook.
    pub(crate) fn show_run(&mut self, cell: &CellId, outputs: &RunOutputs, author: &Author, now: u64) {
        self.show_elsewhere(outputs, author, now);
        if let Some(CellOutputs { outputs, execution_count, .. }) = outputs.newest() {
            self.set_outputs(cell, &outputs, execution_count, author, now);
        }
    }

    /// Writes the end of a cell into the notebook.
    pub(crate) fn end_cell(&mut self, ended: EndedCell, run: &RunOutputs, author: &Author, now: u64) {
        self.show_elsewhere(run, author, now);
        let EndedCell { cell, outputs, has_timing, language, receipt, is_lost } = ended;
        let mut acts = Vec::new();
        let language = language.filter(|language| self.notebook.metadata().get(LANGUAGE) != Some(language));
        if let Some(language) = language {
            self.notebook_mut().set_metadata(LANGUAGE, &language);
            acts.push(Act::Metadata { cell: None });
        }
        if let Some(at) = self.code_cell(&cell) {
            if has_timing {
                self.notebook_mut().set_cell_metadata(at, TIMING, &outputs.timing.to_json());
                acts.push(Act::Metadata { cell: Some(cell.clone()) });
            }
            self.notebook_mut().set_outputs(at, &outputs.outputs, outputs.execution_count);
            acts.push(Act::Outputs { cell: cell.clone() });
        }
        if let Some(widgets) = run.widgets(&self.notebook) {
            self.notebook_mut().set_metadata(WIDGETS, &widgets);
            acts.push(Act::Metadata { cell: None });
        }
        self.note_outputs(acts, author, now);
        self.conditions_mut().end(&cell, receipt.clone(), is_lost);
        self.receipts.push(receipt);
        self.put_late(now);
    }

    /// Takes the receipts that are not written yet.
    pub(crate) fn take_receipts(&mut self) -> Vec<Receipt> {
        std::mem::take(&mut self.receipts)
    }

    pub(crate) fn has_receipts(&self) -> bool {
        !self.receipts.is_empty()
    }

    /// Sets the outputs and the execution count of a cell. Returns `false` if the cell is deleted or not a code
    /// cell.
    pub(crate) fn set_outputs(
        &mut self,
        cell: &CellId,
        outputs: &[Output],
        count: Option<u64>,
        author: &Author,
        now: u64,
    ) -> bool {
        let Some(at) = self.code_cell(cell) else { return false };
        self.notebook_mut().set_outputs(at, outputs, count);
        self.note_outputs(vec![Act::Outputs { cell: cell.clone() }], author, now);
        true
    }

    /// Writes changes of a run to ended cells: updated displays, and late output.
    fn show_elsewhere(&mut self, outputs: &RunOutputs, author: &Author, now: u64) {
        for (cell, shown) in outputs.take_changed() {
            self.set_outputs(&cell.as_str().into(), &shown.outputs, shown.execution_count, author, now);
        }
        let mut late = self.take_late();
        late.extend(LateOutputs::by_tag(outputs.take_late()));
        for LateOutputs { tag, events } in late {
            let Some(cell) = CellRun::cell_of(&tag) else { continue };
            // Late output of a deleted cell or of an earlier run is dropped.
            let is_last = self.conditions.last_run(&cell, &tag).is_some();
            let Some(at) = self.code_cell(&cell).filter(|_| is_last) else { continue };
            let found = &self.notebook.cells()[at];
            let count = found.execution_count().and_then(|count| u64::try_from(count).ok());
            let shown = outputs.add_late(cell.as_str(), events, found.outputs());
            self.set_outputs(&cell, &shown, count, author, now);
        }
    }

    /// Returns the index of a code cell.
    fn code_cell(&self, cell: &CellId) -> Option<usize> {
        let at = self.notebook.position(cell)?;
        (self.notebook.cells()[at].cell_type() == CellType::Code).then_some(at)
    }

    /// Returns the notebook to change in place. Published views keep their copy.
    fn notebook_mut(&mut self) -> &mut Notebook {
        Arc::make_mut(&mut self.notebook)
    }

    /// Records outputs and metadata written in place as a new version.
    fn note_outputs(&mut self, acts: Vec<Act>, author: &Author, now: u64) {
        let notebook = Arc::clone(&self.notebook);
        self.note(acts, author, None, Vec::new(), now, &notebook);
    }
}
