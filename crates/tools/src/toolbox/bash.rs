//! `bash`: a command of a shell, told of as code is. Nothing is kept from one to the next.

use cellist_session::aside::aside;
use cellist_session::orders::{self, ShellOrder};
use cellist_session::sessions::{
    Call as SessionCall, CallReport, Code, ExecutionId, KernelMode, Kind, RetryOnCrash, SessionKey,
};
use cellist_session::settings::ToolMode;

use super::python::origin;
use super::runs::{Part, Plan, call_limit, failure, folder_at, session_call};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::caller::{Caller, ToolSet};
use crate::result::{Budget, Ran, compose};
use crate::tool::{NotOffered, ToolName};

impl Toolbox {
    pub(super) async fn bash(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let (arguments, caller) = (call.arguments, call.caller());
        let command = arguments.text("command").unwrap_or_default();
        if command.trim().is_empty() {
            return Err(Answer::failure("there is nothing to run: `command` is empty"));
        }
        let cwd = match arguments.text("cwd") {
            Some(named) => folder_at(&caller.cwd, named)?,
            None => caller.cwd.clone(),
        };
        let order = orders::shell(&caller.asker, self.documents.store().home(), cwd.clone()).await;
        let ShellOrder { order, settings, has_python } =
            order.map_err(|error| failure(&error, error.hint()))?;
        // A session of its own, so that commands neither wait for each other nor for Python.
        let key = SessionKey::new(format!("bash-{}", ExecutionId::random()), cwd);
        let code = vec![Code { code: command.to_owned(), ..Code::default() }];
        let work = session_call(&call, key.clone(), order, code, &settings);
        let work = SessionCall {
            kind: Kind::Command,
            owner: None,
            limit: call_limit(&call),
            retry: RetryOnCrash::Never,
            mode: KernelMode::PerCall,
            ..work
        };
        let is_stand_in = caller.tool_mode == ToolMode::BashOnly && !has_python;
        let said = is_stand_in.then(|| self.introduced.once(call.agent.owner(), NO_PYTHON)).flatten();
        let budget = Budget::of(arguments);
        let title = "a command of bash".to_owned();
        let plan = Plan { title, session: key, settings, budget, said: Vec::new() };
        let toolbox = self.clone();
        let run = |mut inside| async move {
            let origin = origin(&work);
            let CallReport { cells, mut notices, .. } =
                match toolbox.run_code(work, &mut inside, None, Part::default()).await {
                    Ok(report) => report,
                    Err(failure) => return failure.into(),
                };
            notices.extend(said);
            let ran: Vec<Ran> = cells.into_iter().map(|cell| Ran::new(cell.report)).collect();
            if ran.is_empty() {
                return Answer::failure(notices.join("\n")).into();
            }
            toolbox.gallery.reply(compose(notices, ran, Vec::new()), &origin).await
        };
        Ok(self.begin(call, plan, run).await)
    }

    /// Why a tool that runs Python is not there, where that is for want of Python.
    pub(super) async fn stand_in(&self, caller: &Caller, refusal: NotOffered) -> Option<String> {
        let NotOffered::ToolMode(tool @ (ToolName::Python | ToolName::Eval)) = refusal else { return None };
        let (asker, home) = (caller.asker.clone(), self.documents.store().home().clone());
        let cwd = caller.cwd.clone();
        let looked = aside(move || asker.has_python(&home, &cwd));
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
