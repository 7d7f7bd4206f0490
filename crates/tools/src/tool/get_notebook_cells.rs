//! `get_notebook_cells`: returns text and state of cells, and the revision for edits.

use cellist_notebook::CellRef;

use super::{CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input};
use crate::context::WHOLE_BELOW;
use crate::toolbox::listing::Listing;
use crate::toolbox::opened_notebook::CurrentNotebook;

input! {
    /// Text and state of cells, and the revision for edits. Without `cells`, a long notebook comes as
    /// an outline.
    struct GetNotebookCellsInput {
        notebook | path: Option<String> = "Path; default: the active notebook",
        cells: Option<Vec<CellRef>> = "Ids, 0-based indexes, ranges \"3-7\"",
    }
}

impl Tool for GetNotebookCellsInput {
    const FACTS: ToolFacts = ToolFacts::of_notebooks(CallAccess::Look, "text and state of all or some cells");

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let CurrentNotebook { notebook, revision, others } = open.read(&call).await?;
        let states = open.document.view().cells();
        let budget = call.usual_bytes();
        let listing = Listing { notebook: &notebook, states: &states, name: open.name(), budget };
        let count = notebook.cells().len();
        let mut text = format!("{} · revision {revision}\n", toolbox.heading(&open, &notebook));
        let all: Vec<usize> = (0..count).collect();
        let others = match &self.cells {
            Some(cells) => {
                let wanted = open.find_all(&notebook, cells)?;
                text.push_str(&listing.whole(&wanted));
                toolbox.announce_read(&call, &open, &notebook, &wanted);
                others.without(|index| wanted.contains(&index))
            }
            None if count < WHOLE_BELOW => {
                text.push_str(&listing.whole(&all));
                toolbox.announce_read(&call, &open, &notebook, &all);
                others.without(|_| true)
            }
            None => {
                text.push_str(&listing.outline(&all, budget));
                text.push_str("Pass `cells` for their text. Code without In[n] has not run.");
                others
            }
        };
        if let Some(sentence) = others.sentence() {
            text = format!("{}\n{sentence}", text.trim_end());
        }
        Ok(ToolAnswer::text(text.trim_end()))
    }
}
