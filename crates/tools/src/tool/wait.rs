//! `wait`: waits for a run that an earlier call handed over.

use super::{
    CallAccess, CallContext, MaxOutput, Seconds, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input,
};
use crate::toolbox::run_status::still_running;
use crate::toolbox::runs::wait_time;

input! {
    /// Waits for an execution.
    struct WaitInput {
        execution: String,
        timeout: Option<Seconds> = "Seconds",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
    }
}

impl Tool for WaitInput {
    const FACTS: ToolFacts = ToolFacts::new(CallAccess::Look);

    async fn run(self, toolbox: &Toolbox, mut call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
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
            None => still_running(&execution, budget),
        })
    }
}
