//! The open notebook of a call: reading it, finding cells, changing it, and refusals about it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use cellist_live::{Document, DocumentError, Edited, NotebookReading, Unchanged};
use cellist_notebook::{self as notebook, CellRef, Notebook, Revision, Snapshot, SnapshotCell};
use cellist_store::ErrorKind;

use super::file_resolver::{FileResolver, ResolvedFile};
use super::{CallContext, Toolbox};
use crate::answer::ToolRefusal;
use crate::cells_read::CellsRead;
use crate::file_policy::{FilePolicy, Use};
use crate::mode::CallAccess;

/// A notebook opened for a call.
pub(crate) struct OpenedNotebook {
    pub(crate) document: Document,
    pub(super) place: ResolvedFile,
}

/// The current state of a notebook, as sent to an agent.
pub(crate) struct CurrentNotebook {
    pub(crate) notebook: Arc<Notebook>,
    pub(crate) revision: Revision,
    /// Cells that others changed since the agent last read them.
    pub(crate) others: ChangesByOthers,
}

/// Changes by others: cells by index and id, deleted cells by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangesByOthers {
    changed: Vec<(usize, String)>,
    deleted: Vec<String>,
}

impl Toolbox {
    /// Opens the notebook of a call: the named one, or the active one.
    pub(crate) async fn notebook(
        &self,
        call: &CallContext<'_>,
        named: Option<&str>,
    ) -> Result<OpenedNotebook, ToolRefusal> {
        let editor = self.editor();
        let place = self.resolver(call, &editor).notebook(named)?;
        self.open(call, place).await
    }

