//! `bash`: a command of a shell, told of as code is. Nothing is kept from one to the next.

use cellist_platform::aside::aside;
use cellist_session::orders::{self, ShellOrder};
use cellist_session::sessions::{
    CallReport, Code, ExecutionId, KernelMode, Kind, RetryOnCrash, RunRules, SessionCall, SessionKey,
};
use cellist_settings::ToolMode;

use super::python::origin;
use super::{
    Access, Answer, Call, MaxOutput, Refusal, Seconds, Tool, ToolFacts, ToolGroup, ToolName, Toolbox, input,
};
use crate::caller::{Caller, ToolSet};
use crate::offer::NotOffered;
use crate::result::{Ran, compose};
use crate::toolbox::runs::{Part, Plan, call_limit, folder_at, session_call};

input! {
    /// Runs a shell command. An artifact has all of long output.
    struct Bash {
        command: String,
        cwd: Option<String>,
        timeout: Option<Seconds> = "Seconds, 1 to 600; default 30",
        max_output: Option<MaxOutput>,
        soft_wait: Option<Seconds>,
    }
}

impl Tool for Bash {
    const FACTS: ToolFacts = ToolFacts { group: ToolGroup::Shell, ..ToolFacts::new(Access::Run) };

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        let caller = call.caller();
        if self.command.trim().is_empty() {
            return Err(Refusal::new("there is nothing to run: `command` is empty"));
        }
        let cwd = match &self.cwd {
            Some(named) => folder_at(&caller.cwd, named)?,
            None => caller.cwd.clone(),
        };
        let home = toolbox.documents.store().home();
        let ShellOrder { order, settings, has_python } =
            orders::shell(&caller.environment, home, cwd.clone()).await?;
        // A session of its own, so that commands neither wait for each other nor for Python.
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
        let work = SessionCall { kind: Kind::Command, owner: None, rules, ..work };
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
            let ran: Vec<Ran> = cells.into_iter().map(|cell| Ran::new(cell.report)).collect();
            if ran.is_empty() {
                return Refusal::new(notices.join("\n")).into();
            }
            own.gallery.reply(compose(notices, ran, Vec::new()), &origin).await
        };
        toolbox.begin(call, plan, run).await
    }
}

impl Toolbox {
    /// Why a tool that runs Python is not there, where that is for want of Python.
    pub(crate) async fn stand_in(&self, caller: &Caller, refusal: NotOffered) -> Option<String> {
        let NotOffered::ToolMode(tool @ (ToolName::Python | ToolName::Eval)) = refusal else { return None };
        let (environment, home) = (caller.environment.clone(), self.documents.store().home().clone());
        let cwd = caller.cwd.clone();
        let looked = aside(move || environment.has_python(&home, &cwd));
        let has_python = looked.await.unwrap_or(true);
        let instead = match caller.tools {
            ToolSet::All => "use bash instead",
            ToolSet::Notebook => "a person starts you with `--tools all` for a shell instead",
        };
        (!has_python).then(|| format!("{tool} is not among your tools: no Python was found; {instead}"))
    }
}

/// Said once to whoever has a shell alone because of that.
const NO_PYTHON: &str = "[no Python was found: python and eval are not among your tools]";
