//! Decides which tools a caller is offered.

use cellist_settings::ToolMode;

use crate::caller::{Caller, ToolSet};
use crate::editor::EditorState;
use crate::mode::{CallAccess, Mode};
use crate::tool::{ToolFacts, ToolGroup, ToolName};

/// The inputs of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolOffer {
    /// The mode.
    pub mode: Mode,
    /// Whether the agent works on a notebook.
    pub notebook_mode: bool,
    /// The set of tools.
    pub tools: ToolSet,
    /// The tools that run code.
    pub tool_mode: ToolMode,
}

/// A tool that the caller does not have in any mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum NotOffered {
    #[error("{0} is not among your tools; the user can start you with `--tools all`")]
    Set(ToolName),
    #[error("{0} is not among your tools: python.tool_mode excludes it, or there is no Python")]
    ToolMode(ToolName),
}

impl ToolOffer {
    /// Offers the tools of a mode, without those that `--tools all` adds.
    pub fn new(mode: Mode, notebook_mode: bool) -> ToolOffer {
        ToolOffer { mode, notebook_mode, tools: ToolSet::Notebook, tool_mode: ToolMode::Both }
    }

    /// Offers the tools of a caller. A caller that is not tied to the active editor may name any
    /// notebook.
    pub fn for_caller(caller: &Caller, editor: &EditorState) -> ToolOffer {
        let notebook_mode = !caller.requires_active || editor.with(&caller.attached).notebook().is_some();
        ToolOffer { notebook_mode, ..ToolOffer::of_caller(caller) }
    }

    /// Offers the tools of a caller that works on a notebook.
    pub fn of_caller(caller: &Caller) -> ToolOffer {
        ToolOffer { mode: caller.mode, notebook_mode: true, tools: caller.tools, tool_mode: caller.tool_mode }
    }

    /// Returns whether a tool is offered.
    pub fn has(self, tool: ToolName) -> bool {
        let ToolFacts { access, group, .. } = tool.facts();
        self.check(tool).is_ok()
            && self.mode.allows(access)
            && (self.notebook_mode || group != ToolGroup::Notebook)
            && !self.refuses_every(access)
    }

    /// Returns whether every call of a tool would be refused. With notebook tools only, `edit` and
    /// `write` change notebooks only.
    fn refuses_every(self, access: CallAccess) -> bool {
        access == CallAccess::ChangeFile
            && self.tools == ToolSet::Notebook
            && !self.mode.allows(CallAccess::ChangeNotebook)
    }

    /// Refuses a tool that the caller does not have in any mode.
    pub fn check(self, tool: ToolName) -> Result<(), NotOffered> {
        match (tool.facts().group, self.tools, self.tool_mode) {
            (ToolGroup::Shell, ToolSet::Notebook, _) => Err(NotOffered::Set(tool)),
            (ToolGroup::Shell, ToolSet::All, ToolMode::IpyOnly) => Err(NotOffered::ToolMode(tool)),
            (ToolGroup::Python, _, ToolMode::BashOnly) => Err(NotOffered::ToolMode(tool)),
            _ => Ok(()),
        }
    }

    /// Lists the offered tools, in the order of the table.
    pub fn tool_names(self) -> Vec<ToolName> {
        ToolName::ALL.into_iter().filter(|tool| self.has(*tool)).collect()
    }

    /// Lists the offered notebook tools, in the order of the table.
    pub fn notebook_tools(self) -> Vec<ToolName> {
        let is_for_notebooks =
            |tool: &ToolName| matches!(tool.facts().group, ToolGroup::Notebook | ToolGroup::NewNotebook);
        self.tool_names().into_iter().filter(is_for_notebooks).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_for_notebooks_depend_on_the_mode_and_on_a_notebook() {
        let names = |mode, notebook_mode| {
            let tools = ToolOffer::new(mode, notebook_mode).notebook_tools();
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
            let offer = ToolOffer { tools, ..ToolOffer::new(mode, true) };
            [ToolName::Edit, ToolName::Write].map(|tool| offer.has(tool))
        };
        assert_eq!(writes(Mode::Edit, ToolSet::Notebook), [false, false]);
        assert_eq!(writes(Mode::Edit, ToolSet::All), [true, true]);
        assert_eq!(writes(Mode::Agent, ToolSet::Notebook), [true, true]);
    }

    #[test]
    fn tools_that_run_code_depend_on_tool_mode_and_tool_set() {
        let names = |tools, tool_mode| {
            let offer = ToolOffer { tools, tool_mode, ..ToolOffer::new(Mode::Agent, false) };
            let names = offer.tool_names().into_iter().filter(|tool| tool.facts().access == CallAccess::Run);
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
            ToolOffer { tools, tool_mode, ..ToolOffer::new(Mode::Agent, true) }.check(tool).unwrap_err()
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
            "eval is not among your tools: python.tool_mode excludes it, or there is no Python"
        );
    }
}
