//! The notebook of a call, open: reading it, finding cells in it, changing it, and what is told of all that.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use cellist_live::{Document, DocumentError, Edited, Told, Unchanged};
use cellist_notebook::{self as notebook, CellRef, Notebook, Revision, Snapshot, SnapshotCell};
use cellist_store::ErrorKind;

use super::target::{Place, Sight};
use super::{Call, Toolbox};
use crate::answer::Refusal;
use crate::glance::Glance;
use crate::mode::Access;
use crate::reach::{Reach, Use};

/// A notebook that is open for a call.
pub(crate) struct Open {
    pub(crate) document: Document,
    pub(super) place: Place,
}

/// What an agent is told of a notebook.
pub(crate) struct Seen {
    pub(crate) notebook: Arc<Notebook>,
    pub(crate) revision: Revision,
    /// Cells that others changed since the agent was told of them.
    pub(crate) others: Others,
}

/// What others changed since someone looked, cells by index and id; those that were deleted by id alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    changed: Vec<(usize, String)>,
    deleted: Vec<String>,
}

impl Toolbox {
    /// Opens the notebook that a call is about: the one that it names, else the active one.
    pub(crate) async fn notebook(&self, call: &Call<'_>, named: Option<&str>) -> Result<Open, Refusal> {
        let editor = self.editor();
        let place = self.sight(call, &editor).notebook(named)?;
        self.open(call, place).await
    }

    /// Opens a notebook.
    pub(crate) async fn open(&self, call: &Call<'_>, place: Place) -> Result<Open, Refusal> {
        match self.documents.open(&place.real).await {
            // A link has come into the path since it was looked at.
            Ok(document) if document.path() != place.real => {
                Err(place.refuse("was replaced while it was opened", Some("call again".to_owned())))
            }
            Ok(document) => {
                call.agent.hold(&document);
                // It fails where the notebook was closed in between, which the call itself then finds.
                let _ = document.meet_kernel(&self.sessions).await;
                Ok(Open { document, place })
            }
            Err(error) => {
                let hint = match error.kind() {
                    // An agent has a tool where a person has a command.
                    ErrorKind::NotFound => Some("check the name, or make it with create_notebook".to_owned()),
                    ErrorKind::Unreadable
                    | ErrorKind::NotANotebook
                    | ErrorKind::BadInput
                    | ErrorKind::Conflict
                    | ErrorKind::CannotSave => error.hint(),
                };
                Err(place.refuse(error.problem(), hint))
            }
        }
    }

    /// Tells that the agent has read cells, by their positions.
    pub(crate) fn glance(&self, call: &Call<'_>, open: &Open, notebook: &Notebook, cells: &[usize]) {
        let cells = cells.iter().filter_map(|at| notebook.cells().get(*at)).map(|cell| cell.id().clone());
        let (path, actor) = (open.path().to_owned(), call.caller().author().actor);
        // Mostly there is no receiver.
        let _ = self.glances.send(Glance { path, actor, cells: cells.collect() });
    }

    /// What decides which files a call is about.
    pub(crate) fn sight<'a>(&'a self, call: &'a Call<'_>, editor: &'a crate::editor::Editor) -> Sight<'a> {
        let (caller, store) = (call.caller(), self.documents.store());
        let reach = Reach::of(caller, store.home());
        let wanted = if call.access == Access::Look { Use::Look } else { Use::Change };
        Sight { caller, editor, store, reach, wanted, consents: call.agent.consents() }
    }
}

impl Open {
    /// What to call it in an answer.
    pub(crate) fn name(&self) -> &str {
        &self.place.name
    }

    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        self.document.path()
    }

    /// The newest of it, which counts as told to the agent.
    pub(crate) async fn read(&self, call: &Call<'_>) -> Result<Seen, Refusal> {
        let told = self.document.tell(call.caller().author().actor).await;
        let Told { notebook, revision, before } = told.map_err(|error| self.refused(&error))?;
        let others = before.map(|before| Others::since(&before, &notebook)).unwrap_or_default();
        Ok(Seen { notebook, revision, others })
    }

    /// The position of the cell that is meant.
    pub(crate) fn find(&self, notebook: &Notebook, cell: &CellRef) -> Result<usize, Refusal> {
        notebook.find(cell).map_err(|error| self.refuse(&error, error.hint()))
    }

    /// The positions of the cells that are meant, each once, in the order in which they were named.
    pub(crate) fn find_all(&self, notebook: &Notebook, cells: &[CellRef]) -> Result<Vec<usize>, Refusal> {
        let found = positions(cells, |cell| notebook.find(cell));
        found.map_err(|error| self.refuse(&error, error.hint()))
    }

    /// Changes it as the agent, on a revision or else on the one that the agent was told last.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        call: &Call<'_>,
        base: Option<Revision>,
        change: impl FnOnce(&mut Notebook, Option<&Snapshot>) -> notebook::Result<T> + Send + 'static,
    ) -> Result<(Edited<T>, Others), Refusal> {
        let edited = self.document.edit(base, call.agent.author(), move |notebook, snapshot| {
            let others = snapshot.map(|snapshot| Others::since(snapshot, notebook)).unwrap_or_default();
            Ok((change(notebook, snapshot)?, others))
        });
        let Edited { value: (value, others), version, notebook, changed } =
            edited.await.map_err(|error| self.refused(&error))?;
        Ok((Edited { value, version, notebook, changed }, others))
    }

    /// A refusal that is about it.
    pub(crate) fn refuse(&self, what: impl std::fmt::Display, hint: Option<String>) -> Refusal {
        self.place.refuse(what, hint)
    }

    /// Why it did not do what it was asked for.
    pub(crate) fn refused(&self, error: &DocumentError) -> Refusal {
        let hint = match error {
            DocumentError::Unchanged(unchanged) => match &**unchanged {
                Unchanged::Refused(refused) => refused.hint(),
                Unchanged::UnknownRevision { .. } => Some(READ_AGAIN.to_owned()),
                Unchanged::Nothing(_) | Unchanged::NoSuchHunk { .. } => None,
            },
            DocumentError::Refused(_) => Some(READ_AGAIN.to_owned()),
            DocumentError::NotSaved(error) => error.hint(),
            DocumentError::Closed | DocumentError::Failed(_) => {
                Some("call again: it is opened anew".to_owned())
            }
        };
        self.refuse(error, hint)
    }
}

