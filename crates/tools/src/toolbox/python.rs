//! `python`: code in a session, whose variables last from one call to the next.

use cellist_output::CellEnding;
use cellist_session::artifact::{Origin, first_line};
use cellist_session::orders::Wanted;
use cellist_session::sessions::{Call as SessionCall, CallReport, Code, CodeReport};

use super::runs::{Part, Plan, call_limit, failure, session_call};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::executions::Inside;
use crate::result::{Budget, Composed, Ran, Reply, compose, summary};

impl Toolbox {
    pub(super) async fn python(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let arguments = call.arguments;
        let cells = match (arguments.text("code"), arguments.objects("cells")) {
            (Some(code), None) => vec![Code { code: code.to_owned(), ..Code::default() }],
            (None, Some(cells)) if !cells.is_empty() => cells.iter().map(piece).collect(),
            (Some(_), Some(_)) => {
                return Err(Answer::failure("`code` and `cells` are one argument: give one of them"));
            }
            (None, Some(_) | None) => {
                return Err(Answer::failure(
                    "there is nothing to run: give `code`, or `cells` with code in them",
                ));
            }
        };
        let key = self.session_of(&call)?;
        let settings = self.settings(call.caller(), &key.cwd).await?;
        let reset = arguments.flag("reset");
        let order = self.order(call.caller(), &key, Wanted::nothing(), reset).await;
        let order = order.map_err(|error| failure(&error, error.hint()))?;
        let work = session_call(&call, key.clone(), order, cells, &settings);
        let work = SessionCall { reset, limit: call_limit(&call), ..work };
        let budget = Budget::of(arguments);
        let title = format!("python in session {}", key.id);
        let plan = Plan { title, session: key, settings, budget, said: Vec::new() };
        let toolbox = self.clone();
        let part = Part { before: 0, count: work.cells.len() };
        let run = |mut inside: Inside| {
            inside.ledger.pieces(0, false, part.count);
            async move {
                let origin = origin(&work);
                match toolbox.run_code(work, &mut inside, None, part).await {
                    Ok(report) => toolbox.called(report, &origin).await,
                    Err(failure) => Composed::not_run(&failure, 1..=part.count).into(),
                }
            }
        };
        Ok(self.begin(call, plan, run).await)
    }

    /// What is told of code that ran in one session.
    async fn called(&self, report: CallReport, origin: &Origin) -> Reply {
        let CallReport { session, cells, not_run, mut notices, .. } = report;
        let count = cells.len() + not_run;
        if cells.is_empty() {
            let failure = Answer::failure(format_args!("{}\nsession {}", notices.join("\n"), session.id));
            return Composed::not_run(&failure, 1..=count).into();
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

/// One of several pieces of code.
pub(super) fn piece(cell: &Arguments) -> Code {
    Code {
        code: cell.text("code").unwrap_or_default().to_owned(),
        title: cell.text("title").map(str::to_owned),
        reset: cell.flag("reset"),
        ..Code::default()
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
