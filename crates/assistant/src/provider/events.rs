//! What every dialect does with a piece of a streamed answer.

use serde_json::Value;

use super::{Event, Fault};
use crate::message::ToolCall;

/// Reads a streamed answer, piece by piece.
pub(super) trait Reader: Send {
    /// Takes a piece and says what it means.
    fn take(&mut self, piece: &Value) -> Result<Vec<Event>, Fault>;

    /// The provider has said that nothing more comes; without this, an answer that breaks off is no answer.
    fn finish(&mut self) -> Vec<Event>;

    /// Whether all was said that makes an answer.
    fn is_complete(&self) -> bool;
}

/// A call whose arguments come in pieces of text.
#[derive(Debug, Default)]
pub(super) struct Growing {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: String,
}

impl Growing {
    /// The call, once all of it is there. `number` names it where the provider did not.
    pub(super) fn call(self, number: usize) -> ToolCall {
        let arguments = match self.arguments.trim() {
            "" => Value::Object(Default::default()),
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        };
        let id = if self.id.is_empty() { format!("call-{number}") } else { self.id };
        ToolCall { id, tool: self.tool, arguments, mark: None }
    }
}
