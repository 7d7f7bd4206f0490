//! The tools. Each has a file with its input, description, access and function. The table below
//! lists them; names, definitions and dispatch derive from it.

mod add_notebook_cell;
mod bash;
mod create_notebook;
mod delete_notebook_cells;
mod edit;
mod eval;
mod get_cell_outputs;
mod get_notebook_cells;
mod get_variables;
mod move_notebook_cell;
mod notebook;
mod notebook_kernel;
mod python;
mod read;
mod read_artifact;
mod run_notebook_cells;
mod search_notebook;
mod undo;
mod update_notebook_cell;
mod wait;
mod write;

use std::fmt;

use serde_json::Value;

use crate::answer::{AnswerBlock, ToolAnswer, ToolRefusal};
use crate::input::{
    self, BadArguments, CellType, Field, FieldKind, Input, MaxOutput, Seconds, WholeNumber, choice, input,
};
use crate::mode::{CallAccess, Mode};
use crate::toolbox::{CallContext, Toolbox};

/// A tool: the input of a call, and the function that carries it out.
///
/// The documentation of the input is the description that an agent reads. The toolbox validates the
/// arguments and checks the mode before it calls `run`. Dropping the future of `run` abandons the
/// answer; a run that it started goes on. Errors are refusals, which a model reads.
pub(crate) trait Tool: Input {
    const FACTS: ToolFacts;

    /// Returns the effect of this call, which may exceed the minimum: an edit that also runs, or an
    /// interrupt.
    fn access(&self) -> CallAccess {
        Self::FACTS.access
    }

    /// Returns the text that the call writes to a file, for the check of redaction marks.
    fn writing(&self) -> Option<PendingWrite<'_>> {
        None
    }

    /// Carries out the call.
    fn run(
        self,
        toolbox: &Toolbox,
        call: CallContext<'_>,
    ) -> impl Future<Output = Result<ToolAnswer, ToolRefusal>> + Send;
}

/// Facts about a tool beyond its input.
#[derive(Clone, Copy, Debug)]
pub struct ToolFacts {
    /// The minimum effect of a call.
    pub access: CallAccess,
    /// The callers that are offered the tool.
    pub group: ToolGroup,
    /// Whether a call may overwrite or remove content.
    pub destroys: bool,
    /// Whether repeating a call changes nothing more.
    pub repeats: bool,
    /// The line in the prompts about notebooks.
    pub(crate) prompt: &'static str,
    /// The form in modes that do not run code, if it differs.
    looking: Option<ReadOnlyForm>,
}

/// The callers that are offered a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolGroup {
    /// Callers with a notebook to work on.
    Notebook,
    /// Callers that may change notebooks: the tool creates one.
    NewNotebook,
    /// Callers that run Python.
    Python,
    /// Callers with a shell.
    Shell,
    /// All callers.
    General,
}

/// The form of a tool in modes that do not run code.
#[derive(Clone, Copy, Debug)]
struct ReadOnlyForm {
    description: &'static str,
    fields: &'static [Field],
    prompt: &'static str,
}

/// The text that a call writes.
pub(crate) struct PendingWrite<'a> {
    pub(crate) file: WriteTarget<'a>,
    pub(crate) texts: Vec<&'a str>,
}

impl<'a> PendingWrite<'a> {
    /// Writes one text to the named notebook, or to the active one.
    fn to_notebook(named: Option<&'a str>, text: &'a str) -> PendingWrite<'a> {
        PendingWrite { file: WriteTarget::Notebook(named), texts: vec![text] }
    }
}

/// The file that a call writes to.
pub(crate) enum WriteTarget<'a> {
    /// The file at a path.
    Path(&'a str),
    /// The named notebook, or the active one.
    Notebook(Option<&'a str>),
}

/// A tool as an agent reads about it.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name.
    pub name: ToolName,
    /// The purpose, and facts to know before a call.
    pub description: &'static str,
    /// The arguments.
    pub fields: &'static [Field],
    /// More facts.
    pub facts: ToolFacts,
}

