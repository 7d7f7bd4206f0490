//! One cell: where its bytes are, and which of its values were changed since.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use cellist_output::ByteString;
use serde::{Deserialize, Serialize};

use crate::id::CellId;
use crate::json::layout::{Layout, indent_before};
use crate::json::scan::{array_at, each_element};
use crate::json::tree::Node;
use crate::json::{Array, Kind, Object, string};

/// The three kinds of cells that nbformat 4 knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellType {
    /// Code for the kernel.
    Code,
    /// Prose.
    Markdown,
    /// Text that is passed through untouched.
    Raw,
}

impl CellType {
    /// All types, in the order in which they are listed to people.
    pub const ALL: [CellType; 3] = [CellType::Code, CellType::Markdown, CellType::Raw];

    /// The type's name in files and markers.
    pub fn as_str(self) -> &'static str {
        match self {
            CellType::Code => "code",
            CellType::Markdown => "markdown",
            CellType::Raw => "raw",
        }
    }
}

impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CellType {
    type Err = String;

    fn from_str(text: &str) -> Result<CellType, String> {
        (CellType::ALL.into_iter().find(|kind| kind.as_str() == text))
            .ok_or_else(|| format!("`{text}` is not a cell type: valid are code, markdown and raw"))
    }
}

/// A cell of an open notebook.
#[derive(Clone, Debug)]
pub struct Cell {
    pub(crate) id: CellId,
    pub(crate) kind: CellType,
    /// The text that the cell stands in: the file's, or one of the cells that were made together.
    pub(crate) text: Arc<Vec<u8>>,
    pub(crate) object: Object,
    pub(crate) place: Place,
    /// Keys written or removed (`None`) since the text was read. Outputs may be large: copies of a notebook share
    /// them.
    pub(crate) changed: Vec<(String, Option<Arc<Vec<u8>>>)>,
}

/// Memory that a text may share.
struct Owner(Arc<Vec<u8>>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The white space around a cell in the file's list of cells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Read from the file: where the white space before it begins and the one behind it ends.
    Read { lead: usize, trail: usize, position: Position },
    /// Not in the file yet. Where the line break before it begins, from which its layout can be read off.
    Added { lead: usize },
}

/// Which place in the file's list the cell had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Only,
    First,
    Middle,
    Last,
}

impl Cell {
    /// The cell's name in the open notebook.
    pub fn id(&self) -> &CellId {
        &self.id
    }

