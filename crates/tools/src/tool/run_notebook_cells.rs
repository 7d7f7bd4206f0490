//! `run_notebook_cells`: cells of a notebook in its kernel, with their outputs in the file.

use cellist_notebook::{CellId, CellRef};
use cellist_session::cells::why_nothing;
use cellist_session::sessions::SessionKey;

use super::{Access, Answer, Call, MaxOutput, Refusal, Seconds, Tool, ToolFacts, Toolbox, input};
use crate::toolbox::cell_runs::CellRun;
use crate::toolbox::runs::not_within;

input! {
    /// Runs cells in order, returns outputs and saves them. Stops at the first cell that fails.
    struct RunNotebookCells {
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

impl Tool for RunNotebookCells {
    const FACTS: ToolFacts =
        ToolFacts::of_notebooks(Access::Run, "runs cells in their order and returns what they show");

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let notebook = open.document.view().notebook.clone();
        let mut at: Vec<usize> = match &self.cells {
            Some(cells) => open.find_all(&notebook, cells)?,
            None => (0..notebook.cells().len()).collect(),
        };
        at.sort_unstable();
        let cells: Vec<CellId> = at.into_iter().map(|at| notebook.cells()[at].id().clone()).collect();
        // A call that has nothing to run leaves the kernel alone.
        if self.restart && why_nothing(&notebook, &cells).is_none() {
            let key = not_within(&call, SessionKey::of_notebook(open.path()))?;
            // The first result of the new kernel tells of the restart.
            toolbox.restart_kernel(&key, open.name()).await?;
        }
        let run = CellRun {
            budget: call.budget(self.max_output, self.images),
            timeout: self.timeout,
            soft_wait: self.soft_wait,
            allow_errors: self.continue_on_error,
        };
        toolbox.run_cells(call, &open, cells, Vec::new(), run).await
    }
}
