//! `run_notebook_cells`: runs cells of a notebook in its kernel and saves their outputs.

use cellist_notebook::{CellId, CellRef};
use cellist_session::cells::why_nothing;
use cellist_session::sessions::SessionKey;

use super::{
    CallAccess, CallContext, MaxOutput, Seconds, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input,
};
use crate::toolbox::cell_runs::CellRunOptions;
use crate::toolbox::runs::not_within;

input! {
    /// Runs cells in order, returns outputs and saves them. Stops at the first cell that fails.
    struct RunNotebookCellsInput {
        notebook | path: Option<String>,
        cells: Option<Vec<CellRef>> = "Default: all",
        restart: bool,
        continue_on_error: bool,
        timeout: Option<Seconds> = "Seconds per cell",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
        soft_wait: Option<Seconds> = "Seconds",
    }
}

impl Tool for RunNotebookCellsInput {
    const FACTS: ToolFacts =
        ToolFacts::of_notebooks(CallAccess::Run, "runs cells in order and returns their outputs");

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let notebook = open.document.view().notebook.clone();
        let mut at: Vec<usize> = match &self.cells {
            Some(cells) => open.find_all(&notebook, cells)?,
            None => (0..notebook.cells().len()).collect(),
        };
        at.sort_unstable();
        let cells: Vec<CellId> = at.into_iter().map(|at| notebook.cells()[at].id().clone()).collect();
        // A call without cells to run does not restart the kernel.
        if self.restart && why_nothing(&notebook, &cells).is_none() {
            let key = not_within(&call, SessionKey::of_notebook(open.path()))?;
            // The first result of the new kernel reports the restart.
            toolbox.restart_kernel(&key, open.name()).await?;
        }
        let run = CellRunOptions {
            budget: call.budget(self.max_output, self.images),
            timeout: self.timeout,
            soft_wait: self.soft_wait,
            allow_errors: self.continue_on_error,
        };
        toolbox.run_cells(call, &open, cells, Vec::new(), run).await
    }
}
