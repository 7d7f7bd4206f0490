//! `delete_notebook_cells`: deletes cells and returns their text.

use cellist_notebook::{CellRef, Operation};

use super::{Access, Answer, Call, Refusal, Tool, ToolFacts, Toolbox, input};
use crate::toolbox::open::positions;

input! {
    /// Deletes cells and returns their text.
    struct DeleteNotebookCells {
        notebook | path: Option<String>,
        cells: Vec<CellRef>,
        revision: Option<String> = "As read",
    }
}

impl Tool for DeleteNotebookCells {
    const FACTS: ToolFacts = ToolFacts::of_notebooks(Access::ChangeNotebook, "deletes cells");

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
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
