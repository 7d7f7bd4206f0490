//! What a change is based on: the file as it is, a revision that the caller names, or what was read last.

use std::path::Path;

use cellist_link::{self as link, Failure, NotebookEdit, NotebookEdited};
use cellist_notebook::{self as notebook, Notebook, Revision, Snapshot};
use cellist_session::{Changed, Missing, Store, live};

use crate::author::author;
use crate::error::{CliError, Exit};
use crate::owner::Owner;

/// The state of a notebook that a change was made for.
#[derive(Debug)]
pub(crate) enum Basis {
    /// Whatever is there.
    Current,
    /// The revision that the caller names; a file that has moved on is merged with.
    Named {
        revision: Revision,
        /// Its cells, if it is still remembered.
        snapshot: Option<Snapshot>,
    },
    /// What was read last; a file that has moved on is left alone.
    LastRead(Revision),
}

impl Basis {
    /// The revision given with `--base`, or the file as it is.
    pub(crate) fn named(store: &Store, path: &Path, base: Option<Revision>) -> Basis {
        match base {
            Some(revision) => Basis::Named { revision, snapshot: store.recall(path, revision) },
            None => Basis::Current,
        }
    }

    /// For a change that replaces everything: the revision given with `--base`, or what was read last.
    pub(crate) fn of_whole(store: &Store, path: &Path, base: Option<Revision>) -> Basis {
        match (base, store.last_read(path)) {
            (None, Some(revision)) if path.exists() => Basis::LastRead(revision),
            (base, _) => Basis::named(store, path, base),
        }
    }

    /// The revision, where there is one.
    pub(crate) fn revision(&self) -> Option<Revision> {
        match self {
            Basis::Current => None,
            Basis::Named { revision, .. } | Basis::LastRead(revision) => Some(*revision),
        }
    }

    /// Changes a notebook. `change` is given the snapshot to merge with, where the file has moved on.
    pub(crate) fn change<T>(
        &self,
        store: &Store,
        path: &Path,
        missing: Missing,
        mut change: impl FnMut(&mut Notebook, Option<&Snapshot>) -> notebook::Result<T>,
    ) -> Result<Changed<T>, CliError> {
        let mut refusal = None;
        let mut before = None;
        // What a new notebook begins with took the place of nothing.
        let has_past = missing == Missing::Refuse || path.exists();
        let changed = store.change(path, missing, |notebook| match self.snapshot_for(path, notebook) {
            Ok(snapshot) => {
                before = has_past.then(|| notebook.clone());
                change(notebook, snapshot)
            }
            Err(error) => {
                refusal = Some(error);
                Err(notebook::Error::Conflicts(Vec::new()))
            }
        });
        match refusal {
            Some(error) => Err(error),
            None => {
                let changed = changed?;
                if let Some(before) = before.filter(|_| changed.written) {
                    live::record(store, path, &before, &changed.notebook, &author());
                }
                Ok(changed)
            }
        }
    }

    /// Changes a notebook that the host has open. `attempt` makes the change on a copy, so that what is wrong with it
    /// is told as it is for a file, and says what to ask for.
    pub(crate) fn change_at(
        &self,
        owner: &Owner,
        path: &Path,
        attempt: impl FnOnce(&mut Notebook, Option<&Snapshot>) -> notebook::Result<NotebookEdit>,
    ) -> Result<Changed<NotebookEdited>, CliError> {
        let mut copy = owner.read()?.notebook;
        let current = copy.revision();
        let snapshot = self.snapshot_for(path, &copy)?;
        let edit = attempt(&mut copy, snapshot).map_err(|error| CliError::notebook(path, &error))?;
        owner.edit(edit, self.revision().unwrap_or(current))
    }

    /// Makes `given` of a notebook that the host has open, byte for byte, unless it has moved on.
    pub(crate) fn replace_at(
        &self,
        owner: &Owner,
        path: &Path,
        given: &Notebook,
    ) -> Result<Changed<()>, CliError> {
        let current = owner.read()?.notebook.revision();
        if let Some(base) = self.revision().filter(|base| *base != current) {
            let stale = Failure::stale(Some(base), current);
            return Err(CliError::from(link::Error::Refused(Box::new(stale)))
                .about(&path.display().to_string())
                .with_detail("base", base.to_string())
                .with_detail("current", current.to_string()));
        }
        // What is in it was read as text.
        let text = String::from_utf8_lossy(&given.to_bytes()).into_owned();
        let Changed { notebook, revision, written, notices, .. } =
            owner.edit(NotebookEdit::Raw(text), current)?;
        Ok(Changed { value: (), notebook, revision, written, notices })
    }

    fn snapshot_for(&self, path: &Path, notebook: &Notebook) -> Result<Option<&Snapshot>, CliError> {
        let Some(revision) = self.revision() else { return Ok(None) };
        let current = notebook.revision();
        if revision == current {
            return Ok(None);
        }
        match self {
            Basis::Current => Ok(None),
            Basis::Named { snapshot: Some(snapshot), .. } => Ok(Some(snapshot)),
            Basis::Named { snapshot: None, .. } => Err(unknown(path, revision, current)),
            Basis::LastRead(_) => Err(moved_on(path, revision, current)),
        }
    }
}

/// Replaces the whole file by `bytes`. With a `base`, the file must still be at that revision.
pub(crate) fn replace_raw(
    store: &Store,
    path: &Path,
    bytes: Vec<u8>,
    base: Option<Revision>,
) -> Result<Changed<()>, cellist_session::Error> {
    // What is there need not be a notebook.
    let before = store.open(path).ok();
    let changed = store.replace_raw(path, bytes, base)?;
    if let Some(before) = before.filter(|_| changed.written) {
        live::record(store, path, &before.notebook, &changed.notebook, &author());
    }
    Ok(changed)
}

/// Keeps a revision that a command told of, so that `--base` can name it. It does not count as read: a text
/// that was read before is not made for it.
pub(crate) fn keep(store: &Store, path: &Path, notebook: &Notebook) {
    store.keep(path, &notebook.snapshot());
}

fn moved_on(path: &Path, read: Revision, current: Revision) -> CliError {
    let message = format!(
        "{}: has changed since it was last read: it was at revision {read} and is at {current} now",
        path.display()
    );
    CliError::new("stale", Exit::NotSaved, message)
        .with_hint(format!("read it again, or pass --base {read} to merge a text made from what was read"))
        .with_detail("base", read.to_string())
        .with_detail("current", current.to_string())
}

fn unknown(path: &Path, base: Revision, current: Revision) -> CliError {
    let message =
        format!("{}: revision {base} is not known here, and the file is at {current} now", path.display());
    CliError::input("unknown_revision", message)
        .with_hint("read the notebook again and make the change on what is there now")
        .with_detail("base", base.to_string())
        .with_detail("current", current.to_string())
}