    /// Opens a notebook.
    pub(crate) async fn open(
        &self,
        call: &CallContext<'_>,
        place: ResolvedFile,
    ) -> Result<OpenedNotebook, ToolRefusal> {
        match self.documents.open(&place.real).await {
            // The path has become a link since it was checked.
            Ok(document) if document.path() != place.real => {
                Err(place.refuse("was replaced while it was opened", Some("call again".to_owned())))
            }
            Ok(document) => {
                call.agent.hold(&document);
                // Fails if the notebook was closed meanwhile; the call itself then reports that.
                let _ = document.meet_kernel(&self.sessions).await;
                Ok(OpenedNotebook { document, place })
            }
            Err(error) => {
                let hint = match error.kind() {
                    // Agents have a tool for this; the error's own hint names a command.
                    ErrorKind::NotFound => {
                        Some("check the name, or create it with create_notebook".to_owned())
                    }
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

    /// Announces that the agent has read cells, by position.
    pub(crate) fn announce_read(
        &self,
        call: &CallContext<'_>,
        open: &OpenedNotebook,
        notebook: &Notebook,
        cells: &[usize],
    ) {
        let cells = cells.iter().filter_map(|at| notebook.cells().get(*at)).map(|cell| cell.id().clone());
        let (path, actor) = (open.path().to_owned(), call.caller().author().actor);
        // Usually there is no receiver.
        let _ = self.reads.send(CellsRead { path, actor, cells: cells.collect() });
    }

    /// Creates the resolver for the files of a call.
    pub(crate) fn resolver<'a>(
        &'a self,
        call: &'a CallContext<'_>,
        editor: &'a crate::editor::EditorState,
    ) -> FileResolver<'a> {
        let (caller, store) = (call.caller(), self.documents.store());
        let policy = FilePolicy::of(caller, store.home());
        let wanted = if call.access == CallAccess::Look { Use::Look } else { Use::Change };
        FileResolver { caller, editor, store, policy, wanted, consents: call.agent.consents() }
    }
}

impl OpenedNotebook {
    /// Returns the display name.
    pub(crate) fn name(&self) -> &str {
        &self.place.name
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        self.document.path()
    }

    /// Reads the current state and records that the agent has seen it.
    pub(crate) async fn read(&self, call: &CallContext<'_>) -> Result<CurrentNotebook, ToolRefusal> {
        let told = self.document.tell(call.caller().author().actor).await;
        let NotebookReading { notebook, revision, before } = told.map_err(|error| self.refused(&error))?;
        let others = before.map(|before| ChangesByOthers::since(&before, &notebook)).unwrap_or_default();
        Ok(CurrentNotebook { notebook, revision, others })
    }

    /// Finds a cell.
    pub(crate) fn find(&self, notebook: &Notebook, cell: &CellRef) -> Result<usize, ToolRefusal> {
        notebook.find(cell).map_err(|error| self.refuse(&error, error.hint()))
    }

    /// Finds cells, each once, in the order of `cells`.
    pub(crate) fn find_all(&self, notebook: &Notebook, cells: &[CellRef]) -> Result<Vec<usize>, ToolRefusal> {
        let found = positions(cells, |cell| notebook.find(cell));
        found.map_err(|error| self.refuse(&error, error.hint()))
    }

    /// Changes the notebook as the agent, based on a revision or on the last state that the agent
    /// has seen.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        call: &CallContext<'_>,
        base: Option<Revision>,
        change: impl FnOnce(&mut Notebook, Option<&Snapshot>) -> notebook::Result<T> + Send + 'static,
    ) -> Result<(Edited<T>, ChangesByOthers), ToolRefusal> {
        let edited = self.document.edit(base, call.agent.author(), move |notebook, snapshot| {
            let others =
                snapshot.map(|snapshot| ChangesByOthers::since(snapshot, notebook)).unwrap_or_default();
            Ok((change(notebook, snapshot)?, others))
        });
        let Edited { value: (value, others), version, notebook, changed } =
            edited.await.map_err(|error| self.refused(&error))?;
        Ok((Edited { value, version, notebook, changed }, others))
    }

    /// Refuses with a problem of this notebook.
    pub(crate) fn refuse(&self, problem: impl std::fmt::Display, hint: Option<String>) -> ToolRefusal {
        self.place.refuse(problem, hint)
    }

    /// Converts an error of the notebook to a refusal.
    pub(crate) fn refused(&self, error: &DocumentError) -> ToolRefusal {
        let hint = match error {
            DocumentError::Unchanged(unchanged) => match &**unchanged {
                Unchanged::Refused(refused) => refused.hint(),
                Unchanged::UnknownRevision { .. } => Some(READ_AGAIN.to_owned()),
                Unchanged::Nothing(_) | Unchanged::NoSuchHunk { .. } => None,
            },
            DocumentError::Refused(_) => Some(READ_AGAIN.to_owned()),
            DocumentError::NotSaved(error) => error.hint(),
            DocumentError::Closed | DocumentError::Failed(_) => Some("call again to reopen it".to_owned()),
        };
        self.refuse(error, hint)
    }
}

/// Resolves ids, indexes and ranges to positions, each once, in order. `3-7` is a range unless it
/// is the id of a cell. `find` resolves one cell.
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

/// Parses `3-7`. Replies write `3–7`.
fn range(name: &str) -> Option<(i64, i64)> {
    let (first, last) = name.trim().split_once(['-', '–'])?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (0 <= first && first <= last).then_some((first, last))
}

const READ_AGAIN: &str = "read it again and make the change on its current content";

impl ChangesByOthers {
    /// Compares a snapshot with the current notebook.
    pub(crate) fn since(before: &Snapshot, now: &Notebook) -> ChangesByOthers {
        let mut others = ChangesByOthers::default();
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

    /// Leaves out cells that the answer shows.
    pub(crate) fn without(mut self, shown: impl Fn(usize) -> bool) -> ChangesByOthers {
        self.changed.retain(|(index, _)| !shown(*index));
        self
    }

    /// Leaves out cells by id.
    pub(crate) fn without_cells(mut self, ids: &[&str]) -> ChangesByOthers {
        self.changed.retain(|(_, id)| !ids.contains(&id.as_str()));
        self.deleted.retain(|id| !ids.contains(&id.as_str()));
        self
    }

    /// Describes the changes in a line, if there are any.
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
        (!parts.is_empty()).then(|| format!("Since your last read, others {}.", parts.join(" and ")))
    }
}

#[cfg(test)]
mod tests {
    use cellist_notebook::{Ids, Operation};

    use super::*;

    #[test]
    fn changes_by_others_are_listed_unless_shown() {
        let mut notebook = Notebook::empty(Ids::seeded(1));
        for source in ["a", "b", "c"] {
            notebook.insert(notebook.cells().len(), notebook::CellType::Code, source);
        }
        let ids: Vec<String> = notebook.cells().iter().map(|cell| cell.id().to_string()).collect();
        let before = notebook.snapshot();
        assert_eq!(ChangesByOthers::since(&before, &notebook).sentence(), None);
        let operations = [
            Operation::Edit { cell: CellRef::Index(1), source: "B".to_owned() },
            Operation::Delete { cell: CellRef::Index(0) },
        ];
        notebook.perform(&operations, None).unwrap();
        let others = ChangesByOthers::since(&before, &notebook);
        assert_eq!(
            others.sentence().unwrap(),
            format!(
                "Since your last read, others changed or added cells 0 ({}) and deleted {}.",
                ids[1], ids[0]
            )
        );
        let shown = others.without(|index| index == 0).sentence().unwrap();
        assert_eq!(shown, format!("Since your last read, others deleted {}.", ids[0]));
    }
}
