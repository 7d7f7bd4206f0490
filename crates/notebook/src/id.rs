//! Names of cells: the ids that notebooks store, handles for cells without one, and the forms that a caller may write
//! to mean a cell.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::draft::Snapshot;
use crate::error::{Error, Result};
use crate::notebook::Notebook;
use crate::revision::Revision;

/// The name of a cell, unique in an open notebook: the id that the file stores, or a handle when it stores
/// none or one that several cells share. It stays with its cell while the notebook is open.
///
/// A handle never says where a cell stands. Cells read from a file get the file's generation (letters of its
/// revision) and a number, so that the same bytes give the same handles and other bytes give others. A cell that is
/// inserted later gets a random handle.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(pub(crate) String);

impl CellId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a file may store it: one to 64 letters, digits, `-` and `_`.
    pub fn is_valid(&self) -> bool {
        let letters = self.0.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        letters && (1..=64).contains(&self.0.len())
    }

    /// The handle of the `number`th cell without an id of its own in a file of this revision.
    pub(crate) fn handle(revision: Revision, number: usize) -> CellId {
        CellId(format!("{}{number}", generation(revision)))
    }

    /// Whether it is a handle of a file of this revision.
    pub(crate) fn is_of_generation(&self, revision: Revision) -> bool {
        let number = self.0.strip_prefix(&generation(revision));
        number.is_some_and(is_number)
    }

    /// Whether it has the form of a handle. An id in a file may have the same form.
    pub(crate) fn looks_like_handle(name: &str) -> bool {
        name.strip_prefix(HANDLE_MARK).is_some_and(|rest| {
            rest.len() > GENERATION && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }
}

impl From<&str> for CellId {
    fn from(name: &str) -> CellId {
        CellId(name.to_owned())
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The prefix of every handle.
const HANDLE_MARK: &str = "_";

/// How many letters of a handle stand for the content of the file.
const GENERATION: usize = 5;

/// The prefix of the handles of a file of this revision.
fn generation(revision: Revision) -> String {
    let mut letters = String::from(HANDLE_MARK);
    push_letters(&mut letters, revision.number(), GENERATION);
    letters
}

/// The lowest digits of a number, as lower-case letters and digits.
fn push_letters(text: &mut String, mut number: u64, count: usize) {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    for _ in 0..count {
        text.push(char::from(LETTERS[(number % 36) as usize]));
        number /= 36;
    }
}

/// Where fresh ids come from. The seed is the caller's, so that this crate needs no randomness of its own.
#[derive(Clone, Debug)]
pub struct Ids {
    state: u64,
}

impl Ids {
    /// Ids that follow from `seed`: the same seed gives the same ids.
    pub fn seeded(seed: u64) -> Ids {
        Ids { state: seed }
    }

    /// An id of eight hexadecimal digits, as Jupyter makes them, that `taken` does not know.
    pub(crate) fn fresh(&mut self, taken: impl Fn(&str) -> bool) -> String {
        loop {
            let id = format!("{:08x}", self.next() >> 32);
            if !taken(&id) {
                return id;
            }
        }
    }

    /// A handle that `taken` does not know, and that no opening of a file gives to a cell: it ends in a letter.
    pub(crate) fn fresh_handle(&mut self, taken: impl Fn(&str) -> bool) -> String {
        loop {
            let number = self.next();
            let mut handle = String::from(HANDLE_MARK);
            push_letters(&mut handle, number, GENERATION);
            push_letters(&mut handle, (number >> 32) % 26, 1);
            if !taken(&handle) {
                return handle;
            }
        }
    }

    /// One step of the SplitMix64 generator.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A reference to a cell, as a caller wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CellRef {
    /// A position, counted from 0.
    Index(i64),
    /// A position counted back from the end: 1 is the last cell. JSON has no such thing.
    #[serde(skip)]
    FromEnd(usize),
    /// An id, or digits that are an index unless some cell has them as its id.
    Name(String),
}

impl CellRef {
    /// A position from a command line: `-1` counts from the end.
    pub fn from_argument(text: &str) -> CellRef {
        match text.strip_prefix('-').and_then(|digits| digits.parse().ok()) {
            Some(back) if back > 0 => CellRef::FromEnd(back),
            _ => CellRef::Name(text.to_owned()),
        }
    }
}

/// The names of the cells of a notebook: of each cell the name in use, and the id in the file. A snapshot from
/// before handles were kept knows neither of some cells.
pub(crate) struct Names(Vec<[Option<String>; 2]>);

impl Names {
    pub(crate) fn of_notebook(notebook: &Notebook) -> Names {
        let names = |cell: &Cell| [Some(cell.id().to_string()), cell.stored_id().map(Cow::into_owned)];
        Names(notebook.cells().iter().map(names).collect())
    }

    pub(crate) fn of_snapshot(snapshot: &Snapshot) -> Names {
        Names(snapshot.cells.iter().map(|cell| [cell.handle.clone(), cell.id.clone()]).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The position of the cell that `cell` means. Slips in an id (case, a `cell:` prefix, quotes) are
    /// forgiven when only one cell can be meant.
    pub(crate) fn find(&self, cell: &CellRef) -> Result<usize> {
        let count = self.len();
        match cell {
            CellRef::Index(index) => {
                let at = usize::try_from(*index).ok().filter(|&at| at < count);
                at.ok_or_else(|| Error::NoSuchCell { index: index.to_string(), count })
            }
            CellRef::FromEnd(back) => {
                count.checked_sub(*back).ok_or_else(|| Error::NoSuchCell { index: format!("-{back}"), count })
            }
            CellRef::Name(name) => self.find_name(name),
        }
    }

    fn find_name(&self, name: &str) -> Result<usize> {
        if let Some(index) = self.matching(name, |id| id == name)? {
            return Ok(index);
        }
        if is_number(name) {
            return self.at(name);
        }
        let bare = undecorated(name);
        if let Some(index) = self.matching(name, |id| id == bare)? {
            return Ok(index);
        }
        if let Some(index) = self.matching(name, |id| id.eq_ignore_ascii_case(bare))? {
            return Ok(index);
        }
        if is_number(bare) {
            return self.at(bare);
        }
        Err(Error::NoSuchId { id: name.to_owned(), nearest: self.nearest(bare) })
    }

    /// The position that digits mean, however many there are.
    fn at(&self, digits: &str) -> Result<usize> {
        let count = self.len();
        let at = digits.parse().ok().filter(|&at| at < count);
        at.ok_or_else(|| Error::NoSuchCell { index: digits.to_owned(), count })
    }

    /// The one cell whose id `is_meant`, none, or an error when there are several.
    fn matching(&self, name: &str, is_meant: impl Fn(&str) -> bool) -> Result<Option<usize>> {
        let indexes: Vec<usize> = (self.0.iter().enumerate())
            .filter(|(_, names)| names.iter().flatten().any(|name| is_meant(name)))
            .map(|(index, _)| index)
            .collect();
        match indexes.as_slice() {
            [] => Ok(None),
            [index] => Ok(Some(*index)),
            _ => Err(Error::AmbiguousId { id: name.to_owned(), indexes }),
        }
    }

    /// The id that is the fewest letters away, if it is near at all. Handles that are alike have nothing to do with
    /// each other.
    fn nearest(&self, name: &str) -> Option<String> {
        if CellId::looks_like_handle(name) {
            return None;
        }
        let far = name.chars().count().div_ceil(3).max(1);
        (self.0.iter().flatten().flatten().filter(|id| !CellId::looks_like_handle(id)))
            .map(|id| (distance(id, name, far), id))
            .filter(|(distance, _)| *distance <= far)
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, id)| id.clone())
    }
}

impl Snapshot {
    /// The position that the cell had in this revision.
    pub fn find(&self, cell: &CellRef) -> Result<usize> {
        Names::of_snapshot(self).find(cell)
    }
}

impl Notebook {
    /// The position of the cell that `cell` means. Slips in an id (case, a `cell:` prefix, quotes) are
    /// forgiven when only one cell can be meant.
    pub fn find(&self, cell: &CellRef) -> Result<usize> {
        Names::of_notebook(self).find(cell).map_err(|error| self.explain_missing(error))
    }

    /// The position of the open cell with this id or handle.
    pub fn position(&self, id: &CellId) -> Option<usize> {
        self.cells().iter().position(|cell| cell.id() == id)
    }

    /// Ids that several cells share, each with the positions of those cells.
    pub fn shared_ids(&self) -> Vec<(String, Vec<usize>)> {
        let mut shared: Vec<(String, Vec<usize>)> = Vec::new();
        for (index, cell) in self.cells().iter().enumerate() {
            if let Some(id) = cell.stored_id().filter(|_| !cell.is_named_by_stored_id()) {
                match shared.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, indexes)) => indexes.push(index),
                    None => shared.push((id.into_owned(), vec![index])),
                }
            }
        }
        // A cell that got an id while it was open keeps its handle; nothing shares that id.
        shared.retain(|(_, indexes)| indexes.len() > 1);
        shared
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An id without its usual decoration: white space, quotes, a `#` or a `cell:` prefix.
fn undecorated(name: &str) -> &str {
    let quotes: &[char] = &['"', '\'', '`'];
    let bare = name.trim().trim_matches(quotes).trim();
    let without = |prefix: &str| {
        let (start, rest) = bare.split_at_checked(prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then_some(rest)
    };
    let bare = without("cell:").or_else(|| without("cell-id:")).unwrap_or(bare);
    bare.strip_prefix('#').unwrap_or(bare).trim_matches(quotes).trim()
}

/// How many letters must be put in, taken out or changed; anything beyond `far` is as good as infinite.
pub(crate) fn distance(one: &str, other: &str, far: usize) -> usize {
    let other: Vec<char> = other.chars().collect();
    if one.chars().count().abs_diff(other.len()) > far {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
