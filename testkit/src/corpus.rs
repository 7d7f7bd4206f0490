//! Paths of the repository and its notebooks.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folder with the workspace's `Cargo.toml`.
///
/// Cargo sets it when it runs a program. The build folder may have been another copy of the
/// repository with the same target folder.
pub fn repo_root() -> PathBuf {
    let running = env::var_os("CARGO_MANIFEST_DIR").and_then(|folder| around(Path::new(&folder)));
    let built = || around(Path::new(env!("CARGO_MANIFEST_DIR")));
    running.or_else(built).expect("testkit is a folder of the repository")
}

fn around(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join("testkit/Cargo.toml").is_file()).map(Path::to_owned)
}

/// Every notebook under `fixtures/`, sorted by path.
///
/// # Panics
///
/// If there is none, so that a test over the corpus cannot pass on nothing.
pub fn fixtures() -> Vec<PathBuf> {
    let root = repo_root().join("fixtures");
    let mut found = Vec::new();
    collect(&root, &mut found);
    assert!(!found.is_empty(), "there is no notebook under {}", root.display());
    found.sort();
    found
}

/// The notebook at `fixtures/NAME`, where NAME is a path with or without `.ipynb`.
///
/// # Panics
///
/// If the file does not exist.
pub fn fixture(name: &str) -> PathBuf {
    let exact = repo_root().join("fixtures").join(name);
    if exact.is_file() {
        return exact;
    }
    let notebook = repo_root().join("fixtures").join(format!("{name}.ipynb"));
    assert!(notebook.is_file(), "there is no fixture {name:?}: {} does not exist", notebook.display());
    notebook
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("the corpus is readable").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ipynb") {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{fixture, fixtures, repo_root};

    #[test]
    fn the_corpus_is_sorted_and_each_notebook_of_it_is_found_by_its_name() {
        let corpus = fixtures();
        assert!(corpus.is_sorted());
        for path in corpus {
            let name = path.strip_prefix(repo_root().join("fixtures")).unwrap().to_str().unwrap();
            assert_eq!(fixture(name), path);
            assert_eq!(fixture(name.strip_suffix(".ipynb").unwrap()), path);
        }
    }

    #[test]
    #[should_panic(expected = "there is no fixture \"nowhere\"")]
    fn an_unknown_notebook_is_refused() {
        fixture("nowhere");
    }
}
