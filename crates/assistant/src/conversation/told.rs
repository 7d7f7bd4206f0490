//! What is said to a conversation, and what is heard of it.

use cellist_session::settings::{Chat, RunCode};
use cellist_tools::{Caller, Mode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider::{Account, Usage};

/// A message of a person, with all that decides on its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ask {
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

/// Whether code may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// This once.
    Once,
    /// From now on in this conversation, which is about one notebook.
    Always,
    /// No.
    No,
}

/// Something that is told of a conversation. All of it, in order, is what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// So many messages wait for their turn.
    Waiting {
        /// How many.
        count: usize,
    },
    /// A message is being answered.
    Asked {
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
    /// The call would run code, and waits for a word of the person.
    Question {
        /// The name of the call.
        id: String,
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
    /// Whether an answer is under way.
    pub is_answering: bool,
}
