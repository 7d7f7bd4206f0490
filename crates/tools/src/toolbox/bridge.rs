//! Calls that come from code: a tool is called for whoever started the code, with no more rights than they have.

use std::sync::Arc;

use cellist_kernel::order::Way;
use cellist_session::execution::Cancel;
use cellist_session::orders::ClientEnvironment;
use cellist_session::sessions::{OwnerId, SessionKey};
use cellist_settings::ToolMode;
use serde_json::Value;
use tokio::sync::watch;

use super::Toolbox;
use crate::agent::Agent;
use crate::answer::Answer;
use crate::caller::{Caller, ToolSet};
use crate::mode::Mode;
use crate::offer::Offer;
use crate::tool::ToolName;

/// Why a call from code was not even looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum NotCalled {
    #[error("no code runs in session {session}: tools can be called only while it does")]
    Nobody { session: String },
    #[error("there is no tool `{tool}`; there are {known}")]
    Unknown { tool: String, known: String },
}

impl Toolbox {
    /// Calls a tool for the code that runs in a session. Answers are whole, however long.
    pub async fn call_from(
        &self,
        session: &SessionKey,
        tool: &str,
        arguments: &Value,
        cancel: Cancel,
    ) -> Result<Answer, NotCalled> {
        let agent = self.acting(session)?;
        let Some(tool) = ToolName::from_name(tool) else {
            let known = Offer::set(agent.caller()).tool_names();
            let known = known.into_iter().map(ToolName::as_str).collect::<Vec<_>>().join(", ");
            return Err(NotCalled::Unknown { tool: tool.to_owned(), known });
        };
        let (news, _heard) = watch::channel(None);
        Ok(self.call(&agent, tool, arguments, &news, cancel).await)
    }

    /// For whom the code acts that runs in a session.
    fn acting(&self, session: &SessionKey) -> Result<Arc<Agent>, NotCalled> {
        let nobody = || NotCalled::Nobody { session: session.id.clone() };
        let acting = self.sessions.acting(session).ok_or_else(nobody)?;
        let known = acting.and_then(|who| who.downcast::<Agent>().ok());
        let (caller, owner) = match known {
            Some(agent) => (agent.caller().clone(), agent.owner().clone()),
            None => (self.person(session), OwnerId(format!("code in {}", session.id))),
        };
        // A command of a shell has a session that ends with it, and means that of whoever gave it.
        let is_command = self.sessions.order(session).is_some_and(|it| matches!(it.way, Way::Shell { .. }));
        let own = if is_command { caller.session.clone() } else { session.id.clone() };
        let caller = Caller { session: own, ..caller };
        Ok(Arc::new(Agent::new(caller, owner).inside(session.clone())))
    }

    /// A person who runs code, and may do with tools what the code may do anyway.
    fn person(&self, session: &SessionKey) -> Caller {
        let order = self.sessions.order(session);
        let environment = order.map(|order| ClientEnvironment {
            python: order.python().map(ToOwned::to_owned),
            variables: order.environment.clone(),
            ..ClientEnvironment::default()
        });
        Caller {
            name: "code".to_owned(),
            session: session.id.clone(),
            mode: Mode::Agent,
            tools: ToolSet::All,
            tool_mode: ToolMode::Both,
            cwd: session.cwd.clone(),
            roots: Vec::new(),
            requires_active: false,
            is_shared: false,
            front: None,
            excluded: Vec::new(),
            allowed: Vec::new(),
            attached: Vec::new(),
            redaction: Default::default(),
            environment: environment.unwrap_or_default(),
        }
    }
}
