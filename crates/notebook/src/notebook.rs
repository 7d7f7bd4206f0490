//! A notebook read from bytes: checked, indexed, and otherwise left as it is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::str::Utf8Error;
use std::sync::Arc;

use crate::cell::{Cell, CellType, Place, Position};
use crate::edits::Tracked;
use crate::error::{Error, Result};
use crate::id::{CellId, Ids};
use crate::identity::Tombstones;
use crate::json::layout::{Layout, indent_before};
use crate::json::scan::{Scanner, Syntax, each_element};
use crate::json::{Kind, Object, Span, string};
use crate::revision::Revision;

/// An open notebook.
#[derive(Clone, Debug)]
pub struct Notebook {
    /// The file's text as it was read.
    pub(crate) text: Arc<Vec<u8>>,
    pub(crate) top: Object,
    /// The value of `cells` in `text`.
    pub(crate) list: Span,
    pub(crate) frame: Arc<Frame>,
    pub(crate) edits: Tracked,
    pub(crate) ids: Ids,
    /// The cells that were there and are not any more.
    pub(crate) gone: Arc<Tombstones>,
    pub(crate) version: Version,
}

/// The white space to put around cells where the file shows none for them: before the first cell, before a later
/// one, and behind the last.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) first: Vec<u8>,
    pub(crate) later: Vec<u8>,
    pub(crate) tail: Vec<u8>,
}

/// The version of the format that a notebook says it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Always 4.
    pub major: u64,
    /// 0 to 5; a higher one is read as 5 and kept.
    pub minor: u64,
}

