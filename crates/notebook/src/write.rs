//! Writing a notebook: copied spans of the original text, with the changed values spliced in.

use std::borrow::Cow;

use crate::cell::{Cell, Place, Position};
use crate::json::{Member, Object, Span, string};
use crate::notebook::Notebook;
use crate::revision::Revision;

/// The bytes of a notebook in pieces, most of them borrowed from the text that was read.
#[derive(Debug, Default)]
pub struct Pieces<'a> {
    pieces: Vec<Cow<'a, [u8]>>,
    /// The last piece as a span of its text, so that adjacent text can join it.
    last: Option<(&'a [u8], Span)>,
}

impl<'a> Pieces<'a> {
    /// How many bytes there are in all.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| &**piece)
    }

    /// All in one.
    pub fn concat(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    /// Adds a cell as it stands now.
    pub(crate) fn cell(&mut self, cell: &'a Cell) {
        write_cell(self, cell);
    }

    fn copy(&mut self, text: &'a [u8], span: Span) {
        if span.start == span.end {
            return;
        }
        if let (Some((last_text, last_span)), Some(piece)) = (&mut self.last, self.pieces.last_mut())
            && std::ptr::eq(*last_text, text)
            && last_span.end == span.start
        {
            last_span.end = span.end;
            *piece = Cow::Borrowed(last_span.of(text));
            return;
        }
        self.pieces.push(Cow::Borrowed(span.of(text)));
        self.last = Some((text, span));
    }

    fn add(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return;
        }
        self.pieces.push(bytes);
        self.last = None;
    }
}

impl Notebook {
    /// Whether saving would change the file.
    pub fn is_changed(&self) -> bool {
        self.edits.rearranged
            || !self.edits.changed.is_empty()
            || self.edits.cells.iter().any(|cell| !cell.changed.is_empty())
    }

    /// The notebook's bytes: those it was read from wherever nothing was changed.
    pub fn pieces(&self) -> Pieces<'_> {
        let mut pieces = Pieces::default();
        let whole = Span { start: 0, end: self.text.len() };
        if !self.is_changed() {
            pieces.copy(&self.text, whole);
            return pieces;
        }
        pieces.copy(&self.text, Span { start: 0, end: self.top.span.start });
        let last_cells = self.top.get(&self.text, "cells").map(|member| member.value);
        let added = (self.edits.changed.iter())
            .filter(|(key, _)| self.top.get(&self.text, key).is_none())
            .map(|(key, value)| (key.as_str(), value.as_slice()))
            .collect();
        write_object(&mut pieces, &self.text, &self.top, added, |member| {
            let key = member.key.of(&self.text);
            if Some(member.value) == last_cells {
                Part::Cells(self)
            } else if let Some((_, value)) =
                self.edits.changed.iter().find(|(changed, _)| string::is(key, changed))
            {
                Part::Written(value)
            } else {
                Part::Copied
            }
        });
        pieces.copy(&self.text, Span { start: self.top.span.end, end: whole.end });
        pieces
    }

    /// The notebook's bytes in one buffer.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.pieces().concat()
    }

    /// The revision of the notebook as it stands, changes included.
    pub fn revision(&self) -> Revision {
        self.edits.revision(|| Revision::of(self.pieces().iter()))
    }

    fn write_list<'a>(&'a self, pieces: &mut Pieces<'a>) {
        let text = &self.text;
        if self.edits.cells.is_empty() {
            if self.edits.rearranged {
                pieces.add(&b"[]"[..]);
            } else {
                pieces.copy(text, self.list);
            }
            return;
        }
        pieces.copy(text, Span { start: self.list.start, end: self.list.start + 1 });
        for (index, cell) in self.edits.cells.iter().enumerate() {
            if index > 0 {
                write_comma(pieces, text, cell);
            }
            match cell.place {
                Place::Read { lead, position: Position::First | Position::Only, .. } if index == 0 => {
                    pieces.copy(text, Span { start: lead, end: cell.object.span.start });
                }
                Place::Read { lead, position: Position::Middle | Position::Last, .. } if index > 0 => {
                    pieces.copy(text, Span { start: lead, end: cell.object.span.start });
                }
                _ if index == 0 => pieces.add(self.frame.first.as_slice()),
                _ => pieces.add(self.frame.later.as_slice()),
            }
            write_cell(pieces, cell);
            let last = index + 1 == self.edits.cells.len();
            match cell.place {
                Place::Read { trail, position: Position::Last | Position::Only, .. } if last => {
                    pieces.copy(text, Span { start: cell.object.span.end, end: trail });
                }
                Place::Read { trail, position: Position::First | Position::Middle, .. } if !last => {
                    pieces.copy(text, Span { start: cell.object.span.end, end: trail });
                }
                _ if last => pieces.add(self.frame.tail.as_slice()),
                _ => {}
            }
        }
        pieces.copy(text, Span { start: self.list.end - 1, end: self.list.end });
    }
}

