//! The tools by name, in the order in which they are always listed, and who is offered which.

use std::fmt;

use cellist_session::settings::ToolMode;

use crate::caller::{Caller, ToolSet};
use crate::editor::Editor;
use crate::mode::{Access, Mode};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the tool of that name")]
pub enum ToolName {
    GetNotebookCells,
    GetCellOutputs,
    SearchNotebook,
    RunNotebookCells,
    AddNotebookCell,
    UpdateNotebookCell,
    DeleteNotebookCells,
    MoveNotebookCell,
    Undo,
    CreateNotebook,
    NotebookKernel,
    Notebook,
    Read,
    Edit,
    Write,
    Python,
    Eval,
    Bash,
    GetVariables,
    Wait,
    ReadArtifact,
}

/// What decides which tools are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The mode.
    pub mode: Mode,
    /// Whether a notebook is worked on.
    pub notebook_mode: bool,
    /// Which tools there are.
    pub tools: ToolSet,
    /// Which of those that run code.
    pub tool_mode: ToolMode,
}

/// A tool that is not among those that a caller has, whatever its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum NotOffered {
    #[error("{0} is not among your tools: a person starts you with `--tools all` for that")]
    Set(ToolName),
    #[error("{0} is not among your tools: python.tool_mode leaves it out, or there is no Python")]
    ToolMode(ToolName),
}

impl ToolName {
    /// All of them, in their order.
    pub const ALL: [ToolName; 21] = [
        ToolName::GetNotebookCells,
        ToolName::GetCellOutputs,
        ToolName::SearchNotebook,
        ToolName::RunNotebookCells,
        ToolName::AddNotebookCell,
        ToolName::UpdateNotebookCell,
        ToolName::DeleteNotebookCells,
        ToolName::MoveNotebookCell,
        ToolName::Undo,
        ToolName::CreateNotebook,
        ToolName::NotebookKernel,
        ToolName::Notebook,
        ToolName::Read,
        ToolName::Edit,
        ToolName::Write,
        ToolName::Python,
        ToolName::Eval,
        ToolName::Bash,
        ToolName::GetVariables,
        ToolName::Wait,
        ToolName::ReadArtifact,
    ];

