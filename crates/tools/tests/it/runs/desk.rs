//! An agent with a real Python.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cellist_session::execution::{Cancel, Canceller};
use cellist_session::orders::ClientEnvironment;
use cellist_settings::Home;
use cellist_store::artifact::{Artifacts, Retention};
use cellist_tools::{Agent, AnswerBlock, CallProgress, Caller, ToolAnswer, ToolName};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::bed::Bed;

/// Longer than any step takes on a busy machine.
pub(super) const LONG: Duration = Duration::from_secs(120);

/// The backends that every rule is tested on.
pub(super) const BOTH: [&str; 2] = ["runner", "jupyter"];

pub(super) struct Desk {
    pub(super) bed: Bed,
    agent: Arc<Agent>,
}

/// A call in progress.
pub(super) struct Calling {
    answer: JoinHandle<ToolAnswer>,
    pub(super) canceller: Canceller,
    heard: watch::Receiver<Option<CallProgress>>,
}

impl Desk {
    /// An agent whose code runs on this backend.
    pub(super) fn new(backend: &str) -> Desk {
        Desk::with(backend, |_| {})
    }

    /// The same for an agent with another configuration.
    pub(super) fn with(backend: &str, change: impl FnOnce(&mut Caller)) -> Desk {
        let python = testkit::python("kernels");
        let bed = Bed::with(|caller| {
            let home = caller.cwd.clone();
            let path = std::env::var_os("PATH").unwrap_or_default();
            let variables = vec![("PATH".into(), path), ("HOME".into(), home.into())];
            caller.environment =
                ClientEnvironment { variables, python: Some(python), ..ClientEnvironment::default() };
            caller.environment.backend = serde_json::from_value(backend.into()).unwrap();
            change(caller);
        });
        let agent = bed.also(|_| {});
        Desk { bed, agent }
    }

    /// Calls a tool and waits for its answer.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        self.start(tool, arguments).answer().await
    }

    /// The text of a successful answer.
    pub(super) async fn told(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert!(!answer.is_failure, "{}", answer.all_text());
        answer.all_text()
    }

    /// The text of a failure.
    pub(super) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        let text = answer.all_text();
        assert!(answer.is_failure && text.starts_with("Error: "), "{text}");
        text
    }

    /// Starts a call.
    pub(super) fn start(&self, tool: &str, arguments: Value) -> Calling {
        let (toolbox, agent) = (self.bed.toolbox.clone(), Arc::clone(&self.agent));
        let tool = ToolName::from_name(tool).unwrap();
        let (news, heard) = watch::channel(None);
        let (canceller, cancel) = Cancel::channel();
        let answer = tokio::spawn(async move { toolbox.call(&agent, tool, &arguments, &news, cancel).await });
        Calling { answer, canceller, heard }
    }

    /// Another agent, with the same Python.
    pub(super) fn newcomer(&self) -> Arc<Agent> {
        let caller = self.agent.caller().clone();
        self.bed.also(|other| *other = caller)
    }

    /// The stored artifacts.
    pub(super) fn artifacts(&self) -> Artifacts {
        Artifacts::new(&Home::at(self.bed.scratch.path().join("home")), Retention::default())
    }

    /// A file that code waits for.
    pub(super) fn signal(&self, name: &str) -> PathBuf {
        self.bed.work().join(name)
    }
}

impl Calling {
    pub(super) async fn answer(self) -> ToolAnswer {
        tokio::time::timeout(LONG, self.answer).await.expect("it takes too long").unwrap()
    }

    /// Waits until the progress of the call has this text.
    pub(super) async fn until(&mut self, happened: impl Fn(&CallProgress) -> bool) -> CallProgress {
        let told = self.heard.wait_for(|progress| progress.as_ref().is_some_and(&happened));
        let told = tokio::time::timeout(LONG, told).await.expect("it is never told").unwrap();
        told.clone().unwrap()
    }
}

/// Code that waits until a file exists.
pub(super) fn waits_for(file: &std::path::Path) -> String {
    format!("import os, time\nwhile not os.path.exists({file:?}):\n    time.sleep(0.005)\n")
}

/// The execution that an answer hands over.
pub(super) fn execution(text: &str) -> String {
    let rest = text.split("till running as execution ").nth(1).unwrap_or_else(|| panic!("{text}"));
    rest.split_whitespace().next().unwrap().trim_end_matches('.').to_owned()
}

pub(super) fn images(answer: &ToolAnswer) -> Vec<(String, String)> {
    let image = |block: &AnswerBlock| match block {
        AnswerBlock::Image { mime, data } => Some((mime.clone(), data.clone())),
        AnswerBlock::Text(_) | AnswerBlock::Link { .. } => None,
    };
    answer.blocks.iter().filter_map(image).collect()
}

/// The artifact that an answer links to.
pub(super) fn artifact(answer: &ToolAnswer) -> String {
    let link = |block: &AnswerBlock| match block {
        AnswerBlock::Link { uri, .. } => uri.strip_prefix("artifact://").map(str::to_owned),
        AnswerBlock::Text(_) | AnswerBlock::Image { .. } => None,
    };
    answer.blocks.iter().find_map(link).unwrap_or_else(|| panic!("no link: {}", answer.all_text()))
}
