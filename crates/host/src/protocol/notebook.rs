//! What may be asked of a notebook that the service has open, and what is told of it.

use std::path::PathBuf;
use std::sync::Arc;

use cellist_live::{Actor, Author, Change, Entry, Scope, Submission, Undo, Verdict};
use cellist_notebook::{
    self as notebook, Applied, CellId, Ids, Notebook, Operation, Outcome, Revision, Snapshot, replace_once,
};
use cellist_session::parameters::put_parameters;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::follow::{FullNotebook, NotebookUpdate, PageFocus, RunStop, TurnSummary};
use super::outputs::OutputForm;

/// Something that is asked of a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookRequest {
    /// Its file, by an absolute path.
    #[serde(with = "cellist_platform::portable_path")]
    pub path: PathBuf,
    /// What is asked.
    pub ask: NotebookAction,
}

/// What may be asked of a notebook. It is opened for the question if it is not open. Without an author, a change is made by
/// the client itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookAction {
    /// Follows it: tells all of it, and keeps it open for as long as the client is there.
    Follow {
        /// Clients whose last submission is asked for.
        clients: Vec<String>,
        /// The form of outputs.
        outputs: OutputForm,
    },
    /// Tells what is new since the client was told last, as soon as there is something.
    News,
    /// Notes what a person has in front of them.
    Present(PageFocus),
    /// Tells all of it. An actor that is named may base an edit on it.
    Read(Option<Actor>),
    /// Changes it as a client does that has a copy of its own.
    Submit {
        /// What to do.
        submission: Submission,
        /// Who does it.
        author: Option<Author>,
    },
    /// Changes it as one does who has only read it; on disk when the answer comes.
    Edit {
        /// What to do.
        edit: NotebookEdit,
        /// The revision that it was made for; without one, what its author has read last.
        base: Option<Revision>,
        /// Who does it.
        author: Author,
    },
    /// Makes a text its file, byte for byte, where nobody has changed it since; on disk when the answer comes.
    Overwrite {
        /// The text, which must be a notebook.
        text: String,
        /// The revision that it was made for.
        base: Revision,
        /// Who does it.
        author: Author,
    },
    /// Takes something back; on disk when the answer comes.
    Undo {
        /// What.
        undo: Undo,
        /// Who does it.
        author: Option<Author>,
    },
    /// Says what becomes of something that waits for review.
    Judge {
        /// Whether it stays.
        verdict: Verdict,
        /// What is judged.
        scope: Scope,
        /// Who judges.
        author: Option<Author>,
    },
    /// Switches review on or off.
    SetReview(bool),
    /// Tells who did what.
    History,
    /// Tells the newest turns, for people.
    Turns,
    /// Tells these cells as JSON, each as it stands or as it was when it was deleted.
    Cells(Vec<CellId>),
    /// Completes code, by the notebook's kernel.
    Complete {
        /// The code.
        code: String,
        /// Where it is to go on, counted in characters.
        cursor: usize,
    },
    /// Describes the name at a place, by the notebook's kernel.
    Inspect {
        /// The code.
        code: String,
        /// The place, counted in characters.
        cursor: usize,
    },
    /// Runs cells in the notebook's session, after the cells that wait there already.
    Run(Vec<CellId>),
    /// Interrupts the cells that run, and those that wait.
    Interrupt,
    /// Gives the notebook a new kernel.
    Restart,
    /// Answers when all that was changed so far is on disk.
    Save,
}

/// A change by one who has read a notebook. Where others have changed it since, both are merged.
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
    /// Makes this the text of the cell with the parameters of a run.
    Parameters(String),
    /// Changes single cells, all of them or none.
    Operations(Vec<Operation>),
}

/// The cells that an edit changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EditResult {
    /// What each operation did.
    pub outcomes: Vec<Outcome>,
    /// What a text did.
    pub applied: Applied,
    /// What its author should know.
    pub notices: Vec<String>,
}

impl NotebookEdit {
    /// Makes the change. `base` is the revision that it was made for, where the notebook has another now.
    pub fn apply(&self, notebook: &mut Notebook, base: Option<&Snapshot>) -> notebook::Result<EditResult> {
        let mut result = EditResult::default();
        match self {
            NotebookEdit::Text(text) => {
                (result.applied, result.notices) = notebook.apply_text(text, base)?;
            }
            NotebookEdit::Replace { old, new } => {
                let text = base.map_or_else(|| notebook.to_text(), Snapshot::to_text);
                let is_start = text.is_empty() && old.is_empty();
                let text = if is_start { new.clone() } else { replace_once(&text, old, new)? };
                (result.applied, result.notices) = notebook.apply_text(&text, base)?;
            }
            NotebookEdit::Parameters(source) => {
                result.notices.extend(put_parameters(notebook, source).map(str::to_owned));
            }
            NotebookEdit::Operations(operations) => {
                result.outcomes = notebook.perform(operations, base)?;
            }
        }
        Ok(result)
    }
}

