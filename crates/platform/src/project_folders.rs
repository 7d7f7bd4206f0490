//! The folders of a project: those in which its environment and its settings are looked for.

use std::path::Path;

/// A folder and those above it, up to the root of its repository or to the user's own folder. Elsewhere the folders
/// above belong to another user. `is_there` tells whether a file exists.
pub fn project_folders<'a>(
    start: &'a Path,
    own: Option<&'a Path>,
    is_there: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = &'a Path> {
    let root = start.ancestors().find(|folder| is_there(&folder.join(".git")));
    let last = match (root, own) {
        (Some(root), _) => root,
        (None, Some(own)) if start.starts_with(own) => own,
        (None, _) => start,
    };
    start.ancestors().take_while(move |folder| folder.starts_with(last))
}
