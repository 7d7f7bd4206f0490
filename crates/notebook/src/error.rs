//! Faults of notebooks, and of requests to change them.

use crate::cell::CellType;
use crate::id::CellId;

/// The result of reading or changing a notebook.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a notebook cannot be read, or a change cannot be made. The message names values; advice is in
/// [`Error::hint`]. The caller that knows the file puts its path in front.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum Error {
    #[error("not UTF-8: invalid byte at line {line}, offset {offset}")]
    NotUtf8 { line: usize, offset: usize },
    #[error("invalid JSON at line {line} column {column}: {problem}")]
    InvalidJson { line: usize, column: usize, problem: &'static str },
    #[error("not a notebook: the file holds {found}, not an object")]
    NotAnObject { found: &'static str },
    #[error("not a notebook: `nbformat` is missing")]
    NoVersion,
    #[error("not a notebook: `{key}` is {found}, not a whole number")]
    BadVersion { key: &'static str, found: String },
    #[error("nbformat {major} is too old: cellist reads nbformat 4")]
    TooOld { major: u64 },
    #[error("nbformat {major} is too new: cellist reads nbformat 4")]
    TooNew { major: u64 },
    #[error("not a notebook: `cells` is missing")]
    NoCells,
    #[error("not a notebook: `cells` is {found}, not an array")]
    CellsNotArray { found: &'static str },
    #[error("cell {index} is {found}, not an object")]
    CellNotObject { index: usize, found: &'static str },
    #[error("cell {index} has no `cell_type`")]
    NoCellType { index: usize },
    #[error("cell {index} has the unknown `cell_type` {found}")]
    UnknownCellType { index: usize, found: String },
    #[error("cell {index} has no `source`")]
    NoSource { index: usize },
    #[error("the `source` of cell {index} is {found}, neither a string nor a list of strings")]
    BadSource { index: usize, found: &'static str },
    #[error("the `source` of cell {index} holds {found} at position {position}, not only strings")]
    BadSourceLine { index: usize, position: usize, found: &'static str },
    #[error("not a cell: {problem}")]
    NotACell { problem: String },

    #[error("cell {index} does not exist: the notebook has {}", counted_with_range(*.count))]
    NoSuchCell { index: String, count: usize },
    #[error("cannot insert at {index}: {}", valid_positions(*.count))]
    NoSuchPosition { index: i64, count: usize },
    #[error("cannot move to {index}: {}", valid_positions(.count.saturating_sub(1)))]
    NoSuchTarget { index: i64, count: usize },
    #[error("no cell has the id `{id}`")]
    NoSuchId { id: String, nearest: Option<String> },
    #[error("the id `{id}` could mean any of the cells {}", listed(.indexes))]
    AmbiguousId { id: String, indexes: Vec<usize> },
    #[error("cell `{}` is gone: {}", .0.id, .0.fate)]
    CellGone(Box<GoneCell>),
    #[error("`{action}` needs content")]
    MissingContent { action: &'static str },
    #[error("the operations are {found}, not a JSON array")]
    NotOperations { found: String },
    #[error("operation {position}: {problem}")]
    BadOperation { position: usize, problem: String },
    #[error("operation {position} names cell {index}, which an earlier operation deletes")]
    AlreadyDeleted { position: usize, index: usize },
    #[error("two operations move a cell to position {index}")]
    SameTarget { index: i64 },

    #[error("line 1: the text must begin with a cell marker, not {found}")]
    TextBeforeMarker { found: String },
    #[error("line {line}: `{found}` is not a cell marker")]
    BadMarker { line: usize, found: String, nearest: String },
    #[error("the text is empty, but the notebook has {}", counted(*.count))]
    EmptyText { count: usize },
    #[error("`{selector}` is not a selector")]
    BadSelector { selector: String },
    #[error("lines {first}-{last} are out of range: there are {lines} lines")]
    OutOfRange { first: usize, last: usize, lines: usize },
    #[error("the text to replace is empty")]
    EmptyOld,
    #[error("the text to replace was not found")]
    OldNotFound { nearest: Option<(usize, String)> },
    #[error("the text to replace occurs {} times, at lines {}", .lines.len(), listed(.lines))]
    OldNotUnique { lines: Vec<usize> },

    #[error("{}", conflicts_in_words(.0))]
    Conflicts(Vec<Conflict>),
}

/// One cell that two sides changed in ways that do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The cell's index in the newest notebook, or where it was before it was deleted.
    pub index: usize,
    /// Its id, where it has one.
    pub id: Option<String>,
    /// The cell as this side wants it: type and source, or nothing when it deletes the cell.
    pub ours: Option<(CellType, String)>,
    /// The cell as the other side has it.
    pub theirs: Option<(CellType, String)>,
}

/// A cell that was named and is not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub struct GoneCell {
    pub id: String,
    pub fate: String,
    pub first_line: String,
    pub candidates: Vec<Candidate>,
}

/// A cell that may be meant where the one that was named is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub struct Candidate {
    pub index: usize,
    pub id: String,
    pub first_line: String,
}

impl Error {
    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::TooOld { .. } => Some(
                "convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK".into(),
            ),
            Error::TooNew { .. } => {
                Some("update cellist, or save the notebook as nbformat 4 with the tool that wrote it".into())
            }
            Error::UnknownCellType { .. } | Error::NoCellType { .. } => {
                Some("valid types are \"code\", \"markdown\" and \"raw\"".into())
            }
            Error::NoSuchId { nearest: Some(nearest), .. } => Some(format!("the nearest id is `{nearest}`")),
            Error::NoSuchId { id, .. } if CellId::looks_like_handle(id) => Some(
                "the name of a cell without an id lasts while it can be told; list the cells again".into(),
            ),
            Error::NoSuchId { nearest: None, .. } => Some("a cell is named by its id or its index".into()),
            Error::CellGone(gone) => Some(candidates_in_words(&gone.first_line, &gone.candidates)),
            Error::NotOperations { .. } => Some("one operation alone is [{\"action\": …}]".into()),
            Error::AmbiguousId { .. } => Some("name the cell by its index".into()),
            Error::TextBeforeMarker { .. } => Some("begin with `# %% [code]`".into()),
            Error::BadMarker { nearest, .. } => Some(format!(
                "the nearest valid form is `{nearest}`; to keep the line as source, write one more `%`"
            )),
            Error::EmptyText { .. } => Some("to empty a notebook, delete its cells".into()),
            Error::BadSelector { .. } => {
                Some("valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID".into())
            }
            Error::OldNotFound { nearest: Some((line, text)) } => {
                Some(format!("the nearest line is line {line}: {text}"))
            }
            Error::OldNotFound { nearest: None } => {
                Some("read the notebook again: the text must be given exactly".into())
            }
            Error::OldNotUnique { .. } => Some("give more of the text around it".into()),
            Error::Conflicts(_) => {
                Some("read the notebook again and make the change on its current content".into())
            }
            _ => None,
        }
    }
}

/// `no cells`, `1 cell`, `5 cells`.
pub(crate) fn counted(count: usize) -> String {
    match count {
        0 => "no cells".into(),
        1 => "1 cell".into(),
        _ => format!("{count} cells"),
    }
}

fn counted_with_range(count: usize) -> String {
    match count {
        0 => "no cells".into(),
        1 => "only cell 0".into(),
        _ => format!("{count} cells, 0 to {}", count - 1),
    }
}

fn valid_positions(last: usize) -> String {
    match last {
        0 => "the only valid position is 0".into(),
        _ => format!("valid positions are 0 to {last}"),
    }
}

/// `3`, `3 and 5`, `3, 5 and 9`.
pub(crate) fn listed(numbers: &[usize]) -> String {
    let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
    alternatives(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// `edit`, `edit and insert`, `edit, insert and delete`.
pub(crate) fn alternatives(words: &[&str]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

fn candidates_in_words(first_line: &str, candidates: &[Candidate]) -> String {
    let alike: Vec<String> = candidates
        .iter()
        .map(|Candidate { index, id, first_line }| format!("{index} (`{id}`): {first_line}"))
        .collect();
    let was = if first_line.is_empty() { "it was empty".into() } else { format!("it began `{first_line}`") };
    match alike.is_empty() {
        true => format!("{was}; no cell is like it now"),
        false => format!("{was}; most alike now: {}", alike.join("; ")),
    }
}

fn conflicts_in_words(conflicts: &[Conflict]) -> String {
    let mut words = String::new();
    for conflict in conflicts {
        let Conflict { index, id, ours, theirs } = conflict;
        let id = id.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(&format!("cell {index}{id} was changed on both sides"));
        for (side, version) in [("this side", ours), ("the other side", theirs)] {
            match version {
                None => words.push_str(&format!("\n--- {side}: deleted")),
                Some((kind, source)) => words.push_str(&format!("\n--- {side} [{kind}]\n{source}")),
            }
        }
    }
    words
}
