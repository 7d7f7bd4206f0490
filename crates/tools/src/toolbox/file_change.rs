//! Changes a notebook by its text or JSON, or another file.

use cellist_notebook::{Revision, Selector, replace_all, replace_all_in_cells, replace_once};
use cellist_platform::aside::aside;

use super::cell_runs::CellRunOptions;
use super::file_resolver::{FileSelection, ResolvedFile, SCHEME};
use super::text::{WrittenNotebook, make_notebook, put_json};
use super::{CallContext, Toolbox};
use crate::answer::{ToolAnswer, ToolRefusal};
use crate::mode::CallAccess;

/// A change of a file.
pub(crate) struct FileChange<'a> {
    pub(crate) path: &'a str,
    pub(crate) change: TextChange,
    pub(crate) revision: Option<&'a str>,
    /// Runs the changed cells, if set.
    pub(crate) run: Option<CellRunOptions>,
}

/// A change of a text.
pub(crate) enum TextChange {
    /// Replaces one occurrence, or each of them if `all` is set.
    Replace { old: String, new: String, all: bool },
    /// Replaces the whole text.
    Whole(String),
}

impl TextChange {
    fn of(self, text: &str) -> cellist_notebook::Result<String> {
        match self {
            TextChange::Replace { old, new, .. } if old.is_empty() && text.is_empty() => Ok(new),
            TextChange::Replace { old, new, all: true } => replace_all(text, &old, &new),
            TextChange::Replace { old, new, all: false } => replace_once(text, &old, &new),
            TextChange::Whole(text) => Ok(text),
        }
    }

    /// Applies the change to cell-marked text. Marker lines are not part of a cell.
    fn of_cells(self, text: &str) -> cellist_notebook::Result<String> {
        match self {
            TextChange::Replace { old, new, all: true } if !text.is_empty() => {
                replace_all_in_cells(text, &old, &new)
            }
            other => other.of(text),
        }
    }
}

impl Toolbox {
    pub(crate) async fn change_text(
        &self,
        call: CallContext<'_>,
        wanted: FileChange<'_>,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let FileChange { path, change, revision, run } = wanted;
        if path.trim().starts_with(SCHEME) {
            return Err(ToolRefusal::new(format_args!("{path}: artifacts are read-only")));
        }
        let editor = self.editor();
        let FileSelection { place, part } = self.resolver(&call, &editor).target(path)?;
        // A link may lead to a notebook under another name.
        let mode = call.caller().mode;
        let is_notebook = place.is_notebook()
            || !mode.allows(CallAccess::ChangeNotebook) && self.hides_notebook(&place).await;
        let access = if is_notebook { CallAccess::ChangeNotebook } else { CallAccess::ChangeFile };
        mode.check(access).map_err(ToolRefusal::new)?;
        if run.is_some() && (!place.is_notebook() || part.is_some()) {
            return Err(place.refuse("`run` is only for a notebook without a selector", None));
        }
        match (place.is_notebook(), part) {
            (true, None) => self.change_cells(call, place, change, revision, run).await,
            (true, Some(Selector::Raw)) => self.change_json(&call, place, change, revision).await,
            (false, None | Some(Selector::Raw)) => self.change_file(place, change, revision).await,
            (_, Some(Selector::Lines(_) | Selector::Cell(_))) => Err(place.refuse(
                "a part of a file cannot be written: use the path alone, or `:raw` after a notebook",
                None,
            )),
        }
    }

    async fn hides_notebook(&self, place: &ResolvedFile) -> bool {
        let (store, place) = (self.documents.store().clone(), place.clone());
        // A file that cannot be examined counts as a notebook.
        aside(move || place.hides_notebook(&store)).await.unwrap_or(true)
    }

