//! A notebook as text that git compares by line. Cells are named by id, not by number, so that one that is
//! added or deleted does not change all behind it.

use cellist_notebook::Notebook;

use super::summary::added_values;

pub(super) fn text(notebook: &Notebook) -> String {
    let mut text = String::new();
    for cell in notebook.cells() {
        let id = cell.stored_id().map_or_else(String::new, |id| format!(" {id}"));
        text.push_str(&format!("# %% [{}]{id}\n{}\n", cell.cell_type(), cell.source()));
        for line in added_values(cell) {
            text.push_str(&format!("#   {line}\n"));
        }
    }
    text
}
