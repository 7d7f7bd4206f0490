//! What is said in a conversation, in words of our own: each provider's way to write it stays with the provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// What, in order.
    pub parts: Vec<Part>,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and what was found out for the model.
    Person,
    /// The model.
    Model,
}

/// A part of what is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text(String),
    /// A picture.
    Image(Image),
    /// The model wants a tool to be used.
    Call(ToolCall),
    /// What came of it.
    Result(ToolResult),
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it is.
    pub mime: String,
    /// Its bytes, in base64.
    pub data: String,
}

/// A call of a tool, as a model makes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its name in the conversation.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments. What a model wrote and is no JSON is text.
    pub arguments: Value,
    /// Something that the provider wants back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The name of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What it says.
    pub text: String,
    /// What it shows.
    pub images: Vec<Image>,
    /// Whether it failed.
    pub is_failure: bool,
}

impl Message {
    /// Words of a person.
    pub fn person(text: impl Into<String>) -> Message {
        Message { role: Role::Person, parts: vec![Part::Text(text.into())] }
    }

    /// Something a model said.
    pub fn model(parts: Vec<Part>) -> Message {
        Message { role: Role::Model, parts }
    }

    /// What came of calls.
    pub fn results(results: Vec<ToolResult>) -> Message {
        Message { role: Role::Person, parts: results.into_iter().map(Part::Result).collect() }
    }

    /// The calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Image(_) | Part::Result(_) => None,
        })
    }

    /// How much there is to read in it, in bytes.
    pub fn size(&self) -> usize {
        let sizes = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Image(image) => image.data.len(),
            Part::Call(call) => call.tool.len() + call.arguments.to_string().len(),
            Part::Result(result) => {
                result.text.len() + result.images.iter().map(|image| image.data.len()).sum::<usize>()
            }
        });
        sizes.sum()
    }
}
