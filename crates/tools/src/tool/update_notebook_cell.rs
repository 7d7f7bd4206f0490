//! `update_notebook_cell`: replaces the text of a cell, and runs it on request.

use cellist_notebook::{CellRef, Operation};

use super::{
    CallAccess, CallContext, MaxOutput, PendingWrite, Seconds, Tool, ToolAnswer, ToolFacts, ToolRefusal,
    Toolbox, input,
};
use crate::toolbox::cell_runs::CellRunOptions;

input! {
    /// Replaces the text of a cell. Outputs stay.
    struct UpdateNotebookCellInput {
        notebook | path: Option<String>,
        cell | cell_index | cell_id: CellRef,
        content | source: String,
        run: bool,
        revision: Option<String> = "As read",
        timeout: Option<Seconds> = "Seconds",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
        soft_wait: Option<Seconds>,
    }
}

impl Tool for UpdateNotebookCellInput {
    const FACTS: ToolFacts = ToolFacts {
        repeats: true,
        ..ToolFacts::of_notebooks(
            CallAccess::ChangeNotebook,
            "replaces the text of a cell, and runs it with `run`",
        )
    };

    fn access(&self) -> CallAccess {
        if self.run { CallAccess::Run } else { Self::FACTS.access }
    }

    fn writing(&self) -> Option<PendingWrite<'_>> {
        Some(PendingWrite::to_notebook(self.notebook.as_deref(), &self.content))
    }

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let budget = call.budget(self.max_output, self.images);
        let run = CellRunOptions::after_change(self.run, budget, self.timeout, self.soft_wait);
        let UpdateNotebookCellInput { cell, content: source, revision, .. } = self;
        let done = open
            .perform(&call, revision.as_deref(), move |_| Ok(vec![Operation::Edit { cell, source }]))
            .await?;
        toolbox.then_run(call, &open, done, run).await
    }
}
