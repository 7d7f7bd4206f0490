//! A notebook as cell-marked text, and that text as a notebook again.
//!
//! Each cell is a marker line, its source, and one newline. Source lines that look like markers get one more
//! percent sign, so that the text can always be read back.

use std::fmt::Write as _;
use std::ops::Range;

use crate::cell::CellType;
use crate::draft::{Applied, Draft, Slot, Snapshot};
use crate::error::{Error, Result};
use crate::id::distance;
use crate::notebook::Notebook;

impl Notebook {
    /// The notebook as cell-marked text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (index, cell) in self.cells().iter().enumerate() {
            write_cell(&mut text, index, cell.cell_type(), &cell.source());
        }
        text
    }

    /// One cell as cell-marked text.
    pub fn cell_text(&self, index: usize) -> String {
        let cell = &self.cells()[index];
        let mut text = String::new();
        write_cell(&mut text, index, cell.cell_type(), &cell.source());
        text
    }

    /// Makes the notebook as the text says. Made from the text of an older revision, it is merged with the changes that
    /// happened since.
    pub fn apply_text(&mut self, text: &str, base: Option<&Snapshot>) -> Result<(Applied, Vec<String>)> {
        self.apply_parsed(&parse_text(text)?, base)
    }

    /// As [`Notebook::apply_text`], with the text taken apart already.
    pub fn apply_parsed(
        &mut self,
        parsed: &ParsedText,
        base: Option<&Snapshot>,
    ) -> Result<(Applied, Vec<String>)> {
        let count = base.map_or(self.cells().len(), |base| base.cells.len());
        if parsed.cells.is_empty() && count > 0 {
            return Err(Error::EmptyText { count });
        }
        let source = |at: usize| match base {
            Some(base) => base.cells[at].source.clone(),
            None => self.cells()[at].source().into_owned(),
        };
        let (draft, mut notices) = parsed.draft(count, source);
        let applied = self.apply(draft, base)?;
        let rewritten: Vec<usize> = (applied.changed.iter().chain(&applied.added))
            .filter_map(|&index| applied.slots[index])
            .collect();
        for MarkerLike { line, slot, found, indented } in &parsed.marker_like {
            if rewritten.contains(slot) {
                let why =
                    if *indented { ", since blanks stand before it" } else { "; a marker is `# %% [code]`" };
                notices.push((*line, format!("line {line}: `{found}` is kept as source{why}")));
            }
        }
        notices.sort_by_key(|(line, _)| *line);
        Ok((applied, notices.into_iter().map(|(_, notice)| notice).collect()))
    }
}

impl Snapshot {
    /// The snapshot as cell-marked text.
    pub fn to_text(&self) -> String {
        const MARKER: usize = "# %% [markdown] cell:1000\n\n".len();
        let size = self.cells.iter().map(|cell| cell.source.len() + MARKER).sum();
        let mut text = String::with_capacity(size);
        for (index, cell) in self.cells.iter().enumerate() {
            write_cell(&mut text, index, cell.kind, &cell.source);
        }
        text
    }
}

fn write_cell(text: &mut String, index: usize, kind: CellType, source: &str) {
    writeln!(text, "# %% [{kind}] cell:{index}").expect("a string takes all that is written to it");
    for line in source.split_inclusive('\n') {
        if looks_like_marker(line, 2) {
            text.push_str("# %");
            text.push_str(&line["# ".len()..]);
        } else {
            text.push_str(line);
        }
    }
    text.push('\n');
}

/// Whether a line has the shape `# %% [`, with at least so many percent signs.
fn looks_like_marker(line: &str, percents: usize) -> bool {
    line.strip_prefix("# ").is_some_and(|rest| {
        let after = rest.trim_start_matches('%');
        rest.len() - after.len() >= percents && after.starts_with(" [")
    })
}

/// Cell-marked text, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedText {
    cells: Vec<ParsedCell>,
    /// The numbers and sources of all cells, one behind the other.
    words: String,
    /// Whether the lines end in CR LF.
    crlf: bool,
    marker_like: Vec<MarkerLike>,
}

/// A line of source that resembles a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MarkerLike {
    line: usize,
    /// The position of its cell.
    slot: usize,
    found: String,
    /// Whether blanks before it are all that keeps it from being one.
    indented: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ParsedCell {
    line: usize,
    kind: CellType,
    /// The number behind `cell:`, as it is written.
    number: Option<Range<usize>>,
    source: Range<usize>,
}

/// The byte order mark that some editors put before the first letter of a file.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Takes cell-marked text apart. A byte order mark before it is no part of it.
pub fn parse_text(text: &str) -> Result<ParsedText> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let words = String::with_capacity(text.len());
    let mut parsed = ParsedText { cells: Vec::new(), words, crlf: false, marker_like: Vec::new() };
    if text.is_empty() {
        return Ok(parsed);
    }
    let is_marker_line = |line: &&str| line.starts_with("# %% [");
    parsed.crlf = text.split_inclusive('\n').filter(is_marker_line).all(|line| line.ends_with("\r\n"));
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        if is_marker_line(&line) {
            let (kind, cell) = parse_marker(line.trim_end()).ok_or_else(|| Error::BadMarker {
                line: number,
                found: shortened(line),
                nearest: nearest_marker(line.trim_end()),
            })?;
            end_cell(&mut parsed);
            let begin = parsed.words.len();
            parsed.words.push_str(cell.unwrap_or_default());
            let end = parsed.words.len();
            let named = cell.map(|_| begin..end);
            parsed.cells.push(ParsedCell { line: number, kind, number: named, source: end..end });
            continue;
        }
        let slot = parsed.cells.len().wrapping_sub(1);
        if parsed.cells.is_empty() {
            let found =
                if line.trim().is_empty() { "a blank line".into() } else { format!("`{}`", shortened(line)) };
            return Err(Error::TextBeforeMarker { found });
        }
        if looks_like_marker(line, 3) {
            parsed.words.push_str("# ");
            push_line(&mut parsed.words, &line["# %".len()..], parsed.crlf);
            continue;
        }
        let inner = line.trim_start();
        if inner.starts_with("#%%") || inner.starts_with("# %%") {
            let indented = inner != line && parse_marker(inner.trim_end()).is_some();
            let found = shortened(inner);
            parsed.marker_like.push(MarkerLike { line: number, slot, found, indented });
        }
        push_line(&mut parsed.words, line, parsed.crlf);
    }
    end_cell(&mut parsed);
    Ok(parsed)
}

