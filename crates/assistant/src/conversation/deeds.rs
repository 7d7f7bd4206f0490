//! What a call really did to the cells of a notebook: told by the notebook's own changes, whatever the model says.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cellist_live::{Author, Change, Document, Effect};
use cellist_notebook::{CellId, Notebook, hunks};
use cellist_tools::Toolbox;
use serde::{Deserialize, Serialize};

/// Something that was done to a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// The cell.
    pub cell: String,
    /// What was done.
    pub deed: DeedKind,
    /// How many lines of its source are new.
    pub added: usize,
    /// How many lines of its source are gone.
    pub removed: usize,
}

/// What can be done to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeedKind {
    /// It is new.
    Added,
    /// Its source, its type or what it shows is another.
    Changed,
    /// It is gone.
    Deleted,
    /// It stands elsewhere.
    Moved,
    /// It ran.
    Ran,
}

/// A notebook from a moment on.
pub(super) struct Watched {
    document: Document,
    version: u64,
    notebook: Arc<Notebook>,
}

impl Watched {
    /// Nothing where it cannot be opened: then nothing is done to it, either.
    pub(super) async fn new(toolbox: &Toolbox, path: &Path) -> Option<Watched> {
        let document = toolbox.documents().open(path).await.ok()?;
        let (view, _) = document.resync(Vec::new()).await.ok()?;
        Some(Watched { document, version: view.version, notebook: Arc::clone(&view.notebook) })
    }

    /// What someone has done to it since.
    pub(super) async fn deeds_of(&self, author: &Author, runs: bool) -> Vec<Deed> {
        match self.document.newer(self.version).await {
            Ok((_, changes)) => deeds(&self.notebook, &changes, author, runs),
            Err(_) => Vec::new(),
        }
    }
}

/// What an author did by these changes, each cell once for each kind of deed. Others' changes go by in between.
fn deeds(before: &Notebook, changes: &[Arc<Change>], author: &Author, runs: bool) -> Vec<Deed> {
    let mut texts: HashMap<CellId, String> = HashMap::new();
    let mut deeds: Vec<Deed> = Vec::new();
    for change in changes {
        let is_ours = change.actor.id == author.actor.id;
        for effect in &change.effects {
            let Some((cell, deed, lines)) = follow(before, &mut texts, effect, runs) else { continue };
            if is_ours {
                note(&mut deeds, cell, deed, lines);
            }
        }
    }
    deeds
}

type Lines = (usize, usize);

/// Follows a change, and tells what it is to a cell: the cell, the deed, and how many lines came and went.
fn follow(
    before: &Notebook,
    texts: &mut HashMap<CellId, String>,
    effect: &Effect,
    runs: bool,
) -> Option<(CellId, DeedKind, Lines)> {
    let known = |texts: &mut HashMap<CellId, String>, cell: &CellId| {
        texts.remove(cell).unwrap_or_else(|| {
            let at = before.position(cell);
            at.map(|at| before.cells()[at].source().into_owned()).unwrap_or_default()
        })
    };
    Some(match effect {
        Effect::Inserted { cell, source, .. } => {
            texts.insert(cell.clone(), source.clone());
            (cell.clone(), DeedKind::Added, (lines(source), 0))
        }
        Effect::Deleted { cell } => {
            let gone = known(texts, cell);
            (cell.clone(), DeedKind::Deleted, (0, lines(&gone)))
        }
        Effect::Changed { cell, change } => {
            let old = known(texts, cell);
            let new = change.apply(&old).unwrap_or_default();
            let count = between(&old, &new);
            texts.insert(cell.clone(), new);
            (cell.clone(), DeedKind::Changed, count)
        }
        Effect::Moved { cell, .. } => (cell.clone(), DeedKind::Moved, (0, 0)),
        Effect::Retyped { cell, .. } => (cell.clone(), DeedKind::Changed, (0, 0)),
        Effect::Outputs { cell } if runs => (cell.clone(), DeedKind::Ran, (0, 0)),
        Effect::Outputs { cell } => (cell.clone(), DeedKind::Changed, (0, 0)),
        Effect::Metadata { .. } => return None,
    })
}

fn note(deeds: &mut Vec<Deed>, cell: CellId, deed: DeedKind, (added, removed): Lines) {
    let cell = cell.to_string();
    let same = |known: &&mut Deed| {
        // What is new and is changed is still new.
        let is_new = known.deed == DeedKind::Added && deed == DeedKind::Changed;
        known.cell == cell && (known.deed == deed || is_new)
    };
    match deeds.iter_mut().find(same) {
        Some(known) => {
            known.added += added;
            known.removed += removed;
        }
        None => deeds.push(Deed { cell, deed, added, removed }),
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
    fn deeds_are_those_of_one_actor_with_the_lines_that_came_and_went() {
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
        let told: Vec<_> = deeds(&notebook, &changes, &author, true)
            .into_iter()
            .map(|deed| (deed.cell, deed.deed, deed.added, deed.removed))
            .collect();
        assert_eq!(
            told,
            [
                ("a".to_owned(), DeedKind::Changed, 1, 1),
                ("n".to_owned(), DeedKind::Added, 3, 0),
                ("b".to_owned(), DeedKind::Deleted, 0, 1),
                ("a".to_owned(), DeedKind::Ran, 0, 0),
            ]
        );
    }
}
