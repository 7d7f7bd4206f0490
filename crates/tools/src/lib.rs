//! What an agent may ask for and what it is told: tools and modes, the state of the notebook it works on, and the
//! instructions that go with both. Knows no transport.

mod agent;
mod answer;
mod arguments;
mod budget;
mod caller;
pub mod context;
mod definition;
mod editor;
mod executions;
mod glance;
mod ledger;
mod mode;
mod nearby;
pub mod prompt;
mod reach;
mod reference;
mod result;
mod sent;
mod sketch;
mod tool;
mod toolbox;

pub use agent::Agent;
pub use answer::{Answer, Block, Progress};
pub use arguments::{Arguments, BadArguments};
pub use caller::{Caller, ToolSet};
pub use definition::{Definition, Field, Kind};
pub use editor::{Editor, EditorReport, Selection};
pub use glance::Glance;
pub use mode::{Access, Mode, Refusal, UnknownMode};
pub use nearby::nearby_notebooks;
pub use reach::{Admitted, Denial, Reach, Use};
pub use reference::{Attachment, References, ToolReference, references, tool_references};
pub use sketch::CellSketch;
pub use tool::{NotOffered, Offer, ToolName};
pub use toolbox::{NotCalled, Toolbox};
