//! `eval`: runs cells in several languages, each language in its own kernel.

use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::order::Order;
use cellist_output::CellEnding;
use cellist_session::execution::{Limit, Status};
use cellist_session::orders::{CannotOrder, WantedKernel};
use cellist_session::sessions::{CallReport, Code, SessionCall, SessionKey};

use super::python::{heading, origin};
use super::{
    CallAccess, CallContext, MaxOutput, Seconds, Tool, ToolAnswer, ToolFacts, ToolGroup, ToolRefusal,
    Toolbox, input,
};
use crate::executions::Inside;
use crate::result::{CodeResult, ReplyDraft, ToolReply, compose, summary};
use crate::toolbox::runs::{Part, Plan, call_limit, session_call};

/// Consecutive cells of one language, in its session.
struct LanguageGroup {
    language: String,
    work: SessionCall,
}

input! {
    /// Like `python`, in `py` or the language of an installed kernel.
    struct EvalInput {
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

impl Tool for EvalInput {
    const FACTS: ToolFacts = ToolFacts { group: ToolGroup::Python, ..ToolFacts::new(CallAccess::Run) };

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        if self.cells.is_empty() {
            return Err(ToolRefusal::new("nothing to run: `cells` is empty"));
        }
        let own = toolbox.session_of(&call, self.session.as_deref(), self.cwd.as_deref())?;
        let settings = toolbox.settings(call.agent, &own.cwd).await?;
        let budget = call.budget(self.max_output, self.images);
        let (count, limit) = (self.cells.len(), call_limit(self.timeout));
        let mut groups: Vec<LanguageGroup> = Vec::new();
        for EvalCell { language: named, code, title, reset } in self.cells {
            let (language, piece) = (language(&named)?, Code { code, title, reset, ..Code::default() });
            match groups.last_mut() {
                Some(group) if group.language == language => group.work.cells.push(piece),
                _ => {
                    let key = session(&own, &language);
                    let order = toolbox.order_for(&call, &key, &language).await?;
                    let work = session_call(&call, key, order, vec![piece], &settings, budget);
                    groups.push(LanguageGroup { language, work });
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
        call: &CallContext<'_>,
        key: &SessionKey,
        language: &str,
    ) -> Result<Arc<Order>, ToolRefusal> {
        let wanted = match language {
            "python" => WantedKernel::nothing(),
            other => WantedKernel { kernel: None, language: Some(other.to_owned()) },
        };
        let order = self.order(call.caller(), key, wanted, false).await;
        order.map_err(|error| match (&error, language) {
            (CannotOrder::Refused(_), language) if language != "python" => {
                ToolRefusal::advised(format_args!("no kernel for {language} is installed"), error.hint())
            }
            _ => error.into(),
        })
    }

    /// Runs groups in order, until one fails.
    async fn evaluate(
        self,
        groups: Vec<LanguageGroup>,
        own: SessionKey,
        limit: Limit,
        mut inside: Inside,
    ) -> ToolReply {
        let count: usize = groups.iter().map(|group| group.work.cells.len()).sum();
        let from = origin(&groups[0].work);
        let (mut used, mut shown, mut index) = (Duration::ZERO, 0, 0);
        let (mut ran, mut said, mut refused) = (Vec::new(), Vec::new(), None);
        for LanguageGroup { language, mut work } in groups {
            let before = index;
            work.rules.limit = rest(limit, used);
            let is_last = before + work.cells.len() == count;
            work.rules.reading = work.rules.reading.next(shown, is_last);
            let part = Part { before, count };
            let report = match self.run_code(work, &mut inside, Some(&language), part).await {
                Ok(report) => report,
                Err(refusal) if ran.is_empty() => return ReplyDraft::not_run(&refusal, 1..=count).into(),
                Err(refusal) => {
                    let heading = heading(index, count, Some(&language), None);
                    refused = Some(format!("{heading} {}", refusal.problem));
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
                let told = CodeResult::new(cell.report).with_number(index + 1);
                ran.push(if count == 1 { told } else { told.with_heading(heading) });
                index += 1;
            }
            if status != Status::Ok {
                break;
            }
        }
        if ran.is_empty() {
            return ReplyDraft::not_run(&ToolRefusal::new(said.join("\n")), 1..=count).into();
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

/// Normalises the names that models use for a language.
fn language(named: &str) -> Result<String, ToolRefusal> {
    let named = named.trim().to_ascii_lowercase();
    match named.as_str() {
        "" => Err(ToolRefusal::new("`language` is empty: use py or the language of an installed kernel")),
        "py" | "python" | "python3" | "ipython" => Ok("python".to_owned()),
        "js" => Ok("javascript".to_owned()),
        "ts" => Ok("typescript".to_owned()),
        "sh" | "shell" => Ok("bash".to_owned()),
        "jl" => Ok("julia".to_owned()),
        "rs" => Ok("rust".to_owned()),
        _ => Ok(named),
    }
}

/// Returns the session of a language. Python shares the session of `python`.
fn session(own: &SessionKey, language: &str) -> SessionKey {
    match language {
        "python" => own.clone(),
        other => SessionKey::new(format!("{}:{other}", own.id), own.cwd.clone()),
    }
}

/// Returns the rest of a time limit that all cells share.
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
    fn each_language_has_a_session_and_python_the_callers() {
        let own = SessionKey::new("s", "/w");
        let of = |named: &str| session(&own, &language(named).unwrap()).id;
        assert_eq!([of("py"), of("Python"), of("sh"), of("R")], ["s", "s", "s:bash", "s:r"]);
        assert!(language(" ").unwrap_err().problem.starts_with("`language` is empty"));
    }
}
