//! The single changes a notebook takes. Each keeps every byte that it does not have to touch.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::cell::{Cell, CellType, Place};
use crate::id::CellId;
use crate::json::Span;
use crate::json::layout::Layout;
use crate::json::scan::object_at;
use crate::json::tree::Node;
use crate::notebook::Notebook;

impl Notebook {
    /// Replaces the source of the cell at `index` and nothing else of it.
    pub fn set_source(&mut self, index: usize, source: &str) {
        let ascii = !source.is_ascii() && self.escapes_non_ascii();
        self.edits.cells[index].set_source(source, ascii);
    }

    /// Changes the type of the cell at `index`.
    pub fn set_type(&mut self, index: usize, kind: CellType) {
        self.edits.cells[index].set_type(kind);
    }

    /// Puts a new cell at `index`, 0 to the number of cells. It gets an id where the format has ids.
    pub fn insert(&mut self, index: usize, kind: CellType, source: &str) {
        let cell = self.new_cell(kind, source, None, &mut self.surroundings(index));
        self.edits.cells.insert(index, cell);
        self.edits.rearranged = true;
    }

    /// Puts a new cell at `index` under a name of the caller's, which no other cell may have. Where the format
    /// has no ids, the name is a handle.
    pub fn insert_named(&mut self, index: usize, id: CellId, kind: CellType, source: &str) {
        let mut surroundings = self.surroundings(index);
        let stored = self.version().has_ids().then(|| id.0.clone());
        let mut cell = self.new_cell(kind, source, stored, &mut surroundings);
        cell.id = id;
        self.edits.cells.insert(index, cell);
        self.edits.rearranged = true;
    }

    /// Puts a new cell behind all others.
    pub(crate) fn append(&mut self, kind: CellType, source: &str, surroundings: &mut Surroundings) {
        let cell = self.new_cell(kind, source, None, surroundings);
        self.edits.cells.push(cell);
        self.edits.rearranged = true;
    }

    /// What new cells at `index` have to fit in with: the layout of a neighbour, or what the file's outermost
    /// object suggests.
    pub(crate) fn surroundings(&self, index: usize) -> Surroundings {
        let cells = &self.edits.cells;
        let stored = cells.iter().filter_map(|cell| cell.stored_id().map(Cow::into_owned));
        let taken = stored.chain(cells.iter().map(|cell| cell.id.to_string())).collect();
        let (layout, indent) = match cells.get(index.saturating_sub(1)).or(cells.first()) {
            Some(neighbour) => (neighbour.layout(), neighbour.indent().to_owned()),
            None => {
                let layout = self.layout();
                let indent = layout.inside(self.list_indent());
                (layout, indent)
            }
        };
        Surroundings { taken, layout, indent }
    }

    /// Takes the cell at `index` out.
    pub fn remove(&mut self, index: usize) -> Cell {
        self.edits.rearranged = true;
        self.edits.cells.remove(index)
    }

    /// Moves the cell at `from` so that it stands at `to`.
    pub fn shift(&mut self, from: usize, to: usize) {
        if from != to {
            let cell = self.edits.cells.remove(from);
            self.edits.cells.insert(to, cell);
            self.edits.rearranged = true;
        }
    }

    /// Takes the outputs and the execution count off the cell at `index`.
    pub fn clear_outputs(&mut self, index: usize) {
        let cell = &mut self.edits.cells[index];
        if cell.has_outputs() {
            cell.set("outputs", Some(b"[]".to_vec()));
        }
        if cell.is_counted() {
            cell.set("execution_count", Some(b"null".to_vec()));
        }
    }

    /// Writes a top-level value in the layout of the file.
    pub(crate) fn set_top_level(&mut self, key: &str, value: &Node<'_>) {
        let layout = self.layout();
        let mut bytes = Vec::new();
        value.write(&layout, &layout.inside(""), false, &mut bytes);
        self.edits.changed.retain(|(changed, _)| changed != key);
        self.edits.changed.push((key.to_owned(), bytes));
    }