/// The positions of ids, indexes and ranges, each once, in the order in which they were named. `3-7` is a range unless
/// some cell has that as its id. `find` resolves one cell.
pub(crate) fn positions(
    cells: &[CellRef],
    find: impl Fn(&CellRef) -> notebook::Result<usize>,
) -> notebook::Result<Vec<usize>> {
    let mut found: Vec<usize> = Vec::new();
    for cell in cells {
        let named = match (find(cell), cell) {
            (Err(error), CellRef::Name(name)) => match range(name) {
                Some((first, last)) => find(&CellRef::Index(first))?..=find(&CellRef::Index(last))?,
                None => return Err(error),
            },
            (at, _) => {
                let at = at?;
                at..=at
            }
        };
        for at in named {
            if !found.contains(&at) {
                found.push(at);
            }
        }
    }
    Ok(found)
}

/// `3-7`, from the lower to the higher. Replies write `3–7`.
fn range(name: &str) -> Option<(i64, i64)> {
    let (first, last) = name.trim().split_once(['-', '–'])?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (0 <= first && first <= last).then_some((first, last))
}

const READ_AGAIN: &str = "read it again and make the change on its current content";

impl Others {
    /// What is not as it was.
    pub(crate) fn since(before: &Snapshot, now: &Notebook) -> Others {
        let mut others = Others::default();
        let known: HashMap<&str, &SnapshotCell> =
            before.cells.iter().filter_map(|cell| Some((cell.name()?, cell))).collect();
        for (index, cell) in now.cells().iter().enumerate() {
            let id = cell.id().as_str();
            if known.get(id).is_none_or(|was| was.kind != cell.cell_type() || was.source != cell.source()) {
                others.changed.push((index, id.to_owned()));
            }
        }
        let there: HashSet<&str> = now.cells().iter().map(|cell| cell.id().as_str()).collect();
        let named = before.cells.iter().filter_map(SnapshotCell::name);
        others.deleted = named.filter(|name| !there.contains(name)).map(str::to_owned).collect();
        others
    }

    /// The same without cells that the answer shows anyway.
    pub(crate) fn without(mut self, shown: impl Fn(usize) -> bool) -> Others {
        self.changed.retain(|(index, _)| !shown(*index));
        self
    }

    /// The same without cells that are named by id.
    pub(crate) fn without_cells(mut self, ids: &[&str]) -> Others {
        self.changed.retain(|(_, id)| !ids.contains(&id.as_str()));
        self.deleted.retain(|id| !ids.contains(&id.as_str()));
        self
    }

    /// In a line, where there is something to say.
    pub(crate) fn sentence(&self) -> Option<String> {
        const MOST: usize = 12;
        let mut said: Vec<String> =
            self.changed.iter().map(|(index, id)| format!("{index} ({id})")).collect();
        let mut deleted: Vec<String> = self.deleted.clone();
        for list in [&mut said, &mut deleted] {
            let left = list.len().saturating_sub(MOST);
            list.truncate(MOST);
            if left > 0 {
                list.push(format!("{left} more"));
            }
        }
        let changed = (!said.is_empty()).then(|| format!("changed or added cells {}", said.join(", ")));
        let deleted = (!deleted.is_empty()).then(|| format!("deleted {}", deleted.join(", ")));
        let parts: Vec<String> = [changed, deleted].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("Since you last looked, others {}.", parts.join(" and ")))
    }
}

#[cfg(test)]
mod tests {
    use cellist_notebook::{Ids, Operation};

    use super::*;

    #[test]
    fn what_others_did_is_said_in_a_line_and_not_what_is_shown_anyway() {
        let mut notebook = Notebook::empty(Ids::seeded(1));
        for source in ["a", "b", "c"] {
            notebook.insert(notebook.cells().len(), notebook::CellType::Code, source);
        }
        let ids: Vec<String> = notebook.cells().iter().map(|cell| cell.id().to_string()).collect();
        let before = notebook.snapshot();
        assert_eq!(Others::since(&before, &notebook).sentence(), None);
        let operations = [
            Operation::Edit { cell: CellRef::Index(1), source: "B".to_owned() },
            Operation::Delete { cell: CellRef::Index(0) },
        ];
        notebook.perform(&operations, None).unwrap();
        let others = Others::since(&before, &notebook);
        assert_eq!(
            others.sentence().unwrap(),
            format!(
                "Since you last looked, others changed or added cells 0 ({}) and deleted {}.",
                ids[1], ids[0]
            )
        );
        let shown = others.without(|index| index == 0).sentence().unwrap();
        assert_eq!(shown, format!("Since you last looked, others deleted {}.", ids[0]));
    }
}
