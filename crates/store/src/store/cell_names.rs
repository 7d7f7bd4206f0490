//! Keeps the handles of cells without a stored id across openings of a notebook.

use std::fs;

use cellist_notebook::{Notebook, Snapshot};
use cellist_settings::Home;

use super::location::FileLocation;
use super::read_snapshots::write;

const FOLDER: &str = "names";

/// Gives cells the handles of the last save or report. If another program has written the file
/// since, cells are matched by content.
pub(super) fn restore(home: &Home, location: &FileLocation, notebook: &mut Notebook) {
    if !notebook.has_handles() {
        return;
    }
    let Some(known) = read(home, location) else { return };
    notebook.identify(&known);
    let is_newer = known.revision != notebook.revision().to_string();
    // Unless another process has saved newer handles since.
    if is_newer && read(home, location).is_some_and(|now| now.revision == known.revision) {
        keep(home, location, &notebook.snapshot());
    }
}

/// Keeps the handles of a notebook that was just saved. Best effort: without them, cells get new
/// handles at the next opening.
pub(super) fn keep_saved(home: &Home, location: &FileLocation, notebook: &Notebook) {
    if notebook.has_handles() {
        keep(home, location, &notebook.snapshot());
    }
}

/// Keeps the handles that were reported to a caller, if none are kept yet.
pub(super) fn keep_reported(home: &Home, location: &FileLocation, snapshot: &Snapshot) {
    let has_handles = snapshot.cells.iter().any(|cell| cell.handle.is_some());
    if has_handles && read(home, location).is_none() {
        keep(home, location, snapshot);
    }
}

/// A copy of `notebook` with the handles of `before`.
pub(super) fn with_names_of(notebook: &Notebook, before: &Notebook) -> Notebook {
    let mut notebook = notebook.clone();
    notebook.identify(&before.snapshot());
    notebook
}

fn read(home: &Home, location: &FileLocation) -> Option<Snapshot> {
    let file = home.path().join(FOLDER).join(format!("{}.json", location.key()));
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn keep(home: &Home, location: &FileLocation, snapshot: &Snapshot) {
    let Ok(bytes) = serde_json::to_vec(snapshot) else { return };
    if let Ok(folder) = home.folder(FOLDER) {
        let _ = write(location, &folder.join(format!("{}.json", location.key())), &bytes);
    }
}
