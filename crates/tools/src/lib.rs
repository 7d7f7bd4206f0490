//! Tools for agents: calls and answers, modes and file access, the state of the active notebook,
//! and the prompts for a model. Knows no transport.

#![doc = include_str!("../README.md")]

mod agent;
mod answer;
mod budget;
mod caller;
mod cells_read;
pub mod context;
mod editor;
mod executions;
mod file_policy;
mod input;
mod known_outputs;
mod ledger;
mod mode;
mod nearby;
mod offer;
pub mod prompt;
pub mod redaction;
mod reference;
mod result;
mod sketch;
mod tool;
mod toolbox;

pub use agent::Agent;
pub use answer::{AnswerBlock, CallProgress, ToolAnswer};
pub use caller::{Caller, ToolSet};
pub use cells_read::CellsRead;
pub use editor::{EditorReport, EditorSelection, EditorState};
pub use file_policy::{AdmittedFile, Denial, FilePolicy, Use};
pub use input::{BadArguments, Field, FieldKind};
pub use mode::{CallAccess, Mode, ModeRefusal, UnknownMode};
pub use nearby::nearby_notebooks;
pub use offer::{NotOffered, ToolOffer};
pub use reference::{Attachment, References, ToolMention, references, tool_references};
pub use sketch::CellSketch;
pub use tool::{Definition, ToolFacts, ToolGroup, ToolName};
pub use toolbox::{NotCalled, Toolbox};
