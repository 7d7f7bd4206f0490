//! The requests about conversations with the assistant, and the replies.

use std::path::PathBuf;

use cellist_assistant::{Approval, ChatRequest, ConversationUpdate, MessageId, PromptPreview, StopScope};
use cellist_notebook::CellId;
use cellist_settings::RunCode;
use cellist_tools::Mode;
use serde::{Deserialize, Serialize};

/// A request about a conversation.
///
/// A conversation belongs to a notebook, or to one cell of it. Messages are answered one at a time; later ones are queued.
/// Answers go on when the client disconnects.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatAction {
    /// Opens the conversation about a notebook or one of its cells. Starts one if there is none.
    Open {
        /// The notebook, by an absolute path.
        #[serde(with = "cellist_platform::portable_path")]
        notebook: PathBuf,
        /// The cell of a conversation about one cell.
        cell: Option<CellId>,
        /// Whether to end the current conversation and start a new one.
        is_new: bool,
    },
    /// Returns the model, tools and notebooks for messages about a notebook.
    Setup {
        /// The notebook, by an absolute path.
        #[serde(with = "cellist_platform::portable_path")]
        notebook: PathBuf,
    },
    /// Sends a message with complete settings and keys.
    Send {
        /// The conversation.
        chat: String,
        /// The message.
        ask: Box<ChatRequest>,
    },
    /// Sends a message, with the settings and keys of the page's user.
    Say {
        /// The conversation.
        chat: String,
        /// The message.
        message: ChatMessage,
    },
    /// Returns the prompt for a message, without sending it.
    Preview {
        /// The conversation.
        chat: String,
        /// The message.
        message: ChatMessage,
    },
    /// Removes a message from the queue.
    Withdraw {
        /// The conversation.
        chat: String,
        /// The client's name for the message.
        message: MessageId,
    },
    /// Stops the current answer.
    Stop {
        /// The conversation.
        chat: String,
        /// Whether the code that the answer runs is interrupted too.
        stop: StopScope,
    },
    /// Answers the question whether a tool call may run code.
    Approve {
        /// The conversation.
        chat: String,
        /// The call.
        call: String,
        /// The user's decision.
        verdict: Approval,
    },
    /// Returns the transcript from a position on. With a mark, waits for a change, at most a minute.
    Hear {
        /// The conversation.
        chat: String,
        /// The position.
        from: usize,
        /// The mark of the last update. A change of state also ends the wait.
        mark: Option<u64>,
    },
    /// Undoes the changes that an answer made in notebooks.
    Undo {
        /// The conversation.
        chat: String,
        /// The turn.
        turn: String,
    },
    /// Undoes the changes of an answer and of all later answers.
    Restore {
        /// The conversation.
        chat: String,
        /// The turn.
        turn: String,
    },
    /// Ends a conversation about one cell.
    End {
        /// The conversation.
        chat: String,
    },
}

/// A message of the user, with its attached cells and notebooks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The client's name for the message.
    pub id: MessageId,
    /// The words.
    pub words: String,
    /// The mode of the answer.
    pub mode: Mode,
    /// Whether the notebook of the conversation is attached.
    pub is_attached: bool,
    /// Other notebooks, by their paths.
    pub attached: Vec<String>,
    /// The cells whose whole text is sent.
    pub selected: Vec<CellId>,
    /// The cells whose outputs are sent.
    pub outputs: Vec<CellId>,
}

/// The models, tools and notebooks that a message can use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChatSetup {
    /// The model that answers, or the reason why there is none.
    pub account: ChatAccount,
    /// Whether the user is asked before code runs.
    pub run_code: RunCode,
    /// The tools that a message may name, such as `#runNotebookCells`.
    pub references: Vec<ToolReference>,
    /// The notebooks that may be attached, relative to the folder.
    pub notebooks: Vec<String>,
}

/// The model that answers, or the reason why there is none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub enum ChatAccount {
    There { provider: String, model: String },
    Missing { problem: String, hint: String },
}

/// A tool that a message may name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolReference {
    /// Its name, behind a `#`.
    pub name: String,
    /// The mode that it needs.
    pub mode: Mode,
}

/// The reply to a request about a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatReply {
    /// The conversation.
    Open {
        /// Its name.
        chat: String,
        /// The length of the transcript.
        told: usize,
    },
    /// The model, tools and notebooks that a message can use.
    Setup(ChatSetup),
    /// The transcript from the requested position on.
    Heard(ConversationUpdate),
    /// The prompt of a message.
    Preview(PromptPreview),
    /// The undone changes.
    Restored {
        /// A summary for the user.
        summary: String,
        /// Whether anything was undone.
        is_any: bool,
    },
    /// Whether the request had an effect.
    Done(bool),
}

impl ChatAction {
    /// Whether a page may send this. A page has no settings or keys of its own.
    pub fn allowed_from_page(&self) -> bool {
        match self {
            ChatAction::Open { .. }
            | ChatAction::Setup { .. }
            | ChatAction::Say { .. }
            | ChatAction::Preview { .. }
            | ChatAction::Withdraw { .. }
            | ChatAction::Stop { .. }
            | ChatAction::Approve { .. }
            | ChatAction::Hear { .. }
            | ChatAction::Restore { .. }
            | ChatAction::End { .. } => true,
            ChatAction::Send { .. } | ChatAction::Undo { .. } => false,
        }
    }
}
