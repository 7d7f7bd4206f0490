//! Messages and decisions that a client sends to a conversation.

use cellist_session::sessions::ExecutionId;
use cellist_settings::{Chat, RunCode};
use cellist_tools::Caller;
use serde::{Deserialize, Serialize};

use crate::provider::Account;

/// The client's name for a message, by which it recognizes the message in the transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub String);

impl MessageId {
    /// Makes a unique name.
    pub fn random() -> MessageId {
        MessageId(ExecutionId::random().to_string())
    }
}

/// A message of the user, with everything that its answer depends on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The client's name for the message.
    pub id: MessageId,
    /// The text of the message.
    pub words: String,
    /// The identity that tools are called with: mode, folders, and the state of the user's editor.
    pub caller: Caller,
    /// The provider, model and key.
    pub account: Account,
    /// The limits of the answer.
    pub rules: AnswerRules,
    /// The instructions for work on a notebook in this mode.
    pub instructions: String,
    /// The cells whose outputs go into the prompt.
    pub outputs: Vec<String>,
    /// The one cell that the message is about. Its answer is then a proposal and changes nothing.
    #[serde(default)]
    pub about: Option<String>,
}

/// The limits of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRules {
    /// Whether the user is asked before code runs.
    pub run_code: RunCode,
    /// Maximum bytes of notebooks and files in the prompt.
    pub context: usize,
    /// Maximum requests to the model.
    pub max_steps: usize,
    /// Maximum tokens in one response of the model.
    pub max_tokens: usize,
}

impl From<&Chat> for AnswerRules {
    fn from(chat: &Chat) -> AnswerRules {
        AnswerRules {
            run_code: chat.run_code,
            context: usize::try_from(chat.context).unwrap_or(usize::MAX),
            max_steps: chat.max_steps,
            max_tokens: chat.max_tokens,
        }
    }
}

/// How much a stop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopScope {
    /// The answer ends; its code keeps running.
    Answer,
    /// The answer ends and its code is interrupted.
    Kernel,
}

/// The user's decision about running code or changing a protected file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Allows this call. For a file, allows changes until the conversation ends.
    Once,
    /// Allows code in every conversation about this notebook. For a file, the same as `Once`.
    Always,
    /// Refuses the call.
    No,
}
