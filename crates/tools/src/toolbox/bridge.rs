//! Tool calls from code. The code has the rights of the caller that started it.

use std::sync::Arc;

use cellist_kernel::order::Way;
use cellist_session::execution::Cancel;
use cellist_session::orders::ClientEnvironment;
use cellist_session::sessions::{OwnerId, SessionKey};
use serde_json::Value;
use tokio::sync::watch;

use super::Toolbox;
use crate::agent::Agent;
use crate::answer::ToolAnswer;
use crate::caller::{Caller, ToolSet};
use crate::mode::Mode;
use crate::offer::ToolOffer;
use crate::tool::ToolName;

/// The reason why a call from code was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum NotCalled {
    #[error("no code is running in session {session}; only running code can call tools")]
    Nobody { session: String },
    #[error("there is no tool `{tool}`; there are {known}")]
    Unknown { tool: String, known: String },
}

impl Toolbox {
    /// Calls a tool for the code that runs in a session. Answers are not shortened.
    pub async fn call_from(
        &self,
        session: &SessionKey,
        tool: &str,
        arguments: &Value,
        cancel: Cancel,
    ) -> Result<ToolAnswer, NotCalled> {
        let agent = self.acting(session)?;
        let Some(tool) = ToolName::from_name(tool) else {
            let known = ToolOffer::of_caller(agent.caller()).tool_names();
            let known = known.into_iter().map(ToolName::as_str).collect::<Vec<_>>().join(", ");
            return Err(NotCalled::Unknown { tool: tool.to_owned(), known });
        };
        let (news, _heard) = watch::channel(None);
        Ok(self.call(&agent, tool, arguments, &news, cancel).await)
    }

    /// Returns the agent that the running code acts for.
    fn acting(&self, session: &SessionKey) -> Result<Arc<Agent>, NotCalled> {
        let nobody = || NotCalled::Nobody { session: session.id.clone() };
        let acting = self.sessions.acting(session).ok_or_else(nobody)?;
        let known = acting.and_then(|who| who.downcast::<Agent>().ok());
        let (caller, owner) = match known {
            Some(agent) => (agent.caller().clone(), agent.owner().clone()),
            None => (self.person(session), OwnerId(format!("code in {}", session.id))),
        };
        // The session of a shell command ends with it, so the command uses the session of its
        // caller.
        let is_command = self.sessions.order(session).is_some_and(|it| matches!(it.way, Way::Shell { .. }));
        let own = if is_command { caller.session.clone() } else { session.id.clone() };
        let caller = Caller { session: own, ..caller };
        Ok(Arc::new(Agent::new(caller, owner).inside(session.clone())))
    }

    /// Builds a caller for code that a user runs. Its tools allow no more than the code itself.
    fn person(&self, session: &SessionKey) -> Caller {
        let order = self.sessions.order(session);
        let environment = order.map(|order| ClientEnvironment {
            python: order.python().map(ToOwned::to_owned),
            variables: order.environment.clone(),
            ..ClientEnvironment::default()
        });
        Caller {
            tools: ToolSet::All,
            environment: environment.unwrap_or_default(),
            ..Caller::new("code", &session.id, Mode::Agent, session.cwd.as_path())
        }
    }
}
