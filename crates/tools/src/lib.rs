//! What an agent may ask for and what it is told: tools and modes, the state of the notebook it works on, and the
//! instructions that go with both. Knows no transport.

#![doc = include_str!("../README.md")]

mod agent;
mod answer;
mod budget;
mod caller;
pub mod context;
mod editor;
mod executions;
mod glance;
mod input;
mod ledger;
mod mode;
mod nearby;
mod offer;
pub mod prompt;
mod reach;
pub mod redaction;
mod reference;
mod result;
mod sent;
mod sketch;
mod tool;
mod toolbox;

pub use agent::Agent;
pub use answer::{Answer, Block, Progress};
pub use caller::{Caller, ToolSet};
pub use editor::{Editor, EditorReport, Selection};
pub use glance::Glance;
pub use input::{BadArguments, Field, Kind};
pub use mode::{Access, Mode, ModeRefusal, UnknownMode};
pub use nearby::nearby_notebooks;
pub use offer::{NotOffered, Offer};
pub use reach::{Admitted, Denial, Reach, Use};
pub use reference::{Attachment, References, ToolReference, references, tool_references};
pub use sketch::CellSketch;
pub use tool::{Definition, ToolFacts, ToolGroup, ToolName};
pub use toolbox::{NotCalled, Toolbox};
