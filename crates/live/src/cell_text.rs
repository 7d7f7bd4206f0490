//! The cells of an open notebook as a client sees them, and the effects of changes on them.

use cellist_notebook::{Cell, CellId, CellType, Notebook};
use serde::{Deserialize, Serialize};

use super::change_set::BadChange;
use super::op::Effect;

/// A cell as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellText {
    /// Cell id.
    pub id: CellId,
    /// Cell type.
    pub kind: CellType,
    /// Source.
    pub source: String,
}

/// Returns the cells of a notebook.
pub fn cells_of(notebook: &Notebook) -> Vec<CellText> {
    let text = |cell: &Cell| CellText {
        id: cell.id().clone(),
        kind: cell.cell_type(),
        source: cell.source().into_owned(),
    };
    notebook.cells().iter().map(text).collect()
}

/// Returns the index of a cell.
pub fn position(cells: &[CellText], id: &CellId) -> Option<usize> {
    cells.iter().position(|cell| cell.id == *id)
}

/// Applies an effect to a client's copy.
pub fn follow(cells: &mut Vec<CellText>, effect: &Effect) -> Result<(), BadChange> {
    match effect {
        Effect::Inserted { cell, after, kind, source } => {
            let at = place(cells, after.as_ref());
            cells.insert(at, CellText { id: cell.clone(), kind: *kind, source: source.clone() });
        }
        Effect::Deleted { cell } => cells.retain(|known| known.id != *cell),
        Effect::Moved { cell, after } => shift(cells, cell, after.as_ref()),
        Effect::Retyped { cell, kind } => {
            if let Some(at) = position(cells, cell) {
                cells[at].kind = *kind;
            }
        }
        Effect::Changed { cell, change } => {
            if let Some(at) = position(cells, cell) {
                cells[at].source = change.apply(&cells[at].source)?;
            }
        }
        Effect::Outputs { .. } | Effect::Metadata { .. } => {}
    }
    Ok(())
}

fn place(cells: &[CellText], after: Option<&CellId>) -> usize {
    match after {
        None => 0,
        Some(after) => position(cells, after).map_or(cells.len(), |at| at + 1),
    }
}

fn shift(cells: &mut Vec<CellText>, cell: &CellId, after: Option<&CellId>) {
    if after == Some(cell) {
        return;
    }
    if let Some(at) = position(cells, cell) {
        let moved = cells.remove(at);
        let to = place(cells, after);
        cells.insert(to, moved);
    }
}
