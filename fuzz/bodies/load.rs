//! Any bytes: parsing fails, or makes a notebook that is written back unchanged.

use cellist_notebook::{CellType, Ids, Notebook};

/// Parses `data`. A notebook is saved, edited and parsed again.
pub(crate) fn load(data: &[u8]) {
    let Ok(notebook) = Notebook::parse(data.to_vec(), Ids::seeded(1)) else {
        return;
    };
    assert_eq!(notebook.to_bytes(), data);

    let mut same = notebook.clone();
    same.apply_text(&notebook.to_text(), None).expect("text that was read can be written");
    assert_eq!(same.to_bytes(), data);

    let mut edited = notebook.clone();
    edited.insert(notebook.cells().len() / 2, CellType::Code, "new = 'é'\n");
    if !notebook.cells().is_empty() {
        edited.set_source(0, "changed\n\nline");
        edited.set_type(0, CellType::Markdown);
    }
    let reread =
        Notebook::parse(edited.to_bytes(), Ids::seeded(1)).expect("the written bytes are a notebook");
    assert_eq!(reread.to_text(), edited.to_text());
}
