//! `search_notebook`: finds lines in sources, and on request in outputs.

use std::fmt::Write;
use std::ops::Range;

use cellist_notebook::{Cell, Notebook};
use cellist_output::{Ansi, clean, ranges};
use cellist_platform::aside::aside;
use regex::Regex;

use super::{CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input};
use crate::redaction::Redaction;

/// Characters of a line, with the match among them.
const LONGEST_LINE: usize = 200;
/// Characters before the match in a line that is cut.
const BEFORE: usize = 60;

/// A matching line.
#[derive(Debug, PartialEq, Eq)]
struct SearchHit {
    cell: usize,
    is_output: bool,
    /// Counted from 1 in the source or in the output.
    number: usize,
    /// Empty if the reply has no room for it.
    line: String,
}

input! {
    /// Finds lines in cells, with cell and line number.
    struct SearchNotebookInput {
        notebook | path: Option<String>,
        query: String,
        regex: bool,
        outputs: bool = "Outputs too",
    }
}

impl Tool for SearchNotebookInput {
    const FACTS: ToolFacts = ToolFacts::of_notebooks(CallAccess::Look, "finds lines in cells and outputs");

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let SearchNotebookInput { query, regex: is_regex, outputs, .. } = self;
        let pattern = pattern(&query, is_regex).map_err(|problem| open.refuse(problem, None))?;
        let notebook = open.document.view().notebook.clone();
        // Searches the redacted text, so that an agent cannot guess a credential letter by letter.
        let redaction = call.agent.within().is_none().then(|| call.caller().redaction.clone());
        let searched = notebook.clone();
        let room = call.usual_bytes();
        let search = move || hits(&searched, &pattern, outputs, redaction.as_ref(), room);
        let found = aside(search).await.map_err(|_| open.refuse("could not be searched", None))?;
        let mut cells: Vec<usize> = found.iter().map(|hit| hit.cell).collect();
        cells.dedup();
        toolbox.announce_read(&call, &open, &notebook, &cells);
        let text = in_words(&found, &notebook, room);
        if text.is_empty() {
            let how = if is_regex { "matches" } else { "contains" };
            let more = if outputs { "" } else { "; `outputs` searches outputs too" };
            let count = notebook.cells().len();
            return Ok(ToolAnswer::text(format!(
                "{}: no line in {count} cells {how} {query:?} (case-sensitive{more})",
                open.name()
            )));
        }
        Ok(ToolAnswer::text(format!("{}: {text}", open.name())))
    }
}

fn pattern(query: &str, is_regex: bool) -> Result<Regex, String> {
    if query.is_empty() {
        return Err("`query` is empty: give a text".to_owned());
    }
    match is_regex {
        true => Regex::new(query).map_err(|error| format!("`query` is not a regular expression: {error}")),
        false if query.contains('\n') => {
            Err("`query` has several lines, but each line is searched on its own: give a part of one"
                .to_owned())
        }
        false => Regex::new(&regex::escape(query)).map_err(|error| format!("`query` is too long: {error}")),
    }
}

fn hits(
    notebook: &Notebook,
    pattern: &Regex,
    outputs: bool,
    redaction: Option<&Redaction>,
    mut room: usize,
) -> Vec<SearchHit> {
    let mut found = Vec::new();
    for (cell, it) in notebook.cells().iter().enumerate() {
        let mut search = |text: &str, is_output: bool| {
            let shown = redaction.map_or(text.into(), |redaction| redaction.text(text));
            for (at, line) in shown.lines().enumerate() {
                if let Some(place) = pattern.find(line) {
                    let line = if room > 0 { excerpt(line, place.range()) } else { String::new() };
                    room = room.saturating_sub(line.len());
                    found.push(SearchHit { cell, is_output, number: at + 1, line });
                }
            }
        };
        search(&it.source(), false);
        if outputs {
            search(&output_text(it), true);
        }
    }
    found
}

/// Joins the texts of a cell's outputs.
fn output_text(cell: &Cell) -> String {
    let mut text = String::new();
    for output in cell.outputs() {
        text.push_str(&clean(output.text().as_bytes(), Ansi::Remove));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// Cuts a long line around the match.
fn excerpt(line: &str, place: Range<usize>) -> String {
    if line.chars().count() <= LONGEST_LINE {
        return line.to_owned();
    }
    let before = line[..place.start].chars().count().saturating_sub(BEFORE);
    let shown: String = line.chars().skip(before).take(LONGEST_LINE).collect();
    let is_end = before + LONGEST_LINE >= line.chars().count();
    format!("{}{shown}{}", if before > 0 { "…" } else { "" }, if is_end { "" } else { "…" })
}

/// Lists lines by cell, within `room` bytes. Empty if there are none.
fn in_words(found: &[SearchHit], notebook: &Notebook, room: usize) -> String {
    let Some(first) = found.first() else { return String::new() };
    let mut cells: Vec<usize> = found.iter().map(|hit| hit.cell).collect();
    cells.dedup();
    let lines = if found.len() == 1 { "line" } else { "lines" };
    let mut text = format!("{} {lines} in {} of {} cells", found.len(), cells.len(), notebook.cells().len());
    let mut place = (usize::MAX, first.is_output);
    for (done, hit) in found.iter().enumerate() {
        let mut shown = String::new();
        if place != (hit.cell, hit.is_output) {
            let cell = &notebook.cells()[hit.cell];
            let part = if hit.is_output { " output" } else { "" };
            let _ = write!(shown, "\n[{}] id={} {}{part}", hit.cell, cell.id(), cell.cell_type());
        }
        let _ = write!(shown, "\n{}: {}", hit.number, hit.line);
        if text.len() + shown.len() > room {
            let mut left: Vec<usize> = found[done..].iter().map(|hit| hit.cell).collect();
            left.dedup();
            let _ = write!(text, "\n… {} more in cells {}", found.len() - done, ranges(&left, 200));
            break;
        }
        text.push_str(&shown);
        place = (hit.cell, hit.is_output);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        assert_eq!(excerpt("short", 0..5), "short");
        let line = format!("{}needle{}", "é".repeat(500), "x".repeat(500));
        let shown = excerpt(&line, 1000..1006);
        assert!(shown.starts_with(&format!("…{}needle", "é".repeat(BEFORE))) && shown.ends_with("x…"));
        assert_eq!(shown.chars().count(), LONGEST_LINE + 2);
        assert!(excerpt(&line, line.len() - 1..line.len()).ends_with('x'));
    }

    #[test]
    fn invalid_patterns_are_refused() {
        assert!(pattern("", false).is_err() && pattern("a\nb", false).is_err());
        assert!(pattern("(", true).unwrap_err().starts_with("`query` is not a regular expression"));
        assert!(pattern("(", false).unwrap().is_match("f(x)"));
    }
}
