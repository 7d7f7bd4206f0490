//! What travels about conversations with the assistant.

use cellist_assistant::{Seen, Stop, Told, Verdict, Waiting};
use cellist_notebook::CellId;
use cellist_session::settings::RunCode;
use cellist_tools::Mode;
use serde::{Deserialize, Serialize};

/// What a person says, with all that goes along.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::page) struct Message {
    pub(in crate::page) words: String,
    pub(in crate::page) mode: Mode,
    /// Whether the page's own notebook is attached.
    pub(in crate::page) is_attached: bool,
    /// Other notebooks, by their paths.
    pub(in crate::page) attached: Vec<String>,
    /// Cells that are sent whole.
    pub(in crate::page) selected: Vec<CellId>,
    /// Cells whose outputs go along.
    pub(in crate::page) outputs: Vec<CellId>,
}

/// What a page asks for about conversations.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::page) enum ChatAsk {
    /// The conversation about the notebook, and from then on all that is told in it, from the beginning.
    Open {
        is_new: bool,
    },
    /// The conversation about the notebook as it can be used now, and nothing more.
    About,
    Send(Message),
    /// What would be sent now.
    Preview(Message),
    Withdraw {
        number: u64,
    },
    Stop(Stop),
    Approve {
        call: String,
        verdict: Verdict,
    },
    /// Takes back what this answer and all later ones changed.
    Restore {
        turn: String,
    },
    /// Says something about one cell.
    Inline {
        cell: CellId,
        message: Message,
    },
    /// Ends the conversation of this name, which is about one cell.
    InlineStop(String),
}

/// The conversation about a notebook, and what one can say in it.
#[derive(Debug, Serialize)]
pub(in crate::page) struct Chat {
    pub(in crate::page) chat: String,
    pub(in crate::page) account: Account,
    pub(in crate::page) run_code: RunCode,
    pub(in crate::page) references: Vec<Reference>,
    /// Notebooks that may be attached, from the folder on.
    pub(in crate::page) notebooks: Vec<String>,
}

/// Who is asked, or why nobody is.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::page) enum Account {
    There { provider: &'static str, model: String },
    Missing { problem: String, hint: String },
}

/// A tool that a message may name.
#[derive(Debug, Serialize)]
pub(in crate::page) struct Reference {
    pub(in crate::page) name: String,
    /// The mode that it needs.
    pub(in crate::page) mode: Mode,
}

/// What was told in a conversation.
#[derive(Debug, Serialize)]
pub(in crate::page) struct ChatNews {
    pub(in crate::page) chat: String,
    /// The cell that it is about, where that is only one.
    pub(in crate::page) inline: Option<String>,
    /// The place of the first that is told.
    pub(in crate::page) from: usize,
    pub(in crate::page) told: Vec<Told>,
    pub(in crate::page) is_answering: bool,
    pub(in crate::page) waiting: Vec<Waiting>,
    /// Whether code still runs that an answer began and did not wait for, while none is under way.
    pub(in crate::page) runs_on: bool,
}

/// What is answered about conversations.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::page) enum ChatAnswer {
    Chat(Chat),
    Seen(Seen),
    Inline(String),
    /// What was taken back, in words.
    Restored(String),
    Done,
}
