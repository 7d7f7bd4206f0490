//! `wait`: goes on waiting for a run that a call has handed over.

use super::ongoing::goes_on;
use super::runs::seconds;
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::executions::Waited;
use crate::result::Budget;

impl Toolbox {
    pub(super) async fn wait(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let Call { agent, arguments, news, mut cancel, .. } = call;
        let execution = self.execution(arguments.text("execution").unwrap_or_default())?;
        let budget = Budget::of(arguments);
        let patience = match arguments.seconds("timeout") {
            Some(timeout) => seconds(timeout),
            None => self.settings(agent.caller(), &execution.session().cwd).await?.run.soft_wait,
        };
        let waited = tokio::select! {
            biased;
            waited = execution.wait(patience, news, None) => waited,
            // Nothing is done to the run by who does not wait for it any more.
            () = cancel.asked() => Waited::Running,
        };
        Ok(match waited {
            Waited::Ended(reply) => reply.answer(budget, agent).await,
            Waited::Running => goes_on(&execution, budget),
        })
    }
}
