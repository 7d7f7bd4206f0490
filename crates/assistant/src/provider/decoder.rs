//! Decoding of a streamed response. Each API implements [`StreamDecoder`].

use serde_json::Value;

use super::{ModelEvent, ProviderError};
use crate::message::ToolCall;

/// Decodes the events of one streamed response, in order.
///
/// [`decode`](StreamDecoder::decode) returns text as it arrives. Calls whose arguments arrive in fragments come out of
/// [`finish`](StreamDecoder::finish). The transport calls `finish` once, and only if
/// [`is_complete`](StreamDecoder::is_complete): an interrupted response ends with an error instead.
pub(super) trait StreamDecoder: Send {
    /// Takes the JSON of one event.
    fn decode(&mut self, event: &Value) -> Result<Vec<ModelEvent>, ProviderError>;

    /// Returns the remaining events, with [`ModelEvent::End`] as the last one.
    fn finish(&mut self) -> Vec<ModelEvent>;

    /// Whether the provider has signalled the end of the response.
    fn is_complete(&self) -> bool;
}

/// A call whose arguments arrive in fragments of text.
#[derive(Debug, Default)]
pub(super) struct PartialCall {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: String,
}

impl PartialCall {
    /// Completes the call. `number` names it if the provider did not.
    pub(super) fn complete(self, number: usize) -> ToolCall {
        let arguments = match self.arguments.trim() {
            "" => Value::Object(Default::default()),
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        };
        let id = if self.id.is_empty() { format!("call-{number}") } else { self.id };
        ToolCall { id, tool: self.tool, arguments, mark: None }
    }
}
