//! `python`: code in a session, whose variables last from one call to the next.

use cellist_output::CellEnding;
use cellist_session::orders::Wanted;
use cellist_session::sessions::{CallReport, Code, CodeReport, SessionCall};
use cellist_store::artifact::{Origin, first_line};

use super::{Access, Answer, Call, MaxOutput, Refusal, Seconds, Tool, ToolFacts, ToolGroup, Toolbox, input};
use crate::executions::Inside;
use crate::result::{Composed, Ran, Reply, compose, summary};
use crate::toolbox::runs::{Part, Plan, call_limit, session_call};

input! {
    /// Runs Python. Variables last in the session. An artifact has long output whole. `helpers()` lists helpers for
    /// files, search, shell and tools. For a notebook use its own tools.
    struct Python {
        code: Option<String>,
        cells: Option<Vec<CodePiece>> = "Or several, to the first that fails",
        session | kernelId: Option<String> = "Left out: your own",
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

impl Tool for Python {
    const FACTS: ToolFacts = ToolFacts { group: ToolGroup::Python, ..ToolFacts::new(Access::Run) };

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        let cells = match (self.code, self.cells) {
            (Some(code), None) => vec![Code { code, ..Code::default() }],
            (None, Some(cells)) if !cells.is_empty() => {
                let piece = |CodePiece { code, title }| Code { code, title, ..Code::default() };
                cells.into_iter().map(piece).collect()
            }
            (Some(_), Some(_)) => {
                return Err(Refusal::new("`code` and `cells` are one argument: give one of them"));
            }
            (None, Some(_) | None) => {
                return Err(Refusal::new(
                    "there is nothing to run: give `code`, or `cells` with code in them",
                ));
            }
        };
        let key = toolbox.session_of(&call, self.session.as_deref(), self.cwd.as_deref())?;
        let settings = toolbox.settings(call.agent, &key.cwd).await?;
        let order = toolbox.order(call.caller(), &key, Wanted::nothing(), self.reset).await?;
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
                    Err(refusal) => Composed::not_run(&refusal, 1..=part.count).into(),
                }
            }
        };
        toolbox.begin(call, plan, run).await
    }
}

impl Toolbox {
    /// What is told of code that ran in one session.
    async fn called(&self, report: CallReport, origin: &Origin) -> Reply {
        let CallReport { session, cells, not_run, mut notices, .. } = report;
        let count = cells.len() + not_run;
        if cells.is_empty() {
            let refusal = Refusal::new(format_args!("{}\nsession {}", notices.join("\n"), session.id));
            return Composed::not_run(&refusal, 1..=count).into();
        }
        let mut ran = Vec::new();
        for (index, cell) in cells.into_iter().enumerate() {
            notices.extend(self.introduced.line(&cell.kernel_id, &cell.report.kernel));
            let CodeReport { title, report, .. } = cell;
            let told = Ran::new(report).numbered(index + 1);
            ran.push(match (count, title) {
                (1, None) => told,
                (_, title) => told.under(heading(index, count, None, title.as_deref())),
            });
        }
        let mut endings = summary(&ran);
        (count - not_run..count).for_each(|index| endings.add(CellEnding::NotRun, index + 1));
        let mut composed = compose(notices, ran, vec![format!("session {}", session.id)]);
        composed.summary = Some(endings).filter(|_| count > 1);
        self.gallery.reply(composed, origin).await
    }
}

/// What stands above one of several pieces.
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

/// Where what it shows comes from.
pub(super) fn origin(work: &SessionCall) -> Origin {
    let first = work.cells.first();
    let what = first.map(|cell| cell.title.clone().unwrap_or_else(|| first_line(&cell.code)));
    Origin { what: what.unwrap_or_default(), session: Some(work.key.id.clone()), notebook: None }
}