impl Version {
    /// Whether cells have ids in this version.
    pub fn has_ids(self) -> bool {
        self.minor >= 5
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Notebook {
    /// Reads a notebook. Fresh ids for cells to come are taken from `ids`.
    pub fn parse(text: Vec<u8>, ids: Ids) -> Result<Notebook> {
        std::str::from_utf8(&text).map_err(|error| not_utf8(&text, error))?;
        let index = Index::read(&text).map_err(|syntax| invalid_json(&text, &syntax))?;
        let Some(top) = index.top else {
            return Err(Error::NotAnObject { found: index.kind.with_article() });
        };
        let version = version(&text, &top)?;
        let cells_member = top.get(&text, "cells").ok_or(Error::NoCells)?;
        let list = cells_member.value;
        let kind = Kind::of(list.of(&text));
        if kind != Kind::Array {
            return Err(Error::CellsNotArray { found: kind.with_article() });
        }
        let text = Arc::new(text);
        let mut notebook = Notebook {
            text: Arc::clone(&text),
            top,
            list,
            frame: Arc::default(),
            edits: Tracked::default(),
            ids,
            gone: Arc::default(),
            version,
        };
        notebook.frame = Arc::new(notebook.frame_of(&index.cells));
        let count = index.cells.len();
        let mut cells = Vec::with_capacity(count);
        for (position, found) in index.cells.into_iter().enumerate() {
            let place = match position {
                0 if count == 1 => Position::Only,
                0 => Position::First,
                _ if position + 1 == count => Position::Last,
                _ => Position::Middle,
            };
            cells.push(read_cell(&text, position, found, place)?);
        }
        notebook.edits = cells.into();
        notebook.name_cells();
        Ok(notebook)
    }

    /// An empty notebook of format 4.5.
    pub fn empty(ids: Ids) -> Notebook {
        let text = "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";
        Notebook::parse(text.into(), ids).expect("the text is a notebook")
    }

    /// The cells, in order.
    pub fn cells(&self) -> &[Cell] {
        &self.edits.cells
    }

    /// The format's version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The bytes that the notebook was read from.
    pub fn original(&self) -> &[u8] {
        &self.text
    }

    /// The JSON of a top-level key as it stands, or as it was changed.
    pub fn value(&self, key: &str) -> Option<&[u8]> {
        match self.edits.changed.iter().find(|(changed, _)| changed == key) {
            Some((_, value)) => Some(value),
            None => self.top.get(&self.text, key).map(|member| member.value.of(&self.text)),
        }
    }

    /// The top-level keys, in order, each once.
    pub fn keys(&self) -> Vec<String> {
        let read =
            self.top.members.iter().map(|member| string::decode(member.key.of(&self.text)).into_owned());
        let mut keys: Vec<String> = Vec::new();
        for key in read.chain(self.edits.changed.iter().map(|(key, _)| key.clone())) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The layout of the file's outermost object.
    pub(crate) fn layout(&self) -> Layout {
        Layout::of(&self.text, &self.top, "")
    }

    /// The indent of the line that `cells` stands on.
    pub(crate) fn list_indent(&self) -> &str {
        let member = self.top.get(&self.text, "cells");
        member.map_or("", |member| indent_before(&self.text, member.lead, member.key))
    }

    /// The text around the cells that the file has, or would have.
    fn frame_of(&self, cells: &[Found]) -> Frame {
        let layout = self.layout();
        let lead = |found: &Found| self.text[found.lead..found.value.start].to_vec();
        let first = cells.first().map_or_else(|| layout.lead(self.list_indent(), true).into_bytes(), lead);
        let later = match cells.get(1) {
            Some(second) => lead(second),
            None if first.contains(&b'\n') => first.clone(),
            None => layout.lead("", false).into_bytes(),
        };
        let tail = match cells.last() {
            Some(last) => self.text[last.value.end..last.trail].to_vec(),
            None => layout.tail(self.list_indent()).into_bytes(),
        };
        Frame { first, later, tail }
    }

    /// Whether strings that we write should escape all that is not ASCII, because the file does.
    pub(crate) fn escapes_non_ascii(&self) -> bool {
        self.text.is_ascii()
            && memchr::memmem::find_iter(&self.text, b"\\u").any(|at| {
                let digits = self.text.get(at + 2..at + 6).unwrap_or_default();
                let code = std::str::from_utf8(digits).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok());
                code.is_some_and(|code| code > 0x7f)
            })
    }

    /// Names each cell by its stored id where no other cell has that, and by a handle elsewhere.
    fn name_cells(&mut self) {
        let stored: Vec<Option<String>> =
            self.edits.cells.iter().map(|cell| cell.stored_id().map(Cow::into_owned)).collect();
        let mut holders: HashMap<&str, usize> = HashMap::with_capacity(stored.len());
        for id in stored.iter().flatten() {
            *holders.entry(id).or_default() += 1;
        }
        let is_own = |stored: &Option<String>| stored.as_ref().is_some_and(|id| holders[id.as_str()] == 1);
        // The whole file is hashed only where handles are needed.
        let revision = (!stored.iter().all(is_own)).then(|| Revision::of([self.text.as_slice()]));
        let mut handles = revision
            .into_iter()
            .flat_map(|revision| (0..).map(move |number| CellId::handle(revision, number)))
            .filter(|handle| !holders.contains_key(handle.as_str()));
        let names: Vec<CellId> = (stored.iter())
            .map(|stored| match stored {
                Some(id) if holders[id.as_str()] == 1 => CellId(id.clone()),
                Some(_) | None => handles.next().expect("there is no end to numbers"),
            })
            .collect();
        for (cell, name) in self.edits.cells.iter_mut().zip(names) {
            cell.id = name;
        }
        if let Some(revision) = revision {
            self.edits.set_revision(revision);
        }
    }
}

/// The result of one pass over the text.
struct Index {
    kind: Kind,
    top: Option<Object>,
    cells: Vec<Found>,
}

/// An element of `cells` with the white space around it.
struct Found {
    lead: usize,
    trail: usize,
    value: Span,
    object: Option<Object>,
}

impl Index {
    fn read(text: &[u8]) -> std::result::Result<Index, Syntax> {
        let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut scanner = Scanner::new(text, start);
        let kind = scanner.kind()?;
        let mut cells = Vec::new();
        let top = if kind == Kind::Object {
            Some(scanner.object(|scanner, key| {
                if string::is(key.of(text), "cells") && scanner.kind()? == Kind::Array {
                    let (list, found) = read_list(scanner)?;
                    cells = found;
                    return Ok(list);
                }
                scanner.value()
            })?)
        } else {
            scanner.value()?;
            None
        };
        scanner.end()?;
        Ok(Index { kind, top, cells })
    }
}

fn read_list(scanner: &mut Scanner<'_>) -> std::result::Result<(Span, Vec<Found>), Syntax> {
    let mut objects = Vec::new();
    let list = scanner.array(|scanner| {
        if scanner.kind()? == Kind::Object {
            let object = scanner.object(|scanner, _| scanner.value())?;
            let span = object.span;
            objects.push(Some(object));
            return Ok(span);
        }
        objects.push(None);
        scanner.value()
    })?;
    let ends = (list.elements.iter().skip(1).map(|next| next.lead - 1)).chain([list.span.end - 1]);
    let found = (list.elements.iter().zip(ends).zip(objects))
        .map(|((element, trail), object)| Found { lead: element.lead, trail, value: element.value, object })
        .collect();
    Ok((list.span, found))
}

fn read_cell(text: &Arc<Vec<u8>>, index: usize, found: Found, position: Position) -> Result<Cell> {
    let Found { lead, trail, value, object } = found;
    let kind_found = Kind::of(value.of(text)).with_article();
    let object = object.ok_or(Error::CellNotObject { index, found: kind_found })?;
    let raw = |key| object.get(text, key).map(|member| member.value.of(text));
    let cell_type = raw("cell_type").ok_or(Error::NoCellType { index })?;
    let kind = (CellType::ALL.into_iter().find(|kind| string::is(cell_type, kind.as_str())))
        .ok_or_else(|| Error::UnknownCellType { index, found: short(cell_type) })?;
    check_source(index, raw("source").ok_or(Error::NoSource { index })?)?;
    Ok(Cell {
        id: CellId(String::new()),
        kind,
        text: Arc::clone(text),
        object,
        place: Place::Read { lead, trail, position },
        changed: Vec::new(),
    })
}

fn check_source(index: usize, source: &[u8]) -> Result<()> {
    match Kind::of(source) {
        Kind::String => Ok(()),
        Kind::Array => {
            let (mut position, mut wrong) = (0, None);
            each_element(source, |line| {
                let kind = Kind::of(line);
                if kind != Kind::String && wrong.is_none() {
                    wrong = Some((position, kind));
                }
                position += 1;
            });
            match wrong {
                None => Ok(()),
                Some((position, kind)) => {
                    Err(Error::BadSourceLine { index, position, found: kind.with_article() })
                }
            }
        }
        other => Err(Error::BadSource { index, found: other.with_article() }),
    }
}

fn version(text: &[u8], top: &Object) -> Result<Version> {
    let number = |key: &'static str| match top.get(text, key) {
        None => Ok(None),
        Some(member) => {
            let raw = member.value.of(text);
            let number: Option<f64> = serde_json::from_slice(raw).ok();
            match number {
                Some(number) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
                _ => Err(Error::BadVersion { key, found: short(raw) }),
            }
        }
    };
    let major = number("nbformat")?.ok_or(Error::NoVersion)?;
    match major {
        0..4 => return Err(Error::TooOld { major }),
        4 => {}
        5.. => return Err(Error::TooNew { major }),
    }
    Ok(Version { major, minor: number("nbformat_minor")?.unwrap_or(0) })
}

/// A value as it stands, or its kind when it is too long to quote.
fn short(raw: &[u8]) -> String {
    match std::str::from_utf8(raw) {
        Ok(text) if raw.len() <= 40 => text.to_owned(),
        _ => Kind::of(raw).with_article().to_owned(),
    }
}

/// Refuses text that is not JSON, with line and column.
pub(crate) fn check_json(text: &str) -> Result<()> {
    Index::read(text.as_bytes()).map(drop).map_err(|syntax| invalid_json(text.as_bytes(), &syntax))
}

fn invalid_json(text: &[u8], syntax: &Syntax) -> Error {
    let line_start = memchr::memrchr(b'\n', &text[..syntax.at]).map_or(0, |at| at + 1);
    let before = String::from_utf8_lossy(&text[line_start..syntax.at]);
    Error::InvalidJson {
        line: line_at(text, syntax.at),
        column: before.chars().count() + 1,
        problem: syntax.problem,
    }
}

/// Bytes that must be text.
pub fn utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| not_utf8(error.as_bytes(), error.utf8_error()))
}

fn not_utf8(bytes: &[u8], error: Utf8Error) -> Error {
    let offset = error.valid_up_to();
    Error::NotUtf8 { line: line_at(bytes, offset), offset }
}

fn line_at(text: &[u8], offset: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..offset]).count() + 1
}
