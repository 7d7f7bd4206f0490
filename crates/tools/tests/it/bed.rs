//! A folder with notebooks, and an agent that works in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::guard::Guard;
use cellist_live::{Actor, ActorKind, Documents};
use cellist_session::execution::Cancel;
use cellist_session::sessions::{OwnerId, Policy, SessionServices, Sessions};
use cellist_settings::Home;
use cellist_store::Store;
use cellist_store::artifact::{Artifacts, Retention};
use cellist_tools::{Agent, Caller, EditorReport, EditorState, Mode, ToolAnswer, ToolName, Toolbox};
use serde_json::{Value, json};
use testkit::Scratch;
use tokio::sync::watch;

/// Longer than any step takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) artifacts: Artifacts,
    pub(crate) documents: Documents,
    pub(crate) toolbox: Toolbox,
    sessions: Sessions,
    agent: Arc<Agent>,
}

impl Bed {
    /// An agent in Agent mode with the default tools.
    pub(crate) fn new() -> Bed {
        Bed::with(|_| {})
    }

    /// An agent with another configuration.
    pub(crate) fn with(change: impl FnOnce(&mut Caller)) -> Bed {
        let scratch = Scratch::new();
        let work = scratch.path().join("desk");
        std::fs::create_dir(&work).unwrap();
        let home = Home::at(scratch.path().join("home"));
        let artifacts = Artifacts::new(&home, Retention::default());
        let means = SessionServices::local(Guard::none(), None, home.clone(), artifacts.clone());
        let sessions = Sessions::new(Policy::default(), means);
        let documents = Documents::new(Store::new(home));
        let toolbox = Toolbox::new(sessions.clone(), documents.clone(), artifacts.clone());
        let mut caller = Caller::new("robot", "robot-1", Mode::Agent, work);
        change(&mut caller);
        let agent = Arc::new(Agent::new(caller, OwnerId("robot".to_owned())));
        Bed { scratch, artifacts, documents, toolbox, sessions, agent }
    }

    /// The state of an editor that shows only this.
    pub(crate) fn report(&self, editor: EditorState) {
        let EditorState { active, attached, selection } = editor;
        let detach = self.toolbox.editor().attached;
        self.toolbox.apply_report(EditorReport { detach, ..EditorReport::default() });
        self.toolbox.apply_report(EditorReport { active, selection, attach: attached, detach: Vec::new() });
    }

    /// The same folder for an agent with another configuration.
    pub(crate) fn also(&self, change: impl FnOnce(&mut Caller)) -> Arc<Agent> {
        let mut caller = self.agent.caller().clone();
        change(&mut caller);
        Arc::new(Agent::new(caller, OwnerId("other".to_owned())))
    }

    /// The agent's folder.
    pub(crate) fn work(&self) -> PathBuf {
        self.scratch.path().join("desk")
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        self.scratch.write(&format!("desk/{name}"), bytes)
    }

    /// Writes a notebook with code cells of these ids and sources.
    pub(crate) fn notebook(&self, name: &str, cells: &[(&str, &str)]) -> PathBuf {
        let cell = |(id, source): &(&str, &str)| json!({ "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [], "source": source });
        let cells: Vec<Value> = cells.iter().map(cell).collect();
        let file = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        self.write(name, serde_json::to_vec_pretty(&file).unwrap())
    }

    pub(crate) async fn answer(&self, tool: &str, arguments: Value) -> ToolAnswer {
        self.answer_to(&self.agent, tool, arguments).await
    }

    pub(crate) async fn answer_to(&self, agent: &Arc<Agent>, tool: &str, arguments: Value) -> ToolAnswer {
        let tool = ToolName::from_name(tool).unwrap();
        let (news, _heard) = watch::channel(None);
        let calling = self.toolbox.call(agent, tool, &arguments, &news, Cancel::never());
        tokio::time::timeout(LONG, calling).await.expect("it takes too long")
    }

    /// The text of a successful answer, with revisions as `REV`.
    pub(crate) async fn told(&self, tool: &str, arguments: Value) -> String {
        let answer = self.answer(tool, arguments).await;
        assert!(!answer.is_failure, "{}", answer.all_text());
        without_revisions(&answer.all_text())
    }

    /// The text of a failure.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let answer = self.answer(tool, arguments).await;
        assert!(answer.is_failure, "{}", answer.all_text());
        let text = answer.all_text();
        assert!(text.starts_with("Error: "), "{text}");
        without_revisions(&text.replace(self.scratch.path().to_str().unwrap(), "/SCRATCH"))
    }

    /// Changes the text of a cell in an open notebook, as another actor.
    pub(crate) async fn person_writes(&self, path: &Path, cell: &'static str, source: &'static str) {
        let document = self.documents.open(path).await.unwrap();
        let person = Actor::new(ActorKind::Person, "ann").into();
        let edit = document.edit(None, person, move |notebook, _| {
            let at = notebook.find(&cellist_notebook::CellRef::Name(cell.to_owned()))?;
            notebook.set_source(at, source);
            Ok(())
        });
        edit.await.unwrap();
    }

    /// Ends all sessions, so that no process is left behind.
    pub(crate) async fn close(self) {
        self.documents.close().await;
        self.sessions.close().await;
    }
}

/// The sources of the cells of a file.
pub(crate) fn sources(path: &Path) -> Vec<String> {
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let source = |cell: &Value| match &cell["source"] {
        Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
        other => other.as_str().unwrap().to_owned(),
    };
    file["cells"].as_array().unwrap().iter().map(source).collect()
}

/// Revisions have 16 digits.
pub(crate) fn without_revisions(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_hexdigit() && !c.is_ascii_uppercase();
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_digit) {
        let run = rest[start..].find(|c| !is_digit(c)).unwrap_or(rest.len() - start);
        shown.push_str(&rest[..start]);
        shown.push_str(if run >= 12 { "REV" } else { &rest[start..start + run] });
        rest = &rest[start + run..];
    }
    shown + rest
}
