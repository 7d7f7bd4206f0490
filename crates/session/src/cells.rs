//! Selects the cells of a notebook to run, and derives their titles. Decides from the notebook alone.

use cellist_notebook::{Cell, CellId, CellRef, CellType, Notebook};

/// The key of a notebook's metadata for the `language_info` of its kernel.
pub const LANGUAGE: &str = "language_info";

/// Tag of a cell that is never run.
const SKIP: &str = "skip-execution";
/// Tag of a cell that may fail.
const MAY_FAIL: &str = "raises-exception";

/// A selection of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Every cell.
    #[default]
    All,
    /// Cells named by the user: ids, indexes, ranges of indexes.
    Named(Vec<String>),
}

impl Selection {
    /// Returns the ids of the selected cells, in notebook order.
    pub fn resolve(&self, notebook: &Notebook) -> cellist_notebook::Result<Vec<CellId>> {
        let names = match self {
            Selection::All => return Ok(notebook.cells().iter().map(|cell| cell.id().clone()).collect()),
            Selection::Named(names) => names,
        };
        let mut wanted = vec![false; notebook.cells().len()];
        for name in names {
            match (notebook.find(&CellRef::from_argument(name)), range(name)) {
                (Ok(index), _) => wanted[index] = true,
                (Err(_), Some((first, last))) => {
                    for index in [first, last] {
                        notebook.find(&CellRef::Index(index))?;
                    }
                    let (first, last) = (first.min(last) as usize, first.max(last) as usize);
                    wanted[first..=last].fill(true);
                }
                (Err(error), None) => return Err(error),
            }
        }
        let cells = notebook.cells().iter().zip(wanted);
        Ok(cells.filter(|(_, wanted)| *wanted).map(|(cell, _)| cell.id().clone()).collect())
    }
}

fn range(name: &str) -> Option<(i64, i64)> {
    let (first, last) = name.split_once('-')?;
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

/// Whether a cell has code to run.
pub fn is_run(cell: &Cell) -> bool {
    cell.cell_type() == CellType::Code && !cell.source().trim().is_empty() && !cell.has_tag(SKIP)
}

/// Explains why nothing runs, if none of the chosen cells has code to run.
pub fn why_nothing(notebook: &Notebook, chosen: &[CellId]) -> Option<String> {
    let is_chosen = |cell: &&Cell| chosen.contains(cell.id());
    let has_something = notebook.cells().iter().filter(is_chosen).any(is_run);
    (!has_something).then(|| why(notebook, chosen))
}

fn why(notebook: &Notebook, chosen: &[CellId]) -> String {
    const NAMED: usize = 3;
    let indexed = notebook.cells().iter().enumerate();
    let chosen: Vec<(usize, &Cell)> = indexed.filter(|(_, cell)| chosen.contains(cell.id())).collect();
    if chosen.is_empty() {
        return "the notebook has no cells".to_owned();
    }
    if chosen.len() > NAMED {
        return format!("none of the {} cells is a code cell with code to run", chosen.len());
    }
    let why = |cell: &Cell| match cell.cell_type() {
        CellType::Markdown => "is markdown".to_owned(),
        CellType::Raw => "is raw".to_owned(),
        CellType::Code if cell.has_tag(SKIP) => format!("is tagged {SKIP}"),
        CellType::Code => "is empty".to_owned(),
    };
    let said: Vec<String> =
        chosen.iter().map(|(index, cell)| format!("cell {index} {}", why(cell))).collect();
    said.join(", ")
}

/// Whether a cell may fail without ending the run.
pub fn may_fail(cell: &Cell) -> bool {
    cell.has_tag(MAY_FAIL)
}

/// Returns a title for a cell: its first comment, the heading above it, or its first line.
pub fn title(notebook: &Notebook, index: usize) -> String {
    let source = notebook.cells()[index].source();
    let first = source.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if let Some(comment) = first.strip_prefix('#') {
        let comment = comment.trim_start_matches(['#', '%', ' ', '!']).trim_end();
        if !comment.is_empty() {
            return comment.to_owned();
        }
    }
    let above = index.checked_sub(1).map(|above| &notebook.cells()[above]);
    let heading = above.filter(|cell| cell.cell_type() == CellType::Markdown).and_then(|cell| {
        let source = cell.source();
        let heading = source.lines().find(|line| line.starts_with('#'))?;
        Some(heading.trim_start_matches('#').trim().to_owned())
    });
    heading.filter(|heading| !heading.is_empty()).unwrap_or_else(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use cellist_notebook::Ids;
    use serde_json::json;

    use super::*;

    fn notebook(cells: &[(&str, &str, &[&str])]) -> Notebook {
        let cell = |(at, (kind, source, tags)): (usize, &(&str, &str, &[&str]))| json!({ "cell_type": kind, "id": format!("id{at}"), "metadata": { "tags": tags }, "source": source });
        let cells: Vec<_> = cells.iter().enumerate().map(cell).collect();
        let text = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        Notebook::parse(text.to_string().into_bytes(), Ids::seeded(0)).unwrap()
    }

    #[test]
    fn cells_are_meant_by_id_index_and_range_and_run_in_the_notebooks_order() {
        let cell: (&str, &str, &[&str]) = ("code", "a", &[]);
        let notebook = notebook(&[cell; 6]);
        let check = |names: &[&str], expected: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let found = Selection::Named(names).resolve(&notebook).unwrap();
            assert_eq!(found.iter().map(CellId::as_str).collect::<Vec<_>>(), expected);
        };
        check(&["3", "0-1", "id3"], &["id0", "id1", "id3"]);
        check(&["5-4"], &["id4", "id5"]);
        check(&["-1"], &["id5"]);
        let error = Selection::Named(vec!["2-9".into()]).resolve(&notebook).unwrap_err();
        assert_eq!(error.to_string(), "cell 9 does not exist: the notebook has 6 cells, 0 to 5");
        assert!(Selection::Named(vec!["nope".into()]).resolve(&notebook).is_err());
    }

    #[test]
    fn empty_cells_prose_and_tagged_cells_are_not_run() {
        let notebook = notebook(&[
            ("code", "1", &[]),
            ("code", " \n", &[]),
            ("markdown", "1", &[]),
            ("code", "1", &["x", "skip-execution"]),
            ("code", "1", &["raises-exception"]),
        ]);
        let run: Vec<bool> = notebook.cells().iter().map(is_run).collect();
        assert_eq!(run, [true, false, false, false, true]);
        assert!(may_fail(&notebook.cells()[4]) && !may_fail(&notebook.cells()[0]));
    }

    #[test]
    fn a_title_is_the_first_comment_or_the_heading_above_or_the_first_line() {
        let notebook = notebook(&[
            ("code", "\n# %% Load the data\nx = 1", &[]),
            ("markdown", "Some words\n\n## The model\nmore", &[]),
            ("code", "fit()\n# not this", &[]),
            ("code", "predict()", &[]),
            ("code", "#\nx", &[]),
        ]);
        let titles: Vec<String> = [0, 2, 3, 4].map(|index| title(&notebook, index)).to_vec();
        assert_eq!(titles, ["Load the data", "The model", "predict()", "#"]);
    }
}
