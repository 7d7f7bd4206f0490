//! Finds cargo's target folder, where the parts are kept.

use std::env;
use std::path::{Path, PathBuf};

/// Cargo's target folder, with any setting that moves it.
///
/// Found above the running program: no other trace of the setting always reaches a test.
pub fn target_dir() -> PathBuf {
    let program = env::current_exe().expect("a running program has a path");
    above(&program).unwrap_or_else(|| crate::repo_root().join("target"))
}

// Cargo writes this file into each target folder.
fn above(program: &Path) -> Option<PathBuf> {
    program.ancestors().find(|folder| folder.join(".rustc_info.json").is_file()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::above;
    use crate::Scratch;

    #[test]
    fn the_target_folder_is_the_nearest_one_that_cargo_marked() {
        let scratch = Scratch::new();
        scratch.write(".rustc_info.json", b"{}");
        let program = scratch.write("debug/deps/test-0123", b"");
        assert_eq!(above(&program).as_deref(), Some(scratch.path()));
    }
}
