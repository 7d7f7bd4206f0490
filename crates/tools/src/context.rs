//! The state of the active notebook, as an agent reads it.

mod text;

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use cellist_live::{Activity, CellState};
use cellist_notebook::{Cell, CellId, CellType, Notebook};
use cellist_output::Output;
use cellist_session::execution::Status;
use serde::Serialize;
use serde_json::{Value, json};

use crate::budget::shortened;
use crate::editor::EditorSelection;
use crate::redaction::Redaction;
use crate::sketch::CellSketch;

/// Notebooks with fewer cells are shown whole.
pub const WHOLE_BELOW: usize = 20;

/// Characters shown of one cell.
const LONGEST_CELL: usize = 16_000;

/// Characters of a cell's line in an outline.
const LONGEST_LINE: usize = 120;

/// The active notebook.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotebookContext {
    /// Always true: without a notebook there is no context.
    pub notebook_mode: bool,
    /// The file, as a URI.
    pub uri: String,
    /// The kernel, if one is chosen.
    pub kernel_id: Option<String>,
    /// The language of the code cells.
    pub kernel_language: String,
    /// The number of cells.
    pub cell_count: usize,
    /// The selected cells, in notebook order.
    pub selected_cells: Vec<CellContext>,
    /// All cells of a small notebook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_cells: Option<Vec<CellContext>>,
    /// One line for each cell of a larger notebook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outline: Option<Vec<OutlineCell>>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CellContext {
    /// The id, which is stable.
    pub id: String,
    /// The position, which may change.
    pub index: usize,
    /// The cell type.
    #[serde(rename = "type")]
    pub cell_type: &'static str,
    /// The source.
    pub content: String,
    /// Whether the cell has outputs.
    pub has_output: bool,
    /// Whether the cell is selected.
    pub selection_status: SelectionStatus,
    /// The last run, for a code cell.
    #[serde(flatten)]
    pub run: Option<LastCellRun>,
}

/// Whether a cell is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectionStatus {
    /// Not selected.
    Unselected,
    /// Selected.
    Selected,
    /// Selected and in edit mode.
    Active,
}

/// The last run of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastCellRun {
    /// The current activity.
    #[serde(rename = "executionStatus")]
    pub status: Activity,
    /// The execution count of the last run.
    #[serde(rename = "executionOrder")]
    pub order: Option<i64>,
    /// Whether the last run succeeded; `None` if it was interrupted.
    #[serde(rename = "lastRunSuccess")]
    pub success: Option<bool>,
    /// Whether the last run was interrupted.
    #[serde(rename = "lastRunInterrupted", skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The duration, in milliseconds.
    #[serde(rename = "lastExecutionDuration")]
    pub duration: Option<u64>,
    /// The end, in milliseconds of Unix time.
    #[serde(rename = "lastRunEndTime")]
    pub ended: Option<u64>,
}

/// A cell in an outline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutlineCell {
    /// The position.
    pub index: usize,
    /// The id.
    pub id: String,
    /// The cell type.
    #[serde(rename = "type")]
    pub cell_type: &'static str,
    /// The first line that is not blank.
    pub first_line: String,
    /// The current activity, for a code cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Activity>,
    /// Size, kinds of output and defined names.
    #[serde(flatten)]
    pub sketch: CellSketch,
}

/// Returns the context of an agent without a notebook.
pub fn off() -> Value {
    json!({ "notebookMode": false })
}

impl LastCellRun {
    /// Derives the last run from the saved outputs.
    pub fn in_file(cell: &Cell) -> LastCellRun {
        let order = cell.execution_count();
        let raised = order.and_then(|_| {
            cell.outputs().into_iter().find_map(|output| match output {
                Output::Error { name, .. } => Some(name),
                _ => None,
            })
        });
        let interrupted = raised.as_deref() == Some("KeyboardInterrupt");
        let success = order.filter(|_| !interrupted).map(|_| raised.is_none());
        LastCellRun { order, success, interrupted, ..LastCellRun::default() }
    }
}

impl From<&CellState> for LastCellRun {
    fn from(state: &CellState) -> LastCellRun {
        let last = state.last.as_ref();
        let interrupted = last.is_some_and(|last| last.status == Status::Cancelled);
        LastCellRun {
            status: state.activity,
            order: last.and_then(|last| last.order).and_then(|order| i64::try_from(order).ok()),
            success: last.filter(|_| !interrupted).map(|last| last.success),
            interrupted,
            duration: last.map(|last| last.duration_ms),
            ended: last.map(|last| last.ended_ms),
        }
    }
}

