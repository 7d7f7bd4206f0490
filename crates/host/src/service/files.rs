//! The file list of the page: notebooks and folders of a folder, and new notebooks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cellist_notebook::{Ids, Notebook};
use cellist_platform::FailureKind;
use cellist_store::{Error, Problem, Store};

use crate::error::Failure;
use crate::protocol::follow::FolderListing;

/// Lists the notebooks and folders of a folder, without hidden ones.
pub(super) fn list(folder: &Path) -> Result<FolderListing, Failure> {
    let failed = |error: io::Error| {
        Failure::bad_input(FailureKind::NoFolder, format!("{}: {error}", folder.display()))
    };
    let (mut folders, mut notebooks) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(failed)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        // Links are followed.
        let Ok(target) = fs::metadata(entry.path()) else { continue };
        if target.is_dir() {
            folders.push(name);
        } else if name.ends_with(".ipynb") {
            notebooks.push(name);
        }
    }
    folders.sort();
    notebooks.sort();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Ok(FolderListing { path: text(folder), parent: folder.parent().map(text), folders, notebooks })
}

/// The failure to open a notebook, with the kinds that the page handles.
pub(super) fn cannot_open(error: Error) -> Failure {
    let kind = match error.problem() {
        Problem::NotANotebook(problem) => match problem {
            cellist_notebook::Error::InvalidJson { .. } | cellist_notebook::Error::NotUtf8 { .. } => {
                Some(FailureKind::InvalidJson)
            }
            cellist_notebook::Error::TooNew { .. } => Some(FailureKind::TooNew),
            cellist_notebook::Error::TooOld { .. } => Some(FailureKind::TooOld),
            _ => None,
        },
        Problem::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some(FailureKind::NotPermitted)
        }
        Problem::IsFolder => Some(FailureKind::IsFolder),
        _ => None,
    };
    let mut failure = Failure::from(error);
    if let Some(kind) = kind {
        failure.kind = kind;
    }
    failure
}

/// Creates a notebook with one empty cell, under a free name.
pub(super) fn create(store: &Store, folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
        return Err(Failure::bad_input(
            FailureKind::BadName,
            format!("`{name}` is not a valid name for a notebook"),
        ));
    }
    let stem = name.strip_suffix(".ipynb").unwrap_or(name);
    let numbered = |number: usize| match number {
        1 => folder.join(format!("{stem}.ipynb")),
        number => folder.join(format!("{stem}-{number}.ipynb")),
    };
    let free = (1..1000).map(numbered).find(|path| !path.exists());
    let path = free.ok_or_else(|| Failure::bad_input(FailureKind::BadName, format!("`{name}` is taken")))?;
    let seed = getrandom::u64().unwrap_or(1);
    let mut notebook = Notebook::empty(Ids::seeded(seed));
    notebook.insert(0, cellist_notebook::CellType::Code, "");
    store.create(&path, &notebook)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use cellist_settings::Home;
    use testkit::Scratch;

    use super::*;

    #[test]
    fn a_folder_shows_its_notebooks_and_a_new_one_gets_a_name_that_is_free() {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.path().join("work/inner")).unwrap();
        scratch.write("work/.hidden.ipynb", "");
        scratch.write("work/notes.txt", "");
        let folder = scratch.path().join("work");
        let store = Store::new(Home::at(scratch.path().join("home")));
        let first = create(&store, &folder, "a").unwrap();
        let second = create(&store, &folder, "a.ipynb").unwrap();
        assert_eq!((first, second), (folder.join("a.ipynb"), folder.join("a-2.ipynb")));
        let listed = list(&folder).unwrap();
        assert_eq!(
            (listed.folders, listed.notebooks),
            (vec!["inner".into()], vec!["a-2.ipynb".into(), "a.ipynb".into()])
        );
        assert!(create(&store, &folder, "../a").is_err() && create(&store, &folder, "").is_err());
        assert!(list(&folder.join("nothing")).is_err());
    }
}
