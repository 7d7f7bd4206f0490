//! Commands of a run to the open notebook. Their views are published a little later, so that many short cells do
//! not publish each step.

use cellist_notebook::CellId;
use cellist_session::execution::RunOutputs;

use crate::actor::Author;
use crate::condition::CellRun;
use crate::document::{Document, DocumentError, SaveNeed};
use crate::schedule::Urgency;
use crate::state::{BegunCell, EndedCell};

impl Document {
    /// Starts a cell and returns its newest source; `None` if it is deleted or not a code cell.
    pub(super) async fn begin_cell(
        &self,
        cell: CellId,
        run: CellRun,
    ) -> Result<Option<BegunCell>, DocumentError> {
        self.ask_quietly(move |state, _| (state.begin_cell(&cell, run), SaveNeed::Nothing)).await
    }

    /// Writes the new outputs of a run into the notebook. `cell` is the running one.
    pub(super) async fn show_run(
        &self,
        cell: &CellId,
        outputs: &RunOutputs,
        author: &Author,
    ) -> Result<(), DocumentError> {
        let (cell, outputs, author) = (cell.clone(), outputs.clone(), author.clone());
        self.ask(move |state, now| {
            (state.show_run(&cell, &outputs, &author, now), SaveNeed::Save(Urgency::Later))
        })
        .await
    }

    /// Writes the end of a cell into the notebook.
    pub(super) async fn end_cell(
        &self,
        ended: EndedCell,
        outputs: &RunOutputs,
        author: &Author,
    ) -> Result<(), DocumentError> {
        let (outputs, author) = (outputs.clone(), author.clone());
        self.ask_quietly(move |state, now| {
            (state.end_cell(ended, &outputs, &author, now), SaveNeed::Save(Urgency::Ended))
        })
        .await
    }
}
