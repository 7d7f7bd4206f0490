//! `python`: runs code in a session that keeps its variables.

use cellist_output::CellEnding;
use cellist_session::orders::WantedKernel;
use cellist_session::sessions::{CallReport, Code, CodeReport, SessionCall};
use cellist_store::artifact::{ArtifactOrigin, first_line};

use super::{
    CallAccess, CallContext, MaxOutput, Seconds, Tool, ToolAnswer, ToolFacts, ToolGroup, ToolRefusal,
    Toolbox, input,
};
use crate::executions::Inside;
use crate::result::{CodeResult, ReplyDraft, ToolReply, compose, summary};
use crate::toolbox::runs::{Part, Plan, call_limit, session_call};

input! {
    /// Runs Python. The session keeps variables. Long output is stored whole as an artifact.
    /// `helpers()` lists helpers for files, search, shell and tools. For notebooks use the notebook
    /// tools.
    struct PythonInput {
        code: Option<String>,
        cells: Option<Vec<CodePiece>> = "Or several; stops at the first failure",
        session | kernelId: Option<String> = "Default: your own",
        reset: bool = "Empty kernel",
        cwd: Option<String>,
        timeout: Option<Seconds> = "Seconds, 1 to 600; default 30",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
        soft_wait: Option<Seconds>,
    }
}

input! {
    /// One of several pieces of code.
    struct CodePiece {
        code: String,
        title: Option<String>,
    }
}

impl Tool for PythonInput {
    const FACTS: ToolFacts = ToolFacts { group: ToolGroup::Python, ..ToolFacts::new(CallAccess::Run) };

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let cells = match (self.code, self.cells) {
            (Some(code), None) => vec![Code { code, ..Code::default() }],
            (None, Some(cells)) if !cells.is_empty() => {
                let piece = |CodePiece { code, title }| Code { code, title, ..Code::default() };
                cells.into_iter().map(piece).collect()
            }
            (Some(_), Some(_)) => {
                return Err(ToolRefusal::new("give `code` or `cells`, not both"));
            }
            (None, Some(_) | None) => {
                return Err(ToolRefusal::new("nothing to run: give `code` or `cells`"));
            }
        };
        let key = toolbox.session_of(&call, self.session.as_deref(), self.cwd.as_deref())?;
        let settings = toolbox.settings(call.agent, &key.cwd).await?;
        let order = toolbox.order(call.caller(), &key, WantedKernel::nothing(), self.reset).await?;
        let budget = call.budget(self.max_output, self.images);
        let mut work = session_call(&call, key.clone(), order, cells, &settings, budget);
        (work.reset, work.rules.limit) = (self.reset, call_limit(self.timeout));
        let title = format!("python in session {}", key.id);
        let plan = Plan::new(title, key, settings, budget, self.soft_wait);
        let part = Part { before: 0, count: work.cells.len() };
        let own = toolbox.clone();
        let run = |mut inside: Inside| {
            inside.ledger.pieces(0, false, part.count);
            async move {
                let origin = origin(&work);
                match own.run_code(work, &mut inside, None, part).await {
                    Ok(report) => own.called(report, &origin).await,
                    Err(refusal) => ReplyDraft::not_run(&refusal, 1..=part.count).into(),
                }
            }
        };
        toolbox.begin(call, plan, run).await
    }
}

impl Toolbox {
    /// Composes the reply about code that ran in one session.
    async fn called(&self, report: CallReport, origin: &ArtifactOrigin) -> ToolReply {
        let CallReport { session, cells, not_run, mut notices, .. } = report;
        let count = cells.len() + not_run;
        if cells.is_empty() {
            let refusal = ToolRefusal::new(format_args!("{}\nsession {}", notices.join("\n"), session.id));
            return ReplyDraft::not_run(&refusal, 1..=count).into();
        }
        let mut ran = Vec::new();
        for (index, cell) in cells.into_iter().enumerate() {
            notices.extend(self.introduced.line(&cell.kernel_id, &cell.report.kernel));
            let CodeReport { title, report, .. } = cell;
            let told = CodeResult::new(report).with_number(index + 1);
            ran.push(match (count, title) {
                (1, None) => told,
                (_, title) => told.with_heading(heading(index, count, None, title.as_deref())),
            });
        }
        let mut endings = summary(&ran);
        (count - not_run..count).for_each(|index| endings.add(CellEnding::NotRun, index + 1));
        let mut composed = compose(notices, ran, vec![format!("session {}", session.id)]);
        composed.summary = Some(endings).filter(|_| count > 1);
        self.gallery.reply(composed, origin).await
    }
}

/// Returns the heading of one of several pieces.
pub(super) fn heading(index: usize, count: usize, language: Option<&str>, title: Option<&str>) -> String {
    let mut heading = format!("[{}/{count}", index + 1);
    if let Some(language) = language {
        heading.push(' ');
        heading.push_str(language);
    }
    heading.push(']');
    if let Some(title) = title {
        heading.push(' ');
        heading.push_str(title);
    }
    heading
}

/// Returns the origin of the output.
pub(super) fn origin(work: &SessionCall) -> ArtifactOrigin {
    let first = work.cells.first();
    let what = first.map(|cell| cell.title.clone().unwrap_or_else(|| first_line(&cell.code)));
    ArtifactOrigin { what: what.unwrap_or_default(), session: Some(work.key.id.clone()), notebook: None }
}
