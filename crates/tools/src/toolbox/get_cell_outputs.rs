//! `get_cell_outputs`: what a cell shows, as the notebook has it.

use cellist_notebook::CellType;
use cellist_output::notices;
use cellist_session::artifact::Origin;

use super::listing::Listing;
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::result::{Budget, Composed, Section, ShownOutputs, shown};
use crate::sent::OutputMark;

impl Toolbox {
    pub(super) async fn get_cell_outputs(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let open = self.notebook(&call).await?;
        let view = open.document.view();
        let cell = call.arguments.cell("cell").ok_or_else(|| open.failure("`cell` is missing", None))?;
        let at = open.find(&view.notebook, cell)?;
        let cell = &view.notebook.cells()[at];
        if cell.cell_type() != CellType::Code {
            let what =
                format!("cell {at} ({}) is {}: only code cells have outputs", cell.id(), cell.cell_type());
            return Err(open.failure(what, None));
        }
        self.glance(&call, &open, &view.notebook, &[at]);
        let budget = Budget::of(call.arguments);
        let listing = Listing {
            notebook: &view.notebook,
            states: &view.cells(),
            name: open.name(),
            budget: budget.bytes(),
        };
        let what = format!("cell {at} of {}", open.name());
        let origin = Origin { what, session: None, notebook: Some(open.path().to_owned()) };
        let outputs = cell.outputs();
        let ShownOutputs { mut section, artifact } =
            shown(&outputs, budget.reading(), &self.artifacts, &origin).await;
        if section.text.is_empty() && section.pictures.list.is_empty() {
            section.text = notices::no_output();
        }
        let mark = OutputMark::new(open.path().to_owned(), cell.id().clone(), &outputs);
        let section =
            Section { cells: vec![at], heading: Some(listing.heading(at)), mark: Some(mark), ..section };
        let composed = Composed { artifacts: artifact.into_iter().collect(), ..Composed::one(section) };
        let reply = self.gallery.reply(composed, &origin).await;
        Ok(reply.answer(budget, call.agent).await)
    }
}