/// The comma before a cell: the file's own where the cell still follows one, so that copied spans join.
fn write_comma<'a>(pieces: &mut Pieces<'a>, text: &'a [u8], cell: &Cell) {
    match cell.place {
        Place::Read { lead, position: Position::Middle | Position::Last, .. } => {
            pieces.copy(text, Span { start: lead - 1, end: lead });
        }
        Place::Read { .. } | Place::Added { .. } => pieces.add(&b","[..]),
    }
}

fn write_cell<'a>(pieces: &mut Pieces<'a>, cell: &'a Cell) {
    if cell.changed.is_empty() {
        pieces.copy(&cell.text, cell.object.span);
        return;
    }
    let added = (cell.changed.iter())
        .filter(|(key, _)| cell.object.get(&cell.text, key).is_none())
        .filter_map(|(key, value)| Some((key.as_str(), value.as_ref()?.as_slice())))
        .collect();
    write_object(pieces, &cell.text, &cell.object, added, |member| {
        let key = member.key.of(&cell.text);
        match cell.changed.iter().find(|(changed, _)| string::is(key, changed)) {
            None => Part::Copied,
            Some((_, None)) => Part::LeftOut,
            // Of a key that stands twice only the last counts, so only that one is rewritten.
            Some((changed, Some(value))) => match cell.object.get(&cell.text, changed) {
                Some(last) if last.value == member.value => Part::Written(value),
                Some(_) | None => Part::Copied,
            },
        }
    });
}

/// The fate of a member when its object is written again.
enum Part<'a> {
    Copied,
    Written(&'a [u8]),
    LeftOut,
    Cells(&'a Notebook),
}

/// Writes an object again. `part` decides the fate of each member; `added` are new ones, put where their
/// keys belong in alphabetical order.
fn write_object<'a>(
    pieces: &mut Pieces<'a>,
    text: &'a [u8],
    object: &Object,
    mut added: Vec<(&'a str, &'a [u8])>,
    part: impl Fn(&Member) -> Part<'a>,
) {
    let first_lead = object
        .members
        .first()
        .map_or(Span { start: 0, end: 0 }, |first| Span { start: first.lead, end: first.key.start });
    let later_lead =
        object.members.get(1).map_or(first_lead, |second| Span { start: second.lead, end: second.key.start });
    let colon = object.members.first().map_or(&b": "[..], |first| &text[first.key.end..first.value.start]);
    pieces.copy(text, Span { start: object.span.start, end: object.span.start + 1 });
    let mut written = 0;
    let write_added = |pieces: &mut Pieces<'a>, written: &mut usize, key: &str, bytes: &'a [u8]| {
        if *written > 0 {
            pieces.add(&b","[..]);
        }
        pieces.copy(text, if *written == 0 { first_lead } else { later_lead });
        let mut name = Vec::new();
        string::encode(key, false, &mut name);
        pieces.add(name);
        pieces.add(colon);
        pieces.add(bytes);
        *written += 1;
    };
    added.sort_by_key(|(key, _)| *key);
    let mut added = added.into_iter().peekable();
    for (index, member) in object.members.iter().enumerate() {
        let key = string::decode(member.key.of(text));
        while let Some((name, bytes)) = added.next_if(|(name, _)| *name < &*key) {
            write_added(pieces, &mut written, name, bytes);
        }
        let part = part(member);
        if matches!(part, Part::LeftOut) {
            continue;
        }
        let moved_up = written == 0 && index > 0;
        let moved_down = written > 0 && index == 0;
        if moved_down {
            pieces.add(&b","[..]);
            pieces.copy(text, later_lead);
        } else if moved_up {
            pieces.copy(text, first_lead);
        } else {
            let comma = usize::from(index > 0);
            pieces.copy(text, Span { start: member.lead - comma, end: member.key.start });
        }
        pieces.copy(text, Span { start: member.key.start, end: member.value.start });
        match part {
            Part::Copied | Part::LeftOut => pieces.copy(text, member.value),
            Part::Written(value) => pieces.add(value),
            Part::Cells(notebook) => notebook.write_list(pieces),
        }
        // White space between a value and the comma after it stays with the value.
        if let Some(next) = object.members.get(index + 1) {
            pieces.copy(text, Span { start: member.value.end, end: next.lead - 1 });
        }
        written += 1;
    }
    for (name, bytes) in added {
        write_added(pieces, &mut written, name, bytes);
    }
    let tail = object.members.last().map_or(object.span.start + 1, |last| last.value.end);
    pieces.copy(text, Span { start: tail, end: object.span.end });
}
