//! What a run asks of the open notebook. Others see it a little later, so that a run of many short cells does not show
//! each of its steps.

use cellist_notebook::CellId;
use cellist_session::execution::RunOutputs;

use crate::actor::Author;
use crate::condition::CellRun;
use crate::document::{Document, DocumentError, Then};
use crate::schedule::Urgency;
use crate::state::{BegunCell, EndedCell};

impl Document {
    /// The newest source of a cell, which runs from now on; `None` when it is gone or holds no code any more.
    pub(super) async fn begin_cell(
        &self,
        cell: CellId,
        run: CellRun,
    ) -> Result<Option<BegunCell>, DocumentError> {
        self.ask_quietly(move |state, _| (state.begin_cell(&cell, run), Then::Nothing)).await
    }

    /// Writes what a run has shown since the last time into the notebook. `cell` is the one that runs.
    pub(super) async fn show_run(
        &self,
        cell: &CellId,
        outputs: &RunOutputs,
        author: &Author,
    ) -> Result<(), DocumentError> {
        let (cell, outputs, author) = (cell.clone(), outputs.clone(), author.clone());
        self.ask(move |state, now| {
            (state.show_run(&cell, &outputs, &author, now), Then::Save(Urgency::Later))
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
            (state.end_cell(ended, &outputs, &author, now), Then::Save(Urgency::Ended))
        })
        .await
    }
}
