//! Messages between user and model, independent of a provider. Each provider's module translates them to its own format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// The author.
    pub role: MessageRole,
    /// The content, in order.
    pub parts: Vec<MessagePart>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The user. Results of tool calls count as the user's, as in the formats of all providers.
    Person,
    /// The model.
    Model,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePart {
    /// Plain text or Markdown.
    Text(String),
    /// An image.
    Image(MessageImage),
    /// A tool call by the model.
    Call(ToolCall),
    /// The result of a tool call.
    Result(ToolResult),
}

/// An image in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageImage {
    /// The MIME type.
    pub mime: String,
    /// The bytes, in base64.
    pub data: String,
}

/// A tool call by a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The name of the call, unique in the conversation.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments. Text that is not valid JSON is kept as a JSON string.
    pub arguments: Value,
    /// An opaque signature that the provider expects back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The name of the call.
    pub call: String,
    /// The name of the tool.
    pub tool: String,
    /// The text for the model.
    pub text: String,
    /// The images for the model.
    pub images: Vec<MessageImage>,
    /// Whether the call failed.
    pub is_failure: bool,
}

impl ModelMessage {
    /// Makes a message of the user.
    pub fn person(text: impl Into<String>) -> ModelMessage {
        ModelMessage { role: MessageRole::Person, parts: vec![MessagePart::Text(text.into())] }
    }

    /// Makes a message of the model.
    pub fn model(parts: Vec<MessagePart>) -> ModelMessage {
        ModelMessage { role: MessageRole::Model, parts }
    }

    /// Makes a message with the results of tool calls.
    pub fn results(results: Vec<ToolResult>) -> ModelMessage {
        let parts = results.into_iter().map(MessagePart::Result).collect();
        ModelMessage { role: MessageRole::Person, parts }
    }

    /// The tool calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call),
            MessagePart::Text(_) | MessagePart::Image(_) | MessagePart::Result(_) => None,
        })
    }

    /// The size of its content in bytes.
    pub fn size(&self) -> usize {
        let sizes = self.parts.iter().map(|part| match part {
            MessagePart::Text(text) => text.len(),
            MessagePart::Image(image) => image.data.len(),
            MessagePart::Call(call) => call.tool.len() + call.arguments.to_string().len(),
            MessagePart::Result(result) => {
                result.text.len() + result.images.iter().map(|image| image.data.len()).sum::<usize>()
            }
        });
        sizes.sum()
    }
}
