//! The notebook of a command: through the host while the host has it open, else as a file.

mod open;

use std::path::{Path, PathBuf};

use cellist_live::{Author, CannotUndo, Entry, Undo};
use cellist_notebook::{self as notebook, Ids, Notebook, Revision, Snapshot};
use cellist_platform::FailureKind;
use cellist_store::{ChangeBase, Changed, LoadedNotebook, Missing, Problem, Store};

use crate::error::{Error, Failure};
use crate::process::Host;
use crate::protocol::notebook::{EditResult, NotebookAction, NotebookEdit, NotebookReply};
use crate::protocol::request::Reply;
pub use open::OpenNotebook;

type Result<T> = std::result::Result<T, NotebookError>;

/// The error of a read or a change. The message names the file.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant wraps the error of another crate")]
pub enum NotebookError {
    #[error(transparent)]
    File(#[from] cellist_store::Error),
    #[error("{}: {error}", .path.display())]
    Host { path: PathBuf, error: Error },
}

impl NotebookError {
    /// Whether the notebook has changed since the base revision of a change.
    pub fn is_stale(&self) -> bool {
        match self {
            NotebookError::File(error) => matches!(error.problem(), Problem::ChangedSince { .. }),
            NotebookError::Host { error, .. } => error.kind() == FailureKind::Stale,
        }
    }
}

/// A notebook, in a file or open in the host: reads, changes, history and errors are the same for both.
///
/// A change of an open notebook goes through the host: other clients see it at once, and it is on disk when the call
/// returns. A change of a file is made under the lock of its [`Store`] and recorded in the notebook's history.
/// Files that the gate of the store refuses are refused for open notebooks too. Calls block, and must not be made in a
/// runtime.
#[derive(Debug)]
pub struct NotebookHandle {
    store: Store,
    path: PathBuf,
    author: Author,
    open: Option<OpenNotebook>,
}

impl NotebookHandle {
    /// Finds the notebook at `path`, in the running host if it is open there. Starts no host.
    pub fn find(host: &Host, store: Store, path: &Path, author: Author) -> NotebookHandle {
        let open = OpenNotebook::find(host, &store, path, &author);
        NotebookHandle { open, ..NotebookHandle::of_file(store, path, author) }
    }

    /// Uses the file at `path`, even if the host has it open.
    pub fn of_file(store: Store, path: &Path, author: Author) -> NotebookHandle {
        NotebookHandle { store, path: path.to_owned(), author, open: None }
    }

    /// The store of files.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Stores a revision as a base for later changes. It does not count as read.
    pub fn keep(&self, notebook: &Notebook) {
        self.store.keep(&self.path, &notebook.snapshot());
    }

    /// Reads the notebook.
    pub fn read(&self) -> Result<LoadedNotebook> {
        match &self.open {
            Some(open) => open.read(),
            None => Ok(self.store.open(&self.path)?),
        }
    }

    /// Reads its JSON; a file need not be a notebook.
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        match &self.open {
            Some(open) => Ok(open.read()?.notebook.to_bytes()),
            None => Ok(self.store.read_file(&self.path)?),
        }
    }

    /// Writes unsaved changes to the file.
    pub fn save(&self) -> Result<()> {
        self.open.as_ref().map_or(Ok(()), |open| open.wait(open.asked(NotebookAction::Save)).map(drop))
    }

    /// Returns the known changes, oldest first.
    pub fn history(&self) -> Result<Vec<Entry>> {
        let Some(open) = &self.open else {
            // A missing or invalid file is an error, not an empty history.
            self.store.open(&self.path)?;
            return Ok(cellist_live::history(&self.store, &self.path));
        };
        match open.wait(open.asked(NotebookAction::History))? {
            NotebookReply::History(entries) => Ok(entries),
            other => Err(open.unexpected(Reply::Notebook(other))),
        }
    }

    /// Applies the edit that `make` builds for the notebook, or for the snapshot of an older `base`.
    pub fn change(
        &self,
        base: ChangeBase,
        missing: Missing,
        make: impl FnOnce(&Notebook, Option<&Snapshot>) -> notebook::Result<NotebookEdit>,
    ) -> Result<Changed<EditResult>> {
        let apply = |notebook: &mut Notebook| -> cellist_store::Result<(NotebookEdit, EditResult)> {
            let since = self.store.snapshot_since(&self.path, base, notebook)?;
            let made = make(notebook, since.as_ref()).and_then(|edit| {
                let result = edit.apply(notebook, since.as_ref())?;
                Ok((edit, result))
            });
            made.map_err(|error| cellist_store::Error::new(&self.path, error))
        };
        let Some(open) = &self.open else {
            let mut before = None;
            let is_new = missing == Missing::StartEmpty && !self.path.exists();
            let changed = self.store.try_change(&self.path, missing, |notebook| {
                before = (!is_new).then(|| notebook.clone());
                apply(notebook).map(|(_, result)| result)
            })?;
            self.record(before, &changed);
            return Ok(changed);
        };
        // A trial on a copy gives the same errors as a change of a file.
        let mut copy = open.read()?.notebook;
        let base = base.revision().unwrap_or_else(|| copy.revision());
        let (edit, _) = apply(&mut copy)?;
        let ask = NotebookAction::Edit { edit, base: Some(base), author: self.author.clone() };
        Ok(open.change(&self.store, ask)?.map(|edited| edited.result))
    }

    /// Replaces the whole notebook by `bytes`, which must be a notebook. Fails if it is not at the revision `base`.
    pub fn overwrite(&self, bytes: Vec<u8>, base: Option<Revision>) -> Result<Changed<()>> {
        let Some(open) = &self.open else {
            // The file need not be a notebook.
            let before = self.store.open(&self.path).ok().map(|opened| opened.notebook);
            let changed = self.store.replace_raw(&self.path, bytes, base)?;
            self.record(before, &changed);
            return Ok(changed);
        };
        let refused = |problem: Problem| cellist_store::Error::new(&self.path, problem);
        let given = Notebook::parse(bytes, Ids::seeded(0)).map_err(|error| refused(error.into()))?;
        let current = open.read()?.notebook.revision();
        if let Some(base) = base.filter(|base| *base != current) {
            return Err(refused(Problem::ChangedSince { base, current }).into());
        }
        // A parsed notebook is valid UTF-8.
        let text = String::from_utf8_lossy(&given.to_bytes()).into_owned();
        let ask = NotebookAction::Overwrite { text, base: current, author: self.author.clone() };
        Ok(open.change(&self.store, ask)?.map(drop))
    }

    /// Undoes changes, and returns them.
    pub fn undo(&self, undo: Undo) -> Result<Changed<Vec<Entry>>> {
        if let Some(open) = &self.open {
            let undone =
                open.change(&self.store, NotebookAction::Undo { undo, author: Some(self.author.clone()) })?;
            return Ok(undone.map(|edited| edited.undone));
        }
        cellist_live::undo(&self.store, &self.path, &undo, &self.author).map_err(|why| match why {
            CannotUndo::File(error) => error.into(),
            CannotUndo::Nothing(why) => {
                let error =
                    Error::Refused(Box::new(Failure::bad_input(FailureKind::NothingToUndo, why.to_string())));
                NotebookError::Host { path: self.path.clone(), error }
            }
        })
    }

    /// Adds a change of a file to its history. A notebook that did not exist before has none.
    fn record<T>(&self, before: Option<Notebook>, changed: &Changed<T>) {
        if let Some(before) = before.filter(|_| changed.written) {
            cellist_live::record(&self.store, &self.path, &before, &changed.notebook, &self.author);
        }
    }
}
