//! The changes that a tool call made to cells. They come from the notebook's journal, not from the model's claims.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cellist_live::{Author, Change, Document, Effect};
use cellist_notebook::{CellId, Notebook, hunks};
use cellist_tools::Toolbox;
use serde::{Deserialize, Serialize};

/// A change of one cell by one tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellEdit {
    /// The cell.
    pub cell: String,
    /// The kind of change.
    pub deed: CellEditKind,
    /// Added lines of source.
    pub added: usize,
    /// Removed lines of source.
    pub removed: usize,
}

/// The kind of a cell's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellEditKind {
    /// The cell is new.
    Added,
    /// The source, type or outputs changed.
    Changed,
    /// The cell was deleted.
    Deleted,
    /// The cell has another position.
    Moved,
    /// The cell ran.
    Ran,
}

/// A notebook with its state before a call.
pub(super) struct WatchedNotebook {
    document: Document,
    version: u64,
    notebook: Arc<Notebook>,
}

impl WatchedNotebook {
    /// Takes the current state. Returns nothing if the notebook cannot be opened; a call cannot change it either.
    pub(super) async fn open(toolbox: &Toolbox, path: &Path) -> Option<WatchedNotebook> {
        let document = toolbox.documents().open(path).await.ok()?;
        let (view, _) = document.resync(Vec::new()).await.ok()?;
        Some(WatchedNotebook { document, version: view.version, notebook: Arc::clone(&view.notebook) })
    }

    /// The changes that an author has made since.
    pub(super) async fn edits_by(&self, author: &Author, runs: bool) -> Vec<CellEdit> {
        match self.document.newer(self.version).await {
            Ok((_, changes)) => edits(&self.notebook, &changes, author, runs),
            Err(_) => Vec::new(),
        }
    }
}

/// An author's edits, once per cell and kind. Changes by others are followed, so that line counts stay right.
fn edits(before: &Notebook, changes: &[Arc<Change>], author: &Author, runs: bool) -> Vec<CellEdit> {
    let mut texts: HashMap<CellId, String> = HashMap::new();
    let mut edits: Vec<CellEdit> = Vec::new();
    for change in changes {
        let is_ours = change.actor.id == author.actor.id;
        for effect in &change.effects {
            let Some((cell, kind, lines)) = follow(before, &mut texts, effect, runs) else { continue };
            if is_ours {
                add(&mut edits, cell, kind, lines);
            }
        }
    }
    edits
}

/// Added and removed lines.
type Lines = (usize, usize);

/// Applies an effect to the known texts. Returns the cell, the kind of change and its lines.
fn follow(
    before: &Notebook,
    texts: &mut HashMap<CellId, String>,
    effect: &Effect,
    runs: bool,
) -> Option<(CellId, CellEditKind, Lines)> {
    let known = |texts: &mut HashMap<CellId, String>, cell: &CellId| {
        texts.remove(cell).unwrap_or_else(|| {
            let at = before.position(cell);
            at.map(|at| before.cells()[at].source().into_owned()).unwrap_or_default()
        })
    };
    Some(match effect {
        Effect::Inserted { cell, source, .. } => {
            texts.insert(cell.clone(), source.clone());
            (cell.clone(), CellEditKind::Added, (lines(source), 0))
        }
        Effect::Deleted { cell } => {
            let gone = known(texts, cell);
            (cell.clone(), CellEditKind::Deleted, (0, lines(&gone)))
        }
        Effect::Changed { cell, change } => {
            let old = known(texts, cell);
            let new = change.apply(&old).unwrap_or_default();
            let count = between(&old, &new);
            texts.insert(cell.clone(), new);
            (cell.clone(), CellEditKind::Changed, count)
        }
        Effect::Moved { cell, .. } => (cell.clone(), CellEditKind::Moved, (0, 0)),
        Effect::Retyped { cell, .. } => (cell.clone(), CellEditKind::Changed, (0, 0)),
        Effect::Outputs { cell } if runs => (cell.clone(), CellEditKind::Ran, (0, 0)),
        Effect::Outputs { cell } => (cell.clone(), CellEditKind::Changed, (0, 0)),
        Effect::Metadata { .. } => return None,
    })
}

fn add(edits: &mut Vec<CellEdit>, cell: CellId, kind: CellEditKind, (added, removed): Lines) {
    let cell = cell.to_string();
    let same = |known: &&mut CellEdit| {
        // A new cell stays new when it is changed.
        let is_new = known.deed == CellEditKind::Added && kind == CellEditKind::Changed;
        known.cell == cell && (known.deed == kind || is_new)
    };
    match edits.iter_mut().find(same) {
        Some(known) => {
            known.added += added;
            known.removed += removed;
        }
        None => edits.push(CellEdit { cell, deed: kind, added, removed }),
    }
}

fn lines(text: &str) -> usize {
    if text.is_empty() { 0 } else { text.trim_end_matches('\n').split('\n').count() }
}

fn between(old: &str, new: &str) -> Lines {
    if old.is_empty() || new.is_empty() {
        return (lines(new), lines(old));
    }
    hunks(old, new)
        .iter()
        .fold((0, 0), |(added, removed), hunk| (added + hunk.after.len(), removed + hunk.before.len()))
}

#[cfg(test)]
mod tests {
    use cellist_live::{Actor, ActorKind, ChangeSet};

    use super::*;

    #[test]
    fn edits_are_those_of_one_actor_with_added_and_removed_lines() {
        let text = r#"{"cells": [
            {"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": "x = 1\ny = 2"},
            {"cell_type": "code", "execution_count": null, "id": "b", "metadata": {}, "outputs": [], "source": "z"}
        ], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;
        let notebook = Notebook::parse(text.as_bytes().to_vec(), cellist_notebook::Ids::seeded(1)).unwrap();
        let by = |kind, id: &str, effects: Vec<Effect>| {
            let actor = Actor::new(kind, id);
            Arc::new(Change { version: 1, actor, turn: None, tag: None, effects })
        };
        let changed = |cell: &str, old: &str, new: &str| Effect::Changed {
            cell: cell.into(),
            change: ChangeSet::between(old, new),
        };
        let new = Effect::Inserted {
            cell: "n".into(),
            after: None,
            kind: cellist_notebook::CellType::Code,
            source: "1\n2".to_owned(),
        };
        let changes = [
            by(ActorKind::Person, "ann", vec![changed("a", "x = 1\ny = 2", "x = 1\ny = 2\nw = 3")]),
            by(
                ActorKind::Agent,
                "bot",
                vec![
                    changed("a", "x = 1\ny = 2\nw = 3", "x = 5\ny = 2\nw = 3"),
                    new,
                    changed("n", "1\n2", "1\n2\n3"),
                    Effect::Deleted { cell: "b".into() },
                    Effect::Outputs { cell: "a".into() },
                ],
            ),
        ];
        let author = Actor::new(ActorKind::Agent, "bot").into();
        let found: Vec<_> = edits(&notebook, &changes, &author, true)
            .into_iter()
            .map(|edit| (edit.cell, edit.deed, edit.added, edit.removed))
            .collect();
        assert_eq!(
            found,
            [
                ("a".to_owned(), CellEditKind::Changed, 1, 1),
                ("n".to_owned(), CellEditKind::Added, 3, 0),
                ("b".to_owned(), CellEditKind::Deleted, 0, 1),
                ("a".to_owned(), CellEditKind::Ran, 0, 0),
            ]
        );
    }
}
