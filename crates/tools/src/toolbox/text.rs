//! Changes a notebook by its cell-marked text or its JSON, and describes the changed cells.

use cellist_live::Edited;
use cellist_notebook::{self as notebook, Applied, CellId, Ids, Notebook, Revision, Snapshot};
use cellist_store::{Missing, Store};

use super::CallContext;
use super::file_resolver::ResolvedFile;
use super::opened_notebook::OpenedNotebook;
use crate::answer::{ToolAnswer, ToolRefusal};
use crate::budget;

/// A notebook after a change of its text.
pub(crate) struct WrittenNotebook {
    /// The answer about the change.
    pub(crate) text: String,
    pub(crate) revision: Revision,
    /// Cells that are new or have a new text.
    pub(crate) cells: Vec<CellId>,
}

impl OpenedNotebook {
    /// Applies a new text. `make` derives it from the base text.
    pub(crate) async fn apply_text(
        &self,
        call: &CallContext<'_>,
        revision: Option<&str>,
        make: impl FnOnce(String) -> notebook::Result<String> + Send + 'static,
    ) -> Result<WrittenNotebook, ToolRefusal> {
        let changed = self.change(call, self.place.base(revision)?, move |notebook, base| {
            let text = make(base.map_or_else(|| notebook.to_text(), Snapshot::to_text))?;
            let (applied, notices) = notebook.apply_text(&text, base)?;
            Ok((text, applied, notices))
        });
        let (Edited { value: (text, applied, notices), notebook, changed, .. }, others) = changed.await?;
        let revision = notebook.revision();
        if notebook.to_text() == text {
            call.agent.knows_text(self.path(), revision);
        }
        let mut lines = vec![match changed {
            true => format!("Wrote {}: {}. Revision {revision}.", self.name(), summary(&applied, &notebook)),
            false => format!("{} already has this text. Revision {revision}.", self.name()),
        }];
        lines.extend(notices);
        lines.extend(others.sentence());
        let written = notebook.cells().iter().enumerate();
        let written = written
            .filter(|(at, _)| applied.changed.contains(at) || applied.added.contains(at))
            .map(|(_, cell)| cell.id().clone());
        let text = budget::cut(&lines.join("\n"), budget::USUAL);
        Ok(WrittenNotebook { text, revision, cells: written.collect() })
    }

    /// Refuses a whole text if the notebook has changed since the agent read it, unless the call
    /// names a revision.
    pub(crate) async fn check_text(
        &self,
        call: &CallContext<'_>,
        revision: Option<&str>,
    ) -> Result<(), ToolRefusal> {
        if self.place.base(revision)?.is_some() {
            return Ok(());
        }
        let current = self.document.view().notebook.revision();
        let known = match call.agent.text_of(self.path()) {
            Some(known) => Some(known),
            None => {
                let told = self.document.last_told(call.caller().author().actor).await;
                told.map_err(|error| self.refused(&error))?
            }
        };
        match known.filter(|known| *known != current) {
            None => Ok(()),
            Some(known) => Err(self.refuse(
                format_args!("has changed since you read it: from revision {known} to {current}"),
                Some(format!("read it again, or give `revision` {known} to merge your text with it")),
            )),
        }
    }

