//! The requests about one notebook, and the replies.

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

/// A request about a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookRequest {
    /// Its file, by an absolute path.
    #[serde(with = "cellist_platform::portable_path")]
    pub path: PathBuf,
    /// The action.
    pub ask: NotebookAction,
}

/// An action on a notebook. A notebook that is not open is opened for it.
///
/// Actions on one notebook take effect one after the other. A change without an author is made by the client itself. Only
/// [`NotebookAction::News`] and runs wait; a cancel ends the wait for news, and `Interrupt` ends runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookAction {
    /// Returns the whole notebook, and keeps it open until the client disconnects.
    Follow {
        /// The clients whose last submission is requested.
        clients: Vec<String>,
        /// The form of outputs.
        outputs: OutputForm,
    },
    /// Returns the changes since the last reply. Waits until there are some.
    News,
    /// Reports the active and selected cells of a page.
    Present(PageFocus),
    /// Returns the notebook. A named actor may base an edit on it.
    Read(Option<Actor>),
    /// Applies the changes of a client that keeps a replica.
    Submit {
        /// The changes.
        submission: Submission,
        /// The author.
        author: Option<Author>,
    },
    /// Applies an edit to the revision that its author has read. Saved before the reply.
    Edit {
        /// The edit itself.
        edit: NotebookEdit,
        /// The revision that it was made for. By default, the one that the author has read last.
        base: Option<Revision>,
        /// The author.
        author: Author,
    },
    /// Replaces the file, byte for byte, if it is still at the base revision. Saved before the reply.
    Overwrite {
        /// The new text, which must be a notebook.
        text: String,
        /// The revision that it was made for.
        base: Revision,
        /// The author.
        author: Author,
    },
    /// Undoes changes. Saved before the reply.
    Undo {
        /// The changes to undo.
        undo: Undo,
        /// The author.
        author: Option<Author>,
    },
    /// Keeps or reverts changes that wait for review.
    Judge {
        /// The decision.
        verdict: Verdict,
        /// The changes that it applies to.
        scope: Scope,
        /// The author.
        author: Option<Author>,
    },
    /// Switches review on or off.
    SetReview(bool),
    /// Returns the history of changes.
    History,
    /// Returns the newest turns, for the history view.
    Turns,
    /// Returns cells as JSON. A deleted cell is returned as it was when it was deleted.
    Cells(Vec<CellId>),
    /// Completes code, by the notebook's kernel.
    Complete {
        /// The code.
        code: String,
        /// The cursor, counted in characters.
        cursor: usize,
    },
    /// Describes the name at the cursor, by the notebook's kernel.
    Inspect {
        /// The code.
        code: String,
        /// The cursor, counted in characters.
        cursor: usize,
    },
    /// Runs cells in the notebook's session, after the runs that are queued there.
    Run(Vec<CellId>),
    /// Interrupts the running cells, and removes the queued ones.
    Interrupt,
    /// Restarts the notebook's kernel.
    Restart,
    /// Saves the notebook. Replies when all earlier changes are on disk.
    Save,
}

/// An edit of a revision. If the notebook has changed since, both changes are merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookEdit {
    /// Replaces the notebook by this cell-marked text.
    Text(String),
    /// Replaces one exact part of its cell-marked text.
    Replace {
        /// The old text, which must occur once.
        old: String,
        /// The new text.
        new: String,
    },
    /// Sets the text of the parameters cell.
    Parameters(String),
    /// Changes single cells. All operations are applied or none.
    Operations(Vec<Operation>),
}

/// The cells that an edit changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EditResult {
    /// The result of each operation.
    pub outcomes: Vec<Outcome>,
    /// The result of a cell-marked text.
    pub applied: Applied,
    /// The notices for the author.
    pub notices: Vec<String>,
}

impl NotebookEdit {
    /// Applies the edit. `base` is the revision that it was made for, if the notebook has changed since.
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

/// The reply to an action on a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookReply {
    /// The notebook at one moment.
    State(Box<NotebookState>),
    /// The whole notebook, for a client that follows it.
    Whole(Box<FullNotebook>),
    /// The changes since the last reply.
    News(Box<NotebookUpdate>),
    /// The newest turns, newest first.
    Turns(Vec<TurnSummary>),
    /// The cells as JSON; `null` for an unknown one.
    Cells(Vec<Option<String>>),
    /// The reason why a run ended before its last cell, if it did.
    Ran(Option<RunStop>),
    /// The completions. Empty if the kernel is busy or missing.
    Completion {
        /// The candidates. Each replaces the characters `start..end`.
        matches: Vec<String>,
        /// The first character that a match replaces.
        start: usize,
        /// The character after the last one that a match replaces.
        end: usize,
    },
    /// The description of a name, as plain text.
    Inspection(Option<String>),
    /// The submission was refused: its cells have changed meanwhile.
    Behind {
        /// The newest version.
        version: u64,
        /// The changes since the client's version.
        changes: Vec<Change>,
    },
    /// The submission was refused: the client is too far behind and must follow the notebook again.
    TooFar,
    /// The change was applied in this version.
    Version(u64),
    /// The change was applied and saved.
    Edited(Box<EditReply>),
    /// The history of changes, oldest first.
    History(Vec<Entry>),
    /// The action has succeeded.
    Done,
}

/// A notebook at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookState {
    /// Its version.
    pub version: u64,
    /// The error of the last attempt to save, if it failed.
    pub problem: Option<String>,
    /// The notices for users.
    pub notices: Vec<String>,
    /// The content.
    pub content: NotebookContent,
}

impl NotebookState {
    /// The text of the file.
    pub fn text(&self) -> String {
        // A parsed notebook is valid UTF-8.
        String::from_utf8_lossy(&self.content.0.to_bytes()).into_owned()
    }
}

/// The content of a notebook. On the wire it is the text and the cell ids; within a process it is shared.
#[derive(Clone, Debug)]
pub struct NotebookContent(pub Arc<Notebook>);

#[derive(Serialize, Deserialize)]
struct NotebookText {
    text: String,
    cells: Vec<CellId>,
}

impl Serialize for NotebookContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A parsed notebook is valid UTF-8.
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

/// The result of an edit or an undo.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EditReply {
    /// Whether the notebook changed.
    pub changed: bool,
    /// The cells that it changed.
    pub result: EditResult,
    /// The undone changes.
    pub undone: Vec<Entry>,
}

impl NotebookAction {
    /// Whether a page may send this. A page acts only as its user, never as another author.
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
