//! The requests about conversations with the assistant, and the replies.

use std::path::PathBuf;

use cellist_assistant::{Approval, ChatRequest, ConversationUpdate, MessageId, PromptPreview, StopScope};
use cellist_notebook::CellId;
use cellist_settings::RunCode;
use cellist_tools::Mode;
use serde::{Deserialize, Serialize};

/// What may be asked of conversations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatAction {
    /// The conversation about a notebook, or about one of its cells, which begins now if there is none.
    Open {
        /// The notebook, by an absolute path.
        #[serde(with = "cellist_platform::portable_path")]
        notebook: PathBuf,
        /// The cell, where the conversation is about one.
        cell: Option<CellId>,
        /// Whether a new one begins, and the one that there was is over.
        is_new: bool,
    },
    /// The models, tools and notebooks that a message about a notebook can use now.
    Setup {
        /// The notebook, by an absolute path.
        #[serde(with = "cellist_platform::portable_path")]
        notebook: PathBuf,
    },
    /// Says something, with all that decides on the answer.
    Send {
        /// The conversation.
        chat: String,
        /// The message.
        ask: Box<ChatRequest>,
    },
    /// Says something, by the settings and keys of the client.
    Say {
        /// The conversation.
        chat: String,
        /// The message.
        message: ChatMessage,
    },
    /// The prompt that a model would be sent now.
    Preview {
        /// The conversation.
        chat: String,
        /// The message.
        message: ChatMessage,
    },
    /// Takes a message back that waits for its turn.
    Withdraw {
        /// The conversation.
        chat: String,
        /// The client's name for the message.
        message: MessageId,
    },
    /// Ends the answer that is under way.
    Stop {
        /// The conversation.
        chat: String,
        /// What becomes of code that it runs.
        stop: StopScope,
    },
    /// Says whether a call may run code.
    Approve {
        /// The conversation.
        chat: String,
        /// The call.
        call: String,
        /// Whether it may.
        verdict: Approval,
    },
    /// What was told from a place on: at once, or for a client that names a mark as soon as there is more, or after a minute.
    Hear {
        /// The conversation.
        chat: String,
        /// The place.
        from: usize,
        /// The mark of what was heard last: anything else that is new is told, too.
        mark: Option<u64>,
    },
    /// Takes back the changes that an answer made in notebooks.
    Undo {
        /// The conversation.
        chat: String,
        /// The turn.
        turn: String,
    },
    /// Takes back the changes of an answer and of all later ones.
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

/// A message of a person, with the cells and notebooks that go along.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The client's name for it.
    pub id: MessageId,
    /// The words.
    pub words: String,
    /// The mode of the answer.
    pub mode: Mode,
    /// Whether the notebook of the conversation is attached.
    pub is_attached: bool,
    /// Other notebooks, by their paths.
    pub attached: Vec<String>,
    /// Cells that are sent whole.
    pub selected: Vec<CellId>,
    /// Cells whose outputs go along.
    pub outputs: Vec<CellId>,
}

/// The models, tools and notebooks that a message can use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChatSetup {
    /// The model that answers, or why there is none.
    pub account: ChatAccount,
    /// Whether code runs only after a question.
    pub run_code: RunCode,
    /// Tools that a message may name, as `#runNotebookCells`.
    pub references: Vec<ToolReference>,
    /// Notebooks that may be attached, from the folder on.
    pub notebooks: Vec<String>,
}

/// The model that answers, or why there is none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the fields are named for what they are")]
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

/// What is answered about conversations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatReply {
    /// The conversation.
    Open {
        /// Its name.
        chat: String,
        /// How much was told so far.
        told: usize,
    },
    /// What a message can use.
    Setup(ChatSetup),
    /// What was told.
    Heard(ConversationUpdate),
    /// The prompt that would be sent.
    Preview(PromptPreview),
    /// What was taken back.
    Restored {
        /// In words.
        summary: String,
        /// Whether anything was.
        is_any: bool,
    },
    /// Whether it had any effect.
    Done(bool),
}

impl ChatAction {
    /// Whether a page may ask this. A page has no settings or keys of its own.
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
