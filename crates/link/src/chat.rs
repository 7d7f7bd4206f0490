//! Conversations with the assistant: what may be asked of them, and what is heard.

use std::path::PathBuf;

use cellist_assistant::{Ask, Heard, Restored, Stop, Verdict};
use serde::{Deserialize, Serialize};

/// What may be asked of conversations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatAsk {
    /// The conversation about a notebook, which begins now if there is none.
    Open {
        /// The notebook, by an absolute path.
        #[serde(with = "cellist_session::order")]
        notebook: PathBuf,
        /// Whether a new one begins, and the one that there was is over.
        is_new: bool,
    },
    /// Says something.
    Send {
        /// The conversation.
        chat: String,
        /// What, and all that decides on the answer.
        ask: Box<Ask>,
    },
    /// Takes a message back that waits for its turn.
    Withdraw {
        /// The conversation.
        chat: String,
        /// The number under which it waits.
        number: u64,
    },
    /// Ends the answer that is under way.
    Stop {
        /// The conversation.
        chat: String,
        /// What becomes of code that it runs.
        stop: Stop,
    },
    /// Says whether a call may run code.
    Approve {
        /// The conversation.
        chat: String,
        /// The call.
        call: String,
        /// Whether it may.
        verdict: Verdict,
    },
    /// What was told from a place on, as soon as there is more, or after a minute.
    Hear {
        /// The conversation.
        chat: String,
        /// The place.
        from: usize,
        /// The mark of what was heard last: anything else that is new is told, too.
        mark: u64,
    },
    /// Takes back what was changed in notebooks with an answer.
    Undo {
        /// The conversation.
        chat: String,
        /// The turn.
        turn: String,
    },
}

/// What is answered about conversations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatReply {
    /// The name of the conversation, and how much was told in it.
    Open {
        /// Its name.
        chat: String,
        /// How much was told so far.
        told: usize,
        /// Whether an answer is under way.
        is_answering: bool,
    },
    /// What was told.
    Heard(Heard),
    /// The number under which a message waits, if it has to.
    Sent(u64),
    /// What was taken back.
    Restored(Restored),
    /// Whether it had any effect.
    Done(bool),
}
