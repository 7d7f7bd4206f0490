//! A folder with a notebook, a conversation about it, and a provider with scripted responses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_assistant::{
    Account, AnswerEnding, AnswerRules, ChatRequest, Conversation, MessageId, TranscriptEntry,
};
use cellist_kernel::guard::Guard;
use cellist_live::{Actor, ActorKind, Documents};
use cellist_notebook::CellRef;
use cellist_session::orders::ClientEnvironment;
use cellist_session::sessions::{OwnerId, Policy, SessionServices, Sessions};
use cellist_settings::{Chat, ChatProvider, Home, RunCode, ToolMode};
use cellist_store::Store;
use cellist_store::artifact::{Artifacts, Retention};
use cellist_tools::prompt::Prompts;
use cellist_tools::{Caller, EditorState, Mode, ToolSet, Toolbox};
use serde_json::{Value, json};
use testkit::{Models, Said, Scratch};

/// The timeout of every wait, generous for a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct TestBed {
    pub(crate) scratch: Scratch,
    pub(crate) models: Models,
    pub(crate) chat: Conversation,
    pub(crate) notebook: PathBuf,
    sessions: Sessions,
    documents: Documents,
    /// The number of entries that were read.
    position: usize,
}

impl TestBed {
    /// Starts with a notebook of code cells `a`, `b` and so on.
    pub(crate) fn new(sources: &[&str], script: impl IntoIterator<Item = Said>) -> TestBed {
        let cells: Vec<Value> = sources
            .iter()
            .zip('a'..)
            .map(|(source, id)| json!({ "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [], "source": source }))
            .collect();
        TestBed::with_cells(cells, script)
    }

    pub(crate) fn with_cells(cells: Vec<Value>, script: impl IntoIterator<Item = Said>) -> TestBed {
        let scratch = Scratch::new();
        let file = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        let notebook = scratch.write("desk/nb.ipynb", serde_json::to_vec_pretty(&file).unwrap());
        let notebook = notebook.canonicalize().unwrap();
        let home = Home::at(scratch.path().join("home"));
        let artifacts = Artifacts::new(&home, Retention::default());
        let means = SessionServices::local(Guard::none(), None, home.clone(), artifacts.clone());
        let sessions = Sessions::new(Policy::default(), means);
        let documents = Documents::new(Store::new(home));
        let toolbox = Toolbox::new(sessions.clone(), documents.clone(), artifacts);
        let chat = Conversation::new(toolbox, notebook.clone());
        TestBed { scratch, models: Models::start(script), chat, notebook, sessions, documents, position: 0 }
    }

    /// A message in Agent mode that may run code. The notebook is attached and active.
    pub(crate) fn message(&self, words: &str) -> ChatRequest {
        let chat = Chat {
            provider: ChatProvider::Anthropic,
            model: Some("scripted".to_owned()),
            base_url: Some(self.models.url()),
            run_code: RunCode::Allow,
            ..Chat::default()
        };
        let cwd = self.scratch.path().join("desk").canonicalize().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let variables = vec![("PATH".into(), path), ("HOME".into(), cwd.clone().into())];
        let environment = ClientEnvironment {
            variables,
            python: Some(testkit::python("kernels")),
            ..ClientEnvironment::default()
        };
        let front = EditorState {
            active: Some(self.notebook.clone()),
            attached: vec![self.notebook.clone()],
            ..EditorState::default()
        };
        ChatRequest {
            id: MessageId::random(),
            words: words.to_owned(),
            caller: Caller {
                name: "assistant".to_owned(),
                session: "assistant-nb".to_owned(),
                mode: Mode::Agent,
                tools: ToolSet::All,
                tool_mode: ToolMode::Both,
                cwd,
                roots: Vec::new(),
                requires_active: true,
                is_shared: false,
                front: Some(front),
                excluded: Vec::new(),
                allowed: Vec::new(),
                attached: Vec::new(),
                redaction: Default::default(),
                environment: ClientEnvironment {
                    backend: serde_json::from_value(json!("runner")).unwrap(),
                    ..environment
                },
            },
            account: Account::find(&chat, &Default::default()).unwrap(),
            rules: AnswerRules::from(&chat),
            instructions: Prompts::ours().for_mode(Mode::Agent).0,
            outputs: Vec::new(),
            about: None,
        }
    }

    /// The same in another mode.
    pub(crate) fn in_mode(&self, mode: Mode, words: &str) -> ChatRequest {
        let mut ask = self.message(words);
        ask.caller.mode = mode;
        ask.instructions = Prompts::ours().for_mode(mode).0;
        ask
    }

    pub(crate) fn send(&self, ask: ChatRequest) {
        self.chat.send(ask, OwnerId("person".to_owned()));
    }

    /// Waits for an entry. Returns all new entries up to it.
    pub(crate) async fn until(&mut self, is_last: impl Fn(&TranscriptEntry) -> bool) -> Vec<TranscriptEntry> {
        let mut all = Vec::new();
        loop {
            tokio::time::timeout(LONG, self.chat.wait_for_update(self.position, u64::MAX))
                .await
                .expect("timed out");
            for told in self.chat.update_since(self.position).told {
                self.position += 1;
                all.push(told.clone());
                if is_last(&told) {
                    return all;
                }
            }
        }
    }

    /// Waits for the end of the answer.
    pub(crate) async fn end(&mut self) -> (Vec<TranscriptEntry>, AnswerEnding) {
        let told = self.until(|told| matches!(told, TranscriptEntry::Ended { .. })).await;
        let Some(TranscriptEntry::Ended { ending, .. }) = told.last().cloned() else { panic!("{told:?}") };
        (told, ending)
    }

    /// Sends a message and waits for the answer.
    pub(crate) async fn answer(&mut self, ask: ChatRequest) -> (Vec<TranscriptEntry>, AnswerEnding) {
        self.send(ask);
        self.end().await
    }

    pub(crate) async fn person_writes(&self, cell: &'static str, source: &'static str) {
        let document = self.documents.open(&self.notebook).await.unwrap();
        let person = Actor::new(ActorKind::Person, "ann").into();
        let edit = document.edit(None, person, move |notebook, _| {
            let at = notebook.find(&CellRef::Name(cell.to_owned()))?;
            notebook.set_source(at, source);
            Ok(())
        });
        edit.await.unwrap();
    }

    /// Undoes an answer. Returns the report for the user.
    pub(crate) async fn undo(&self, turn: &str) -> String {
        let person = Actor::new(ActorKind::Person, "ann").into();
        self.chat.undo(turn, person).await.unwrap().to_string()
    }

    pub(crate) fn sources(&self) -> Vec<String> {
        sources(&self.notebook)
    }

    /// Ends notebooks and kernels, so that no process is left.
    pub(crate) async fn close(self) {
        self.documents.close().await;
        self.sessions.close().await;
    }
}

/// The sources of the cells of a file.
fn sources(path: &Path) -> Vec<String> {
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let source = |cell: &Value| match &cell["source"] {
        Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
        other => other.as_str().unwrap().to_owned(),
    };
    file["cells"].as_array().unwrap().iter().map(source).collect()
}

/// The texts of tool results, and whether the calls failed.
pub(crate) fn results(told: &[TranscriptEntry]) -> Vec<(String, bool)> {
    let result = |told: &TranscriptEntry| match told {
        TranscriptEntry::Result { text, is_failure, .. } => Some((text.clone(), *is_failure)),
        _ => None,
    };
    told.iter().filter_map(result).collect()
}

/// The text of the answer.
pub(crate) fn words(told: &[TranscriptEntry]) -> String {
    let text = |told: &TranscriptEntry| match told {
        TranscriptEntry::Text(text) => Some(text.clone()),
        _ => None,
    };
    told.iter().filter_map(text).collect()
}

/// The messages of a request as one text.
pub(crate) fn sent(bed: &TestBed, request: usize) -> String {
    bed.models.asked()[request].body["messages"].to_string()
}
