//! What an agent may ask for and what it is told: tools and modes, the state of the notebook it works on, and the
//! instructions that go with both. Knows no transport.

pub mod context;
mod editor;
mod mode;
pub mod prompt;
mod reference;
mod tool;

pub use editor::{Editor, Selection};
pub use mode::{Access, Mode, Refusal, UnknownMode};
pub use reference::{Attachment, References, ToolReference, references};
pub use tool::{Offer, ToolName};
