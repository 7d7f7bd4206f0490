//! `bash`: runs a shell command. No state lasts from one command to the next.

use cellist_platform::aside::aside;
use cellist_session::orders::{self, ShellOrder};
use cellist_session::sessions::{
    CallReport, Code, ExecutionId, KernelMode, RetryOnCrash, RunRules, SessionCall, SessionKey, SessionKind,
};
use cellist_settings::ToolMode;

use super::python::origin;
use super::{
    CallAccess, CallContext, MaxOutput, Seconds, Tool, ToolAnswer, ToolFacts, ToolGroup, ToolName,
    ToolRefusal, Toolbox, input,
};
use crate::caller::{Caller, ToolSet};
use crate::offer::NotOffered;
use crate::result::{CodeResult, compose};
use crate::toolbox::runs::{Part, Plan, call_limit, folder_at, session_call};

input! {
    /// Runs a shell command. Long output is stored whole as an artifact.
    struct BashInput {
        command: String,
        cwd: Option<String>,
        timeout: Option<Seconds> = "Seconds, 1 to 600; default 30",
        max_output: Option<MaxOutput>,
        soft_wait: Option<Seconds>,
    }
}

impl Tool for BashInput {
    const FACTS: ToolFacts = ToolFacts { group: ToolGroup::Shell, ..ToolFacts::new(CallAccess::Run) };

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let caller = call.caller();
        if self.command.trim().is_empty() {
            return Err(ToolRefusal::new("nothing to run: `command` is empty"));
        }
        let cwd = match &self.cwd {
            Some(named) => folder_at(&caller.cwd, named)?,
            None => caller.cwd.clone(),
        };
        let home = toolbox.documents.store().home();
        let ShellOrder { order, settings, has_python } =
            orders::shell(&caller.environment, home, cwd.clone()).await?;
        // Each command has its own session, so that it waits neither for other commands nor for
        // Python.
        let key = SessionKey::new(format!("bash-{}", ExecutionId::random()), cwd);
        let code = vec![Code { code: self.command, ..Code::default() }];
        let budget = call.budget(self.max_output, None);
        let work = session_call(&call, key.clone(), order.into(), code, &settings, budget);
        let rules = RunRules {
            limit: call_limit(self.timeout),
            retry: RetryOnCrash::Never,
            mode: KernelMode::PerCall,
            ..work.rules
        };
        let work = SessionCall { kind: SessionKind::Command, owner: None, rules, ..work };
        let is_stand_in = caller.tool_mode == ToolMode::BashOnly && !has_python;
        let said = is_stand_in.then(|| toolbox.introduced.once(call.agent.owner(), NO_PYTHON)).flatten();
        let title = "a command of bash".to_owned();
        let plan = Plan::new(title, key, settings.into(), budget, self.soft_wait);
        let own = toolbox.clone();
        let run = |mut inside| async move {
            let origin = origin(&work);
            let CallReport { cells, mut notices, .. } =
                match own.run_code(work, &mut inside, None, Part::default()).await {
                    Ok(report) => report,
                    Err(refusal) => return refusal.into(),
                };
            notices.extend(said);
            let ran: Vec<CodeResult> = cells.into_iter().map(|cell| CodeResult::new(cell.report)).collect();
            if ran.is_empty() {
                return ToolRefusal::new(notices.join("\n")).into();
            }
            own.gallery.reply(compose(notices, ran, Vec::new()), &origin).await
        };
        toolbox.begin(call, plan, run).await
    }
}

impl Toolbox {
    /// Explains that a Python tool is missing because no Python was found, if that is the reason.
    pub(crate) async fn missing_python(&self, caller: &Caller, refusal: NotOffered) -> Option<String> {
        let NotOffered::ToolMode(tool @ (ToolName::Python | ToolName::Eval)) = refusal else { return None };
        let (environment, home) = (caller.environment.clone(), self.documents.store().home().clone());
        let cwd = caller.cwd.clone();
        let looked = aside(move || environment.has_python(&home, &cwd));
        let has_python = looked.await.unwrap_or(true);
        let instead = match caller.tools {
            ToolSet::All => "use bash instead",
            ToolSet::Notebook => "the user can start you with `--tools all` for a shell",
        };
        (!has_python).then(|| format!("{tool} is not among your tools: no Python was found; {instead}"))
    }
}

/// Shown once to an agent that has only a shell for this reason.
const NO_PYTHON: &str = "[no Python was found: python and eval are not among your tools]";
