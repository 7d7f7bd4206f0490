//! Answers about a run in progress: its name, progress, output so far, and the state of its cells.

use cellist_output::notices;
use cellist_session::sessions::{CallView, Stage, StopView};

use crate::answer::{CallProgress, ToolAnswer, ToolRefusal};
use crate::executions::{Execution, Standing};
use crate::result::{self, Budget};

/// Bytes of the summary of cells.
const SUMMARY: usize = 300;

/// Hands a run over: it goes on without its caller. The answer lists the changes made before the
/// run. A run that was interrupted and did not stop is a refusal.
pub(crate) fn handed_over(
    execution: &Execution,
    said: &[String],
    budget: Budget,
) -> Result<ToolAnswer, ToolRefusal> {
    execution.hand_over();
    let summary = summary(execution, budget);
    let told = [told(execution, budget, summary.as_deref())];
    match execution.standing().is_overdue() {
        true => Err(ToolRefusal::new([&told, said, summary.as_slice()].concat().join("\n"))),
        false => Ok(ToolAnswer::text([said, &told, summary.as_slice()].concat().join("\n"))),
    }
}

/// Describes a run in progress.
pub(crate) fn still_running(execution: &Execution, budget: Budget) -> ToolAnswer {
    let summary = summary(execution, budget);
    let told = [told(execution, budget, summary.as_deref())];
    ToolAnswer::text([told.as_slice(), summary.as_slice()].concat().join("\n"))
}

/// Summarises the cells of a run, if there are several.
fn summary(execution: &Execution, budget: Budget) -> Option<String> {
    Some(execution.summary()?.line((budget.bytes / 5).min(SUMMARY)))
}

/// Renders all but the summary, with room left for it.
fn told(execution: &Execution, budget: Budget, summary: Option<&str>) -> String {
    let standing = execution.standing();
    let (id, age, title) = (&execution.id, execution.age().as_secs(), &execution.title);
    let mut told = match standing.stopping {
        Some(StopView { is_overdue: true, timeout_s }) => {
            let why = match timeout_s {
                Some(seconds) => notices::timed_out(seconds),
                None => "Execution was interrupted".to_owned(),
            };
            let (not_stopped, state) = (notices::not_stopped(id.as_str()), notices::state_unknown());
            format!("{why}\n{not_stopped} {state}\n{title}, {age} s.")
        }
        _ => format!("Still running as execution {id} after {age} s: {title}."),
    };
    if let Some(progress) = in_words(&standing) {
        told.push_str(&format!(" {progress}."));
    }
    let Standing { text, .. } = &standing;
    let how = match standing.is_overdue() {
        true => format!(
            "Wait for it with `wait`, or interrupt it again with `notebook_kernel`, both with execution {id}; `force` kills \
             a kernel that does not stop, which loses its variables."
        ),
        false => format!(
            "Wait for it with `wait`, or stop it with `notebook_kernel` (action interrupt), both with execution {id}."
        ),
    };
    let said = told.len() + how.len() + summary.map_or(0, str::len);
    let room = budget.bytes.saturating_sub(said + 2 * notices::GAP.len());
    let text = result::fit(text.trim_end(), room);
    if !text.is_empty() {
        told.push_str(&format!("\n{text}"));
    }
    format!("{told}\n{how}")
}

/// Describes the progress of a run, unless its output shows it.
pub(crate) fn in_words(standing: &Standing) -> Option<String> {
    let CallProgress { message, done, total } = &standing.progress;
    match (done, total) {
        (Some(done), Some(total)) => Some(format!("{message} {done}/{total}")),
        (Some(done), None) => Some(format!("{message} {done}")),
        (None, _) if standing.text.trim().is_empty() => Some(message.clone()),
        (None, _) => None,
    }
}

/// Converts the state of a session call to the state of a run.
pub(crate) fn standing(view: &CallView, label: Option<&str>) -> Standing {
    const LONGEST: usize = 160;
    let last =
        || view.text.lines().rev().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('['));
    let bar = view.bar.as_ref();
    let message = match &view.stage {
        Stage::Queued { behind: Some(execution), .. } => {
            format!("waiting for execution {execution}, which was interrupted and has not stopped")
        }
        Stage::Queued { before: 0, .. } | Stage::Starting => "starting the kernel".to_owned(),
        Stage::Queued { before, .. } => format!("queued behind {before} in the session"),
        Stage::Running { cell, count } => {
            let said = bar.map(|bar| bar.label.as_str()).filter(|label| !label.is_empty());
            let said = result::short(said.or_else(last).unwrap_or("running"), LONGEST);
            match count {
                0 | 1 => said,
                _ => format!("cell {} of {count}: {said}", cell + 1),
            }
        }
        Stage::Ended => "ended".to_owned(),
    };
    let message = match label {
        Some(label) => format!("{label}: {message}"),
        None => message,
    };
    let (done, total) = (bar.map(|bar| bar.done), bar.and_then(|bar| bar.total));
    Standing {
        progress: CallProgress { message, done, total },
        text: view.text.clone(),
        stopping: view.stopping,
        behind: view.behind().cloned(),
        call: Some(view.execution.clone()),
    }
}
