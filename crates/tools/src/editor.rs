//! What a person has in front of them: the notebook in the active editor, what is selected in it, and what was
//! attached to the conversation. Decides whether a notebook is worked on.

use std::path::{Path, PathBuf};

use cellist_notebook::CellRef;
use serde::{Deserialize, Serialize};

/// What an editor reports. Paths are real paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Editor {
    /// The notebook in the active editor.
    #[serde(with = "cellist_platform::portable_path")]
    pub active: Option<PathBuf>,
    /// Notebooks that were attached.
    #[serde(with = "cellist_platform::portable_path")]
    pub attached: Vec<PathBuf>,
    /// What is selected in the active notebook.
    pub selection: Selection,
}

/// What an editor says when something changes in it. Paths are real paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorReport {
    /// The notebook in the active editor now.
    #[serde(with = "cellist_platform::portable_path")]
    pub active: Option<PathBuf>,
    /// What is selected in it.
    pub selection: Selection,
    /// Notebooks that are attached from now on.
    #[serde(with = "cellist_platform::portable_path")]
    pub attach: Vec<PathBuf>,
    /// Notebooks that are not attached any more.
    #[serde(with = "cellist_platform::portable_path")]
    pub detach: Vec<PathBuf>,
}

/// What is selected in a notebook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Selected cells, each by id or index as it would be written on a command line.
    pub cells: Vec<String>,
    /// The cell that is being edited.
    pub editing: Option<String>,
}

impl Editor {
    /// The notebook that is worked on: the active one, if it was attached. Attached alone or active alone is not
    /// enough.
    pub fn notebook(&self) -> Option<&Path> {
        let active = self.active.as_deref()?;
        if active.extension().is_none_or(|extension| extension != "ipynb") {
            return None;
        }
        self.attached.iter().any(|attached| attached == active).then_some(active)
    }
}

impl Editor {
    /// Takes a report.
    pub fn hear(&mut self, report: EditorReport) {
        let EditorReport { active, selection, attach, detach } = report;
        (self.active, self.selection) = (active, selection);
        self.attached.retain(|path| !detach.contains(path) && !attach.contains(path));
        self.attached.extend(attach);
    }

    /// The same with more notebooks attached, each by any path that leads to it.
    pub fn with(&self, attached: &[PathBuf]) -> Editor {
        let mut editor = self.clone();
        editor.attached.extend(attached.iter().filter_map(|path| std::fs::canonicalize(path).ok()));
        editor
    }
}

impl Selection {
    /// The selected cells as references.
    pub fn references(&self) -> impl Iterator<Item = CellRef> {
        self.cells.iter().map(|cell| CellRef::from_argument(cell))
    }

    /// The cell that is being edited, as a reference.
    pub fn editing(&self) -> Option<CellRef> {
        self.editing.as_deref().map(CellRef::from_argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Offer};

    fn check(attached: &[&str], active: Option<&str>, expected: Option<&str>) {
        let editor = Editor {
            active: active.map(PathBuf::from),
            attached: attached.iter().map(PathBuf::from).collect(),
            selection: Selection::default(),
        };
        assert_eq!(editor.notebook(), expected.map(Path::new), "attached {attached:?}, active {active:?}");
    }

    #[test]
    fn a_notebook_is_worked_on_when_it_is_attached_and_active() {
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
    fn a_report_says_what_is_active_and_adds_to_what_is_attached() {
        let mut editor = Editor::default();
        let (a, b) = (PathBuf::from("/a.ipynb"), PathBuf::from("/b.ipynb"));
        let selection = Selection { cells: vec!["3".to_owned()], editing: None };
        let attach = |active: &PathBuf| EditorReport {
            active: Some(active.clone()),
            selection: selection.clone(),
            attach: vec![active.clone()],
            ..EditorReport::default()
        };
        editor.hear(attach(&a));
        editor.hear(attach(&b));
        editor.hear(attach(&a));
        assert_eq!((editor.notebook(), editor.attached.len()), (Some(a.as_path()), 2));
        assert_eq!(editor.selection, selection);
        editor.hear(EditorReport { active: Some(a.clone()), detach: vec![a], ..EditorReport::default() });
        assert_eq!((editor.notebook(), &editor.selection), (None, &Selection::default()));
        assert_eq!(editor.attached, [b]);
        let sent = serde_json::to_string(&editor).unwrap();
        assert_eq!(serde_json::from_str::<Editor>(&sent).unwrap(), editor);
    }

    #[test]
    fn the_eight_scenarios() {
        // Attached, active, modes, and whether there are tools to look and to change with.
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
            let editor = Editor {
                active: active.map(PathBuf::from),
                attached: attached.iter().map(PathBuf::from).collect(),
                ..Editor::default()
            };
            for mode in modes {
                let offer = Offer::new(*mode, editor.notebook().is_some());
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