macro_rules! tools {
    ($($module:ident::$input:ident => $tool:ident,)+) => {
        /// A tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is the tool of that name")]
        pub enum ToolName {
            $($tool),+
        }

        impl ToolName {
            /// All tools, in listing order.
            pub const ALL: [ToolName; [$(ToolName::$tool),+].len()] = [$(ToolName::$tool),+];

            /// Returns the name that agents call.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ToolName::$tool => stringify!($module)),+
                }
            }

            /// Returns the definition of the tool.
            pub fn definition(self) -> Definition {
                match self {
                    $(ToolName::$tool => Definition::new::<$module::$input>(self)),+
                }
            }
        }

        /// A call with parsed arguments.
        pub(crate) enum ToolRequest {
            $($tool($module::$input)),+
        }

        impl ToolRequest {
            /// Parses the arguments of a call.
            pub(crate) fn read(tool: ToolName, given: &Value) -> Result<ToolRequest, BadArguments> {
                match tool {
                    $(ToolName::$tool => Input::read(tool.as_str(), given).map(ToolRequest::$tool)),+
                }
            }

            /// Returns the effect of the call.
            pub(crate) fn access(&self) -> CallAccess {
                match self {
                    $(ToolRequest::$tool(input) => input.access()),+
                }
            }

            /// Returns the text that the call writes to a file.
            pub(crate) fn writing(&self) -> Option<PendingWrite<'_>> {
                match self {
                    $(ToolRequest::$tool(input) => input.writing()),+
                }
            }

            /// Carries out the call.
            pub(crate) async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
                // On the heap: a call needs space for one tool, not for the largest.
                match self {
                    $(ToolRequest::$tool(input) => Box::pin(input.run(toolbox, call)).await),+
                }
            }
        }
    };
}

tools! {
    get_notebook_cells::GetNotebookCellsInput => GetNotebookCells,
    get_cell_outputs::GetCellOutputsInput => GetCellOutputs,
    search_notebook::SearchNotebookInput => SearchNotebook,
    run_notebook_cells::RunNotebookCellsInput => RunNotebookCells,
    add_notebook_cell::AddNotebookCellInput => AddNotebookCell,
    update_notebook_cell::UpdateNotebookCellInput => UpdateNotebookCell,
    delete_notebook_cells::DeleteNotebookCellsInput => DeleteNotebookCells,
    move_notebook_cell::MoveNotebookCellInput => MoveNotebookCell,
    undo::UndoInput => Undo,
    create_notebook::CreateNotebookInput => CreateNotebook,
    notebook_kernel::NotebookKernelInput => WantedKernel,
    notebook::NotebookInput => Notebook,
    read::ReadInput => Read,
    edit::EditInput => Edit,
    write::WriteInput => Write,
    python::PythonInput => Python,
    eval::EvalInput => Eval,
    bash::BashInput => Bash,
    get_variables::GetVariablesInput => GetVariables,
    wait::WaitInput => Wait,
    read_artifact::ReadArtifactInput => ReadArtifact,
}

impl ToolName {
    /// Finds a tool by name.
    pub fn from_name(name: &str) -> Option<ToolName> {
        ToolName::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    /// Returns the facts about the tool.
    pub fn facts(self) -> ToolFacts {
        self.definition().facts
    }

    /// Returns the definition for a mode, without parts that the mode always refuses.
    pub fn in_mode(self, mode: Mode) -> Definition {
        let Definition { name, description, fields, facts } = self.definition();
        match facts.looking.filter(|_| !mode.allows(CallAccess::Run)) {
            Some(ReadOnlyForm { description, fields, prompt }) => {
                Definition { name, description, fields, facts: ToolFacts { prompt, ..facts } }
            }
            None => Definition { name, description, fields, facts },
        }
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ToolFacts {
    /// Creates the facts of a tool for all callers that may destroy content.
    const fn new(access: CallAccess) -> ToolFacts {
        let group = ToolGroup::General;
        ToolFacts { access, group, destroys: true, repeats: false, prompt: "", looking: None }
    }

    /// Creates the facts of a notebook tool, with its line in prompts.
    const fn of_notebooks(access: CallAccess, prompt: &'static str) -> ToolFacts {
        ToolFacts { group: ToolGroup::Notebook, prompt, ..ToolFacts::new(access) }
    }
}

impl Definition {
    fn new<T: Tool>(name: ToolName) -> Definition {
        Definition { name, description: T::ABOUT, fields: T::FIELDS, facts: T::FACTS }
    }

    /// Returns the JSON schema of the arguments.
    pub fn schema(&self) -> Value {
        input::schema(self.fields)
    }

    /// Returns whether no call in this mode changes anything or runs code.
    pub fn only_looks(&self, mode: Mode) -> bool {
        // A tool with a read-only form does more in other modes.
        self.facts.access == CallAccess::Look
            && (self.facts.looking.is_none() || !mode.allows(CallAccess::Run))
    }
}

#[cfg(test)]
mod tests;
