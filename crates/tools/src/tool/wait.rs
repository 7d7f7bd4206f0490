//! `wait`: waits for a run that an earlier call handed over.

use super::{Access, Answer, Call, MaxOutput, Refusal, Seconds, Tool, ToolFacts, Toolbox, input};
use crate::toolbox::ongoing::goes_on;
use crate::toolbox::runs::wait_time;

input! {
    /// Waits for an execution.
    struct Wait {
        execution: String,
        timeout: Option<Seconds> = "Seconds",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
    }
}

impl Tool for Wait {
    const FACTS: ToolFacts = ToolFacts::new(Access::Look);

    async fn run(self, toolbox: &Toolbox, mut call: Call<'_>) -> Result<Answer, Refusal> {
        let execution = toolbox.execution(&self.execution)?;
        let budget = call.budget(self.max_output, self.images);
        let patience = match self.timeout {
            Some(timeout) => wait_time(timeout),
            None => toolbox.settings(call.agent, &execution.session.cwd).await?.run.soft_wait,
        };
        let reply = tokio::select! {
            biased;
            reply = execution.wait(patience, call.news, None) => reply,
            // A caller that stops waiting does not stop the run.
            () = call.cancel.asked() => None,
        };
        Ok(match reply {
            Some(reply) => reply.answer(budget, call.agent).await,
            None => goes_on(&execution, budget),
        })
    }
}
