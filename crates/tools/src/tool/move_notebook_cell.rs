//! `move_notebook_cell`: moves a cell.

use cellist_notebook::{CellRef, Operation};

use super::{CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, WholeNumber, input};

input! {
    /// Moves a cell to `index`.
    struct MoveNotebookCellInput {
        notebook | path: Option<String>,
        cell | cell_index | cell_id: CellRef,
        index: WholeNumber<0>,
        revision: Option<String> = "As read",
    }
}

impl Tool for MoveNotebookCellInput {
    const FACTS: ToolFacts = ToolFacts {
        destroys: false,
        repeats: true,
        ..ToolFacts::of_notebooks(CallAccess::ChangeNotebook, "moves a cell")
    };

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let MoveNotebookCellInput { cell, index, revision, .. } = self;
        let done = open
            .perform(&call, revision.as_deref(), move |_| Ok(vec![Operation::Move { cell, index: index.0 }]))
            .await?;
        done.answer()
    }
}