fn push_line(source: &mut String, line: &str, crlf: bool) {
    match line.strip_suffix("\r\n") {
        Some(bare) if crlf => {
            source.push_str(bare);
            source.push('\n');
        }
        Some(_) | None => source.push_str(line),
    }
}

/// Drops the one newline that stands between a cell's source and the next marker, or the end.
fn end_cell(parsed: &mut ParsedText) {
    if let Some(cell) = parsed.cells.last_mut() {
        if parsed.words[cell.source.start..].ends_with('\n') {
            parsed.words.pop();
        }
        cell.source.end = parsed.words.len();
    }
}

impl ParsedText {
    /// The draft that the text asks for on a base of `count` cells, and the notices about its markers, by line.
    fn draft(&self, count: usize, base_source: impl Fn(usize) -> String) -> (Draft, Vec<(usize, String)>) {
        let (mut unknown, mut repeated) = (Vec::new(), Vec::new());
        let mut used = vec![false; count];
        let mut draft = Draft::default();
        draft.slots.reserve(self.cells.len());
        for cell in &self.cells {
            let words = |range: &Range<usize>| &self.words[range.clone()];
            let text = words(&cell.source);
            let from = cell.number.as_ref().map(words).and_then(|number| {
                let Some(from) = number.parse().ok().filter(|&from| from < count) else {
                    unknown.push((cell.line, number));
                    return None;
                };
                if std::mem::replace(&mut used[from], true) {
                    repeated.push((cell.line, number));
                    return None;
                }
                Some(from)
            });
            draft.slots.push(match from {
                None => Slot::New { kind: cell.kind, source: text.to_owned() },
                Some(from) => {
                    // An editor that wrote CR LF throughout has not thereby changed a cell.
                    let same = self.crlf && base_source(from).replace("\r\n", "\n") == text;
                    let source = (!same).then(|| text.to_owned());
                    Slot::Kept { from, kind: Some(cell.kind), source }
                }
            });
        }
        let mut notices = Vec::new();
        tell(&mut notices, &unknown, "there is no", "are not there");
        tell(&mut notices, &repeated, "an earlier marker has", "were named before");
        (draft, notices)
    }
}

/// Tells of markers that make new cells though they name one: each by its line, many in one sentence.
fn tell(notices: &mut Vec<(usize, String)>, markers: &[(usize, &str)], one: &str, many: &str) {
    const EACH: usize = 5;
    if markers.len() <= EACH {
        let each = |(line, number): &(usize, &str)| {
            (*line, format!("line {line}: {one} cell:{number}, so this is a new cell"))
        };
        notices.extend(markers.iter().map(each));
    } else if let ([(line, first), ..], [.., (_, last)]) = (markers, markers) {
        let count = markers.len();
        let notice = format!(
            "line {line} and on: {count} markers, from cell:{first} to cell:{last}, name cells that {many}, so these are new cells"
        );
        notices.push((*line, notice));
    }
}

/// Whether a line of cell-marked text begins a cell.
pub(crate) fn is_marker(line: &str) -> bool {
    parse_marker(line).is_some()
}

/// `# %% [code] cell:3`, with the number optional.
fn parse_marker(line: &str) -> Option<(CellType, Option<&str>)> {
    let (kind, rest) = line.strip_prefix("# %% [")?.split_once(']')?;
    let kind = kind.parse().ok()?;
    if rest.is_empty() {
        return Some((kind, None));
    }
    let digits = rest.strip_prefix(" cell:")?;
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then_some((kind, Some(digits)))
}

/// The marker that the author of `line` most likely meant.
fn nearest_marker(line: &str) -> String {
    let rest = line.trim_start_matches("# %% [");
    let word: String = rest.chars().take_while(|letter| letter.is_alphanumeric()).collect();
    let word = word.to_lowercase();
    let kind = match word.as_str() {
        "md" | "mkd" | "text" | "markup" => CellType::Markdown,
        "py" | "python" | "" => CellType::Code,
        _ => CellType::ALL
            .into_iter()
            .min_by_key(|kind| distance(kind.as_str(), &word, 64))
            .unwrap_or(CellType::Code),
    };
    let number: String = (rest.split_once("cell").map_or("", |(_, after)| after).chars())
        .skip_while(|letter| matches!(letter, ':' | ' ' | '=' | '#'))
        .take_while(char::is_ascii_digit)
        .collect();
    if number.is_empty() { format!("# %% [{kind}]") } else { format!("# %% [{kind}] cell:{number}") }
}

fn shortened(line: &str) -> String {
    let line = line.trim_end();
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