impl NotebookContext {
    /// Builds the context of a notebook. `run` returns the last run of a cell where the session has
    /// one. Fails if a selected cell does not exist.
    pub fn of(
        notebook: &Notebook,
        path: &Path,
        kernel: Option<&str>,
        selection: &EditorSelection,
        run: impl Fn(&CellId) -> Option<LastCellRun>,
    ) -> cellist_notebook::Result<NotebookContext> {
        let mut marks = vec![SelectionStatus::Unselected; notebook.cells().len()];
        for cell in selection.references() {
            marks[notebook.find(&cell)?] = SelectionStatus::Selected;
        }
        if let Some(editing) = selection.editing() {
            marks[notebook.find(&editing)?] = SelectionStatus::Active;
        }
        let known = |cell: &Cell| {
            let is_code = cell.cell_type() == CellType::Code;
            is_code.then(|| run(cell.id()).unwrap_or_else(|| LastCellRun::in_file(cell)))
        };
        let context = |index: usize| {
            let cell = &notebook.cells()[index];
            CellContext {
                id: cell.id().to_string(),
                index,
                cell_type: cell.cell_type().as_str(),
                content: match marks[index] {
                    SelectionStatus::Unselected => bounded(&cell.source()),
                    // Selected cells are shown whole.
                    SelectionStatus::Selected | SelectionStatus::Active => cell.source().into_owned(),
                },
                has_output: cell.has_outputs(),
                selection_status: marks[index],
                run: known(cell),
            }
        };
        let language = language(notebook);
        let outline = |(index, cell): (usize, &Cell)| OutlineCell {
            index,
            id: cell.id().to_string(),
            cell_type: cell.cell_type().as_str(),
            first_line: first_line(&cell.source()),
            status: known(cell).map(|run| run.status),
            sketch: CellSketch::of(cell, &language),
        };
        let count = marks.len();
        let is_whole = count < WHOLE_BELOW;
        Ok(NotebookContext {
            notebook_mode: true,
            uri: file_uri(path),
            kernel_id: kernel.map(str::to_owned),
            kernel_language: language.clone(),
            cell_count: count,
            selected_cells: (0..count)
                .filter(|index| marks[*index] != SelectionStatus::Unselected)
                .map(context)
                .collect(),
            all_cells: is_whole.then(|| (0..count).map(context).collect()),
            outline: (!is_whole).then(|| notebook.cells().iter().enumerate().map(outline).collect()),
        })
    }

    /// Replaces credentials. Redaction reads the whole sources of the notebook, because a
    /// credential that was cut in half is not recognised.
    #[must_use]
    pub fn redacted(mut self, notebook: &Notebook, redaction: &Redaction) -> NotebookContext {
        let source = |index: usize| notebook.cells().get(index).map(Cell::source);
        let hidden = |index: usize| match redaction.text(&source(index)?) {
            Cow::Owned(shown) => Some(shown),
            Cow::Borrowed(_) => None,
        };
        for cell in self.selected_cells.iter_mut().chain(self.all_cells.iter_mut().flatten()) {
            if let Some(shown) = hidden(cell.index) {
                let is_whole = cell.selection_status != SelectionStatus::Unselected;
                cell.content = if is_whole { shown } else { bounded(&shown) };
            }
        }
        for cell in self.outline.iter_mut().flatten() {
            if let Some(shown) = hidden(cell.index) {
                cell.first_line = first_line(&shown);
            }
        }
        self
    }

    /// Renders the context as text for a prompt.
    pub fn text(&self) -> String {
        text::text(self, usize::MAX)
    }

    /// Renders the context as text for a prompt. All but the selected cells gets about `budget`
    /// bytes.
    pub fn text_within(&self, budget: usize) -> String {
        text::text(self, budget)
    }

    /// Counts the characters of the selected cells.
    pub fn selected_size(&self) -> usize {
        self.selected_cells.iter().map(|cell| cell.content.chars().count()).sum()
    }
}

/// Returns the language in the notebook's metadata.
pub(crate) fn language(notebook: &Notebook) -> String {
    let metadata = notebook.metadata();
    let said = ["/language_info/name", "/kernelspec/language"]
        .into_iter()
        .find_map(|place| metadata.pointer(place).and_then(Value::as_str));
    said.unwrap_or("python").to_owned()
}

fn bounded(source: &str) -> String {
    match source.char_indices().nth(LONGEST_CELL) {
        Some((end, _)) => {
            let left = source[end..].chars().count();
            format!("{}… [{left} more characters]", &source[..end])
        }
        None => source.to_owned(),
    }
}

pub(crate) fn first_line(source: &str) -> String {
    let line = source.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shortened(line, LONGEST_LINE)
}