    /// The id in the file, also when other cells have the same.
    pub fn stored_id(&self) -> Option<Cow<'_, str>> {
        self.value("id").filter(|raw| Kind::of(raw) == Kind::String).map(string::decode)
    }

    /// Whether the cell's name is the id that the file stores.
    pub fn is_named_by_stored_id(&self) -> bool {
        self.stored_id().is_some_and(|stored| stored == self.id.as_str())
    }

    /// The cell's type.
    pub fn cell_type(&self) -> CellType {
        self.kind
    }

    /// The cell's source as one text.
    pub fn source(&self) -> Cow<'_, str> {
        self.value("source").map_or(Cow::Borrowed(""), text_of)
    }

    /// Whether the source holds half a surrogate pair, which shows as U+FFFD and must not be edited by
    /// offsets.
    pub fn has_lone_surrogate(&self) -> bool {
        self.value("source").is_some_and(string::has_lone_surrogate)
    }

    /// The execution count of a code cell that ran.
    pub fn execution_count(&self) -> Option<i64> {
        serde_json::from_slice(self.value("execution_count")?).ok()
    }

    /// Whether a run has left anything: outputs, or an execution count.
    pub fn has_run(&self) -> bool {
        self.has_outputs() || self.is_counted()
    }

    pub(crate) fn is_counted(&self) -> bool {
        self.value("execution_count").is_some_and(|count| count != b"null")
    }

    /// Whether the cell has any output.
    pub fn has_outputs(&self) -> bool {
        self.value("outputs").is_some_and(has_elements)
    }

    /// The JSON of one of the cell's keys as it stands, or as it was changed.
    pub fn value(&self, key: &str) -> Option<&[u8]> {
        match self.changed.iter().find(|(changed, _)| changed == key) {
            Some((_, value)) => value.as_ref().map(|value| value.as_slice()),
            None => self.object.get(&self.text, key).map(|member| member.value.of(&self.text)),
        }
    }

    /// The JSON of one of the cell's keys, as a text that shares the cell's memory.
    pub(crate) fn shared(&self, key: &str) -> Option<ByteString> {
        let value = self.changed.iter().find(|(changed, _)| changed == key);
        let bytes = match value {
            Some((_, value)) => Bytes::from_owner(Owner(Arc::clone(value.as_ref()?))),
            None => {
                let span = self.object.get(&self.text, key)?.value;
                Bytes::from_owner(Owner(Arc::clone(&self.text))).slice(span.start..span.end)
            }
        };
        ByteString::try_from(bytes).ok()
    }

    /// The keys of the cell, in order, each once.
    pub fn keys(&self) -> Vec<Cow<'_, str>> {
        let mut keys: Vec<Cow<'_, str>> = Vec::new();
        let read = self.object.members.iter().map(|member| string::decode(member.key.of(&self.text)));
        let changed = self.changed.iter().map(|(key, _)| Cow::Borrowed(key.as_str()));
        for key in read.chain(changed) {
            if !keys.contains(&key) && self.value(&key).is_some() {
                keys.push(key);
            }
        }
        keys
    }

    /// Whether both share their text, without comparing content. `false` proves nothing.
    pub fn is_untouched_since(&self, other: &Cell) -> bool {
        Arc::ptr_eq(&self.text, &other.text)
            && self.object.span == other.object.span
            && self.changed == other.changed
    }

    /// Replaces, adds or (with `None`) removes the value of a key. Putting back the value of the text undoes
    /// the change.
    pub(crate) fn set(&mut self, key: &str, value: Option<Vec<u8>>) {
        self.changed.retain(|(changed, _)| changed != key);
        let read = self.object.get(&self.text, key).map(|member| member.value.of(&self.text));
        if read != value.as_deref() {
            self.changed.push((key.to_owned(), value.map(Arc::new)));
        }
    }

    /// Writes a value in the layout of this cell.
    pub(crate) fn set_node(&mut self, key: &str, node: &Node<'_>, ascii: bool) {
        // The old value may be large too: it is dropped first.
        self.changed.retain(|(changed, _)| changed != key);
        let mut value = Vec::new();
        node.write(&self.layout(), &self.member_indent(key), ascii, &mut value);
        self.set(key, Some(value));
    }

    /// Replaces the source. Lines that stay keep the bytes they have; changed lines are written as a list
    /// of lines.
    pub(crate) fn set_source(&mut self, source: &str, ascii: bool) {
        if self.source() == source {
            return;
        }
        let member = self.object.get(&self.text, "source");
        if member.is_some_and(|member| text_of(member.value.of(&self.text)) == source) {
            self.changed.retain(|(changed, _)| changed != "source");
            return;
        }
        let list = member.and_then(|member| array_at(&self.text, member.value));
        let Some(list) = list.filter(|list| !list.elements.is_empty()) else {
            return self.set_node("source", &Node::lines(source), ascii);
        };
        let new: Vec<&str> = source.split_inclusive('\n').collect();
        if new.is_empty() {
            return self.set("source", Some(b"[]".to_vec()));
        }
        let text = &self.text;
        let old = lines_of(text, &list);
        let shorter = old.len().min(new.len());
        let head = (0..shorter).take_while(|&at| old[at].text == new[at]).count();
        let tail = (1..=shorter - head)
            .take_while(|&back| old[old.len() - back].text == new[new.len() - back])
            .count();

        let first_lead = &text[list.elements[0].lead..list.elements[0].value.start];
        let later_lead = match list.elements.get(1) {
            Some(second) => text[second.lead..second.value.start].to_vec(),
            None if first_lead.contains(&b'\n') => first_lead.to_vec(),
            None => self.layout().lead("", false).into_bytes(),
        };
        let mut value = Vec::new();
        match head.checked_sub(1) {
            Some(last) => value.extend_from_slice(&text[list.span.start..old[last].end]),
            None => value.push(b'['),
        }
        let lead = |value: &mut Vec<u8>| {
            if value.len() == 1 {
                value.extend_from_slice(first_lead);
            } else {
                value.push(b',');
                value.extend_from_slice(&later_lead);
            }
        };
        for line in &new[head..new.len() - tail] {
            lead(&mut value);
            string::encode(line, ascii, &mut value);
        }
        if tail > 0 {
            lead(&mut value);
            value.extend_from_slice(&text[old[old.len() - tail].start..list.span.end]);
        } else {
            value.extend_from_slice(&text[old[old.len() - 1].end..list.span.end]);
        }
        self.set("source", Some(value));
    }

    /// Changes the type: a code cell has outputs and a count, the others have neither.
    pub(crate) fn set_type(&mut self, kind: CellType) {
        if self.kind != kind {
            self.kind = kind;
            self.set("cell_type", Some(format!("\"{kind}\"").into_bytes()));
        }
        match kind {
            CellType::Code => {
                for (key, empty) in [("execution_count", &b"null"[..]), ("outputs", b"[]")] {
                    if self.value(key).is_none() {
                        self.set(key, Some(empty.to_vec()));
                    }
                }
            }
            CellType::Markdown | CellType::Raw => {
                for key in ["execution_count", "outputs"] {
                    if self.value(key).is_some() {
                        self.set(key, None);
                    }
                }
            }
        }
    }

    /// The layout of the cell's own members.
    pub(crate) fn layout(&self) -> Layout {
        Layout::of(&self.text, &self.object, self.indent())
    }

    /// The indent of the line that the cell begins on.
    pub(crate) fn indent(&self) -> &str {
        match self.place {
            Place::Read { lead, .. } | Place::Added { lead } => {
                indent_before(&self.text, lead, self.object.span)
            }
        }
    }

    /// The indent of the line that a key stands on, or would stand on.
    pub(crate) fn member_indent(&self, key: &str) -> String {
        let member = self.object.get(&self.text, key).or(self.object.members.first());
        member
            .map_or_else(String::new, |member| indent_before(&self.text, member.lead, member.key).to_owned())
    }
}

