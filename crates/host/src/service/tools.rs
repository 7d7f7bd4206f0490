//! Tool calls of agents, and the editor state.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellist_platform::FailureKind;
use cellist_session::execution::Cancel;
use cellist_session::sessions::OwnerId;
use cellist_tools::redaction::Redaction;
use cellist_tools::{Agent, CallProgress, Caller, EditorState, ToolAnswer, ToolName};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{HostService, ServiceClient};
use crate::error::Failure;
use crate::protocol::request::{ContextReply, Event, Reply};

/// The agents that have introduced themselves, by client.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentRegistry(Arc<Mutex<HashMap<OwnerId, Arc<Agent>>>>);

impl AgentRegistry {
    fn lock(&self) -> MutexGuard<'_, HashMap<OwnerId, Arc<Agent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn introduce(&self, client: &ServiceClient, caller: Caller) {
        let owner = client.owner();
        self.lock().insert(owner.clone(), Arc::new(Agent::new(caller, owner.clone())));
    }

    pub(super) fn consent(&self, client: &ServiceClient, path: PathBuf) {
        if let Some(agent) = self.agent(client) {
            agent.consent(path);
        }
    }

    fn agent(&self, client: &ServiceClient) -> Option<Arc<Agent>> {
        self.lock().get(client.owner()).cloned()
    }

    pub(super) fn remove(&self, client: &OwnerId) {
        let agent = self.lock().remove(client);
        drop(agent);
    }
}

/// The maximum wait for another editor state. The client then asks again.
const PATIENCE: Duration = Duration::from_secs(60);

impl HostService {
    /// Waits until the editor state differs from `known`.
    pub(super) async fn next_editor(&self, known: &EditorState, mut cancel: Cancel) -> Reply {
        let mut news = self.toolbox.watch_editor();
        tokio::select! {
            _ = news.wait_for(|editor| editor != known) => {}
            () = cancel.asked() => {}
            () = sleep(PATIENCE) => {}
        }
        Reply::Editor(Box::new(self.toolbox.editor()))
    }

    /// Returns the state of the active notebook for an agent.
    pub(super) async fn context(
        &self,
        editor: &EditorState,
        redaction: &Redaction,
    ) -> Result<Reply, Failure> {
        let told = self.toolbox.context(editor, redaction).await?;
        let told = told.map(|context| ContextReply { json: json!(context), text: context.text() });
        Ok(Reply::Context(told.map(Box::new)))
    }

    pub(super) async fn use_tool(
        &self,
        client: &ServiceClient,
        tool: &str,
        arguments: &Value,
        events: watch::Sender<Option<Event>>,
        cancel: Cancel,
    ) -> Result<ToolAnswer, Failure> {
        let agent = self.callers.agent(client).ok_or_else(|| {
            Failure::bad_input(FailureKind::UnknownCaller, "a tool call needs an introduction first")
        })?;
        let tool = ToolName::from_name(tool).ok_or_else(|| {
            Failure::bad_input(FailureKind::UnknownTool, format!("there is no tool `{tool}`"))
        })?;
        let (news, mut heard) = watch::channel(None::<CallProgress>);
        let calling = self.toolbox.call(&agent, tool, arguments, &news, cancel);
        tokio::pin!(calling);
        loop {
            tokio::select! {
                biased;
                answer = &mut calling => return Ok(answer),
                // Cannot fail: this function holds the sender.
                Ok(()) = heard.changed() => {
                    let progress = heard.borrow_and_update().clone();
                    let progress = progress.map(|it| it.redacted(&agent.caller().redaction));
                    events.send_replace(progress.map(Event::Tool));
                }
            }
        }
    }
}
