//! The transcript of a conversation, and the updates that clients read from it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cellist_tools::Mode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cell_edits::CellEdit;
use super::request::{Approval, MessageId};
use crate::message::ModelMessage;
use crate::provider::TokenUsage;

/// The lasting part of a conversation. Its JSON is the file that survives a restart of the host.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct ChatTranscript {
    #[serde(rename = "told")]
    pub(super) entries: Vec<TranscriptEntry>,
    /// The messages that the model reads again with the next prompt.
    pub(super) history: Vec<ModelMessage>,
    /// The ended answers, newest last.
    pub(super) turns: Vec<FinishedTurn>,
}

/// An ended answer, for undo.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FinishedTurn {
    pub(super) turn: String,
    /// The notebooks that it used.
    #[serde(with = "cellist_platform::portable_path")]
    pub(super) notebooks: Vec<PathBuf>,
    /// Other files that it changed, as the model named them.
    #[serde(default)]
    pub(super) files: BTreeSet<String>,
    pub(super) is_undone: bool,
}

/// One entry of a conversation's transcript. Entries are only appended. A client that reads all of them in order
/// can show the whole conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptEntry {
    /// The answer to a message begins.
    Asked {
        /// The client's name for the message.
        #[serde(default)]
        message: MessageId,
        /// The text of the message.
        words: String,
        /// The mode of the answer.
        mode: Mode,
        /// The model.
        model: String,
        /// The name of the turn, for undo.
        turn: String,
        /// Whether the notebook is part of the prompt.
        notebook_mode: bool,
        /// Notes for the user about the prompt.
        notes: Vec<String>,
        /// The attached notebooks.
        attached: Vec<String>,
        /// The selected cells, sent whole.
        selected: Vec<String>,
        /// The cells whose outputs were sent.
        outputs: Vec<String>,
    },
    /// More text of the answer.
    Text(String),
    /// The model calls a tool.
    Call {
        /// The name of the call.
        id: String,
        /// The name of the tool.
        tool: String,
        /// The arguments of the call.
        arguments: Value,
    },
    /// The call would run code, or change a file that other programs run. It waits for the user's approval.
    Question {
        /// The name of the call.
        id: String,
        /// The protected file, if the question is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// The user's decision.
    Verdict {
        /// The name of the call.
        id: String,
        /// The decision.
        verdict: Approval,
    },
    /// The result of a call, as the model reads it.
    Result {
        /// The name of the call.
        id: String,
        /// The text.
        text: String,
        /// The number of images.
        images: usize,
        /// Whether the call failed.
        is_failure: bool,
        /// The duration of the call.
        duration_ms: u64,
        /// The changes to cells, taken from the notebook's journal and not from the model.
        deeds: Vec<CellEdit>,
        /// The mode that would have allowed the call, if the mode was the reason to refuse it.
        needs_mode: Option<Mode>,
    },
    /// A proposed source for the one cell. The notebook is unchanged.
    Proposal {
        /// The cell.
        cell: String,
        /// The whole new source.
        source: String,
    },
    /// The provider failed and is retried. The text since the last call is void.
    Again {
        /// The failure.
        message: String,
        /// The delay before the retry.
        after_ms: u64,
    },
    /// The answer has ended.
    Ended {
        /// The reason.
        ending: AnswerEnding,
        /// The tokens of the answer.
        usage: TokenUsage,
    },
    /// The changes of a turn were undone.
    Undone {
        /// The name of the turn.
        turn: String,
    },
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerEnding {
    /// The model finished.
    Done,
    /// The user stopped it.
    Stopped,
    /// A response of the model reached its limit of tokens.
    TooLong,
    /// The answer reached its limit of requests to the model.
    TooManySteps,
    /// The provider refused to continue.
    Refused,
    /// The provider failed.
    Failed {
        /// The failure.
        message: String,
        /// A hint for the user.
        hint: String,
    },
}

/// The transcript from a position on, and the state of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationUpdate {
    /// The entries from the requested position on. A long rest comes in several updates.
    pub told: Vec<TranscriptEntry>,
    /// The position to request next.
    pub next: usize,
    /// The message that is being answered.
    pub answering: Option<MessageId>,
    /// The queued messages, next first.
    pub waiting: Vec<QueuedMessage>,
    /// Whether code of an ended answer still runs. Always false during an answer.
    pub runs_on: bool,
    /// Counts all changes of the conversation. A client waits for a higher value.
    pub mark: u64,
    /// Whether a new conversation has replaced this one.
    pub is_over: bool,
}

/// A message that waits until earlier answers have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedMessage {
    /// The client's name for the message, by which it can be withdrawn.
    pub message: MessageId,
    /// The text of the message.
    pub words: String,
}
