//! The single changes a notebook takes. Each keeps every byte that it does not have to touch.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::cell::{Cell, CellType, Place};
use crate::id::CellId;
use crate::json::Object;
use crate::json::layout::Layout;
use crate::json::tree::{Node, write_object};
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
        let mut made = Made::default();
        self.make(kind, source, None, &mut self.surroundings(index), &mut made);
        self.edits.cells.splice(index..index, made.cells());
        self.edits.rearranged = true;
    }

    /// Puts a new cell at `index` under a name of the caller's, which no other cell may have. Where the format
    /// has no ids, the name is a handle.
    pub fn insert_named(&mut self, index: usize, id: CellId, kind: CellType, source: &str) {
        let mut surroundings = self.surroundings(index);
        let stored = self.version().has_ids().then(|| id.0.clone());
        let mut made = Made::default();
        self.make(kind, source, stored, &mut surroundings, &mut made);
        self.edits.cells.splice(index..index, made.cells().map(|cell| Cell { id: id.clone(), ..cell }));
        self.edits.rearranged = true;
    }

    /// Puts new cells behind all others.
    pub(crate) fn append(&mut self, made: Made) {
        if !made.is_empty() {
            self.edits.cells.extend(made.cells());
            self.edits.rearranged = true;
        }
    }

    /// The layout for new cells at `index`: that of a neighbour, or the one that the file's outermost
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
        let name = self.name_for(wanted, &mut surroundings);
        let id = (!keeps_no_id).then(|| name.to_string());
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
        let mut made = Made::default();
        let members = members.iter().map(|(key, value)| (&**key, value));
        let (lead, object) = made.write(members, &surroundings, ascii);
        made.cells.push(Written { id: name, kind: cell.cell_type(), lead, object });
        self.edits.cells.splice(index..index, made.cells());
        self.edits.rearranged = true;
    }

    /// Makes a cell, to be put somewhere. It gets a fresh id unless one is given.
    pub(crate) fn make(
        &mut self,
        kind: CellType,
        source: &str,
        id: Option<String>,
        surroundings: &mut Surroundings,
        made: &mut Made,
    ) {
        let has_ids = id.is_some() || self.version().has_ids();
        let name = self.name_for(id, surroundings);
        let is_code = kind == CellType::Code;
        let members = [
            (true, "cell_type", Node::text(kind.as_str())),
            (is_code, "execution_count", Node::null()),
            (has_ids, "id", Node::text(name.as_str())),
            (true, "metadata", Node::Object(Vec::new())),
            (is_code, "outputs", Node::Array(Vec::new())),
            (true, "source", Node::lines(source)),
        ];
        let members = members.iter().filter(|member| member.0).map(|(_, key, value)| (*key, value));
        let ascii = !source.is_ascii() && self.escapes_non_ascii();
        let (lead, object) = made.write(members, surroundings, ascii);
        made.cells.push(Written { id: name, kind, lead, object });
    }

    /// The name of a new cell: the id that is wanted, a fresh one, or a handle where the format has no ids.
    fn name_for(&mut self, wanted: Option<String>, surroundings: &mut Surroundings) -> CellId {
        let (taken, gone) = (&mut surroundings.taken, &self.gone);
        // The name of a cell that is gone stays its own.
        let is_known = |name: &str| taken.contains(name) || gone.contains_key(&CellId::from(name));
        let name = match wanted {
            Some(id) => CellId(id),
            None if self.version.has_ids() => CellId(self.ids.fresh(is_known)),
            None => CellId(self.ids.fresh_handle(is_known)),
        };
        taken.insert(name.0.clone());
        name
    }
}

/// The layout and format that a new cell follows.
pub(crate) struct Surroundings {
    /// Names that other cells have.
    taken: HashSet<String>,
    pub(crate) layout: Layout,
    pub(crate) indent: String,
}

/// Cells that are made together, in one text: each is a line break with the indent, so that the layout can be read off
/// it, and the value.
#[derive(Default)]
pub(crate) struct Made {
    text: Vec<u8>,
    cells: Vec<Written>,
}

/// A cell in the text of [`Made`].
struct Written {
    id: CellId,
    kind: CellType,
    lead: usize,
    object: Object,
}

impl Made {
    /// Makes room for the text of so many cells with sources of so many bytes in all.
    pub(crate) fn reserve(&mut self, cells: usize, bytes: usize) {
        const AROUND: usize = 160;
        self.text.reserve(bytes + bytes / 4 + cells * AROUND);
        self.cells.reserve(cells);
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Writes a cell with these members, and says where it is.
    fn write<'a>(
        &mut self,
        members: impl Iterator<Item = (&'a str, &'a Node<'a>)>,
        surroundings: &Surroundings,
        ascii: bool,
    ) -> (usize, Object) {
        let Surroundings { layout, indent, .. } = surroundings;
        let lead = self.text.len();
        self.text.push(b'\n');
        self.text.extend_from_slice(indent.as_bytes());
        (lead, write_object(members, layout, indent, ascii, &mut self.text))
    }

    /// The cells, in the order in which they were made.
    fn cells(self) -> impl Iterator<Item = Cell> {
        let text = Arc::new(self.text);
        self.cells.into_iter().map(move |Written { id, kind, lead, object }| Cell {
            id,
            kind,
            text: Arc::clone(&text),
            object,
            place: Place::Added { lead },
            changed: Vec::new(),
        })
    }
}
