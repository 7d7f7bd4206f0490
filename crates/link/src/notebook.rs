//! What may be asked of a notebook that the desk has open, and what is told of it.

use std::path::PathBuf;

use cellist_notebook::{Applied, Cell, CellId, CellType, Outcome};
use cellist_output::Output;
use cellist_session::live::{
    Actor, Author, CellState, Change, Entry, Review, Scope, Submission, Undo, Verdict, View,
};
use serde::{Deserialize, Serialize};

/// Something that is asked of a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OnNotebook {
    /// Its file, by an absolute path.
    #[serde(with = "cellist_session::order")]
    pub path: PathBuf,
    /// What is asked.
    pub ask: NotebookAsk,
}

/// What may be asked of a notebook. It is opened for the question if it is not open.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookAsk {
    /// Keeps it open for as long as whoever asks is there, and tells all of it.
    Open,
    /// Keeps it open, and tells what is new to someone who knows a version.
    Newer {
        /// The version.
        version: u64,
        /// The number of the last such answer; how cells stand is told where it is another since. Without one, of all.
        answer: Option<u64>,
    },
    /// Lets go of it.
    Close,
    /// Tells all of it to someone who may base an edit on it.
    Read(Actor),
    /// Tells of each newer version, until that is not wanted any more. Those who are slow skip to the newest.
    Watch,
    /// Tells all changes since a version.
    Since(u64),
    /// Changes it as a client does that has a copy of its own.
    Submit {
        /// What to do.
        submission: Submission,
        /// Who does it.
        author: Author,
    },
    /// Changes it as one does who has only read it; on disk when the answer comes.
    Edit {
        /// What to do.
        edit: NotebookEdit,
        /// The revision that it was made for; without one, what its author has read last.
        base: Option<String>,
        /// Who does it.
        author: Author,
    },
    /// Takes something back; on disk when the answer comes.
    Undo {
        /// What.
        undo: Undo,
        /// Who does it.
        author: Author,
    },
    /// Says what becomes of something that waits for review.
    Judge {
        /// Whether it stays.
        verdict: Verdict,
        /// What is judged.
        scope: Scope,
        /// Who judges.
        author: Author,
    },
    /// Switches review on or off.
    SetReview(bool),
    /// Tells who did what.
    History,
    /// Answers when all that was changed so far is on disk.
    Save,
}

/// A change by one who has read a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookEdit {
    /// Makes it as this cell-marked text says.
    Text(String),
    /// Replaces one exact piece of its cell-marked text.
    Replace {
        /// The piece.
        old: String,
        /// What takes its place.
        new: String,
    },
    /// Makes this its file, byte for byte, where nobody has changed it since.
    Raw(String),
    /// Makes this the text of the cell with the parameters of a run.
    Parameters(String),
    /// Changes single cells, all of them or none, each as in `{"action": "edit", "cell": 3, "content": "x = 1"}`.
    Operations(Vec<serde_json::Value>),
}

/// What is answered about a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookReply {
    /// All of it.
    State(Box<NotebookState>),
    /// What is new.
    Newer(Box<NotebookNewer>),
    /// The changes since the version that was named.
    Changes(Vec<Change>),
    /// Nothing was done: others have changed what the submission is about.
    Behind {
        /// The newest version.
        version: u64,
        /// What has happened since the version that the client knew.
        changes: Vec<Change>,
    },
    /// So much has happened since that a client has to take all of it anew.
    TooFar {
        /// The newest version.
        version: u64,
    },
    /// It is done, and this is the version that has it.
    Version(u64),
    /// It is done, and on disk.
    Edited(Box<NotebookEdited>),
    /// Who did what, oldest first.
    History(Vec<Entry>),
    /// It is done.
    Done,
}

/// A notebook as it is at a moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookState {
    /// How far it is.
    pub news: NotebookNews,
    /// The name of its content.
    pub revision: String,
    /// Its file.
    pub text: String,
    /// What waits for review.
    pub review: Review,
    /// The cells by their names here, in order; how they stand, for those that can run.
    pub cells: Vec<(CellId, Option<CellState>)>,
}

/// What is new of a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookNewer {
    /// How far it is.
    pub news: NotebookNews,
    /// The number of this answer.
    pub answer: u64,
    /// All cells in order, where there are others or they stand in another order.
    pub order: Option<Vec<CellId>>,
    /// The cells that are new or have changed.
    pub cells: Vec<NotebookCell>,
    /// How cells stand, where that is another.
    pub states: Vec<(CellId, CellState)>,
}

/// A cell as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotebookCell {
    /// Its name here.
    pub id: CellId,
    /// Its type.
    pub kind: CellType,
    /// Its source.
    pub source: String,
    /// The number that the kernel gave its last run.
    pub execution_count: Option<i64>,
    /// What it showed.
    pub outputs: Vec<Output>,
}

impl From<&Cell> for NotebookCell {
    fn from(cell: &Cell) -> NotebookCell {
        NotebookCell {
            id: cell.id().clone(),
            kind: cell.cell_type(),
            source: cell.source().into_owned(),
            execution_count: cell.execution_count(),
            outputs: cell.outputs(),
        }
    }
}

/// How far a notebook is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotebookNews {
    /// Counts up with each change.
    pub version: u64,
    /// The newest version that is on disk.
    pub saved: u64,
    /// Why it could not be saved, if the last attempt failed.
    pub problem: Option<String>,
    /// What people should know, newest last.
    pub notices: Vec<String>,
}

/// What an edit came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookEdited {
    /// The version that has it.
    pub version: u64,
    /// The name of the content that has it.
    pub revision: String,
    /// Whether it changed anything.
    pub changed: bool,
    /// What each operation did.
    pub outcomes: Vec<Outcome>,
    /// What a text did.
    pub applied: Applied,
    /// What was taken back.
    pub undone: Vec<Entry>,
    /// What its author should know.
    pub notices: Vec<String>,
}

impl From<&View> for NotebookNews {
    fn from(view: &View) -> NotebookNews {
        NotebookNews {
            version: view.version,
            saved: view.saved,
            problem: view.problem.clone(),
            notices: view.notices.clone(),
        }
    }
}
