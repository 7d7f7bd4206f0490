//! Finds notebooks in a folder and its subfolders, for completion of `@file` references.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::file_policy::FilePolicy;

/// Notebooks returned at most.
const MOST_NOTEBOOKS: usize = 200;
/// Folders searched at most.
const MOST_FOLDERS: usize = 500;

/// Lists notebooks below a folder, as relative paths. Leaves out `own` and the files hidden from
/// models.
pub fn nearby_notebooks(folder: &Path, own: &Path, policy: &FilePolicy) -> Vec<String> {
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
            // Symbolic links to folders are not followed: they may form cycles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_hidden => folders.push_back(path),
                Ok(kind)
                    if !kind.is_dir()
                        && path.extension().is_some_and(|ending| ending == "ipynb")
                        && path != own
                        && policy.may_look(&path) =>
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
    fn notebooks_below_a_folder_are_found_except_hidden_ones() {
        let scratch = Scratch::new();
        for name in ["b.ipynb", "own.ipynb", "sub/a.ipynb", ".hidden/x.ipynb", "secret/y.ipynb", "notes.md"] {
            scratch.write(name, "{}");
        }
        let own = scratch.path().join("own.ipynb");
        scratch.write(".env", "TOKEN=1");
        std::os::unix::fs::symlink(scratch.path().join(".env"), scratch.path().join("e.ipynb")).unwrap();
        let home = Home::at(scratch.path().join("home"));
        let policy = FilePolicy::new(&home, &["secret".to_owned()], &[]);
        let found = nearby_notebooks(scratch.path(), &own, &policy);
        assert_eq!(found, ["b.ipynb", "sub/a.ipynb"]);
        assert!(nearby_notebooks(Path::new("/no/such/folder"), &own, &policy).is_empty());
    }
}