/// What is answered about a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookReply {
    /// All of it.
    State(Box<NotebookState>),
    /// All of it, for a client that follows it.
    Whole(Box<FullNotebook>),
    /// What is new.
    News(Box<NotebookUpdate>),
    /// The newest turns, newest first.
    Turns(Vec<TurnSummary>),
    /// Cells as JSON; nothing for one that never was.
    Cells(Vec<Option<String>>),
    /// Why a run ended before its last cell, if it did.
    Ran(Option<RunStop>),
    /// How code could go on; nothing where the kernel is busy, or there is none.
    Completion {
        /// What could be written, each in place of the characters `start..end`.
        matches: Vec<String>,
        /// The first character that a match replaces.
        start: usize,
        /// The character behind the last one that a match replaces.
        end: usize,
    },
    /// What is known of a name, as plain text.
    Inspection(Option<String>),
    /// Nothing was done: others have changed what the submission is about.
    Behind {
        /// The newest version.
        version: u64,
        /// What has happened since the version that the client knew.
        changes: Vec<Change>,
    },
    /// So much has happened since that a client has to follow it anew.
    TooFar,
    /// It is done, and this is the version that has it.
    Version(u64),
    /// It is done, and on disk.
    Edited(Box<EditReply>),
    /// Who did what, oldest first.
    History(Vec<Entry>),
    /// It is done.
    Done,
}

/// A notebook as it is at a moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookState {
    /// The version that this is.
    pub version: u64,
    /// Why it could not be saved, if the last attempt failed.
    pub problem: Option<String>,
    /// Notices for people.
    pub notices: Vec<String>,
    /// The content.
    pub content: NotebookContent,
}

impl NotebookState {
    /// The text of the file.
    pub fn text(&self) -> String {
        // A notebook that was read is text.
        String::from_utf8_lossy(&self.content.0.to_bytes()).into_owned()
    }
}

/// A notebook as it travels: its text, and the names of its cells. Within a process it is shared.
#[derive(Clone, Debug)]
pub struct NotebookContent(pub Arc<Notebook>);

#[derive(Serialize, Deserialize)]
struct NotebookText {
    text: String,
    cells: Vec<CellId>,
}

impl Serialize for NotebookContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A notebook that was read is text.
        let text = String::from_utf8_lossy(&self.0.to_bytes()).into_owned();
        let cells = self.0.cells().iter().map(|cell| cell.id().clone()).collect();
        NotebookText { text, cells }.serialize(serializer)
    }
}

impl<'a> Deserialize<'a> for NotebookContent {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<NotebookContent, D::Error> {
        let NotebookText { text, cells } = NotebookText::deserialize(deserializer)?;
        let mut notebook = Notebook::parse(text.into_bytes(), Ids::seeded(0)).map_err(D::Error::custom)?;
        notebook.take_names(&cells);
        Ok(NotebookContent(Arc::new(notebook)))
    }
}

/// What an edit came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EditReply {
    /// Whether it changed anything.
    pub changed: bool,
    /// The cells that it changed.
    pub result: EditResult,
    /// What was taken back.
    pub undone: Vec<Entry>,
}

impl NotebookAction {
    /// Whether a page may ask this. A page acts for the person at it and for no other author.
    pub fn allowed_from_page(&self) -> bool {
        match self {
            NotebookAction::Follow { outputs: OutputForm::Bounded, .. }
            | NotebookAction::News
            | NotebookAction::Present(_)
            | NotebookAction::Submit { author: None, .. }
            | NotebookAction::Undo { undo: Undo::Turn(_), author: None }
            | NotebookAction::Judge { author: None, .. }
            | NotebookAction::SetReview(_)
            | NotebookAction::Turns
            | NotebookAction::Cells(_)
            | NotebookAction::Complete { .. }
            | NotebookAction::Inspect { .. }
            | NotebookAction::Run(_)
            | NotebookAction::Interrupt
            | NotebookAction::Restart
            | NotebookAction::Save => true,
            NotebookAction::Follow { .. }
            | NotebookAction::Read(_)
            | NotebookAction::Submit { .. }
            | NotebookAction::Edit { .. }
            | NotebookAction::Overwrite { .. }
            | NotebookAction::Undo { .. }
            | NotebookAction::Judge { .. }
            | NotebookAction::History => false,
        }
    }
}
