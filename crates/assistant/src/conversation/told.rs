//! What is said to a conversation, and what is heard of it.

use cellist_session::sessions::ExecutionId;
use cellist_settings::{Chat, RunCode};
use cellist_tools::{Caller, Mode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deeds::Deed;
use crate::provider::{Account, Usage};

/// The name that a client gives to a message, so that it knows it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub String);

impl MessageId {
    /// A name that no other message has.
    pub fn random() -> MessageId {
        MessageId(ExecutionId::random().to_string())
    }
}

/// A message of a person, with all that decides on its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// The client's name for it.
    pub id: MessageId,
    /// What they say.
    pub words: String,
    /// For whom tools are called: the mode, the folders, and what is in front of the person.
    pub caller: Caller,
    /// Who is asked.
    pub account: Account,
    /// How far an answer may go.
    pub rules: Rules,
    /// The instructions for work on a notebook in this mode.
    pub instructions: String,
    /// Cells whose outputs go along.
    pub outputs: Vec<String>,
    /// The one cell that it is about, where the answer is a proposal for it and nothing else.
    #[serde(default)]
    pub about: Option<String>,
}

/// How far an answer may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Whether code runs only after a question.
    pub run_code: RunCode,
    /// How many bytes of notebooks and files go along.
    pub context: usize,
    /// How often the model may be asked.
    pub max_steps: usize,
    /// How long one answer of the model may be, in tokens.
    pub max_tokens: usize,
}

impl From<&Chat> for Rules {
    fn from(chat: &Chat) -> Rules {
        Rules {
            run_code: chat.run_code,
            context: usize::try_from(chat.context).unwrap_or(usize::MAX),
            max_steps: chat.max_steps,
            max_tokens: chat.max_tokens,
        }
    }
}

/// How an answer is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// What runs in a kernel goes on.
    Answer,
    /// What the answer runs is interrupted.
    Kernel,
}

/// Whether code may run, or a file change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// This once; a file may change for the rest of the conversation.
    Once,
    /// From now on for this notebook, in every conversation about it. About a file it says no more than `Once`.
    Always,
    /// No.
    No,
}

/// Something that is told of a conversation. All of it, in order, is what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// A message is being answered.
    Asked {
        /// The client's name for the message.
        #[serde(default)]
        message: MessageId,
        /// What the person said.
        words: String,
        /// How far the answer may go.
        mode: Mode,
        /// The model that answers.
        model: String,
        /// Under which name its changes can be taken back.
        turn: String,
        /// Whether a notebook is worked on.
        notebook_mode: bool,
        /// What the person should know about what was sent.
        notes: Vec<String>,
        /// Notebooks that were attached.
        attached: Vec<String>,
        /// Cells that were sent whole.
        selected: Vec<String>,
        /// Cells whose outputs went along.
        outputs: Vec<String>,
    },
    /// More words of the answer.
    Text(String),
    /// A tool is called.
    Call {
        /// The name of the call.
        id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// The call would run code, or change a file that other programs run, and waits for a word of the person.
    Question {
        /// The name of the call.
        id: String,
        /// The file that it would change, where that is the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// The word of the person.
    Verdict {
        /// The name of the call.
        id: String,
        /// Whether it may run.
        verdict: Approval,
    },
    /// What came of a call, as the model reads it.
    Result {
        /// The name of the call.
        id: String,
        /// What it says.
        text: String,
        /// How many pictures it has.
        images: usize,
        /// Whether it failed.
        is_failure: bool,
        /// How long it took.
        duration_ms: u64,
        /// What it did to cells of the notebook, by the notebook's own account.
        deeds: Vec<Deed>,
        /// The mode that it would have needed, where it was refused because of that.
        needs_mode: Option<Mode>,
    },
    /// What the one cell could be; nothing is changed by that.
    Proposal {
        /// The cell.
        cell: String,
        /// Its whole source.
        source: String,
    },
    /// The provider failed and is asked again. The words since the last call do not count.
    Again {
        /// What is wrong.
        message: String,
        /// When it is asked again.
        after_ms: u64,
    },
    /// The answer has ended.
    Ended {
        /// How.
        ending: Ending,
        /// What it used.
        usage: Usage,
    },
    /// What was changed in a turn was taken back.
    Undone {
        /// The turn.
        turn: String,
    },
}

/// How an answer has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// All is said.
    Done,
    /// A person stopped it.
    Stopped,
    /// The model's answer may not be longer.
    TooLong,
    /// The model was asked as often as it may be.
    TooManySteps,
    /// The provider did not want to answer.
    Refused,
    /// The provider failed.
    Failed {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: String,
    },
}

/// What was told from a place on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// What was told.
    pub told: Vec<Told>,
    /// The place from which to ask next.
    pub next: usize,
    /// The message whose answer is under way.
    pub answering: Option<MessageId>,
    /// What waits for its turn, the next first.
    pub waiting: Vec<Waiting>,
    /// Whether code still runs that an answer began and did not wait for, while none is under way.
    pub runs_on: bool,
    /// Counts up with each of all this; who knows it waits for a higher one.
    pub mark: u64,
    /// Whether another conversation has taken its place.
    pub is_over: bool,
}

/// A message that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The client's name for it, by which it can be withdrawn.
    pub message: MessageId,
    /// What the person said.
    pub words: String,
}
