//! The editor of the user: the active notebook, its selection, and the notebooks attached to the
//! conversation. Decides which notebook the agent works on.

use std::path::{Path, PathBuf};

use cellist_notebook::CellRef;
use serde::{Deserialize, Serialize};

/// The state of an editor. Paths are real paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EditorState {
    /// The notebook in the active editor.
    #[serde(with = "cellist_platform::portable_path")]
    pub active: Option<PathBuf>,
    /// The attached notebooks.
    #[serde(with = "cellist_platform::portable_path")]
    pub attached: Vec<PathBuf>,
    /// The selection in the active notebook.
    pub selection: EditorSelection,
}

/// A report of an editor about a change of its state. Paths are real paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorReport {
    /// The notebook in the active editor.
    #[serde(with = "cellist_platform::portable_path")]
    pub active: Option<PathBuf>,
    /// The selection in that notebook.
    pub selection: EditorSelection,
    /// Notebooks to attach.
    #[serde(with = "cellist_platform::portable_path")]
    pub attach: Vec<PathBuf>,
    /// Notebooks to detach.
    #[serde(with = "cellist_platform::portable_path")]
    pub detach: Vec<PathBuf>,
}

/// The selection in a notebook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EditorSelection {
    /// The selected cells, by id or index as on a command line.
    pub cells: Vec<String>,
    /// The cell in edit mode.
    pub editing: Option<String>,
}

impl EditorState {
    /// Returns the notebook to work on: the active one, if it is attached.
    pub fn notebook(&self) -> Option<&Path> {
        let active = self.active.as_deref()?;
        if active.extension().is_none_or(|extension| extension != "ipynb") {
            return None;
        }
        self.attached.iter().any(|attached| attached == active).then_some(active)
    }
}

impl EditorState {
    /// Applies a report.
    pub fn apply(&mut self, report: EditorReport) {
        let EditorReport { active, selection, attach, detach } = report;
        (self.active, self.selection) = (active, selection);
        self.attached.retain(|path| !detach.contains(path) && !attach.contains(path));
        self.attached.extend(attach);
    }

    /// Returns a copy with more notebooks attached, given by any path.
    pub fn with(&self, attached: &[PathBuf]) -> EditorState {
        let mut editor = self.clone();
        editor.attached.extend(attached.iter().filter_map(|path| std::fs::canonicalize(path).ok()));
        editor
    }
}

impl EditorSelection {
    /// Returns the selected cells as references.
    pub fn references(&self) -> impl Iterator<Item = CellRef> {
        self.cells.iter().map(|cell| CellRef::from_argument(cell))
    }

    /// Returns the cell in edit mode as a reference.
    pub fn editing(&self) -> Option<CellRef> {
        self.editing.as_deref().map(CellRef::from_argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, ToolOffer};

    fn check(attached: &[&str], active: Option<&str>, expected: Option<&str>) {
        let editor = EditorState {
            active: active.map(PathBuf::from),
            attached: attached.iter().map(PathBuf::from).collect(),
            selection: EditorSelection::default(),
        };
        assert_eq!(editor.notebook(), expected.map(Path::new), "attached {attached:?}, active {active:?}");
    }

    #[test]
    fn the_agent_works_on_a_notebook_that_is_attached_and_active() {
        check(&["a.ipynb"], Some("a.ipynb"), Some("a.ipynb"));
        check(&["a.ipynb", "b.ipynb"], Some("b.ipynb"), Some("b.ipynb"));
        check(&["a.ipynb"], Some("b.ipynb"), None);
        check(&["a.ipynb"], None, None);
        check(&[], Some("a.ipynb"), None);
        check(&["a.ipynb", "b.ipynb"], None, None);
        check(&["a.ipynb", "b.ipynb"], Some("c.ipynb"), None);
        check(&[], None, None);
        check(&["a.py"], Some("a.py"), None);
    }

    #[test]
    fn a_report_replaces_the_active_notebook_and_adds_attached_ones() {
        let mut editor = EditorState::default();
        let (a, b) = (PathBuf::from("/a.ipynb"), PathBuf::from("/b.ipynb"));
        let selection = EditorSelection { cells: vec!["3".to_owned()], editing: None };
        let attach = |active: &PathBuf| EditorReport {
            active: Some(active.clone()),
            selection: selection.clone(),
            attach: vec![active.clone()],
            ..EditorReport::default()
        };
        editor.apply(attach(&a));
        editor.apply(attach(&b));
        editor.apply(attach(&a));
        assert_eq!((editor.notebook(), editor.attached.len()), (Some(a.as_path()), 2));
        assert_eq!(editor.selection, selection);
        editor.apply(EditorReport { active: Some(a.clone()), detach: vec![a], ..EditorReport::default() });
        assert_eq!((editor.notebook(), &editor.selection), (None, &EditorSelection::default()));
        assert_eq!(editor.attached, [b]);
        let sent = serde_json::to_string(&editor).unwrap();
        assert_eq!(serde_json::from_str::<EditorState>(&sent).unwrap(), editor);
    }

    #[test]
    fn tools_depend_on_attached_active_and_mode() {
        // Columns: attached, active, mode, and whether the agent gets tools to read and to change.
        let (one, two): (&[&str], &[&str]) = (&["a.ipynb"], &["a.ipynb", "b.ipynb"]);
        type Scenario<'a> = (&'a [&'a str], Option<&'a str>, &'a [Mode], bool, bool);
        let scenarios: [Scenario<'_>; 8] = [
            (one, Some("a.ipynb"), &[Mode::Ask], true, false),
            (one, Some("a.ipynb"), &[Mode::Edit], true, false),
            (one, Some("a.ipynb"), &[Mode::Agent], true, true),
            (one, Some("other.ipynb"), &Mode::ALL, false, false),
            (&[], Some("a.ipynb"), &Mode::ALL, false, false),
            (two, Some("a.ipynb"), &[Mode::Ask, Mode::Edit], true, false),
            (two, Some("a.ipynb"), &[Mode::Agent], true, true),
            (two, None, &Mode::ALL, false, false),
        ];
        for (number, (attached, active, modes, looks, changes)) in (1..).zip(scenarios) {
            let editor = EditorState {
                active: active.map(PathBuf::from),
                attached: attached.iter().map(PathBuf::from).collect(),
                ..EditorState::default()
            };
            for mode in modes {
                let offer = ToolOffer::new(*mode, editor.notebook().is_some());
                let offered = |name: &str| {
                    let tool = crate::ToolName::from_name(name).unwrap();
                    offer.has(tool)
                };
                for name in ["get_notebook_cells", "get_cell_outputs"] {
                    assert_eq!(offered(name), looks, "scenario {number}, {mode}: {name}");
                }
                for name in ["run_notebook_cells", "add_notebook_cell", "update_notebook_cell"] {
                    assert_eq!(offered(name), changes, "scenario {number}, {mode}: {name}");
                }
            }
        }
    }
}