/// Converts a path to a percent-encoded file URI.
pub fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte))
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use cellist_notebook::Ids;

    use super::*;

    fn notebook(cells: usize) -> Notebook {
        let cell = |n: usize| match n {
            1 => json!({ "cell_type": "markdown", "id": "words", "metadata": {}, "source": "# Words" }),
            2 => {
                json!({ "cell_type": "code", "id": "bad", "metadata": {}, "source": "\n 1/0", "execution_count": 7,
                "outputs": [{ "output_type": "error", "ename": "E", "evalue": "v", "traceback": [] }] })
            }
            n => {
                json!({ "cell_type": "code", "id": format!("c{n}"), "metadata": {}, "source": format!("x = {n}"),
                "execution_count": null, "outputs": [] })
            }
        };
        let file = json!({ "cells": (0..cells).map(cell).collect::<Vec<_>>(), "nbformat": 4, "nbformat_minor": 5,
            "metadata": { "language_info": { "name": "R" } } });
        Notebook::parse(file.to_string().into_bytes(), Ids::seeded(1)).unwrap()
    }

    fn context(cells: usize, selected: &[&str], editing: Option<&str>) -> NotebookContext {
        let selection = EditorSelection {
            cells: selected.iter().map(|cell| (*cell).to_owned()).collect(),
            editing: editing.map(str::to_owned),
        };
        NotebookContext::of(&notebook(cells), Path::new("/a b/é.ipynb"), Some("k1"), &selection, |_| None)
            .unwrap()
    }

    #[test]
    fn credentials_are_redacted_before_texts_are_cut() {
        let line = format!("{}'ghp_{}'", "x".repeat(100), "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5");
        let cells = (0..WHOLE_BELOW)
            .map(|n| json!({ "cell_type": "raw", "id": format!("c{n}"), "metadata": {}, "source": line }));
        let file =
            json!({ "cells": cells.collect::<Vec<_>>(), "nbformat": 4, "nbformat_minor": 5, "metadata": {} });
        let notebook = Notebook::parse(file.to_string().into_bytes(), Ids::seeded(1)).unwrap();
        let selection = EditorSelection { cells: vec!["c1".to_owned()], editing: None };
        let told = NotebookContext::of(&notebook, Path::new("/a.ipynb"), None, &selection, |_| None).unwrap();
        assert!(told.text().contains("ghp_aB"));
        let told = told.redacted(&notebook, &Redaction::default());
        assert!(!told.text().contains("ghp_"), "{}", told.text());
        assert!(told.selected_cells[0].content.ends_with("'[redacted: GitHub token]'"));
    }

    #[test]
    fn a_small_notebook_is_shown_whole() {
        let told = serde_json::to_value(context(3, &["words"], Some("0"))).unwrap();
        let first = json!({ "id": "c0", "index": 0, "type": "code", "content": "x = 0", "hasOutput": false,
            "selectionStatus": "active", "executionStatus": "idle", "executionOrder": null, "lastRunSuccess": null,
            "lastExecutionDuration": null, "lastRunEndTime": null });
        let words = json!({ "id": "words", "index": 1, "type": "markdown", "content": "# Words", "hasOutput": false,
            "selectionStatus": "selected" });
        let bad = json!({ "id": "bad", "index": 2, "type": "code", "content": "\n 1/0", "hasOutput": true,
            "selectionStatus": "unselected", "executionStatus": "idle", "executionOrder": 7, "lastRunSuccess": false,
            "lastExecutionDuration": null, "lastRunEndTime": null });
        assert_eq!(
            told,
            json!({ "notebookMode": true, "uri": "file:///a%20b/%C3%A9.ipynb", "kernelId": "k1", "kernelLanguage": "R",
                "cellCount": 3, "selectedCells": [first, words], "allCells": [first, words, bad] })
        );
    }

    #[test]
    fn a_large_notebook_has_an_outline() {
        assert!(context(19, &[], None).outline.is_none());
        let told = serde_json::to_value(context(20, &["-1"], None)).unwrap();
        assert_eq!(told.get("allCells"), None);
        assert_eq!(told["selectedCells"][0]["id"], "c19");
        assert_eq!(told["outline"].as_array().unwrap().len(), 20);
        let bad = json!({ "index": 2, "id": "bad", "type": "code", "firstLine": "1/0", "status": "idle", "lines": 2, "outputs": ["error"] });
        assert_eq!(told["outline"][2], bad);
        let words =
            json!({ "index": 1, "id": "words", "type": "markdown", "firstLine": "# Words", "lines": 1 });
        assert_eq!(told["outline"][1], words);
    }

    #[test]
    fn the_session_takes_precedence_over_the_file() {
        let run = LastCellRun {
            status: Activity::Running,
            order: Some(9),
            interrupted: false,
            success: Some(true),
            duration: Some(12),
            ended: Some(1_700_000_000_000),
        };
        let known = |id: &CellId| (id.as_str() == "bad").then_some(run);
        let path = Path::new("/n.ipynb");
        let told = NotebookContext::of(&notebook(3), path, None, &EditorSelection::default(), known).unwrap();
        assert_eq!(told.all_cells.unwrap()[2].run, Some(run));
        assert_eq!(told.kernel_id, None);
        assert_eq!(told.selected_cells, []);
    }

    #[test]
    fn a_missing_selected_cell_is_an_error() {
        let selection = EditorSelection { cells: vec!["nowhere".to_owned()], editing: None };
        let told = NotebookContext::of(&notebook(3), Path::new("/n.ipynb"), None, &selection, |_| None);
        assert!(told.unwrap_err().to_string().contains("nowhere"));
    }

    #[test]
    fn a_huge_cell_is_cut_with_a_note() {
        let told = bounded(&"é".repeat(LONGEST_CELL + 3));
        assert!(told.ends_with("é… [3 more characters]"), "{}", &told[told.len() - 40..]);
    }
}
