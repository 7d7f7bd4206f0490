//! What travels between a page and the host on its socket. `web/src/net/protocol.ts` says the same for the other side.

mod chat;

use std::collections::BTreeMap;

use cellist_link::Failure;
use cellist_notebook::{CellId, CellType};
use cellist_session::live::{Activity, Actor, Change, LastRun, Scope, Submission, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shown::Shown;
pub(super) use chat::{Account, Chat, ChatAnswer, ChatAsk, ChatNews, Message, Reference};

/// From a page.
#[derive(Debug, Deserialize)]
pub(super) struct Up {
    pub(super) id: u64,
    pub(super) ask: Ask,
}

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// All of a notebook, and from then on what is new. `clients` are those whose last submission is asked for.
    Open {
        path: String,
        clients: Vec<String>,
    },
    Submit(Submission),
    /// All of these cells as JSON, for a clipboard.
    Cells {
        cells: Vec<CellId>,
    },
    Run {
        cells: Vec<CellId>,
    },
    Interrupt,
    Restart,
    Complete {
        code: String,
        cursor: usize,
    },
    Inspect {
        code: String,
        cursor: usize,
    },
    Judge {
        verdict: Verdict,
        scope: Scope,
    },
    SetReview(bool),
    /// Who did what, by turns.
    History,
    /// Takes back all that a turn changed, reviewed or not.
    Undo {
        turn: String,
    },
    Save,
    Present(Looking),
    Files {
        folder: Option<String>,
    },
    Create {
        folder: String,
        name: String,
    },
    /// Something about conversations with the assistant.
    Chat(ChatAsk),
}

/// What someone at a page looks at.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Looking {
    pub(super) cell: Option<CellId>,
    pub(super) selected: Vec<CellId>,
    pub(super) editing: bool,
}

/// To a page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Down {
    Done { id: u64, result: Result<Answer, Failure> },
    News(Box<News>),
    Chat(Box<ChatNews>),
}

/// What is answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Whole(Box<Whole>),
    Version(u64),
    Behind {
        version: u64,
        changes: Vec<Change>,
    },
    TooFar,
    Completion {
        matches: Vec<String>,
        start: usize,
        end: usize,
    },
    Documentation(Option<String>),
    Cells(Vec<Option<String>>),
    Ran(Option<Stopped>),
    Folder(Folder),
    Created(String),
    History(Vec<Turn>),
    Done,
    #[serde(untagged)]
    Chat(ChatAnswer),
}

/// All of a notebook.
#[derive(Debug, Serialize)]
pub(super) struct Whole {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) language: String,
    pub(super) version: u64,
    pub(super) cells: Vec<Cell>,
    pub(super) shown: BTreeMap<CellId, Shown>,
    pub(super) states: BTreeMap<CellId, State>,
    pub(super) review: Value,
    pub(super) status: Status,
    pub(super) kernel: Kernel,
    pub(super) present: Vec<Present>,
    pub(super) heard: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Cell {
    pub(super) id: CellId,
    pub(super) kind: CellType,
    pub(super) source: String,
}

/// How a cell stands; why it is stale is told in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct State {
    pub(super) activity: Activity,
    pub(super) last: Option<LastRun>,
    pub(super) stale: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Status {
    pub(super) saved: u64,
    pub(super) problem: Option<String>,
    pub(super) notices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Kernel {
    pub(super) state: &'static str,
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// Whether its code was interrupted and has not stopped.
    pub(super) stuck: bool,
    /// How long it stays after the last page, agent or terminal has left, in milliseconds.
    pub(super) stays: Option<u64>,
    /// Why the last one is gone, where there is none.
    pub(super) gone: Option<String>,
}

/// Someone who is at a notebook.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Present {
    pub(super) actor: Actor,
    /// Where they are; agents may read several cells at once.
    pub(super) cells: Vec<CellId>,
    pub(super) doing: Doing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Doing {
    Looking,
    Editing,
    Reading,
    Running,
}

/// What is new. What is left out is as it was.
#[derive(Debug, Default, Serialize)]
pub(super) struct News {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Change>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) shown: BTreeMap<CellId, Shown>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) states: BTreeMap<CellId, Option<State>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kernel: Option<Kernel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) present: Option<Vec<Present>>,
    /// Changes are missing: all of it has to be asked for again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_behind: bool,
}

impl News {
    pub(super) fn is_empty(&self) -> bool {
        let News { changes, shown, states, review, status, kernel, present, is_behind } = self;
        changes.is_empty()
            && shown.is_empty()
            && states.is_empty()
            && review.is_none()
            && status.is_none()
            && kernel.is_none()
            && present.is_none()
            && !is_behind
    }
}

/// What someone did in one go.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Turn {
    pub(super) turn: String,
    pub(super) actor: Actor,
    /// When it ended, in milliseconds since 1970.
    pub(super) until: u64,
    /// What was done to which cells, in words.
    pub(super) deeds: Vec<String>,
    pub(super) is_undone: bool,
}

/// How a run ended before its end.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Stopped {
    /// The cell that ended it; none when it was stopped between cells.
    pub(super) cell: Option<CellId>,
    /// The reason, in a line.
    pub(super) error: String,
    pub(super) not_run: usize,
}

/// The notebooks of a folder.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Folder {
    pub(super) path: String,
    pub(super) parent: Option<String>,
    pub(super) folders: Vec<String>,
    pub(super) notebooks: Vec<String>,
}
