//! `delete_notebook_cells`: deletes cells and returns their text.

use cellist_notebook::{CellRef, Operation};

use super::{CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input};
use crate::toolbox::opened_notebook::positions;

input! {
    /// Deletes cells and returns their text.
    struct DeleteNotebookCellsInput {
        notebook | path: Option<String>,
        cells: Vec<CellRef>,
        revision: Option<String> = "As read",
    }
}

impl Tool for DeleteNotebookCellsInput {
    const FACTS: ToolFacts = ToolFacts::of_notebooks(CallAccess::ChangeNotebook, "deletes cells");

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        if self.cells.is_empty() {
            return Err(open.refuse("`cells` is empty: name the cells to delete", None));
        }
        let done = open.perform(&call, self.revision.as_deref(), move |base| {
            let found = positions(&self.cells, |cell| base.find(cell))?;
            let cell = |at| CellRef::Index(i64::try_from(at).unwrap_or(i64::MAX));
            Ok(found.into_iter().map(|at| Operation::Delete { cell: cell(at) }).collect())
        });
        done.await?.answer()
    }
}
