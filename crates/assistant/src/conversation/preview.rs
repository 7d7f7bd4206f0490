//! A preview of the prompt for a message. Nothing is sent, and the conversation is unchanged.

use std::sync::Arc;

use cellist_session::sessions::OwnerId;
use cellist_tools::{Agent, Caller};
use serde::{Deserialize, Serialize};

use super::answer_turn::TurnOpening;
use super::request::ChatRequest;
use super::{Conversation, ModelMessage};
use crate::message::{MessagePart, MessageRole};
use crate::provider::Provider;

/// A whole prompt, as the provider would receive it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptPreview {
    /// The instructions.
    pub instructions: String,
    /// The messages, newest last.
    pub messages: Vec<PreviewMessage>,
    /// The tools that the model may call.
    pub tools: Vec<PreviewTool>,
    /// The size of the request body.
    pub bytes: usize,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Whether the notebook is part of the prompt.
    pub notebook_mode: bool,
}

/// A message of the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewMessage {
    /// The author.
    pub role: MessageRole,
    /// The text.
    pub text: String,
}

/// A tool of the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewTool {
    /// The name.
    pub name: String,
    /// The description for the model.
    pub description: String,
}

impl Conversation {
    /// Returns the prompt that this message would send now.
    pub async fn preview(&self, request: ChatRequest) -> PromptPreview {
        let shared = &self.0;
        let mut notes = Vec::new();
        let caller = crate::briefing::caller(&request, shared.home(), &mut notes);
        // A session of its own: tools must not assume that the model has read this.
        let caller = Caller { session: format!("{}-preview", caller.session), ..caller };
        let agent = Arc::new(Agent::new(caller, OwnerId("preview".to_owned())).for_one_turn());
        let (history, model_notes) = {
            let state = shared.lock();
            (state.transcript.history.clone(), state.model_notes.clone())
        };
        let opening = TurnOpening::prepare(shared, &agent, &request, notes, &model_notes).await;
        let prompt = opening.prompt(&request, history);
        let provider = Provider::new(request.account);
        let bytes = provider.body(&prompt).len();
        let shown = |text: &str| provider.as_sent(text);
        PromptPreview {
            instructions: shown(&prompt.instructions),
            messages: prompt
                .messages
                .iter()
                .map(|message| PreviewMessage { role: message.role, text: shown(&text(message)) })
                .collect(),
            tools: prompt
                .tools
                .iter()
                .map(|tool| PreviewTool { name: tool.name.into(), description: tool.description.into() })
                .collect(),
            bytes,
            notes: opening.notes,
            notebook_mode: opening.notebook_mode,
        }
    }
}

/// The text of a message for the user.
fn text(message: &ModelMessage) -> String {
    let parts = message.parts.iter().map(|part| match part {
        MessagePart::Text(text) => text.clone(),
        MessagePart::Image(image) => format!("[image: {}]", image.mime),
        MessagePart::Call(call) => format!("[calls {}] {}", call.tool, call.arguments),
        MessagePart::Result(result) => format!("[result of {}] {}", result.tool, result.text),
    });
    parts.collect::<Vec<_>>().join("\n")
}
