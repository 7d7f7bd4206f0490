//! What may be asked, what is heard meanwhile, and what is answered.

use std::path::PathBuf;

use cellist_assistant::ApiKeys;
use cellist_kernel::Identity;
use cellist_session::execution::RunReport;
use cellist_session::orders::ClientEnvironment;
use cellist_session::sessions::{CallReport, CallView, Interruption, RunState, SessionView};
use cellist_tools::redaction::Redaction;
use cellist_tools::{CallProgress, Caller, EditorReport, EditorState, ToolAnswer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::call::{CallRequest, SessionName};
use crate::protocol::chat::{ChatAction, ChatReply};
use crate::protocol::follow::FolderListing;
use crate::protocol::notebook::{NotebookReply, NotebookRequest};
use crate::protocol::run::NotebookRunRequest;

/// What may be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Which kernel sessions there are.
    Sessions,
    /// Sets the environment that decides on the kernels of this client.
    Environment(Box<ClientEnvironment>),
    /// Starts the kernel of a session, if it has none.
    Start(Box<CallRequest>),
    /// Runs code in a session.
    Call(Box<CallRequest>),
    /// Interrupts the running code of a session, and waits until it has stopped or the grace has passed.
    Interrupt {
        /// The session.
        session: SessionName,
        /// Whether the kernel is killed if the code does not stop.
        force: bool,
    },
    /// How code could go on, by a session's kernel.
    Complete {
        /// The session.
        session: SessionName,
        /// The code.
        code: String,
        /// Where it is to go on, counted in characters.
        cursor: usize,
    },
    /// What a session's kernel knows of the name at a place.
    Inspect {
        /// The session.
        session: SessionName,
        /// The code.
        code: String,
        /// The place, counted in characters.
        cursor: usize,
    },
    /// Gives a session a new kernel; what runs is ended.
    Restart(SessionName),
    /// Ends a session, with all that runs and waits in it.
    End(SessionName),
    /// Which notebooks are open.
    Notebooks,
    /// Something about a notebook.
    Notebook(Box<NotebookRequest>),
    /// Runs cells of a notebook.
    Run(Box<NotebookRunRequest>),
    /// What is in front of a person, after what an editor has to report.
    Editor(Option<Box<EditorReport>>),
    /// What is in front of a person, as soon as that is something else than this, or after a minute.
    NextEditor(Box<EditorState>),
    /// The state of the notebook that is worked on, as an agent is told it.
    Context {
        /// What is in front of the person.
        editor: Box<EditorState>,
        /// What is taken out of it.
        redaction: Redaction,
    },
    /// Says who calls tools over this connection from now on.
    Introduce(Box<Caller>),
    /// A person consents to the change of a file by whoever calls tools over this connection.
    Consent {
        /// The file, by the path that a refusal named.
        #[serde(with = "cellist_platform::portable_path")]
        path: PathBuf,
    },
    /// A link to the page, which is served from then on.
    Page(Box<PageLinkRequest>),
    /// The browsers that were let in at the page.
    Browsers,
    /// Ends a browser by its id, or all of them.
    Revoke(Option<String>),
    /// The notebooks and folders of a folder, or of the folder that the client works in.
    Files {
        /// The folder.
        #[serde(with = "cellist_platform::portable_path")]
        folder: Option<PathBuf>,
    },
    /// Makes a notebook with one empty cell, under a name that is free.
    Create {
        /// The folder.
        #[serde(with = "cellist_platform::portable_path")]
        folder: PathBuf,
        /// The wanted name.
        name: String,
    },
    /// Something about a conversation with the assistant.
    Chat(Box<ChatAction>),
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
pub struct PageLinkRequest {
    /// The notebook to open there, by an absolute path.
    #[serde(with = "cellist_platform::portable_path")]
    pub path: Option<PathBuf>,
    /// The folder that they are in.
    #[serde(with = "cellist_platform::portable_path")]
    pub folder: PathBuf,
    /// What decides which kernels they get.
    pub environment: ClientEnvironment,
    /// What is taken out of all that a model reads for them.
    #[serde(default)]
    pub redaction: Redaction,
    /// What lets them into providers of models. No kernel gets it.
    #[serde(default)]
    pub keys: ApiKeys,
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
    In(#[serde(with = "cellist_platform::portable_path")] PathBuf),
}

/// The way to the page, for the user who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    /// The link, which works once.
    pub link: String,
    /// The private file that leads there; the host removes it.
    #[serde(with = "cellist_platform::portable_path")]
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
pub struct ContextReply {
    /// For programs.
    pub json: Value,
    /// For a prompt.
    pub text: String,
}

/// A kernel that is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartedKernel {
    /// Its identity.
    pub identity: Identity,
    /// Notices about its start.
    pub notices: Vec<String>,
}

/// What is heard while a request is carried out. Only the newest counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The kernel that is started, in words.
    Starting(String),
    /// How a call stands.
    Call(CallView),
    /// How a run of cells stands. It goes on from the last one that was heard.
    Run(RunState),
    /// How far the call of a tool is.
    Tool(CallProgress),
}

