//! `get_cell_outputs`: returns the saved outputs of a cell.

use cellist_notebook::{CellRef, CellType};
use cellist_output::notices;
use cellist_store::artifact::ArtifactOrigin;

use super::{CallAccess, CallContext, MaxOutput, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input};
use crate::known_outputs::OutputMark;
use crate::result::{ReplyDraft, Section, ShownOutputs, shown};
use crate::toolbox::listing::Listing;

input! {
    /// Saved outputs of a cell, and whether they are stale.
    struct GetCellOutputsInput {
        notebook | path: Option<String>,
        cell | cell_index | cell_id: CellRef = "Id or 0-based index",
        max_output: Option<MaxOutput> = "Bytes",
        images: Option<bool>,
    }
}

impl Tool for GetCellOutputsInput {
    const FACTS: ToolFacts = ToolFacts::of_notebooks(CallAccess::Look, "the outputs of a cell, images too");

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let view = open.document.view();
        let at = open.find(&view.notebook, &self.cell)?;
        let cell = &view.notebook.cells()[at];
        if cell.cell_type() != CellType::Code {
            let what = format!(
                "cell {at} ({}) is a {} cell: only code cells have outputs",
                cell.id(),
                cell.cell_type()
            );
            return Err(open.refuse(what, None));
        }
        toolbox.announce_read(&call, &open, &view.notebook, &[at]);
        let budget = call.budget(self.max_output, self.images);
        let listing = Listing {
            notebook: &view.notebook,
            states: &view.cells(),
            name: open.name(),
            budget: budget.bytes,
        };
        let what = format!("cell {at} of {}", open.name());
        let origin = ArtifactOrigin { what, session: None, notebook: Some(open.path().to_owned()) };
        let outputs = cell.outputs();
        let ShownOutputs { mut section, artifact } =
            shown(&outputs, budget.reading(), &toolbox.artifacts, &origin).await;
        if section.text.is_empty() && section.pictures.list.is_empty() {
            section.text = notices::no_output();
        }
        let mark = OutputMark::new(open.path().to_owned(), cell.id().clone(), &outputs);
        let section =
            Section { cells: vec![at], heading: Some(listing.heading(at)), mark: Some(mark), ..section };
        let composed = ReplyDraft { artifacts: artifact.into_iter().collect(), ..ReplyDraft::one(section) };
        let reply = toolbox.gallery.reply(composed, &origin).await;
        Ok(reply.answer(budget, call.agent).await)
    }
}
