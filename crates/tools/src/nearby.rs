//! Notebooks that a person may want to point at: those of a folder and of the folders in it.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::reach::Reach;

/// How many notebooks are found at the most.
const MOST_NOTEBOOKS: usize = 200;
/// How many folders are looked into at the most.
const MOST_FOLDERS: usize = 500;

/// The notebooks of a folder and of those in it, from the folder on, without the one that is open and those that are kept
/// from models.
pub fn nearby_notebooks(folder: &Path, own: &Path, reach: &Reach) -> Vec<String> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = VecDeque::from([folder.to_owned()]);
    let mut looked = 0;
    while let Some(next) = folders.pop_front() {
        looked += 1;
        if looked > MOST_FOLDERS || found.len() >= MOST_NOTEBOOKS {
            break;
        }
        let Ok(entries) = fs::read_dir(&next) else { continue };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let is_hidden = name.to_string_lossy().starts_with('.') || name == "node_modules";
            // Links may lead in circles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_hidden => folders.push_back(path),
                Ok(kind)
                    if !kind.is_dir()
                        && path.extension().is_some_and(|ending| ending == "ipynb")
                        && path != own
                        && reach.may_look(&path) =>
                {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    found.truncate(MOST_NOTEBOOKS);
    let below = |path: PathBuf| path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
    found.into_iter().map(below).collect()
}

#[cfg(test)]
mod tests {
    use cellist_settings::Home;
    use testkit::Scratch;

    use super::*;

    #[test]
    fn notebooks_of_folders_are_found_but_for_what_is_kept_from_models() {
        let scratch = Scratch::new();
        for name in ["b.ipynb", "own.ipynb", "sub/a.ipynb", ".hidden/x.ipynb", "secret/y.ipynb", "notes.md"] {
            scratch.write(name, "{}");
        }
        let own = scratch.path().join("own.ipynb");
        scratch.write(".env", "TOKEN=1");
        std::os::unix::fs::symlink(scratch.path().join(".env"), scratch.path().join("e.ipynb")).unwrap();
        let home = Home::at(scratch.path().join("home"));
        let reach = Reach::new(&home, &["secret".to_owned()], &[]);
        let found = nearby_notebooks(scratch.path(), &own, &reach);
        assert_eq!(found, ["b.ipynb", "sub/a.ipynb"]);
        assert!(nearby_notebooks(Path::new("/no/such/folder"), &own, &reach).is_empty());
    }
}