    /// Replaces the JSON. `make` derives it from the current JSON.
    pub(crate) async fn apply_json(
        &self,
        call: &CallContext<'_>,
        revision: Option<&str>,
        store: &Store,
        make: impl FnOnce(String) -> notebook::Result<String> + Send + 'static,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let before = self.document.view().notebook.revision();
        let named = self.place.base(revision)?;
        if let Some(base) = named.filter(|base| *base != before) {
            return Err(self.refuse(
                format_args!("has changed since revision {base}: it is now {before}"),
                Some("read it again and make the change on its current content".to_owned()),
            ));
        }
        let changed = self.change(call, named, move |notebook, _| {
            let text = make(String::from_utf8_lossy(&notebook.to_bytes()).into_owned())?;
            // The revision seeds new ids, so that two notebooks do not get the same ones.
            let seed = u64::from_str_radix(&notebook.revision().to_string(), 16).unwrap_or_default();
            let mut whole = Notebook::parse(text.into_bytes(), Ids::seeded(seed))?;
            whole.identify(&notebook.snapshot());
            *notebook = whole;
            Ok(())
        });
        let (Edited { notebook, changed, .. }, _) = changed.await?;
        let revision = notebook.revision();
        if !changed && revision != before {
            // Only the formatting differs, which open documents do not record.
            let (store, path, bytes) = (store.clone(), self.path().to_owned(), notebook.to_bytes());
            let save = move || store.replace_raw(&path, bytes, None);
            self.place.stored("could not be saved", save).await?;
        }
        let cells = notebook.cells().len();
        Ok(ToolAnswer::text(match revision == before {
            true => format!("{} already has this JSON. Revision {revision}.", self.name()),
            false => format!(
                "Wrote the JSON of {}, a notebook with {cells} cells. Revision {revision}.",
                self.name()
            ),
        }))
    }
}

/// Creates a notebook from cell-marked text.
pub(crate) async fn make_notebook(
    store: &Store,
    place: &ResolvedFile,
    text: String,
) -> Result<String, ToolRefusal> {
    let (own, path) = (store.clone(), place.real.clone());
    let made = place.stored("could not be created", move || {
        own.change(&path, Missing::StartEmpty, |notebook| match notebook.cells().is_empty() {
            true => notebook.apply_text(&text, None).map(Some),
            false => Ok(None),
        })
    });
    let made = made.await?;
    let Some((_, notices)) = made.value else {
        return Err(place.refuse("was just created by another client", Some("read it first".to_owned())));
    };
    let cells: Vec<String> = (made.notebook.cells().iter().enumerate())
        .map(|(index, cell)| format!("{index} ({})", cell.id()))
        .collect();
    let what = if cells.is_empty() {
        ", an empty notebook".to_owned()
    } else {
        format!(" with cells {}", cells.join(", "))
    };
    let mut lines = vec![format!("Created {}{what}. Revision {}.", place.name, made.revision)];
    lines.extend(notices);
    Ok(budget::cut(&lines.join("\n"), budget::USUAL))
}

/// Creates a notebook from JSON, or repairs an unreadable one.
pub(crate) async fn put_json(
    store: &Store,
    place: &ResolvedFile,
    text: &str,
    base: Option<Revision>,
) -> Result<String, ToolRefusal> {
    let (own, path, bytes) = (store.clone(), place.real.clone(), text.as_bytes().to_vec());
    let save = move || own.replace_raw(&path, bytes, base);
    let saved = place.stored("could not be saved", save).await?;
    let cells = saved.notebook.cells().len();
    Ok(format!(
        "Wrote the JSON of {}, a notebook with {cells} cells. Revision {}.",
        place.name, saved.revision
    ))
}

/// Lists changed cells by index and id, deleted ones by their old index.
fn summary(applied: &Applied, notebook: &Notebook) -> String {
    let named = |indexes: &[usize]| {
        let name = |index: &usize| match notebook.cells().get(*index) {
            Some(cell) => format!("{index} ({})", cell.id()),
            None => index.to_string(),
        };
        indexes.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let gone: Vec<String> = applied.deleted.iter().map(usize::to_string).collect();
    let parts = [
        ("changed", named(&applied.changed)),
        ("added", named(&applied.added)),
        ("moved", named(&applied.moved)),
        ("deleted", gone.join(", ")),
    ];
    let mut said: Vec<String> = parts
        .iter()
        .filter(|(_, cells)| !cells.is_empty())
        .map(|(verb, cells)| format!("{verb} {cells}"))
        .collect();
    said.push(format!("kept {} of {}", applied.kept.len(), notebook.cells().len()));
    said.join("; ")
}
