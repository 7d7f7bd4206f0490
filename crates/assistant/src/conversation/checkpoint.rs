//! Going back to before a message: what its answer and all later ones changed in notebooks is taken back, the newest first.
//! What others did since stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeBounds;
use std::path::Path;

use cellist_live::{Author, DocumentError, Effect, Unchanged, Undo};
use cellist_notebook::CellId;
use serde::{Deserialize, Serialize};

use super::told::Told;
use super::{Conversation, Past};

/// Why it is not gone back.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum CannotRestore {
    #[error("an answer is under way")]
    Answering,
    #[error("there is no answer `{0}` in this conversation")]
    NoSuchTurn(String),
    #[error(transparent)]
    Session(#[from] cellist_store::Error),
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// What going back has really done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The cells that are as they were before, by the paths of their notebooks.
    pub cells: BTreeMap<String, BTreeSet<String>>,
    /// What else was changed and stays as it is: files that are no notebooks.
    pub files: BTreeSet<String>,
}

impl Restored {
    /// Whether anything was taken back.
    pub fn is_any(&self) -> bool {
        !self.cells.is_empty()
    }
}

/// What a person is told of it.
impl fmt::Display for Restored {
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
            false => f.write_str("Nothing was to be taken back")?,
        }
        if !self.files.is_empty() {
            let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
            write!(f, "; files that are no notebooks stay as they are: {}", files.join(", "))?;
        }
        Ok(())
    }
}

impl Conversation {
    /// Takes back what an answer changed in notebooks, and with it what all later ones of the conversation changed. Where
    /// one cannot be taken back, those after it are, and it is said why.
    pub async fn restore(&self, turn: &str, author: Author) -> Result<Restored, CannotRestore> {
        let at = self.past(turn)?;
        self.take_back(at.., author).await
    }

    /// Takes back what one answer changed in notebooks.
    pub async fn undo(&self, turn: &str, author: Author) -> Result<Restored, CannotRestore> {
        let at = self.past(turn)?;
        self.take_back(at..=at, author).await
    }

    /// The place of an answer that has ended.
    fn past(&self, turn: &str) -> Result<usize, CannotRestore> {
        let state = self.0.lock();
        if state.answering.is_some() {
            return Err(CannotRestore::Answering);
        }
        let at = state.turns.iter().position(|past| past.turn == turn);
        at.ok_or_else(|| CannotRestore::NoSuchTurn(turn.to_owned()))
    }

    /// Takes back what answers changed, the newest first.
    async fn take_back(
        &self,
        places: impl RangeBounds<usize>,
        author: Author,
    ) -> Result<Restored, CannotRestore> {
        let turns: Vec<Past> = {
            let state = self.0.lock();
            let meant =
                state.turns.iter().enumerate().filter(|(at, past)| places.contains(at) && !past.is_undone);
            meant.map(|(_, past)| past.clone()).rev().collect()
        };
        let mut restored = Restored::default();
        for Past { turn, notebooks, files, .. } in turns {
            let mut is_any = false;
            for path in notebooks {
                if let Some(cells) = self.take_back_in(&path, &turn, &author).await? {
                    is_any = true;
                    restored.cells.entry(path.to_string_lossy().into_owned()).or_default().extend(cells);
                }
            }
            restored.files.extend(files);
            if is_any {
                self.undone(&turn).await;
            }
        }
        Ok(restored)
    }

    /// Takes back what an answer changed in one notebook: the cells that are other than they were by that.
    async fn take_back_in(
        &self,
        path: &Path,
        turn: &str,
        author: &Author,
    ) -> Result<Option<Vec<String>>, CannotRestore> {
        // Of a notebook that is gone there is nothing to take back.
        if !path.exists() {
            return Ok(None);
        }
        let document = self.0.toolbox.documents().open(path).await?;
        let edited = match document.undo(Undo::Turn(turn.to_owned()), author.clone()).await {
            Ok(edited) => edited,
            // It was only looked at, or taken back elsewhere.
            Err(DocumentError::Unchanged(unchanged)) if matches!(*unchanged, Unchanged::Nothing(_)) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        // What code showed is not taken back.
        if !edited.changed {
            return Ok(None);
        }
        let newer = document.newer(edited.version.saturating_sub(1)).await;
        let changes = newer.map_or_else(|_| Vec::new(), |(_, changes)| changes);
        let made = changes.iter().filter(|change| change.version == edited.version);
        Ok(Some(made.flat_map(|change| &change.effects).filter_map(cell).map(CellId::to_string).collect()))
    }

    /// A person has taken back what was changed in a turn.
    pub async fn undone(&self, turn: &str) {
        const ASIDE: &str =
            "The person has taken back what you changed in the notebook with an earlier answer.";
        {
            let mut state = self.0.lock();
            state.turns.iter_mut().filter(|past| past.turn == turn).for_each(|past| past.is_undone = true);
            if state.aside.iter().all(|said| said != ASIDE) {
                state.aside.push(ASIDE.to_owned());
            }
        }
        self.0.tell(Told::Undone { turn: turn.to_owned() });
        self.0.keep_soon().await;
    }
}

/// The cell that is other than it was.
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
    fn a_person_is_told_what_was_really_done() {
        let of = |cells: &[(&str, &[&str])], files: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let cells = cells.iter().map(|(path, cells)| ((*path).to_owned(), names(cells)));
            Restored { cells: cells.collect(), files: names(files) }.to_string()
        };
        assert_eq!(of(&[], &[]), "Nothing was to be taken back");
        assert_eq!(of(&[("/a/nb.ipynb", &[])], &[]), "Restored nb.ipynb");
        assert_eq!(of(&[("/a/nb.ipynb", &["x"])], &[]), "Restored 1 cell of nb.ipynb");
        assert_eq!(
            of(&[("/a/nb.ipynb", &["x", "y"]), ("/b/other.ipynb", &["x"])], &[]),
            "Restored 2 cells of nb.ipynb, 1 cell of other.ipynb"
        );
        assert_eq!(
            of(&[], &["notes.txt", "src/a.py"]),
            "Nothing was to be taken back; files that are no notebooks stay as they are: notes.txt, src/a.py"
        );
    }
}
