//! Names of cells without an id of their own, kept from one opening of the notebook to the next.

use std::fs;

use cellist_notebook::{Notebook, Snapshot};
use cellist_settings::Home;

use super::place::Place;
use super::reads::write;

const FOLDER: &str = "names";

/// Gives cells the names that they had when this notebook was last saved or told of here. Where another program has
/// written the file since, they are known by their content.
pub(super) fn restore(home: &Home, place: &Place, notebook: &mut Notebook) {
    if !notebook.has_handles() {
        return;
    }
    let Some(known) = read(home, place) else { return };
    notebook.identify(&known);
    let is_newer = known.revision != notebook.revision().to_string();
    // Unless another process has saved newer names meanwhile.
    if is_newer && read(home, place).is_some_and(|now| now.revision == known.revision) {
        keep(home, place, &notebook.snapshot());
    }
}

/// Keeps the names in a notebook that was just saved. A state folder that cannot be written to is no error: cells
/// then get other names when the file is opened next.
pub(super) fn saved(home: &Home, place: &Place, notebook: &Notebook) {
    if notebook.has_handles() {
        keep(home, place, &notebook.snapshot());
    }
}

/// Keeps the names that a caller was told, where none are kept yet.
pub(super) fn told(home: &Home, place: &Place, snapshot: &Snapshot) {
    let has_handles = snapshot.cells.iter().any(|cell| cell.handle.is_some());
    if has_handles && read(home, place).is_none() {
        keep(home, place, snapshot);
    }
}

/// A notebook with the names that its cells have in another version of it.
pub(super) fn named_as(notebook: &Notebook, before: &Notebook) -> Notebook {
    let mut notebook = notebook.clone();
    notebook.identify(&before.snapshot());
    notebook
}

fn read(home: &Home, place: &Place) -> Option<Snapshot> {
    let file = home.path().join(FOLDER).join(format!("{}.json", place.key()));
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn keep(home: &Home, place: &Place, snapshot: &Snapshot) {
    let Ok(bytes) = serde_json::to_vec(snapshot) else { return };
    if let Ok(folder) = home.folder(FOLDER) {
        let _ = write(place, &folder.join(format!("{}.json", place.key())), &bytes);
    }
}
