//! The outputs of a cell as text, truncated, below the cell.

use cellist_notebook::{Cell, Notebook};
use cellist_output::{Ansi, Limits, Output, Shown, Sink};

/// The limit for the outputs of one cell.
const LIMITS: Limits = Limits::new(8 * 1024, 100);

/// A cell as cell-marked text, followed by its outputs. The line between them is an invalid marker, so that
/// `write` rejects this text instead of taking outputs for source.
pub(super) fn cell_text(notebook: &Notebook, index: usize) -> String {
    let mut text = notebook.cell_text(index);
    let cell = &notebook.cells()[index];
    if cell.has_outputs() {
        text.push_str(&format!("{MARKER} cell:{index}\n"));
        text.push_str(&shown(cell).text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

pub(crate) const MARKER: &str = "# %% [output]";

pub(super) fn shown(cell: &Cell) -> Shown {
    let mut sink = Sink::new(LIMITS, Ansi::Remove);
    for output in cell.outputs() {
        match &output {
            Output::Stream { text, .. } => sink.push(text.as_bytes()),
            Output::Display { .. } | Output::Result { .. } | Output::Error { .. } => {
                sink.block(&output.text(), None);
            }
        }
    }
    sink.finish(None)
}
