//! The tools. One file each, with its input, description, access and function; the table below lists them, and names,
//! definitions and the dispatch of calls are made of it.

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

use crate::answer::{Answer, Block, Refusal};
use crate::input::{
    self, BadArguments, CellType, Field, Input, Kind, MaxOutput, Seconds, Whole, choice, input,
};
use crate::mode::{Access, Mode};
use crate::toolbox::{Call, Toolbox};

/// A tool: the input of a call, whose documentation is the description, and all else that there is to know.
pub(crate) trait Tool: Input {
    const FACTS: ToolFacts;

    /// What this call amounts to: an edit of a notebook, a change that is also run, or an interrupt may be more than the least.
    fn access(&self) -> Access {
        Self::FACTS.access
    }

    /// The text that the call writes to a file, for the check of redaction marks.
    fn writing(&self) -> Option<Writing<'_>> {
        None
    }

    /// Carries the call out.
    fn run(self, toolbox: &Toolbox, call: Call<'_>) -> impl Future<Output = Result<Answer, Refusal>> + Send;
}

/// The facts about a tool that its input does not tell.
#[derive(Clone, Copy, Debug)]
pub struct ToolFacts {
    /// The least that a call amounts to.
    pub access: Access,
    /// The callers that are offered it.
    pub group: ToolGroup,
    /// Whether a call may overwrite or remove content.
    pub destroys: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub repeats: bool,
    /// Its line in the prompts about notebooks.
    pub(crate) prompt: &'static str,
    /// Its form in modes that do not run code, where that differs.
    looking: Option<Looking>,
}

/// Which callers are offered a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolGroup {
    /// Those with a notebook to work on.
    Notebook,
    /// All that may change notebooks: it makes a notebook to work on.
    NewNotebook,
    /// Those that run Python.
    Python,
    /// Those that have a shell.
    Shell,
    /// All.
    General,
}

/// A tool in modes that do not run code.
#[derive(Clone, Copy, Debug)]
struct Looking {
    description: &'static str,
    fields: &'static [Field],
    prompt: &'static str,
}

/// The text that a call writes.
pub(crate) struct Writing<'a> {
    pub(crate) file: WrittenFile<'a>,
    pub(crate) texts: Vec<&'a str>,
}

/// The file that a text is written to.
pub(crate) enum WrittenFile<'a> {
    /// The file at a path.
    Path(&'a str),
    /// The named notebook, else the active one.
    Notebook(Option<&'a str>),
}

/// A tool as an agent reads about it.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: ToolName,
    /// Its purpose, and facts to know before a call.
    pub description: &'static str,
    /// The arguments that it takes.
    pub fields: &'static [Field],
    /// All else that there is to know.
    pub facts: ToolFacts,
}

macro_rules! tools {
    ($($module:ident::$tool:ident,)+) => {
        /// A tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is the tool of that name")]
        pub enum ToolName {
            $($tool),+
        }

        impl ToolName {
            /// All of them, in the order in which they are listed.
            pub const ALL: [ToolName; [$(ToolName::$tool),+].len()] = [$(ToolName::$tool),+];

            /// As an agent calls it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ToolName::$tool => stringify!($module)),+
                }
            }

            /// The tool as an agent reads about it.
            pub fn definition(self) -> Definition {
                match self {
                    $(ToolName::$tool => Definition::new::<$module::$tool>(self)),+
                }
            }
        }

        /// A call whose arguments were read.
        pub(crate) enum ToolRequest {
            $($tool($module::$tool)),+
        }

        impl ToolRequest {
            /// Reads the arguments of a call.
            pub(crate) fn read(tool: ToolName, given: &Value) -> Result<ToolRequest, BadArguments> {
                match tool {
                    $(ToolName::$tool => Input::read(tool.as_str(), given).map(ToolRequest::$tool)),+
                }
            }

            /// What it amounts to.
            pub(crate) fn access(&self) -> Access {
                match self {
                    $(ToolRequest::$tool(input) => input.access()),+
                }
            }

            /// The text that it writes to a file.
            pub(crate) fn writing(&self) -> Option<Writing<'_>> {
                match self {
                    $(ToolRequest::$tool(input) => input.writing()),+
                }
            }

            /// Carries it out.
            pub(crate) async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
                // On the heap: a call needs room for one tool, not for the largest of them.
                match self {
                    $(ToolRequest::$tool(input) => Box::pin(input.run(toolbox, call)).await),+
                }
            }
        }
    };
}

tools! {
    get_notebook_cells::GetNotebookCells,
    get_cell_outputs::GetCellOutputs,
    search_notebook::SearchNotebook,
    run_notebook_cells::RunNotebookCells,
    add_notebook_cell::AddNotebookCell,
    update_notebook_cell::UpdateNotebookCell,
    delete_notebook_cells::DeleteNotebookCells,
    move_notebook_cell::MoveNotebookCell,
    undo::Undo,
    create_notebook::CreateNotebook,
    notebook_kernel::NotebookKernel,
    notebook::Notebook,
    read::Read,
    edit::Edit,
    write::Write,
    python::Python,
    eval::Eval,
    bash::Bash,
    get_variables::GetVariables,
    wait::Wait,
    read_artifact::ReadArtifact,
}

impl ToolName {
    /// The tool that an agent calls so.
    pub fn from_name(name: &str) -> Option<ToolName> {
        ToolName::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    /// The facts about it.
    pub fn facts(self) -> ToolFacts {
        self.definition().facts
    }

    /// The tool as a mode lists it: without the parts that the mode refuses in every call.
    pub fn in_mode(self, mode: Mode) -> Definition {
        let Definition { name, description, fields, facts } = self.definition();
        match facts.looking.filter(|_| !mode.allows(Access::Run)) {
            Some(Looking { description, fields, prompt }) => {
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
    /// Of a tool that all callers are offered, and that may destroy content where it changes any.
    const fn new(access: Access) -> ToolFacts {
        let group = ToolGroup::General;
        ToolFacts { access, group, destroys: true, repeats: false, prompt: "", looking: None }
    }

    /// Of a tool for work on a notebook, with its line in prompts.
    const fn of_notebooks(access: Access, prompt: &'static str) -> ToolFacts {
        ToolFacts { group: ToolGroup::Notebook, prompt, ..ToolFacts::new(access) }
    }
}

impl Definition {
    fn new<T: Tool>(name: ToolName) -> Definition {
        Definition { name, description: T::ABOUT, fields: T::FIELDS, facts: T::FACTS }
    }

    /// The schema of its arguments.
    pub fn schema(&self) -> Value {
        input::schema(self.fields)
    }

    /// Whether no call of it can change anything or run code, in a mode.
    pub fn only_looks(&self, mode: Mode) -> bool {
        // A tool with a form for modes that only look does more in the others.
        self.facts.access == Access::Look && (self.facts.looking.is_none() || !mode.allows(Access::Run))
    }
}

#[cfg(test)]
mod tests;
