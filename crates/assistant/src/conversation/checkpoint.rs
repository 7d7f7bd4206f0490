//! Undo of whole answers: the changes of one answer, or of it and all later ones, newest first. Later changes by others
//! stay.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeBounds;
use std::path::Path;

use cellist_live::{Author, DocumentError, Effect, Unchanged, Undo};
use cellist_notebook::CellId;
use serde::{Deserialize, Serialize};

use super::Conversation;
use super::transcript::{FinishedTurn, TranscriptEntry};

/// Why an undo failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum RestoreError {
    #[error("an answer is in progress")]
    Answering,
    #[error("no answer `{0}` in this conversation")]
    NoSuchTurn(String),
    #[error(transparent)]
    Session(#[from] cellist_store::Error),
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// The actual effect of an undo. Its text is shown to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReport {
    /// The restored cells, by the paths of their notebooks.
    pub cells: BTreeMap<String, BTreeSet<String>>,
    /// Changed files that are not notebooks. They are not restored.
    pub files: BTreeSet<String>,
}

impl RestoreReport {
    /// Whether any notebook was restored.
    pub fn is_any(&self) -> bool {
        !self.cells.is_empty()
    }
}

impl fmt::Display for RestoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let notebook = |(path, cells): (&String, &BTreeSet<String>)| {
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
            match cells.len() {
                0 => name.into_owned(),
                1 => format!("1 cell of {name}"),
                count => format!("{count} cells of {name}"),
            }
        };
        let notebooks: Vec<String> = self.cells.iter().map(notebook).collect();
        match self.is_any() {
            true => write!(f, "Restored {}", notebooks.join(", "))?,
            false => f.write_str("Nothing to undo")?,
        }
        if !self.files.is_empty() {
            let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
            write!(f, "; other files were not restored: {}", files.join(", "))?;
        }
        Ok(())
    }
}

impl Conversation {
    /// Undoes an answer's changes to notebooks, and those of all later answers, newest first. Stops with an error at the
    /// first answer that cannot be undone; newer answers stay undone.
    pub async fn restore(&self, turn: &str, author: Author) -> Result<RestoreReport, RestoreError> {
        let at = self.position(turn)?;
        self.undo_turns(at.., author).await
    }

    /// Undoes one answer's changes to notebooks.
    pub async fn undo(&self, turn: &str, author: Author) -> Result<RestoreReport, RestoreError> {
        let at = self.position(turn)?;
        self.undo_turns(at..=at, author).await
    }

    /// The position of an ended answer.
    fn position(&self, turn: &str) -> Result<usize, RestoreError> {
        let state = self.0.lock();
        if state.active.is_some() {
            return Err(RestoreError::Answering);
        }
        let at = state.transcript.turns.iter().position(|past| past.turn == turn);
        at.ok_or_else(|| RestoreError::NoSuchTurn(turn.to_owned()))
    }

    /// Undoes answers, newest first.
    async fn undo_turns(
        &self,
        places: impl RangeBounds<usize>,
        author: Author,
    ) -> Result<RestoreReport, RestoreError> {
        let turns: Vec<FinishedTurn> = {
            let state = self.0.lock();
            let meant = state
                .transcript
                .turns
                .iter()
                .enumerate()
                .filter(|(at, past)| places.contains(at) && !past.is_undone);
            meant.map(|(_, past)| past.clone()).rev().collect()
        };
        let mut restored = RestoreReport::default();
        for FinishedTurn { turn, notebooks, files, .. } in turns {
            let mut is_any = false;
            for path in notebooks {
                if let Some(cells) = self.undo_in(&path, &turn, &author).await? {
                    is_any = true;
                    restored.cells.entry(path.to_string_lossy().into_owned()).or_default().extend(cells);
                }
            }
            restored.files.extend(files);
            if is_any {
                self.mark_undone(&turn).await;
            }
        }
        Ok(restored)
    }

    /// Undoes an answer in one notebook. Returns the restored cells, or nothing if the notebook is unchanged.
    async fn undo_in(
        &self,
        path: &Path,
        turn: &str,
        author: &Author,
    ) -> Result<Option<Vec<String>>, RestoreError> {
        // The notebook was deleted.
        if !path.exists() {
            return Ok(None);
        }
        let document = self.0.toolbox.documents().open(path).await?;
        let edited = match document.undo(Undo::Turn(turn.to_owned()), author.clone()).await {
            Ok(edited) => edited,
            // The answer only read the notebook, or was undone by another client.
            Err(DocumentError::Unchanged(unchanged)) if matches!(*unchanged, Unchanged::Nothing(_)) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        // Outputs are not undone.
        if !edited.changed {
            return Ok(None);
        }
        let newer = document.newer(edited.version.saturating_sub(1)).await;
        let changes = newer.map_or_else(|_| Vec::new(), |(_, changes)| changes);
        let made = changes.iter().filter(|change| change.version == edited.version);
        Ok(Some(made.flat_map(|change| &change.effects).filter_map(cell).map(CellId::to_string).collect()))
    }

    /// Records that the user has undone a turn, also for the model.
    async fn mark_undone(&self, turn: &str) {
        const NOTE: &str =
            "The user has undone the changes that an earlier answer of yours made in the notebook.";
        {
            let mut state = self.0.lock();
            state
                .transcript
                .turns
                .iter_mut()
                .filter(|past| past.turn == turn)
                .for_each(|past| past.is_undone = true);
            if !state.model_notes.iter().any(|note| note == NOTE) {
                state.model_notes.push(NOTE.to_owned());
            }
        }
        self.0.append(TranscriptEntry::Undone { turn: turn.to_owned() });
        self.0.store_transcript().await;
    }
}

/// The cell that an effect changes.
fn cell(effect: &Effect) -> Option<&CellId> {
    match effect {
        Effect::Inserted { cell, .. }
        | Effect::Deleted { cell }
        | Effect::Moved { cell, .. }
        | Effect::Retyped { cell, .. }
        | Effect::Changed { cell, .. }
        | Effect::Outputs { cell } => Some(cell),
        Effect::Metadata { cell } => cell.as_ref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_names_restored_cells_and_unchanged_files() {
        let of = |cells: &[(&str, &[&str])], files: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let cells = cells.iter().map(|(path, cells)| ((*path).to_owned(), names(cells)));
            RestoreReport { cells: cells.collect(), files: names(files) }.to_string()
        };
        assert_eq!(of(&[], &[]), "Nothing to undo");
        assert_eq!(of(&[("/a/nb.ipynb", &[])], &[]), "Restored nb.ipynb");
        assert_eq!(of(&[("/a/nb.ipynb", &["x"])], &[]), "Restored 1 cell of nb.ipynb");
        assert_eq!(
            of(&[("/a/nb.ipynb", &["x", "y"]), ("/b/other.ipynb", &["x"])], &[]),
            "Restored 2 cells of nb.ipynb, 1 cell of other.ipynb"
        );
        assert_eq!(
            of(&[], &["notes.txt", "src/a.py"]),
            "Nothing to undo; other files were not restored: notes.txt, src/a.py"
        );
    }
}