impl Event {
    /// Takes the place of the event that was heard last; the state of a run goes on from it.
    pub fn follow(self, last: &mut Option<Event>) {
        match (last, self) {
            (Some(Event::Run(known)), Event::Run(newer)) => known.merge(newer),
            (last, event) => *last = Some(event),
        }
    }
}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The kernel sessions.
    Sessions(Vec<SessionView>),
    /// What came of a call.
    Called(Box<CallReport>),
    /// The kernel that a session has.
    Started(Box<StartedKernel>),
    /// The files of the notebooks that are open.
    Notebooks(#[serde(with = "cellist_platform::portable_path")] Vec<PathBuf>),
    /// What is answered about a notebook.
    Notebook(NotebookReply),
    /// What came of running cells.
    Ran(Box<RunReport>),
    /// What is in front of a person.
    Editor(Box<EditorState>),
    /// The notebook that is worked on, if one is.
    Context(Option<Box<ContextReply>>),
    /// What is answered about a conversation.
    Chat(ChatReply),
    /// What a tool answers.
    Tool(Box<ToolAnswer>),
    /// The notebooks and folders of a folder.
    Folder(FolderListing),
    /// The path of a new notebook.
    Created(String),
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

impl Request {
    /// Whether a page may ask this. Everything else needs a program of the user, at the host's own socket.
    pub fn allowed_from_page(&self) -> bool {
        match self {
            Request::Notebook(asked) => asked.ask.allowed_from_page(),
            Request::Chat(ask) => ask.allowed_from_page(),
            Request::Files { .. } | Request::Create { .. } => true,
            Request::Sessions
            | Request::Environment(_)
            | Request::Start(_)
            | Request::Call(_)
            | Request::Interrupt { .. }
            | Request::Complete { .. }
            | Request::Inspect { .. }
            | Request::Restart(_)
            | Request::End(_)
            | Request::Notebooks
            | Request::Run(_)
            | Request::Editor(_)
            | Request::NextEditor(_)
            | Request::Context { .. }
            | Request::Introduce(_)
            | Request::Consent { .. }
            | Request::Page(_)
            | Request::Browsers
            | Request::Revoke(_)
            | Request::Tool { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(request: Value, is_allowed: bool) {
        let read: Request =
            serde_json::from_value(request.clone()).unwrap_or_else(|error| panic!("{request}: {error}"));
        assert_eq!(read.allowed_from_page(), is_allowed, "{request}");
    }

    #[test]
    fn a_page_makes_the_requests_of_a_page_and_no_others() {
        let session = json!({ "id": "s", "cwd": "/" });
        let caller = json!({
            "name": "bot", "session": "bot", "mode": "agent", "tools": "all", "tool_mode": "both", "cwd": "/", "roots": [],
            "requires_active": true, "is_shared": false, "front": null, "excluded": [], "allowed": [], "attached": [],
            "environment": ClientEnvironment::default(), "redaction": Redaction::default(),
        });
        for request in [
            json!("sessions"),
            json!("notebooks"),
            json!("browsers"),
            json!({ "environment": ClientEnvironment::default() }),
            json!({ "interrupt": { "session": session, "force": true } }),
            json!({ "complete": { "session": session, "code": "", "cursor": 0 } }),
            json!({ "inspect": { "session": session, "code": "", "cursor": 0 } }),
            json!({ "restart": session }),
            json!({ "end": session }),
            json!({ "editor": null }),
            json!({ "consent": { "path": "/f" } }),
            json!({ "introduce": caller }),
            json!({ "page": serde_json::to_value(PageLinkRequest::default()).unwrap() }),
            json!({ "revoke": null }),
            json!({ "tool": { "tool": "bash", "arguments": { "command": "ls" } } }),
        ] {
            check(request, false);
        }
        check(json!({ "files": { "folder": null } }), true);
        check(json!({ "create": { "folder": "/", "name": "a" } }), true);
    }

    #[test]
    fn a_page_changes_a_notebook_as_the_person_at_it_alone() {
        let author = json!({ "actor": { "id": "bot", "name": "bot", "kind": "agent" }, "turn": null });
        let submission = json!({ "base": 1, "tag": null, "ops": [] });
        let code = json!({ "code": "", "cursor": 0 });
        for (ask, is_allowed) in [
            (json!({ "follow": { "clients": [], "outputs": "bounded" } }), true),
            (json!({ "follow": { "clients": [], "outputs": "whole" } }), false),
            (json!("news"), true),
            (json!({ "present": { "cell": null, "selected": [], "editing": false } }), true),
            (json!({ "read": author["actor"] }), false),
            (json!({ "submit": { "submission": submission, "author": null } }), true),
            (json!({ "submit": { "submission": submission, "author": author } }), false),
            (json!({ "edit": { "edit": { "text": "" }, "base": null, "author": author } }), false),
            (json!({ "overwrite": { "text": "", "base": "0123456789abcdef", "author": author } }), false),
            (json!({ "undo": { "undo": { "turn": "t" }, "author": null } }), true),
            (json!({ "undo": { "undo": { "turn": "t" }, "author": author } }), false),
            (json!({ "undo": { "undo": "last", "author": null } }), false),
            (json!({ "judge": { "verdict": "keep", "scope": "all", "author": null } }), true),
            (json!({ "judge": { "verdict": "keep", "scope": "all", "author": author } }), false),
            (json!({ "set_review": true }), true),
            (json!("history"), false),
            (json!("turns"), true),
            (json!({ "cells": [] }), true),
            (json!({ "complete": code }), true),
            (json!({ "inspect": code }), true),
            (json!({ "run": ["a"] }), true),
            (json!("interrupt"), true),
            (json!("restart"), true),
            (json!("save"), true),
        ] {
            check(json!({ "notebook": { "path": "/nb.ipynb", "ask": ask } }), is_allowed);
        }
    }

    #[test]
    fn a_page_talks_by_the_settings_of_its_user_alone() {
        let message = json!({ "id": "m", "words": "", "mode": "ask", "is_attached": true, "attached": [], "selected": [], "outputs": [] });
        for (ask, is_allowed) in [
            (json!({ "open": { "notebook": "/nb.ipynb", "cell": null, "is_new": false } }), true),
            (json!({ "setup": { "notebook": "/nb.ipynb" } }), true),
            (json!({ "say": { "chat": "c", "message": message } }), true),
            (json!({ "preview": { "chat": "c", "message": message } }), true),
            (json!({ "withdraw": { "chat": "c", "message": "m" } }), true),
            (json!({ "stop": { "chat": "c", "stop": "kernel" } }), true),
            (json!({ "approve": { "chat": "c", "call": "1", "verdict": "once" } }), true),
            (json!({ "hear": { "chat": "c", "from": 0, "mark": null } }), true),
            (json!({ "restore": { "chat": "c", "turn": "t" } }), true),
            (json!({ "end": { "chat": "c" } }), true),
            (json!({ "undo": { "chat": "c", "turn": "t" } }), false),
        ] {
            check(json!({ "chat": ask }), is_allowed);
        }
    }
}
