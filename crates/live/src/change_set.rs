//! A change of one text, as pages send it: the ranges that stay and the replacements. Lengths count UTF-16 units,
//! as browsers do. `\n` is the only line break.

mod json;
mod pairs;
#[cfg(test)]
mod tests;

use std::ops::Range;

use cellist_notebook::hunks;

/// A change of a text of one exact length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeSet {
    parts: Vec<ChangePart>,
}

/// A range of the text. No part is empty, and neighbours differ in kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ChangePart {
    Keep(usize),
    Replace { removed: usize, inserted: String },
}

/// Why a change does not fit a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum BadChange {
    #[error("the change is for a text of {expected} UTF-16 units, and this one has {found}")]
    Length { expected: usize, found: usize },
    #[error("the change cuts a character in two at UTF-16 unit {at}")]
    CutsCharacter { at: usize },
    #[error("the change names units {start} to {end} of a text that has {length}")]
    OutOfRange { start: usize, end: usize, length: usize },
}

/// Which of two insertions at the same place comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// This one.
    First,
    /// The other one.
    Second,
}

impl ChangeSet {
    /// Returns a change that leaves a text of `length` units unchanged.
    pub fn identity(length: usize) -> ChangeSet {
        let mut change = ChangeSet::default();
        change.keep(length);
        change
    }

    /// Replaces the units `range` of a text of `length` units by `inserted`.
    pub fn replace(length: usize, range: Range<usize>, inserted: &str) -> Result<ChangeSet, BadChange> {
        let Range { start, end } = range;
        if start > end || end > length {
            return Err(BadChange::OutOfRange { start, end, length });
        }
        let mut change = ChangeSet::default();
        change.keep(start);
        change.put(end - start, inserted);
        change.keep(length - end);
        Ok(change)
    }

    /// Returns a small change from `before` to `after`: by lines, and within changed lines by characters.
    pub fn between(before: &str, after: &str) -> ChangeSet {
        let (old, new) = (starts(before), starts(after));
        let mut change = ChangeSet::default();
        let mut at = 0;
        for hunk in hunks(before, after) {
            // The last line has no line break, so a change at the end includes the one before it.
            let at_end = hunk.before.end == old.len();
            let range = |starts: &[usize], text: &str, lines: Range<usize>| match at_end {
                false => starts[lines.start]..starts[lines.end],
                true => {
                    starts.get(lines.start).copied().unwrap_or(text.len() + 1).saturating_sub(1)..text.len()
                }
            };
            let (from, to) = (range(&old, before, hunk.before), range(&new, after, hunk.after));
            let (gone, come) = (&before[from.clone()], &after[to]);
            let head = common_head(gone, come);
            let tail = common_tail(&gone[head..], &come[head..]);
            change.keep(units(&before[at..from.start + head]));
            change.put(units(&gone[head..gone.len() - tail]), &come[head..come.len() - tail]);
            at = from.end - tail;
        }
        change.keep(units(&before[at..]));
        change
    }

    /// The required length of the text, in UTF-16 units.
    pub fn length_before(&self) -> usize {
        self.parts.iter().map(ChangePart::before).sum()
    }

    /// The length of the result.
    pub fn length_after(&self) -> usize {
        self.parts.iter().map(ChangePart::after).sum()
    }

