//! Any text: it is refused, or makes a notebook that reads back as that text in canonical form.

use cellist_notebook::{Ids, Notebook};

/// Writes `text` into an empty notebook and reads it back.
pub(crate) fn text(text: &str) {
    let mut notebook = Notebook::empty(Ids::seeded(1));
    if notebook.apply_text(text, None).is_err() {
        return;
    }
    let canonical = notebook.to_text();
    let mut again = Notebook::empty(Ids::seeded(1));
    again.apply_text(&canonical, None).expect("text that was read can be written");
    assert_eq!(again.to_text(), canonical);
    let reread =
        Notebook::parse(notebook.to_bytes(), Ids::seeded(1)).expect("the written bytes are a notebook");
    assert_eq!(reread.to_text(), canonical);
}
