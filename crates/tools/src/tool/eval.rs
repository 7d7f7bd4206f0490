//! `eval`: cells in several languages, each language in a kernel of its own.

use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::order::Order;
use cellist_output::CellEnding;
use cellist_session::execution::{Limit, Status};
use cellist_session::orders::{CannotOrder, Wanted};
use cellist_session::sessions::{CallReport, Code, SessionCall, SessionKey};

use super::python::{heading, origin};
use super::{Access, Answer, Call, MaxOutput, Refusal, Seconds, Tool, ToolFacts, ToolGroup, Toolbox, input};
use crate::executions::Inside;
use crate::result::{Composed, Ran, Reply, compose, summary};
use crate::toolbox::runs::{Part, Plan, call_limit, session_call};

/// Cells of one language that follow each other, in its session.
struct Group {
    language: String,
    work: SessionCall,
}

input! {
    /// As `python`, in `py` or the language of an installed kernel.
    struct Eval {
        cells: Vec<EvalCell>,
        session | kernelId: Option<String>,
        cwd: Option<String>,
        timeout: Option<Seconds> = "Seconds",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
        soft_wait: Option<Seconds>,
    }
}

input! {
    /// Code in a language.
    struct EvalCell {
        language: String,
        code: String,
        title: Option<String>,
        reset: bool,
    }
}

impl Tool for Eval {
    const FACTS: ToolFacts = ToolFacts { group: ToolGroup::Python, ..ToolFacts::new(Access::Run) };

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        if self.cells.is_empty() {
            return Err(Refusal::new("there is nothing to run: `cells` is empty"));
        }
        let own = toolbox.session_of(&call, self.session.as_deref(), self.cwd.as_deref())?;
        let settings = toolbox.settings(call.agent, &own.cwd).await?;
        let budget = call.budget(self.max_output, self.images);
        let (count, limit) = (self.cells.len(), call_limit(self.timeout));
        let mut groups: Vec<Group> = Vec::new();
        for EvalCell { language: named, code, title, reset } in self.cells {
            let (language, piece) = (language(&named)?, Code { code, title, reset, ..Code::default() });
            match groups.last_mut() {
                Some(group) if group.language == language => group.work.cells.push(piece),
                _ => {
                    let key = session(&own, &language);
                    let order = toolbox.order_for(&call, &key, &language).await?;
                    let work = session_call(&call, key, order, vec![piece], &settings, budget);
                    groups.push(Group { language, work });
                }
            }
        }
        let title = format!("eval in session {}", own.id);
        let plan = Plan::new(title, own.clone(), settings, budget, self.soft_wait);
        let evaluating = toolbox.clone();
        let run = |inside: Inside| {
            inside.ledger.pieces(0, false, count);
            async move { evaluating.evaluate(groups, own, limit, inside).await }
        };
        toolbox.begin(call, plan, run).await
    }
}

impl Toolbox {
    async fn order_for(
        &self,
        call: &Call<'_>,
        key: &SessionKey,
        language: &str,
    ) -> Result<Arc<Order>, Refusal> {
        let wanted = match language {
            "python" => Wanted::nothing(),
            other => Wanted { kernel: None, language: Some(other.to_owned()) },
        };
        let order = self.order(call.caller(), key, wanted, false).await;
        order.map_err(|error| match (&error, language) {
            (CannotOrder::Refused(_), language) if language != "python" => {
                Refusal::advised(format_args!("no kernel for {language} is installed"), error.hint())
            }
            _ => error.into(),
        })
    }

    /// Runs groups one after the other, until one fails.
    async fn evaluate(self, groups: Vec<Group>, own: SessionKey, limit: Limit, mut inside: Inside) -> Reply {
        let count: usize = groups.iter().map(|group| group.work.cells.len()).sum();
        let from = origin(&groups[0].work);
        let (mut used, mut shown, mut index) = (Duration::ZERO, 0, 0);
        let (mut ran, mut said, mut refused) = (Vec::new(), Vec::new(), None);
        for Group { language, mut work } in groups {
            let before = index;
            work.rules.limit = rest(limit, used);
            let is_last = before + work.cells.len() == count;
            work.rules.reading = work.rules.reading.next(shown, is_last);
            let part = Part { before, count };
            let report = match self.run_code(work, &mut inside, Some(&language), part).await {
                Ok(report) => report,
                Err(refusal) if ran.is_empty() => return Composed::not_run(&refusal, 1..=count).into(),
                Err(refusal) => {
                    let heading = heading(index, count, Some(&language), None);
                    refused = Some(format!("{heading} {}", refusal.what));
                    break;
                }
            };
            let CallReport { cells, status, notices, .. } = report;
            said.extend(notices);
            for cell in cells {
                used += Duration::from_millis(cell.report.duration_ms);
                shown += cell.report.text.len();
                said.extend(self.introduced.line(&cell.kernel_id, &cell.report.kernel));
                let heading = heading(index, count, Some(&language), cell.title.as_deref());
                let told = Ran::new(cell.report).numbered(index + 1);
                ran.push(if count == 1 { told } else { told.under(heading) });
                index += 1;
            }
            if status != Status::Ok {
                break;
            }
        }
        if ran.is_empty() {
            return Composed::not_run(&Refusal::new(said.join("\n")), 1..=count).into();
        }
        let mut endings = summary(&ran);
        (index..count).for_each(|index| endings.add(CellEnding::NotRun, index + 1));
        let mut composed = compose(said, ran, vec![format!("session {}", own.id)]);
        composed.summary = Some(endings).filter(|_| count > 1);
        if let Some(refused) = refused {
            composed.fail(&refused);
        }
        self.gallery.reply(composed, &from).await
    }
}

/// A language by the names that models have for it.
fn language(named: &str) -> Result<String, Refusal> {
    let named = named.trim().to_ascii_lowercase();
    match named.as_str() {
        "" => Err(Refusal::new("`language` is empty: it must be py, or the language of an installed kernel")),
        "py" | "python" | "python3" | "ipython" => Ok("python".to_owned()),
        "js" => Ok("javascript".to_owned()),
        "ts" => Ok("typescript".to_owned()),
        "sh" | "shell" => Ok("bash".to_owned()),
        "jl" => Ok("julia".to_owned()),
        "rs" => Ok("rust".to_owned()),
        _ => Ok(named),
    }
}

/// The session of a language: that of Python is the one that `python` uses.
fn session(own: &SessionKey, language: &str) -> SessionKey {
    match language {
        "python" => own.clone(),
        other => SessionKey::new(format!("{}:{other}", own.id), own.cwd.clone()),
    }
}

/// What is left of a limit for all cells together.
fn rest(limit: Limit, used: Duration) -> Limit {
    match limit {
        Limit::None => Limit::None,
        Limit::Given(time) => Limit::Given(time.saturating_sub(used)),
        Limit::Usual(time) => Limit::Usual(time.saturating_sub(used)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_has_a_session_of_its_own_and_python_that_of_the_caller() {
        let own = SessionKey::new("s", "/w");
        let of = |named: &str| session(&own, &language(named).unwrap()).id;
        assert_eq!([of("py"), of("Python"), of("sh"), of("R")], ["s", "s", "s:bash", "s:r"]);
        assert!(language(" ").unwrap_err().what.starts_with("`language` is empty"));
    }
}
