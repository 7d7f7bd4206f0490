//! A folder with a notebook, a conversation about it, and a provider that was told what to say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_assistant::{Account, Ask, Conversation, Ending, MessageId, Rules, Told};
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

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) models: Models,
    pub(crate) chat: Conversation,
    pub(crate) notebook: PathBuf,
    sessions: Sessions,
    documents: Documents,
    heard: usize,
}

impl Bed {
    /// With a notebook of code cells `a`, `b` and so on, and a provider that says this.
    pub(crate) fn new(sources: &[&str], script: impl IntoIterator<Item = Said>) -> Bed {
        let cells: Vec<Value> = sources
            .iter()
            .zip('a'..)
            .map(|(source, id)| json!({ "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [], "source": source }))
            .collect();
        Bed::with_cells(cells, script)
    }

    pub(crate) fn with_cells(cells: Vec<Value>, script: impl IntoIterator<Item = Said>) -> Bed {
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
        Bed { scratch, models: Models::start(script), chat, notebook, sessions, documents, heard: 0 }
    }

    /// A message in Agent mode, with the notebook attached and active, that may run code.
    pub(crate) fn message(&self, words: &str) -> Ask {
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
        Ask {
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
            rules: Rules::from(&chat),
            instructions: Prompts::ours().for_mode(Mode::Agent).0,
            outputs: Vec::new(),
            about: None,
        }
    }

    /// The same in another mode.
    pub(crate) fn in_mode(&self, mode: Mode, words: &str) -> Ask {
        let mut ask = self.message(words);
        ask.caller.mode = mode;
        ask.instructions = Prompts::ours().for_mode(mode).0;
        ask
    }

    pub(crate) fn send(&self, ask: Ask) {
        self.chat.send(ask, OwnerId("person".to_owned()));
    }

    /// Waits for something that is told, and gives all up to then that was not given before.
    pub(crate) async fn until(&mut self, what: impl Fn(&Told) -> bool) -> Vec<Told> {
        let mut all = Vec::new();
        loop {
            tokio::time::timeout(LONG, self.chat.more_than(self.heard, u64::MAX))
                .await
                .expect("it takes too long");
            for told in self.chat.heard(self.heard).told {
                self.heard += 1;
                all.push(told.clone());
                if what(&told) {
                    return all;
                }
            }
        }
    }

    /// Waits for the end of the answer.
    pub(crate) async fn end(&mut self) -> (Vec<Told>, Ending) {
        let told = self.until(|told| matches!(told, Told::Ended { .. })).await;
        let Some(Told::Ended { ending, .. }) = told.last().cloned() else { panic!("{told:?}") };
        (told, ending)
    }

    /// Says something and waits for the answer.
    pub(crate) async fn answer(&mut self, ask: Ask) -> (Vec<Told>, Ending) {
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

    /// Takes back what an answer changed, and tells what the person hears of it.
    pub(crate) async fn undo(&self, turn: &str) -> String {
        let person = Actor::new(ActorKind::Person, "ann").into();
        self.chat.undo(turn, person).await.unwrap().to_string()
    }

    pub(crate) fn sources(&self) -> Vec<String> {
        sources(&self.notebook)
    }

    /// Ends what is kept, so that nothing is left behind.
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

/// What tools answered, and whether they failed.
pub(crate) fn results(told: &[Told]) -> Vec<(String, bool)> {
    let result = |told: &Told| match told {
        Told::Result { text, is_failure, .. } => Some((text.clone(), *is_failure)),
        _ => None,
    };
    told.iter().filter_map(result).collect()
}

/// The words of the answer.
pub(crate) fn words(told: &[Told]) -> String {
    let text = |told: &Told| match told {
        Told::Text(text) => Some(text.clone()),
        _ => None,
    };
    told.iter().filter_map(text).collect()
}
