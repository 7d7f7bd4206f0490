//! The requests of clients, the events while a request runs, and the replies.

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

/// A request of a client.
///
/// - **Order**: requests are accepted in the order in which they were sent, and answered in any order. Two things are
///   settled on acceptance: the environment of the client, and the place of a run in the queue of its notebook.
/// - **Reply**: each request gets exactly one [`Reply`] or failure, which is the last message about it.
/// - **Events**: a request may have [`Event`]s before its reply. A client may skip all of them.
/// - **Cancellation**: a cancel interrupts the code of a request, or ends its wait. The reply still comes. Code that was
///   started goes on when the client disconnects, except code of a session that the client owns.
/// - **Permission**: programs of the user may send all requests. A page may send only those that
///   [`allowed_from_page`](Request::allowed_from_page) lists, and acts as the user of the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Lists the kernel sessions.
    Sessions,
    /// Sets the environment that selects this client's kernels. It holds for all later requests.
    Environment(Box<ClientEnvironment>),
    /// Starts the kernel of a session, if it has none.
    Start(Box<CallRequest>),
    /// Runs code in a session.
    Call(Box<CallRequest>),
    /// Interrupts the running code of a session. Waits until the code has stopped or the grace period is over.
    Interrupt {
        /// The session.
        session: SessionName,
        /// Whether the kernel is killed if the code does not stop.
        force: bool,
    },
    /// Completes code, by a session's kernel.
    Complete {
        /// The session.
        session: SessionName,
        /// The code.
        code: String,
        /// The cursor, counted in characters.
        cursor: usize,
    },
    /// Describes the name at the cursor, by a session's kernel.
    Inspect {
        /// The session.
        session: SessionName,
        /// The code.
        code: String,
        /// The cursor, counted in characters.
        cursor: usize,
    },
    /// Restarts the kernel of a session. Running code is ended.
    Restart(SessionName),
    /// Ends a session, with its running and queued code.
    End(SessionName),
    /// Lists the open notebooks.
    Notebooks,
    /// Reads, changes or runs a notebook.
    Notebook(Box<NotebookRequest>),
    /// Runs cells of a notebook.
    Run(Box<NotebookRunRequest>),
    /// Applies an editor's report, if there is one. Returns the editor state.
    Editor(Option<Box<EditorReport>>),
    /// Returns the editor state when it differs from this one, or after a minute.
    NextEditor(Box<EditorState>),
    /// Returns the state of the active notebook, as an agent gets it.
    Context {
        /// The editor state.
        editor: Box<EditorState>,
        /// The secrets to remove.
        redaction: Redaction,
    },
    /// Sets the identity for tool calls over this connection. Required before [`Request::Tool`].
    Introduce(Box<Caller>),
    /// Records the user's consent that tool calls over this connection may change a file.
    Consent {
        /// The file, by the path that a refusal named.
        #[serde(with = "cellist_platform::portable_path")]
        path: PathBuf,
    },
    /// Returns a link to the page. The host serves the page from then on.
    Page(Box<PageLinkRequest>),
    /// Lists the browsers that are signed in to the page.
    Browsers,
    /// Signs out one browser by its id, or all of them.
    Revoke(Option<String>),
    /// Lists the notebooks and folders of a folder, by default of the page's folder.
    Files {
        /// The folder.
        #[serde(with = "cellist_platform::portable_path")]
        folder: Option<PathBuf>,
    },
    /// Creates a notebook with one empty cell, under a free name.
    Create {
        /// The folder.
        #[serde(with = "cellist_platform::portable_path")]
        folder: PathBuf,
        /// The wanted name.
        name: String,
    },
    /// Reads or continues a conversation with the assistant.
    Chat(Box<ChatAction>),
    /// Calls a tool.
    Tool {
        /// Its name.
        tool: String,
        /// Its arguments, unchecked.
        arguments: Value,
    },
}