    /// Takes a cell of another notebook in, with all it has. It keeps its id unless that is taken here.
    pub(crate) fn adopt(&mut self, index: usize, cell: &Cell) {
        let mut surroundings = self.surroundings(index);
        let wanted = cell.stored_id().filter(|id| !surroundings.taken.contains(&**id)).map(Cow::into_owned);
        let keeps_no_id = cell.stored_id().is_none() && !self.version().has_ids();
        let mut copy = self.new_cell(cell.cell_type(), "", wanted, &mut surroundings);
        let id = (!keeps_no_id).then(|| copy.id.to_string());
        let ascii = self.escapes_non_ascii();
        let mut members: Vec<(Cow<'_, str>, Node<'_>)> = Vec::new();
        for key in cell.keys() {
            let value = cell.value(&key).map_or_else(Node::null, Node::of);
            members.push((key, value));
        }
        match (&id, members.iter_mut().find(|(key, _)| key == "id")) {
            (Some(id), Some((_, value))) => *value = Node::text(id.as_str()),
            (Some(id), None) => {
                let at = members.iter().position(|(key, _)| &**key > "id").unwrap_or(members.len());
                members.insert(at, ("id".into(), Node::text(id.as_str())));
            }
            (None, _) => {}
        }
        self.rewrite(&mut copy, &Node::Object(members), ascii);
        self.edits.cells.insert(index, copy);
        self.edits.rearranged = true;
    }

    /// A new cell. It gets a fresh id unless one is given.
    fn new_cell(
        &mut self,
        kind: CellType,
        source: &str,
        id: Option<String>,
        surroundings: &mut Surroundings,
    ) -> Cell {
        let Surroundings { taken, layout, indent } = surroundings;
        let has_ids = id.is_some() || self.version().has_ids();
        let id = match id {
            Some(id) => id,
            None if has_ids => self.ids.fresh(|id| taken.contains(id)),
            None => self.next_handle(|handle| taken.contains(handle)).0,
        };
        taken.insert(id.clone());
        let mut members: Vec<(Cow<'_, str>, Node<'_>)> = Vec::with_capacity(6);
        members.push(("cell_type".into(), Node::text(kind.as_str())));
        if kind == CellType::Code {
            members.push(("execution_count".into(), Node::null()));
        }
        if has_ids {
            members.push(("id".into(), Node::text(id.as_str())));
        }
        members.push(("metadata".into(), Node::Object(Vec::new())));
        if kind == CellType::Code {
            members.push(("outputs".into(), Node::Array(Vec::new())));
        }
        members.push(("source".into(), Node::lines(source)));
        let ascii = !source.is_ascii() && self.escapes_non_ascii();
        written_cell(CellId(id.clone()), kind, &Node::Object(members), layout, indent, ascii)
    }

    fn rewrite(&self, cell: &mut Cell, value: &Node<'_>, ascii: bool) {
        let indent = cell.indent().to_owned();
        let layout = cell.layout();
        *cell = written_cell(cell.id.clone(), cell.kind, value, &layout, &indent, ascii);
    }
}

/// What a new cell has to fit in with.
pub(crate) struct Surroundings {
    /// Names that other cells have.
    taken: HashSet<String>,
    layout: Layout,
    indent: String,
}

/// A cell whose text is its own: a line break with the indent, so that the layout can be read off it, and
/// the value.
fn written_cell(
    id: CellId,
    kind: CellType,
    value: &Node<'_>,
    layout: &Layout,
    indent: &str,
    ascii: bool,
) -> Cell {
    let mut text = Vec::with_capacity(512);
    text.extend_from_slice(b"\n");
    text.extend_from_slice(indent.as_bytes());
    let start = text.len();
    value.write(layout, indent, ascii, &mut text);
    let span = Span { start, end: text.len() };
    let object = object_at(&text, span).expect("what was just written is an object");
    Cell { id, kind, text: Arc::new(text), object, place: Place::Added, changed: Vec::new() }
}
