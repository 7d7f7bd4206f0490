//! `get_variables`: lists the variables of a Python kernel, by hidden code that leaves no trace.

mod variable_list;

use std::time::Duration;

use cellist_output::{Ansi, Limits};
use cellist_session::execution::{Limit, Reading};
use cellist_session::sessions::{
    CallReport, Code, SessionCall, SessionError, SessionKey, SessionState, Stage, Ticket,
};

use super::{CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input};
use crate::result::fit;
use crate::toolbox::runs::{given, session_call};
use variable_list::VariableList;

/// The hidden code.
const LOOK: &str = include_str!("get_variables/variables.py");
/// The start of the line with the result.
const MARK: &str = "cellist-variables ";
/// Variables listed at most.
const MOST: usize = 100;
/// Characters of a value.
const WIDTH: usize = 80;
/// The time limit of the hidden code.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time limit in the queue. A short wait avoids "busy" for two calls at once.
const IN_QUEUE: Duration = Duration::from_millis(300);
/// Bytes of the raw result.
const ON_THE_WAY: usize = 512 * 1024;

input! {
    /// Variables of a kernel: types, shapes, previews. With `names` also head, NaNs, ranges.
    struct GetVariablesInput {
        notebook | path: Option<String>,
        session | kernelId: Option<String>,
        names: Option<Vec<String>>,
    }
}

impl Tool for GetVariablesInput {
    const FACTS: ToolFacts = ToolFacts::new(CallAccess::Look);

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let (key, name) = self.inspected_session(toolbox, &call)?;
        let no_kernel =
            || Ok(ToolAnswer::text(format!("{name}: no kernel is running, so there are no variables.")));
        let view = toolbox.session_view(&key);
        let (Some(view), Some(order)) = (view, toolbox.sessions.order(&key)) else { return no_kernel() };
        match view.state {
            SessionState::Dead => return no_kernel(),
            SessionState::Starting => return Err(toolbox.is_busy(&key, &name)),
            SessionState::Idle | SessionState::Busy | SessionState::Silent => {}
        }
        if !order.language().eq_ignore_ascii_case("python") {
            return Err(ToolRefusal::new(format_args!(
                "{name}: only Python kernels list variables, and this one runs {}; run code that prints them",
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
                report.map_err(|error| ToolRefusal::advised(format_args!("{name}: {error}"), error.hint()))?
            }
            None => {
                // A cancelled call that is still queued never runs.
                ticket.canceller().cancel();
                return Err(toolbox.is_busy(&key, &name));
            }
        };
        let text = report.cells.first().map(|cell| cell.report.text.as_str()).unwrap_or_default();
        let listed = text.lines().find_map(|line| line.strip_prefix(MARK));
        match listed.and_then(|json| serde_json::from_str::<VariableList>(json).ok()) {
            Some(list) => Ok(ToolAnswer::text(fit(list.in_words(&name), call.usual_bytes()))),
            None => Err(ToolRefusal::new(format_args!("{name}: the kernel did not list its variables"))),
        }
    }
}

impl GetVariablesInput {
    /// Returns the session to inspect, and its display name.
    fn inspected_session(
        &self,
        toolbox: &Toolbox,
        call: &CallContext<'_>,
    ) -> Result<(SessionKey, String), ToolRefusal> {
        let named = given(self.session.as_deref());
        let (editor, notebook) = (toolbox.editor(), self.notebook.as_deref());
        let of_notebook = || toolbox.resolver(call, &editor).notebook(notebook);
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
    fn is_busy(&self, key: &SessionKey, name: &str) -> ToolRefusal {
        let running = self.executions.running(key);
        let state = match running.first() {
            Some(first) => format!("busy with execution {} for {} s", first.id, first.age().as_secs()),
            None => "busy".to_owned(),
        };
        ToolRefusal::new(format_args!(
            "{name}: the kernel is {state}; retry when it is idle, or interrupt it with `notebook_kernel`"
        ))
    }
}

/// Waits for the end of a call. Returns `None` if it stays queued or takes too long.
async fn outcome(ticket: &Ticket) -> Option<Result<CallReport, SessionError>> {
    let mut view = ticket.watch();
    let begun = view.wait_for(|view| !matches!(view.stage, Stage::Queued { .. }));
    let _ = tokio::time::timeout(IN_QUEUE, begun).await.ok()?;
    tokio::time::timeout(PATIENCE, ticket.done()).await.ok()
}

/// Keeps the kind of the session.
fn kind_of(view: &cellist_session::sessions::SessionView) -> cellist_session::sessions::SessionKind {
    match &view.notebook {
        Some(path) => cellist_session::sessions::SessionKind::Notebook { path: path.clone() },
        None => cellist_session::sessions::SessionKind::Tool,
    }
}

/// Builds the code, which runs in its own namespace.
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
    fn names_are_passed_as_strings_never_as_code() {
        let code = code(Some(&["a\"]); import os #".to_owned()]));
        assert!(code.starts_with("exec(\"") && code.ends_with(", {'namespace': globals()})"));
        assert!(code.contains(r#"[\"a\\\"]); import os #\"]"#), "{code}");
    }
}