    /// Whether the text stays unchanged.
    pub fn is_identity(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, ChangePart::Keep(_)))
    }

    /// Returns the inserted texts.
    pub fn inserted(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            ChangePart::Replace { inserted, .. } if !inserted.is_empty() => Some(inserted.as_str()),
            ChangePart::Replace { .. } | ChangePart::Keep(_) => None,
        })
    }

    /// Applies the change.
    pub fn apply(&self, text: &str) -> Result<String, BadChange> {
        let mut out = String::with_capacity(text.len());
        self.walk(text, |part, old| match part {
            ChangePart::Keep(_) => out.push_str(old),
            ChangePart::Replace { inserted, .. } => out.push_str(inserted),
        })?;
        Ok(out)
    }

    /// Returns the inverse change; `text` is the text before this one.
    pub fn invert(&self, text: &str) -> Result<ChangeSet, BadChange> {
        let mut inverse = ChangeSet::default();
        self.walk(text, |part, old| match part {
            ChangePart::Keep(length) => inverse.keep(*length),
            ChangePart::Replace { inserted, .. } => inverse.put(units(inserted), old),
        })?;
        Ok(inverse)
    }

    /// Maps a position of the old text to the new one. `order` decides whether it stays before or goes behind an
    /// insertion exactly there.
    pub fn map_position(&self, position: usize, order: Order) -> usize {
        let (mut old, mut new) = (0, 0);
        for part in &self.parts {
            let (before, after) = (part.before(), part.after());
            match part {
                ChangePart::Keep(_) if position < old + before => return new + (position - old),
                ChangePart::Replace { .. } if position < old + before || (position == old && before == 0) => {
                    let stays = order == Order::First && position == old;
                    return if stays { new } else { new + after };
                }
                ChangePart::Keep(_) | ChangePart::Replace { .. } => {}
            }
            (old, new) = (old + before, new + after);
        }
        new + position.saturating_sub(old)
    }

    /// Calls `each` with every part and its range of `text`.
    fn walk<'a>(
        &'a self,
        text: &'a str,
        mut each: impl FnMut(&'a ChangePart, &'a str),
    ) -> Result<(), BadChange> {
        // Checks all parts before the first call.
        let mut stretches = Vec::with_capacity(self.parts.len());
        let (mut rest, mut at) = (text, 0);
        for part in &self.parts {
            let length = part.before();
            let cut = match byte_at(rest, length) {
                UnitPosition::At(cut) => cut,
                UnitPosition::Inside => return Err(BadChange::CutsCharacter { at: at + length }),
                UnitPosition::Beyond => return Err(self.wrong_length(text)),
            };
            let (stretch, behind) = rest.split_at(cut);
            stretches.push(stretch);
            (rest, at) = (behind, at + length);
        }
        if !rest.is_empty() {
            return Err(self.wrong_length(text));
        }
        self.parts.iter().zip(stretches).for_each(|(part, stretch)| each(part, stretch));
        Ok(())
    }

    fn wrong_length(&self, text: &str) -> BadChange {
        BadChange::Length { expected: self.length_before(), found: units(text) }
    }

    fn keep(&mut self, length: usize) {
        match self.parts.last_mut() {
            _ if length == 0 => {}
            Some(ChangePart::Keep(last)) => *last += length,
            Some(ChangePart::Replace { .. }) | None => self.parts.push(ChangePart::Keep(length)),
        }
    }

    fn put(&mut self, length: usize, text: &str) {
        match self.parts.last_mut() {
            _ if length == 0 && text.is_empty() => {}
            Some(ChangePart::Replace { removed, inserted }) => {
                *removed += length;
                inserted.push_str(text);
            }
            Some(ChangePart::Keep(_)) | None => {
                self.parts.push(ChangePart::Replace { removed: length, inserted: text.to_owned() });
            }
        }
    }
}

impl ChangePart {
    fn before(&self) -> usize {
        match self {
            ChangePart::Keep(length) => *length,
            ChangePart::Replace { removed, .. } => *removed,
        }
    }

    fn after(&self) -> usize {
        match self {
            ChangePart::Keep(length) => *length,
            ChangePart::Replace { inserted, .. } => units(inserted),
        }
    }
}

/// Returns the length of a text in UTF-16 units.
pub fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// A position in a text, by UTF-16 units.
enum UnitPosition {
    At(usize),
    /// Inside a surrogate pair.
    Inside,
    /// Past the end of the text.
    Beyond,
}

fn byte_at(text: &str, wanted: usize) -> UnitPosition {
    if wanted <= text.len() && text.as_bytes()[..wanted].is_ascii() {
        return UnitPosition::At(wanted);
    }
    let mut at = 0;
    for (byte, character) in text.char_indices() {
        if at >= wanted {
            return if at == wanted { UnitPosition::At(byte) } else { UnitPosition::Inside };
        }
        at += character.len_utf16();
    }
    match at.cmp(&wanted) {
        std::cmp::Ordering::Equal => UnitPosition::At(text.len()),
        std::cmp::Ordering::Less => UnitPosition::Beyond,
        std::cmp::Ordering::Greater => UnitPosition::Inside,
    }
}

/// Returns the byte offset of each line.
fn starts(text: &str) -> Vec<usize> {
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect()
}

fn common_head(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    same.map(|(character, _)| character.len_utf8()).sum()
}

fn common_tail(one: &str, other: &str) -> usize {
    let same = one.chars().rev().zip(other.chars().rev()).take_while(|(one, other)| one == other);
    same.map(|(character, _)| character.len_utf8()).sum()
}
