//! `move_notebook_cell`: moves a cell.

use cellist_notebook::{CellRef, Operation};

use super::{Access, Answer, Call, Refusal, Tool, ToolFacts, Toolbox, Whole, input};

input! {
    /// Moves a cell to `index`.
    struct MoveNotebookCell {
        notebook | path: Option<String>,
        cell | cell_index | cell_id: CellRef,
        index: Whole<0>,
        revision: Option<String> = "As read",
    }
}

impl Tool for MoveNotebookCell {
    const FACTS: ToolFacts = ToolFacts {
        destroys: false,
        repeats: true,
        ..ToolFacts::of_notebooks(Access::ChangeNotebook, "moves a cell")
    };

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let MoveNotebookCell { cell, index, revision, .. } = self;
        let done = open
            .perform(&call, revision.as_deref(), move |_| Ok(vec![Operation::Move { cell, index: index.0 }]))
            .await?;
        done.answer()
    }
}
