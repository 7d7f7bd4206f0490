//! `edit` and `write`: a notebook by its text or its JSON, or any file for those who have files.

use cellist_notebook::{Revision, Selector, replace_all, replace_all_in_cells, replace_once};
use cellist_session::Store;
use cellist_session::aside::aside;

use super::read::Target;
use super::target::Place;
use super::text::{Written, make_notebook, put_json};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::mode::Access;

/// What is to be made of a text.
enum Change {
    /// A piece of it is replaced, wherever it occurs where `all` is set.
    Replace { old: String, new: String, all: bool },
    /// All of it is.
    Whole(String),
}

impl Change {
    fn of(self, text: &str) -> cellist_notebook::Result<String> {
        match self {
            Change::Replace { old, new, .. } if old.is_empty() && text.is_empty() => Ok(new),
            Change::Replace { old, new, all: true } => replace_all(text, &old, &new),
            Change::Replace { old, new, all: false } => replace_once(text, &old, &new),
            Change::Whole(text) => Ok(text),
        }
    }

    /// The same for the text of cells, in which marker lines are no part of a cell.
    fn of_cells(self, text: &str) -> cellist_notebook::Result<String> {
        match self {
            Change::Replace { old, new, all: true } if !text.is_empty() => {
                replace_all_in_cells(text, &old, &new)
            }
            other => other.of(text),
        }
    }
}

impl Toolbox {
    pub(super) async fn edit(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let text = |name: &str| call.arguments.text(name).unwrap_or_default().to_owned();
        let all = call.arguments.flag("replace_all");
        let change = Change::Replace { old: text("old"), new: text("new"), all };
        self.change_text(call, change).await
    }

    pub(super) async fn write(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let content = call.arguments.text("content").unwrap_or_default().to_owned();
        self.change_text(call, Change::Whole(content)).await
    }

    async fn change_text(&self, call: Call<'_>, change: Change) -> Result<Answer, Answer> {
        let path = call.arguments.text("path").unwrap_or_default();
        if path.trim().starts_with(super::read::SCHEME) {
            return Err(Answer::failure(format_args!("{path}: artifacts can be read, not changed")));
        }
        let editor = self.editor();
        let Target { place, part } = self.sight(&call, &editor).target(path)?;
        // Its name may not say what a link leads to.
        let mode = call.caller().mode;
        let is_notebook =
            place.is_notebook() || !mode.allows(Access::ChangeNotebook) && self.hides_notebook(&place).await;
        let access = if is_notebook { Access::ChangeNotebook } else { Access::ChangeFile };
        mode.check(access).map_err(Answer::failure)?;
        if call.arguments.flag("run") && (!place.is_notebook() || part.is_some()) {
            return Err(place.failure("`run` is for the cells of a notebook: name the notebook alone", None));
        }
        match (place.is_notebook(), part) {
            (true, None) => self.change_cells(call, place, change).await,
            (true, Some(Selector::Raw)) => self.change_json(&call, place, change).await,
            (false, None | Some(Selector::Raw)) => self.change_file(&call, place, change).await,
            (_, Some(Selector::Lines(_) | Selector::Cell(_))) => Err(place.failure(
                "a part of a file cannot be written: name the file alone, or `:raw` behind a notebook",
                None,
            )),
        }
    }

    async fn hides_notebook(&self, place: &Place) -> bool {
        let (store, place) = (self.documents.store().clone(), place.clone());
        // What could not be looked at counts as one.
        aside(move || place.hides_notebook(&store)).await.unwrap_or(true)
    }

    async fn change_cells(&self, call: Call<'_>, place: Place, change: Change) -> Result<Answer, Answer> {
        let store = self.documents.store();
        if is_missing(&place) {
            return match change {
                Change::Replace { old, .. } if !old.is_empty() => Err(place.failure("no such file", None)),
                change => {
                    let text = change.of("").map_err(|error| place.failure(&error, error.hint()))?;
                    let made = make_notebook(store, &place, text).await?;
                    let open = self.open(&call, place).await?;
                    let seen = open.read(&call).await?;
                    let cells = seen.notebook.cells().iter().map(|cell| cell.id().clone()).collect();
                    self.run_changed(call, &open, Answer::text(made.clone()), made, cells).await
                }
            };
        }
        let open = self.open(&call, place).await?;
        if let Change::Whole(_) = change {
            open.check_text(&call).await?;
        }
        let Written { text, revision, cells } =
            open.apply_text(&call, move |text| change.of_cells(&text)).await?;
        let said = text.replacen(&format!(" Revision {revision}."), "", 1);
        self.run_changed(call, &open, Answer::text(text), said, cells).await
    }

    async fn change_json(&self, call: &Call<'_>, place: Place, change: Change) -> Result<Answer, Answer> {
        let store = self.documents.store();
        match (self.open(call, place.clone()).await, change) {
            (Ok(open), change) => {
                if let Change::Whole(_) = change {
                    open.check_text(call).await?;
                }
                open.apply_json(call, store, move |text| change.of(&text)).await
            }
            // What cannot be read as a notebook can still be made one.
            (Err(failure), change) => {
                let named = call.revision().map_err(|problem| place.failure(problem, None))?;
                let (text, base) = match (&change, is_missing(&place)) {
                    (Change::Replace { .. }, true) => return Err(failure),
                    (Change::Whole(_), _) => (String::new(), named),
                    (Change::Replace { .. }, false) => {
                        let text = self.text_of(&place).await?;
                        let base = named.unwrap_or_else(|| Revision::of([text.as_bytes()]));
                        (text, Some(base))
                    }
                };
                let made = change.of(&text).map_err(|error| place.failure(&error, error.hint()))?;
                put_json(store, &place, &made, base).await.map(Answer::text)
            }
        }
    }

    async fn change_file(&self, call: &Call<'_>, place: Place, change: Change) -> Result<Answer, Answer> {
        let named = call.revision().map_err(|problem| place.failure(problem, None))?;
        let is_missing = is_missing(&place);
        let (before, base) = match &change {
            Change::Replace { old, .. } if is_missing && !old.is_empty() => {
                return Err(place.failure("no such file", None));
            }
            Change::Whole(_) | Change::Replace { .. } if is_missing => (String::new(), named),
            Change::Whole(_) => (String::new(), named),
            Change::Replace { .. } => {
                let text = self.text_of(&place).await?;
                let base = named.unwrap_or_else(|| Revision::of([text.as_bytes()]));
                (text, Some(base))
            }
        };
        let after = change.of(&before).map_err(|error| place.failure(&error, error.hint()))?;
        let revision = Revision::of([after.as_bytes()]);
        let bytes = after.len();
        replace_file(self.documents.store(), &place, after, base).await?;
        let what = if is_missing { "Made" } else { "Wrote" };
        Ok(Answer::text(format!("{what} {}: {bytes} bytes. Revision {revision}.", place.name)))
    }
}

fn is_missing(place: &Place) -> bool {
    !place.real.exists()
}

async fn replace_file(
    store: &Store,
    place: &Place,
    text: String,
    base: Option<Revision>,
) -> Result<(), Answer> {
    let (store, path) = (store.clone(), place.real.clone());
    let saved = aside(move || store.replace_file(&path, text.as_bytes(), base)).await;
    let saved = saved.map_err(|_| place.failure("could not be saved", None))?;
    saved.map_err(|error| place.failure(error.problem(), error.hint()))
}