    /// As an agent calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolName::GetNotebookCells => "get_notebook_cells",
            ToolName::GetCellOutputs => "get_cell_outputs",
            ToolName::SearchNotebook => "search_notebook",
            ToolName::RunNotebookCells => "run_notebook_cells",
            ToolName::AddNotebookCell => "add_notebook_cell",
            ToolName::UpdateNotebookCell => "update_notebook_cell",
            ToolName::DeleteNotebookCells => "delete_notebook_cells",
            ToolName::MoveNotebookCell => "move_notebook_cell",
            ToolName::Undo => "undo",
            ToolName::CreateNotebook => "create_notebook",
            ToolName::NotebookKernel => "notebook_kernel",
            ToolName::Notebook => "notebook",
            ToolName::Read => "read",
            ToolName::Edit => "edit",
            ToolName::Write => "write",
            ToolName::Python => "python",
            ToolName::Eval => "eval",
            ToolName::Bash => "bash",
            ToolName::GetVariables => "get_variables",
            ToolName::Wait => "wait",
            ToolName::ReadArtifact => "read_artifact",
        }
    }

    /// The tool that an agent calls so.
    pub fn from_name(name: &str) -> Option<ToolName> {
        ToolName::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    /// The least that a call of it amounts to. Its arguments may make it more: an edit of a notebook, a change that
    /// is also run, an interrupt.
    pub fn access(self) -> Access {
        match self {
            ToolName::GetNotebookCells
            | ToolName::GetCellOutputs
            | ToolName::SearchNotebook
            | ToolName::NotebookKernel
            | ToolName::Read
            | ToolName::GetVariables
            | ToolName::Wait
            | ToolName::ReadArtifact => Access::Look,
            ToolName::Edit | ToolName::Write => Access::ChangeFile,
            ToolName::AddNotebookCell
            | ToolName::UpdateNotebookCell
            | ToolName::DeleteNotebookCells
            | ToolName::MoveNotebookCell
            | ToolName::Undo
            | ToolName::CreateNotebook
            | ToolName::Notebook => Access::ChangeNotebook,
            ToolName::RunNotebookCells | ToolName::Python | ToolName::Eval | ToolName::Bash => Access::Run,
        }
    }

    /// Whether it belongs to work on a notebook, and is not offered without one.
    pub fn needs_notebook(self) -> bool {
        match self {
            ToolName::GetNotebookCells
            | ToolName::GetCellOutputs
            | ToolName::SearchNotebook
            | ToolName::RunNotebookCells
            | ToolName::AddNotebookCell
            | ToolName::UpdateNotebookCell
            | ToolName::DeleteNotebookCells
            | ToolName::MoveNotebookCell
            | ToolName::Undo
            | ToolName::NotebookKernel => true,
            ToolName::CreateNotebook
            | ToolName::Notebook
            | ToolName::Read
            | ToolName::Edit
            | ToolName::Write
            | ToolName::Python
            | ToolName::Eval
            | ToolName::Bash
            | ToolName::GetVariables
            | ToolName::Wait
            | ToolName::ReadArtifact => false,
        }
    }

    /// Whether it is one of those that exist for notebooks.
    pub fn is_for_notebooks(self) -> bool {
        self.needs_notebook() || self == ToolName::CreateNotebook
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Offer {
    /// The tools of a mode, with nothing else left out but what `--tools all` adds.
    pub fn new(mode: Mode, notebook_mode: bool) -> Offer {
        Offer { mode, notebook_mode, tools: ToolSet::Notebook, tool_mode: ToolMode::Both }
    }

    /// What a caller has. Unless it is to keep to the notebook in front of a person, any notebook that it names is
    /// worked on.
    pub fn to(caller: &Caller, editor: &Editor) -> Offer {
        let notebook_mode = !caller.requires_active || editor.with(&caller.attached).notebook().is_some();
        Offer { notebook_mode, ..Offer::set(caller) }
    }

    /// What a caller has while a notebook is worked on.
    pub fn set(caller: &Caller) -> Offer {
        Offer { mode: caller.mode, notebook_mode: true, tools: caller.tools, tool_mode: caller.tool_mode }
    }

    /// Whether a tool is offered.
    pub fn has(self, tool: ToolName) -> bool {
        self.check(tool).is_ok()
            && self.mode.allows(tool.access())
            && (self.notebook_mode || !tool.needs_notebook())
            && !self.refuses_every(tool)
    }

    /// Whether each call of a tool would be refused. Without ordinary files `edit` and `write` change notebooks alone.
    fn refuses_every(self, tool: ToolName) -> bool {
        matches!(tool, ToolName::Edit | ToolName::Write)
            && self.tools == ToolSet::Notebook
            && !self.mode.allows(Access::ChangeNotebook)
    }

    /// Refuses what is not among the tools at all.
    pub fn check(self, tool: ToolName) -> Result<(), NotOffered> {
        match (tool, self.tools, self.tool_mode) {
            (ToolName::Bash, ToolSet::Notebook, _) => Err(NotOffered::Set(tool)),
            (ToolName::Bash, ToolSet::All, ToolMode::IpyOnly) => Err(NotOffered::ToolMode(tool)),
            (ToolName::Python | ToolName::Eval, _, ToolMode::BashOnly) => Err(NotOffered::ToolMode(tool)),
            _ => Ok(()),
        }
    }

    /// The tools that are offered, in their order.
    pub fn tool_names(self) -> Vec<ToolName> {
        ToolName::ALL.into_iter().filter(|tool| self.has(*tool)).collect()
    }

    /// The tools for notebooks that are offered, in their order.
    pub fn notebook_tools(self) -> Vec<ToolName> {
        self.tool_names().into_iter().filter(|tool| tool.is_for_notebooks()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_found_by_its_name() {
        for tool in ToolName::ALL {
            assert_eq!(ToolName::from_name(tool.as_str()), Some(tool));
        }
        assert_eq!(ToolName::from_name("fly"), None);
    }

    #[test]
    fn tools_for_notebooks_depend_on_the_mode_and_on_a_notebook() {
        let names = |mode, notebook_mode| {
            let tools = Offer::new(mode, notebook_mode).notebook_tools();
            tools.iter().map(|tool| tool.as_str()).collect::<Vec<_>>().join(" ")
        };
        let look = "get_notebook_cells get_cell_outputs search_notebook notebook_kernel";
        assert_eq!(names(Mode::Ask, true), look);
        assert_eq!(names(Mode::Edit, true), look);
        assert_eq!(
            names(Mode::Agent, true),
            "get_notebook_cells get_cell_outputs search_notebook run_notebook_cells add_notebook_cell update_notebook_cell \
             delete_notebook_cells move_notebook_cell undo create_notebook notebook_kernel"
        );
        assert_eq!(names(Mode::Ask, false), "");
        assert_eq!(names(Mode::Edit, false), "");
        assert_eq!(names(Mode::Agent, false), "create_notebook");
    }

    #[test]
    fn a_mode_lists_no_tool_whose_every_call_it_refuses() {
        let writes = |mode, tools| {
            let offer = Offer { tools, ..Offer::new(mode, true) };
            [ToolName::Edit, ToolName::Write].map(|tool| offer.has(tool))
        };
        assert_eq!(writes(Mode::Edit, ToolSet::Notebook), [false, false]);
        assert_eq!(writes(Mode::Edit, ToolSet::All), [true, true]);
        assert_eq!(writes(Mode::Agent, ToolSet::Notebook), [true, true]);
    }

    #[test]
    fn what_runs_code_depends_on_the_tool_mode_and_the_set() {
        let names = |tools, tool_mode| {
            let offer = Offer { tools, tool_mode, ..Offer::new(Mode::Agent, false) };
            let names = offer.tool_names().into_iter().filter(|tool| tool.access() == Access::Run);
            names.map(ToolName::as_str).collect::<Vec<_>>().join(" ")
        };
        for (tools, tool_mode, expected) in [
            (ToolSet::Notebook, ToolMode::Both, "python eval"),
            (ToolSet::Notebook, ToolMode::IpyOnly, "python eval"),
            (ToolSet::Notebook, ToolMode::BashOnly, ""),
            (ToolSet::All, ToolMode::Both, "python eval bash"),
            (ToolSet::All, ToolMode::IpyOnly, "python eval"),
            (ToolSet::All, ToolMode::BashOnly, "bash"),
        ] {
            assert_eq!(names(tools, tool_mode), expected, "{tools:?} {tool_mode:?}");
        }
        let refused = |tools, tool_mode, tool| {
            Offer { tools, tool_mode, ..Offer::new(Mode::Agent, true) }.check(tool).unwrap_err()
        };
        assert_eq!(
            refused(ToolSet::Notebook, ToolMode::Both, ToolName::Bash),
            NotOffered::Set(ToolName::Bash)
        );
        assert_eq!(
            refused(ToolSet::All, ToolMode::IpyOnly, ToolName::Bash),
            NotOffered::ToolMode(ToolName::Bash)
        );
        assert_eq!(
            refused(ToolSet::All, ToolMode::BashOnly, ToolName::Eval).to_string(),
            "eval is not among your tools: python.tool_mode leaves it out, or there is no Python"
        );
    }
}
