//! Lists cells for an agent: a line with type and state, and the text below.

use std::collections::BTreeMap;
use std::fmt::Write;

use cellist_live::{Activity, CellState};
use cellist_notebook::{Cell, CellId, CellType, Notebook};
use cellist_session::sessions::SessionState;

use super::Toolbox;
use super::opened_notebook::OpenedNotebook;
use crate::budget;
use crate::context::{first_line, language};
use crate::sketch::CellSketch;

const NOT_RUN: &str = "not run";
const HAS_OUTPUT: &str = "has output";
/// An outline states the length of cells with more lines.
const SHORT: usize = 5;

/// Renders cells of a notebook.
pub(crate) struct Listing<'a> {
    pub(crate) notebook: &'a Notebook,
    /// The states of the code cells.
    pub(crate) states: &'a BTreeMap<CellId, CellState>,
    /// The display name, for hints.
    pub(crate) name: &'a str,
    /// The limit in bytes.
    pub(crate) budget: usize,
}

impl Listing<'_> {
    /// Lists cells with their text while there is room, then as an outline.
    pub(crate) fn whole(&self, indexes: &[usize]) -> String {
        let mut shown = String::new();
        let mut done = 0;
        for index in indexes {
            let cell = &self.notebook.cells()[*index];
            let mut text = format!("{}\n{}\n\n", self.heading(*index), cell.source().trim_end_matches('\n'));
            if shown.len() + text.len() > self.budget {
                if done > 0 {
                    break;
                }
                let (first, last) = self.lines(*index);
                let how = format!("read {}:{first}-{last} for all of it", self.name);
                text = format!(
                    "{}\n[{how}]\n\n",
                    budget::cut(text.trim_end(), self.budget - how.len().min(self.budget))
                );
            }
            shown.push_str(&text);
            done += 1;
        }
        if done < indexes.len() {
            let rest = self.outline(&indexes[done..], self.budget.saturating_sub(shown.len()));
            let _ = write!(shown, "The rest as an outline; pass `cells` for their text:\n{rest}");
        }
        shown.truncate(shown.trim_end().len());
        shown
    }

    /// Lists cells, one line each, while there is room. A line has:
    /// - the index and the id
    /// - the type, unless it is code
    /// - the number of lines, unless it is small
    /// - the state and the kinds of output
    /// - the first line, and the names defined further down
    ///
    /// A code cell without a number was not run.
    pub(crate) fn outline(&self, indexes: &[usize], room: usize) -> String {
        let language = language(self.notebook);
        let mut shown = String::new();
        for (done, index) in indexes.iter().enumerate() {
            let cell = &self.notebook.cells()[*index];
            let sketch = CellSketch::of(cell, &language);
            let mut line = format!("{index} {}", cell.id());
            let bare = line.len();
            if cell.cell_type() != CellType::Code {
                let _ = write!(line, " {}", cell.cell_type());
            }
            if sketch.lines > SHORT {
                let _ = write!(line, " {} lines", sketch.lines);
            }
            for part in self.standing(cell).into_iter().filter(|part| part != NOT_RUN) {
                let part = if part == HAS_OUTPUT { sketch.outputs.join("+") } else { part };
                let _ = write!(line, " · {part}");
            }
            let first = first_line(&cell.source());
            let divider = if line.len() > bare { " |" } else { "" };
            let _ = write!(line, "{divider} {first}{}", sketch.further_names(&first));
            line.push('\n');
            if shown.len() + line.len() > room.max(budget::USUAL / 4) {
                let last = indexes.last().unwrap_or(index);
                let left = indexes.len() - done;
                let _ = writeln!(shown, "… {left} more; pass `cells` \"{index}-{last}\"");
                break;
            }
            shown.push_str(&line);
        }
        shown
    }

    /// Describes a cell: index, id, type and state.
    pub(crate) fn heading(&self, index: usize) -> String {
        let cell = &self.notebook.cells()[index];
        let mut heading = format!("[{index}] id={} {}", cell.id(), cell.cell_type());
        for part in self.standing(cell) {
            heading.push_str(" · ");
            heading.push_str(&part);
        }
        heading
    }

    fn standing(&self, cell: &Cell) -> Vec<String> {
        match cell.cell_type() {
            CellType::Code => standing(cell, self.states.get(cell.id())),
            CellType::Markdown | CellType::Raw => Vec::new(),
        }
    }

    /// Returns the lines of a cell in the notebook's text.
    fn lines(&self, index: usize) -> (usize, usize) {
        let count = |index: usize| self.notebook.cell_text(index).matches('\n').count();
        let before: usize = (0..index).map(count).sum();
        (before + 1, before + count(index))
    }
}

impl Toolbox {
    /// Describes a notebook in a line.
    pub(crate) fn heading(&self, open: &OpenedNotebook, notebook: &Notebook) -> String {
        let cells = match notebook.cells().len() {
            0 => "no cells".to_owned(),
            1 => "1 cell".to_owned(),
            count => format!("{count} cells"),
        };
        let sessions = self.sessions.list();
        let session = sessions.iter().find(|session| session.notebook.as_deref() == Some(open.path()));
        let kernel = match session.map(|session| session.state) {
            None => "not started",
            Some(SessionState::Starting) => "starting",
            Some(SessionState::Idle) => "idle",
            Some(SessionState::Busy) => "busy",
            Some(SessionState::Silent) => "not answering",
            Some(SessionState::Dead) => "dead",
        };
        format!("{} · {cells} · {} · kernel {kernel}", open.name(), language(notebook))
    }
}

/// Describes the state of a code cell.
fn standing(cell: &Cell, state: Option<&CellState>) -> Vec<String> {
    let mut parts = Vec::new();
    let last = state.and_then(|state| state.last.as_ref());
    match state.map(|state| state.activity).unwrap_or_default() {
        // The result of the last run is out of date now.
        Activity::Running => return vec!["running".to_owned()],
        Activity::Pending => return vec!["pending".to_owned()],
        Activity::Idle => {}
    }
    match cell.execution_count() {
        Some(count) => parts.push(format!("In[{count}]")),
        None if last.is_none() => parts.push(NOT_RUN.to_owned()),
        None => {}
    }
    if let Some(last) = last {
        let how = last.status.word();
        parts.push(format!("{how} {}", seconds(last.duration_ms)));
    }
    if cell.has_outputs() {
        parts.push(HAS_OUTPUT.to_owned());
    }
    let stale: Vec<String> = state.iter().flat_map(|state| &state.stale).map(|why| why.words()).collect();
    if !stale.is_empty() {
        parts.push(format!("stale: {}", stale.join(", ")));
    }
    parts
}

/// Formats a duration.
pub(crate) fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..100_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => format!("{} s", milliseconds / 1_000),
    }
}
