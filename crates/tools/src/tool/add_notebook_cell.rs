//! `add_notebook_cell`: inserts a cell, and runs it on request.

use cellist_notebook::{CellRef, Operation};

use super::{
    CallAccess, CallContext, CellType, MaxOutput, PendingWrite, Seconds, Tool, ToolAnswer, ToolFacts,
    ToolRefusal, Toolbox, WholeNumber, input,
};
use crate::toolbox::cell_runs::CellRunOptions;

input! {
    /// Inserts a cell. Returns its id.
    struct AddNotebookCellInput {
        notebook | path: Option<String>,
        r#type | cell_type: CellType,
        index: Option<WholeNumber<-1>> = "Default: end",
        after: Option<CellRef>,
        content | source: String,
        run: bool,
        revision: Option<String> = "As read; later changes by others are merged",
        timeout: Option<Seconds> = "Seconds",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
        soft_wait: Option<Seconds>,
    }
}

impl Tool for AddNotebookCellInput {
    const FACTS: ToolFacts = ToolFacts {
        destroys: false,
        ..ToolFacts::of_notebooks(CallAccess::ChangeNotebook, "inserts a cell, and runs it with `run`")
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
        let index = self.index.map(|index| index.0).filter(|index| *index >= 0);
        let AddNotebookCellInput { r#type: kind, after, content: source, revision, .. } = self;
        if index.is_some() && after.is_some() {
            return Err(open.refuse("give `index` or `after`, not both", None));
        }
        let done = open.perform(&call, revision.as_deref(), move |cells| {
            let end = match after {
                Some(cell) => cells.find(&cell)? + 1,
                None => cells.count(),
            };
            let index = index.unwrap_or_else(|| i64::try_from(end).unwrap_or(i64::MAX));
            Ok(vec![Operation::Insert { index, kind, source }])
        });
        let done = done.await?;
        toolbox.then_run(call, &open, done, run).await
    }
}
