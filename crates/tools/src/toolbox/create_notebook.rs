//! `create_notebook`: an empty notebook for a kernel.

use cellist_notebook::{Ids, Notebook};
use cellist_session::aside::aside;
use cellist_session::orders::{self, Named};
use serde_json::json;

use super::target::with_hint;
use super::{Call, Toolbox};
use crate::answer::Answer;

impl Toolbox {
    pub(super) async fn create_notebook(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let editor = self.editor();
        let named = call.arguments.text("notebook").unwrap_or_default();
        let place = self.sight(&call, &editor).named_notebook(named)?;
        let store = self.documents.store().clone();
        let kernel = match call.arguments.text("kernel").map(str::trim).filter(|name| !name.is_empty()) {
            None => Named::python(),
            Some(name) => {
                let folder = place.real.parent().map(ToOwned::to_owned);
                let found =
                    orders::kernel(&call.caller().asker, store.home(), folder.into_iter().collect(), name);
                found.await.map_err(|error| {
                    Answer::failure(with_hint(format!("{}: {error}", place.name), error.hint()))
                })?
            }
        };
        let mut notebook = Notebook::empty(Ids::seeded(0));
        let Named { name, display_name, language } = &kernel;
        notebook.set_metadata(
            "kernelspec",
            &json!({ "display_name": display_name, "language": language, "name": name }),
        );
        let path = place.real.clone();
        let made = aside(move || store.create(&path, &notebook)).await;
        let made = made.map_err(|_| place.failure("could not be made", None))?;
        made.map_err(|error| place.failure(error.problem(), error.hint()))?;
        let open = self.open(&call, place).await?;
        let seen = open.read(&call).await?;
        Ok(Answer::text(format!(
            "Made {}, an empty notebook for {display_name}. Revision {}.",
            open.name(),
            seen.revision
        )))
    }
}
