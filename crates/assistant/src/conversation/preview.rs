//! What a model would be sent with a message, for a person who wants to see it first. Nothing is sent, and nothing that
//! is told here counts as told to the model.

use std::sync::Arc;

use cellist_session::sessions::OwnerId;
use cellist_tools::{Agent, Caller};
use serde::{Deserialize, Serialize};

use super::told::Ask;
use super::turn::Opening;
use super::{Conversation, Message};
use crate::message::{Part, Role};
use crate::provider::Provider;

/// All that a model would be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What stays the same.
    pub instructions: String,
    /// What was said and would be said now.
    pub messages: Vec<SeenMessage>,
    /// The tools that it may ask for.
    pub tools: Vec<SeenTool>,
    /// How large all of it is, as it would travel.
    pub bytes: usize,
    /// What the person should know about it.
    pub notes: Vec<String>,
    /// Whether a notebook is worked on.
    pub notebook_mode: bool,
}

/// Something that is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenMessage {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: String,
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenTool {
    /// Its name.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
}

impl Conversation {
    /// What a model would be sent with this message now.
    pub async fn preview(&self, ask: Ask) -> Seen {
        let inner = &self.0;
        let mut notes = Vec::new();
        let caller = crate::briefing::caller(&ask, self.0.home(), &mut notes);
        // The model is told nothing by this, so it is not as if its agent had been.
        let caller = Caller { session: format!("{}-preview", caller.session), ..caller };
        let agent = Arc::new(Agent::new(caller, OwnerId("preview".to_owned())).for_one_turn());
        let (history, aside) = {
            let state = inner.lock();
            (state.history.clone(), state.aside.clone())
        };
        let opening = Opening::of(inner, &agent, &ask, notes, &aside).await;
        let prompt = opening.prompt(&ask, history);
        let provider = Provider::new(ask.account);
        let bytes = provider.body(&prompt).len();
        let shown = |text: &str| provider.as_sent(text);
        Seen {
            instructions: shown(&prompt.instructions),
            messages: prompt
                .messages
                .iter()
                .map(|message| SeenMessage { role: message.role, text: shown(&text(message)) })
                .collect(),
            tools: prompt
                .tools
                .iter()
                .map(|tool| SeenTool { name: tool.name.into(), description: tool.description.into() })
                .collect(),
            bytes,
            notes: opening.notes,
            notebook_mode: opening.notebook_mode,
        }
    }
}

/// What a message says, as a person reads it.
fn text(message: &Message) -> String {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Image(image) => format!("[a picture: {}]", image.mime),
        Part::Call(call) => format!("[calls {}] {}", call.tool, call.arguments),
        Part::Result(result) => format!("[{} answered] {}", result.tool, result.text),
    });
    parts.collect::<Vec<_>>().join("\n")
}