/// A line of source and where its strings stand in the list.
struct SourceLine {
    text: String,
    start: usize,
    end: usize,
}

/// The lines of a source that is a list of strings. Python also ends a string at a form feed or U+2028, so
/// that a line can be several strings; one that holds several lines counts as it stands.
fn lines_of(text: &[u8], list: &Array) -> Vec<SourceLine> {
    let mut lines: Vec<SourceLine> = Vec::with_capacity(list.elements.len());
    for element in &list.elements {
        let string = string::decode(element.value.of(text));
        match lines.last_mut() {
            Some(line) if !line.text.ends_with('\n') => {
                line.text.push_str(&string);
                line.end = element.value.end;
            }
            _ => lines.push(SourceLine {
                text: string.into_owned(),
                start: element.value.start,
                end: element.value.end,
            }),
        }
    }
    lines
}

/// The text of a value that is a string or a list of strings, as sources and outputs keep text.
pub(crate) fn text_of(raw: &[u8]) -> Cow<'_, str> {
    match Kind::of(raw) {
        Kind::String => string::decode(raw),
        Kind::Array => {
            let (mut first, mut joined) = (None, None);
            each_element(raw, |line| match (first, &mut joined) {
                (None, _) => first = Some(line),
                (Some(first), None) => {
                    // No text is longer than its encoding.
                    let mut text = String::with_capacity(raw.len());
                    string::decode_into(first, &mut text);
                    string::decode_into(line, &mut text);
                    joined = Some(text);
                }
                (Some(_), Some(text)) => string::decode_into(line, text),
            });
            match (joined, first) {
                (Some(text), _) => Cow::Owned(text),
                (None, Some(only)) => string::decode(only),
                (None, None) => Cow::Borrowed(""),
            }
        }
        Kind::Null | Kind::Bool | Kind::Number | Kind::Object => Cow::Borrowed(""),
    }
}

/// Whether a value is a list with something in it.
fn has_elements(raw: &[u8]) -> bool {
    let first = raw[1..].iter().find(|byte| !byte.is_ascii_whitespace());
    Kind::of(raw) == Kind::Array && first != Some(&b']')
}