/// A request for a link to the page, with the environment of its user.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageLinkRequest {
    /// The notebook to open there, by an absolute path.
    #[serde(with = "cellist_platform::portable_path")]
    pub path: Option<PathBuf>,
    /// The user's working directory.
    #[serde(with = "cellist_platform::portable_path")]
    pub folder: PathBuf,
    /// The environment that selects the page's kernels.
    pub environment: ClientEnvironment,
    /// The secrets to remove from everything that a model reads.
    #[serde(default)]
    pub redaction: Redaction,
    /// The API keys of model providers. They are never passed to a kernel.
    #[serde(default)]
    pub keys: ApiKeys,
    /// The port to listen on; any free one by default.
    pub port: Option<u16>,
    /// Whether to write a private file that opens the page.
    #[serde(default)]
    pub file: OpeningFile,
}

/// The private file that opens the page. The link is a secret and must not appear on a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpeningFile {
    /// None.
    #[default]
    None,
    /// In the state folder.
    InState,
    /// In this folder, which the browser can read.
    In(#[serde(with = "cellist_platform::portable_path")] PathBuf),
}

/// A link to the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    /// The link, which works once.
    pub link: String,
    /// The private file that opens the page. The host removes it.
    #[serde(with = "cellist_platform::portable_path")]
    pub file: Option<PathBuf>,
}

/// A browser that is signed in to the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserView {
    /// Its id.
    pub id: String,
    /// A short name, from its user agent.
    pub name: String,
    /// The time of its first sign-in, in seconds of Unix time.
    pub first: u64,
    /// The time of its last use.
    pub last: u64,
    /// The number of its open pages.
    pub pages: usize,
    /// Whether it has a cookie of the running host.
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

/// The progress of a request.
///
/// An event replaces the one before it, except [`Event::Run`], which adds to it (see [`Event::follow`]). Events are not
/// queued: a slow client gets only the newest state. No event comes after the reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The name of the kernel that is starting.
    Starting(String),
    /// The state of a call.
    Call(CallView),
    /// The changes in the state of a run since the last event.
    Run(RunState),
    /// The progress of a tool call.
    Tool(CallProgress),
}

impl Event {
    /// Replaces the last event, or adds the state of a run to it.
    pub fn follow(self, last: &mut Option<Event>) {
        match (last, self) {
            (Some(Event::Run(known)), Event::Run(newer)) => known.merge(newer),
            (last, event) => *last = Some(event),
        }
    }
}

/// The reply to a request. Each request has one kind of reply; a failure is separate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The kernel sessions.
    Sessions(Vec<SessionView>),
    /// The report on a call.
    Called(Box<CallReport>),
    /// The kernel of a session.
    Started(Box<StartedKernel>),
    /// The files of the open notebooks.
    Notebooks(#[serde(with = "cellist_platform::portable_path")] Vec<PathBuf>),
    /// The reply of a notebook.
    Notebook(NotebookReply),
    /// The report on a run of cells.
    Ran(Box<RunReport>),
    /// The editor state.
    Editor(Box<EditorState>),
    /// The active notebook, if there is one.
    Context(Option<Box<ContextReply>>),
    /// The reply of a conversation.
    Chat(ChatReply),
    /// The answer of a tool.
    Tool(Box<ToolAnswer>),
    /// The notebooks and folders of a folder.
    Folder(FolderListing),
    /// The path of a new notebook.
    Created(String),
    /// The link to the page, which works once.
    Page(PageLink),
    /// The browsers that are signed in, or that were signed out.
    Browsers(Vec<BrowserView>),
    /// The completions. Empty if the kernel is busy or missing.
    Completion {
        /// The candidates. Each replaces the characters `start..end`.
        matches: Vec<String>,
        /// The first character that a match replaces.
        start: usize,
        /// The character after the last one that a match replaces.
        end: usize,
    },
    /// The description of a name, as text.
    Inspection(Option<String>),
    /// The effect of an interrupt on the running code.
    Interrupted(Interruption),
    /// The request has succeeded.
    Done,
}

impl Request {
    /// Whether a page may send this. All other requests need a program of the user, at the host's own socket.
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
    fn a_page_may_send_only_the_requests_of_pages() {
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
    fn a_page_changes_a_notebook_only_as_its_user() {
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
    fn a_page_chats_only_with_the_settings_of_its_user() {
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
