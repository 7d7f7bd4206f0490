//! The output of commands that change a notebook by cell-marked text or JSON.

use std::fmt::Write;
use std::path::Path;

use cellist_host::EditResult;
use cellist_notebook::Notebook;
use cellist_store::Changed;
use serde_json::json;

use crate::allocation;
use crate::output::CommandOutput;

/// The output of a command that applied an edit.
pub(crate) fn for_edit(path: &Path, changed: Changed<EditResult>) -> CommandOutput {
    let Changed { value, notebook, revision, written, notices: more } = changed;
    let EditResult { applied, mut notices, .. } = value;
    notices.extend(more);
    let mut text = headline(path, &notebook, written);
    for (label, indexes) in [
        ("kept", &applied.kept),
        ("changed", &applied.changed),
        ("added", &applied.added),
        ("moved", &applied.moved),
        ("deleted", &applied.deleted),
    ] {
        if written && !indexes.is_empty() {
            let _ = writeln!(text, "  {label:<8} {}", ranges(indexes));
        }
    }
    let json = json!({
        "path": path.to_string_lossy(),
        "revision": revision.to_string(),
        "written": written,
        "total_cells": notebook.cells().len(),
        "kept": applied.kept,
        "changed": applied.changed,
        "added": applied.added,
        "moved": applied.moved,
        "deleted": applied.deleted,
    });
    allocation::leak(notebook);
    CommandOutput::new(text, json).with_notices(notices)
}

/// The output of a command that replaced the file's JSON.
pub(crate) fn for_overwrite(path: &Path, changed: Changed<()>) -> CommandOutput {
    let Changed { notebook, revision, written, notices, .. } = changed;
    let json = json!({
        "path": path.to_string_lossy(),
        "revision": revision.to_string(),
        "written": written,
        "total_cells": notebook.cells().len(),
    });
    CommandOutput::new(headline(path, &notebook, written), json).with_notices(notices)
}

fn headline(path: &Path, notebook: &Notebook, written: bool) -> String {
    let cells = match notebook.cells().len() {
        1 => "1 cell".into(),
        count => format!("{count} cells"),
    };
    let path = path.display();
    if written { format!("Wrote {path}: {cells}\n") } else { format!("{path} is unchanged: {cells}\n") }
}

/// `0-3, 5, 7-9`.
fn ranges(indexes: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            Some(_) | None => runs.push((index, index)),
        }
    }
    let words = runs.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn runs_of_indexes_are_drawn_together() {
        assert_eq!(ranges(&[0, 1, 2, 3, 5, 7, 8]), "0-3, 5, 7, 8");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[]), "");
    }
}
