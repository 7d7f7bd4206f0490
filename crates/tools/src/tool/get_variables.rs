//! `get_variables`: the variables of a Python kernel, listed by hidden code that leaves nothing behind.

mod words;

use std::time::Duration;

use cellist_output::{Ansi, Limits};
use cellist_session::execution::{Limit, Reading};
use cellist_session::sessions::{
    CallReport, Code, SessionCall, SessionError, SessionKey, SessionState, Stage, Ticket,
};

use super::{Access, Answer, Call, Refusal, Tool, ToolFacts, Toolbox, input};
use crate::result::fit;
use crate::toolbox::runs::{given, session_call};
use words::VariableList;

/// The code that looks.
const LOOK: &str = include_str!("get_variables/variables.py");
/// What its answer begins with.
const MARK: &str = "cellist-variables ";
/// How many variables are told.
const MOST: usize = 100;
/// How many characters of a value are told.
const WIDTH: usize = 80;
/// How long the code may take once it runs.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may wait in the queue, so that two questions at once do not meet as "busy".
const IN_QUEUE: Duration = Duration::from_millis(300);
/// What the answer may have on its way.
const ON_THE_WAY: usize = 512 * 1024;

input! {
    /// Variables of a kernel: types, shapes, previews; named ones with head, NaNs, ranges.
    struct GetVariables {
        notebook | path: Option<String>,
        session | kernelId: Option<String>,
        names: Option<Vec<String>>,
    }
}

impl Tool for GetVariables {
    const FACTS: ToolFacts = ToolFacts::new(Access::Look);

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        let (key, name) = self.looked_at(toolbox, &call)?;
        let no_kernel = || Ok(Answer::text(format!("{name}: no kernel runs, so there are no variables.")));
        let view = toolbox.session_view(&key);
        let (Some(view), Some(order)) = (view, toolbox.sessions.order(&key)) else { return no_kernel() };
        match view.state {
            SessionState::Dead => return no_kernel(),
            SessionState::Starting => return Err(toolbox.is_busy(&key, &name)),
            SessionState::Idle | SessionState::Busy | SessionState::Silent => {}
        }
        if !order.language().eq_ignore_ascii_case("python") {
            return Err(Refusal::new(format_args!(
                "{name}: variables can be listed in Python kernels only, and this one runs {}; run code that shows them",
                order.language()
            )));
        }
        let settings = toolbox.settings(call.agent, &key.cwd).await?;
        let code = Code { code: code(self.names.as_deref()), hidden: true, ..Code::default() };
        let mut work =
            session_call(&call, key.clone(), order, vec![code], &settings, call.budget(None, None));
        work.rules.reading = Reading::new(Limits::new(ON_THE_WAY, 10_000), Ansi::Remove);
        work.rules.limit = Limit::Given(PATIENCE);
        let ticket = toolbox.sessions.call(SessionCall { owner: None, kind: kind_of(&view), ..work });
        let report = match outcome(&ticket).await {
            Some(report) => {
                report.map_err(|error| Refusal::advised(format_args!("{name}: {error}"), error.hint()))?
            }
            None => {
                // A call that is still queued never runs.
                ticket.canceller().cancel();
                return Err(toolbox.is_busy(&key, &name));
            }
        };
        let text = report.cells.first().map(|cell| cell.report.text.as_str()).unwrap_or_default();
        let listed = text.lines().find_map(|line| line.strip_prefix(MARK));
        match listed.and_then(|json| serde_json::from_str::<VariableList>(json).ok()) {
            Some(list) => Ok(Answer::text(fit(list.in_words(&name), call.usual_bytes()))),
            None => Err(Refusal::new(format_args!("{name}: the kernel did not list its variables"))),
        }
    }
}

impl GetVariables {
    /// The session that is looked at, and what to call it.
    fn looked_at(&self, toolbox: &Toolbox, call: &Call<'_>) -> Result<(SessionKey, String), Refusal> {
        let named = given(self.session.as_deref());
        let (editor, notebook) = (toolbox.editor(), self.notebook.as_deref());
        let of_notebook = || toolbox.sight(call, &editor).notebook(notebook);
        let place = match (named, notebook) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(of_notebook()?),
            // The active notebook, or else the caller's own session.
            (None, None) => of_notebook().ok(),
        };
        if let Some(place) = place {
            return Ok((SessionKey::of_notebook(&place.real), place.name));
        }
        let named = named.unwrap_or(&call.caller().session);
        Ok((toolbox.session_named(call, named)?, format!("session {named}")))
    }
}

impl Toolbox {
    fn is_busy(&self, key: &SessionKey, name: &str) -> Refusal {
        let running = self.executions.running(key);
        let state = match running.first() {
            Some(first) => format!("busy with execution {} for {} s", first.id, first.age().as_secs()),
            None => "busy".to_owned(),
        };
        Refusal::new(format_args!(
            "{name}: the kernel is {state}; ask again when it is idle, or interrupt it with `notebook_kernel`"
        ))
    }
}

/// The end of a call, or nothing where it was not its turn soon or it takes too long.
async fn outcome(ticket: &Ticket) -> Option<Result<CallReport, SessionError>> {
    let mut view = ticket.watch();
    let begun = view.wait_for(|view| !matches!(view.stage, Stage::Queued { .. }));
    let _ = tokio::time::timeout(IN_QUEUE, begun).await.ok()?;
    tokio::time::timeout(PATIENCE, ticket.done()).await.ok()
}

/// What the session is there for stays what it is.
fn kind_of(view: &cellist_session::sessions::SessionView) -> cellist_session::sessions::Kind {
    match &view.notebook {
        Some(path) => cellist_session::sessions::Kind::Notebook { path: path.clone() },
        None => cellist_session::sessions::Kind::Tool,
    }
}

/// The code, which runs in a namespace of its own.
fn code(names: Option<&[String]>) -> String {
    let literal = |text: &str| serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned());
    let names = match names {
        None => "None".to_owned(),
        Some(names) => {
            let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
            format!("[{}]", names.join(", "))
        }
    };
    let look = literal(&format!("{LOOK}\n_cellist_variables(namespace, {names}, {MOST}, {WIDTH})\n"));
    format!("exec({look}, {{'namespace': globals()}})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_handed_in_as_text_and_never_as_code() {
        let code = code(Some(&["a\"]); import os #".to_owned()]));
        assert!(code.starts_with("exec(\"") && code.ends_with(", {'namespace': globals()})"));
        assert!(code.contains(r#"[\"a\\\"]); import os #\"]"#), "{code}");
    }
}
