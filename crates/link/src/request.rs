//! What may be asked, what is heard meanwhile, and what is answered.

use std::path::PathBuf;

use cellist_assistant::Keys;
use cellist_session::execution::RunReport;
use cellist_session::orders::Asker;
use cellist_session::redaction::Redaction;
use cellist_session::sessions::{CallReport, CallView, Interruption, SessionView};
use cellist_tools::{Answer, Caller, Editor, EditorReport, Progress};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, Named};
use crate::chat::{ChatAsk, ChatReply};
use crate::notebook::{NotebookNews, NotebookReply, OnNotebook};
use crate::run::{NotebookRun, RunNews, RunView};

/// What may be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Which kernel sessions there are.
    Sessions,
    /// Runs code in a session.
    Call(Box<Call>),
    /// Interrupts the running code of a session, and waits until it has stopped or the grace has passed.
    Interrupt {
        /// The session.
        session: Named,
        /// Whether the kernel is killed if the code does not stop.
        force: bool,
    },
    /// How code could go on, by a session's kernel.
    Complete {
        /// The session.
        session: Named,
        /// The code.
        code: String,
        /// Where it is to go on, counted in characters.
        cursor: usize,
    },
    /// What a session's kernel knows of the name at a place.
    Inspect {
        /// The session.
        session: Named,
        /// The code.
        code: String,
        /// The place, counted in characters.
        cursor: usize,
    },
    /// Gives a session a new kernel; what runs is ended.
    Restart(Named),
    /// Ends a session, with all that runs and waits in it.
    End(Named),
    /// Which notebooks are open.
    Notebooks,
    /// Something about a notebook.
    Notebook(Box<OnNotebook>),
    /// Runs cells of a notebook.
    Run(Box<NotebookRun>),
    /// What has happened in a run that goes on; its answer has all of it when it has ended.
    RunNews {
        /// What whoever asked for it called it.
        run: String,
        /// How many of its news are known.
        from: usize,
    },
    /// What is in front of a person, after what an editor has to report.
    Editor(Option<Box<EditorReport>>),
    /// What is in front of a person, as soon as that is something else than this, or after a minute.
    NextEditor(Box<Editor>),
    /// The state of the notebook that is worked on, as an agent is told it.
    Context {
        /// What is in front of the person.
        editor: Box<Editor>,
        /// What is taken out of it.
        redaction: Redaction,
    },
    /// Says who calls tools over this link from now on.
    Introduce(Box<Caller>),
    /// A person consents to the change of a file by whoever calls tools over this link.
    Consent {
        /// The file, by the path that a refusal named.
        #[serde(with = "cellist_session::order")]
        path: PathBuf,
    },
    /// A link to the page, which is served from then on.
    Page(Box<PageAsk>),
    /// The browsers that were let in at the page.
    Browsers,
    /// Ends a browser by its id, or all of them.
    Revoke(Option<String>),
    /// Something about a conversation with the assistant.
    Chat(Box<ChatAsk>),
    /// Calls a tool.
    Tool {
        /// Its name.
        tool: String,
        /// Its arguments, as they were given.
        arguments: Value,
    },
}

/// Someone who wants to use the page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageAsk {
    /// The notebook to open there, by an absolute path.
    #[serde(with = "cellist_session::order")]
    pub path: Option<PathBuf>,
    /// The folder that they are in.
    #[serde(with = "cellist_session::order")]
    pub folder: PathBuf,
    /// What decides which kernels they get.
    pub asker: Asker,
    /// What lets them into providers of models. No kernel gets it.
    #[serde(default)]
    pub keys: Keys,
    /// The port to listen at, if one is wanted.
    pub port: Option<u16>,
    /// Whether a private file that leads there is wanted, for a browser to open.
    #[serde(default)]
    pub file: OpeningFile,
}

/// The private file that leads a browser to the page: the link must not stand on a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpeningFile {
    /// None.
    #[default]
    None,
    /// In the state folder.
    InState,
    /// In a folder of the user that the browser can read.
    In(#[serde(with = "cellist_session::order")] PathBuf),
}

/// The way to the page, for the user who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    /// The link, which works once.
    pub link: String,
    /// The private file that leads there; the host removes it.
    #[serde(with = "cellist_session::order")]
    pub file: Option<PathBuf>,
}

/// A browser that was let in at the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserView {
    /// Its id.
    pub id: String,
    /// A short name, from what it calls itself.
    pub name: String,
    /// When it was let in, in seconds of Unix time.
    pub first: u64,
    /// When it was last used.
    pub last: u64,
    /// How many pages of it are open.
    pub pages: usize,
    /// Whether it has a cookie of the host that runs.
    pub is_signed_in: bool,
}

/// The state of a notebook, as data and as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextTold {
    /// For programs.
    pub json: Value,
    /// For a prompt.
    pub text: String,
}

/// What is heard while a request is carried out. Only the newest counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// How a call stands.
    Call(CallView),
    /// How far a notebook is.
    Notebook(NotebookNews),
    /// How a run of cells stands.
    Run(RunView),
    /// How far the call of a tool is.
    Tool(Progress),
}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The kernel sessions.
    Sessions(Vec<SessionView>),
    /// What came of a call.
    Called(Box<CallReport>),
    /// Nothing has run: a kernel has to be started in this folder, and whoever asks has to say how.
    Unordered {
        /// The folder.
        #[serde(with = "cellist_session::order")]
        cwd: PathBuf,
    },
    /// The files of the notebooks that are open.
    Notebooks(#[serde(with = "cellist_session::order")] Vec<PathBuf>),
    /// What is answered about a notebook.
    Notebook(NotebookReply),
    /// What came of running cells.
    Ran(#[serde(with = "crate::run")] Box<RunReport>),
    /// What has happened in a run.
    RunNews(Vec<RunNews>),
    /// What is in front of a person.
    Editor(Box<Editor>),
    /// The notebook that is worked on, if one is.
    Context(Option<Box<ContextTold>>),
    /// What is answered about a conversation.
    Chat(ChatReply),
    /// What a tool answers.
    Tool(Box<Answer>),
    /// Where the page is; the link works once.
    Page(PageLink),
    /// The browsers that were let in, or that were just revoked.
    Browsers(Vec<BrowserView>),
    /// How code could go on; nothing where the kernel is busy, or there is none.
    Completion {
        /// What could be written, each in place of the characters `start..end`.
        matches: Vec<String>,
        /// The first character that a match replaces.
        start: usize,
        /// The character behind the last one that a match replaces.
        end: usize,
    },
    /// What is known of a name, as text.
    Inspection(Option<String>),
    /// The effect of an interrupt on the running code.
    Interrupted(Interruption),
    /// It is done.
    Done,
}
