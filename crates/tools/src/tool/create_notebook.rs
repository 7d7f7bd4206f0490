//! `create_notebook`: creates an empty notebook for a kernel.

use cellist_notebook::{Ids, Notebook};
use cellist_session::orders::{self, NamedKernel};
use serde_json::json;

use super::{CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolGroup, ToolRefusal, Toolbox, input};
use crate::toolbox::runs::given;

input! {
    /// Creates an empty notebook. Never overwrites.
    struct CreateNotebookInput {
        notebook | path: String,
        kernel: Option<String> = "Default: Python",
    }
}

impl Tool for CreateNotebookInput {
    const FACTS: ToolFacts = ToolFacts {
        group: ToolGroup::NewNotebook,
        destroys: false,
        ..ToolFacts::of_notebooks(CallAccess::ChangeNotebook, "creates a notebook")
    };

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let editor = toolbox.editor();
        let place = toolbox.resolver(&call, &editor).named_notebook(&self.notebook)?;
        let store = toolbox.documents.store().clone();
        let kernel = match given(self.kernel.as_deref()) {
            None => NamedKernel::python(),
            Some(name) => {
                let folder = place.real.parent().map(ToOwned::to_owned);
                let found = orders::kernel(
                    &call.caller().environment,
                    store.home(),
                    folder.into_iter().collect(),
                    name,
                );
                found.await.map_err(|error| place.refuse(&error, error.hint()))?
            }
        };
        let mut notebook = Notebook::empty(Ids::seeded(0));
        let NamedKernel { name, display_name, language } = &kernel;
        notebook.set_metadata(
            "kernelspec",
            &json!({ "display_name": display_name, "language": language, "name": name }),
        );
        let path = place.real.clone();
        place.stored("could not be created", move || store.create(&path, &notebook)).await?;
        let open = toolbox.open(&call, place).await?;
        let seen = open.read(&call).await?;
        Ok(ToolAnswer::text(format!(
            "Created {}, an empty notebook for {display_name}. Revision {}.",
            open.name(),
            seen.revision
        )))
    }
}