    async fn change_cells(
        &self,
        call: CallContext<'_>,
        place: ResolvedFile,
        change: TextChange,
        revision: Option<&str>,
        run: Option<CellRunOptions>,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let store = self.documents.store();
        if is_missing(&place) {
            return match change {
                TextChange::Replace { old, .. } if !old.is_empty() => Err(place.refuse("no such file", None)),
                change => {
                    let text = change.of("").map_err(|error| place.refuse(&error, error.hint()))?;
                    let made = make_notebook(store, &place, text).await?;
                    let open = self.open(&call, place).await?;
                    let seen = open.read(&call).await?;
                    let cells = seen.notebook.cells().iter().map(|cell| cell.id().clone()).collect();
                    self.run_changed(call, &open, made.clone(), made, cells, run).await
                }
            };
        }
        let open = self.open(&call, place).await?;
        if let TextChange::Whole(_) = change {
            open.check_text(&call, revision).await?;
        }
        let WrittenNotebook { text, revision, cells } =
            open.apply_text(&call, revision, move |text| change.of_cells(&text)).await?;
        let said = text.replacen(&format!(" Revision {revision}."), "", 1);
        self.run_changed(call, &open, text, said, cells, run).await
    }

    async fn change_json(
        &self,
        call: &CallContext<'_>,
        place: ResolvedFile,
        change: TextChange,
        revision: Option<&str>,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let store = self.documents.store();
        match (self.open(call, place.clone()).await, change) {
            (Ok(open), change) => {
                if let TextChange::Whole(_) = change {
                    open.check_text(call, revision).await?;
                }
                open.apply_json(call, revision, store, move |text| change.of(&text)).await
            }
            // A broken notebook can still be repaired.
            (Err(failure), change) => {
                let named = place.base(revision)?;
                let (text, base) = match (&change, is_missing(&place)) {
                    (TextChange::Replace { .. }, true) => return Err(failure),
                    (TextChange::Whole(_), _) => (String::new(), named),
                    (TextChange::Replace { .. }, false) => {
                        let text = self.text_of(&place).await?;
                        let base = named.unwrap_or_else(|| Revision::of([text.as_bytes()]));
                        (text, Some(base))
                    }
                };
                let made = change.of(&text).map_err(|error| place.refuse(&error, error.hint()))?;
                put_json(store, &place, &made, base).await.map(ToolAnswer::text)
            }
        }
    }

    async fn change_file(
        &self,
        place: ResolvedFile,
        change: TextChange,
        revision: Option<&str>,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let named = place.base(revision)?;
        let is_missing = is_missing(&place);
        let (before, base) = match &change {
            TextChange::Replace { old, .. } if is_missing && !old.is_empty() => {
                return Err(place.refuse("no such file", None));
            }
            TextChange::Whole(_) | TextChange::Replace { .. } if is_missing => (String::new(), named),
            TextChange::Whole(_) => (String::new(), named),
            TextChange::Replace { .. } => {
                let text = self.text_of(&place).await?;
                let base = named.unwrap_or_else(|| Revision::of([text.as_bytes()]));
                (text, Some(base))
            }
        };
        let after = change.of(&before).map_err(|error| place.refuse(&error, error.hint()))?;
        let revision = Revision::of([after.as_bytes()]);
        let bytes = after.len();
        let (store, path) = (self.documents.store().clone(), place.real.clone());
        let save = move || store.replace_file(&path, after.as_bytes(), base);
        place.stored("could not be saved", save).await?;
        let verb = if is_missing { "Created" } else { "Wrote" };
        Ok(ToolAnswer::text(format!("{verb} {}: {bytes} bytes. Revision {revision}.", place.name)))
    }
}

/// Returns the effect of changing a path, with or without a selector.
pub(crate) fn change_access(path: &str) -> CallAccess {
    let lower = path.to_ascii_lowercase();
    let is_notebook = lower.ends_with(".ipynb") || lower.contains(".ipynb:") || lower.contains(".ipynb#");
    if is_notebook { CallAccess::ChangeNotebook } else { CallAccess::ChangeFile }
}

fn is_missing(place: &ResolvedFile) -> bool {
    !place.real.exists()
}
