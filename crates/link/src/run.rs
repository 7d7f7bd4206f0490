//! Running cells of an open notebook: what is asked, what is heard meanwhile, and how the report travels.

use std::path::PathBuf;

use cellist_notebook::CellId;
use cellist_session::execution::{Bar, CellReport, Report, RunReport, Status};
use cellist_session::live::{Activity, Author, View};
use cellist_session::run::{Observer, Step};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::watch;

use crate::call::Call;

/// Cells of a notebook to run, from their newest text. They run on when whoever asked goes away.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookRun {
    /// The notebook's file, by an absolute path. It is opened for the run if it is not open.
    #[serde(with = "cellist_session::order")]
    pub path: PathBuf,
    /// Which cells, in this order.
    pub cells: Vec<CellId>,
    /// In which session, and how. Its code is that of the cells.
    pub call: Call,
    /// Whether a cell that fails does not end the run.
    pub allow_errors: bool,
    /// How many bytes of a cell's outputs the notebook gets; all of them without a limit.
    pub max_output: Option<usize>,
    /// Whether the notebook gets the times at which cells ran.
    pub timing: bool,
    /// Who runs them.
    pub author: Author,
    /// What to call the run when its news are asked for; without a name nobody will.
    pub name: Option<String>,
}

/// How a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// The version of the notebook that has the outputs so far.
    pub version: u64,
    /// The cell that runs.
    pub running: Option<CellId>,
    /// How many cells wait for their turn.
    pub waiting: usize,
    /// How many news there are of a run that has a name.
    pub news: usize,
    /// What the cell that runs shows now, in a run that has a name.
    pub text: String,
    /// How far its progress bar is.
    pub bar: Option<Bar>,
}

/// Something that happened in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunNews {
    /// A cell begins.
    Began(Step),
    /// A cell has ended.
    Ended(#[serde(with = "cell")] Box<CellReport>),
}

impl RunView {
    /// How the run of these cells stands.
    pub(crate) fn of(cells: &[CellId], view: &View, log: &RunLog) -> RunView {
        let states = view.cells();
        let are = |activity: Activity| {
            cells.iter().filter(move |cell| states.get(*cell).is_some_and(|state| state.activity == activity))
        };
        RunView {
            version: view.version,
            running: are.clone()(Activity::Running).next().cloned(),
            waiting: are(Activity::Pending).count(),
            news: log.news.len(),
            text: log.text.clone(),
            bar: log.bar.clone(),
        }
    }
}

/// What a run has to tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunLog {
    pub(crate) news: Vec<RunNews>,
    text: String,
    bar: Option<Bar>,
}

/// Writes down what a run has to tell, for those who come and ask.
#[derive(Debug)]
pub(crate) struct Reporter(pub(crate) watch::Sender<RunLog>);

impl Observer for Reporter {
    fn started(&mut self, step: &Step) {
        self.0.send_modify(|log| {
            log.news.push(RunNews::Began(step.clone()));
            (log.text, log.bar) = (String::new(), None);
        });
    }

    fn shows(&mut self, text: String, bar: Option<&Bar>) {
        self.0.send_modify(|log| (log.text, log.bar) = (text, bar.cloned()));
    }

    fn finished(&mut self, report: &CellReport) {
        self.0.send_modify(|log| log.news.push(RunNews::Ended(Box::new(report.clone()))));
    }
}

/// A report as it travels. For people's programs the report of a cell is one object with that of its code, which loses
/// a part and is slow to read again; here it is not.
#[derive(Serialize, Deserialize)]
struct Travelling {
    #[serde(with = "cellist_session::order")]
    notebook: PathBuf,
    status: Status,
    saved: bool,
    #[serde(with = "cellist_session::order")]
    output: PathBuf,
    duration_ms: u64,
    cells: Vec<TravellingCell>,
    failed: usize,
    not_run: usize,
    notices: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct TravellingCell {
    index: usize,
    id: Option<String>,
    may_fail: bool,
    report: Report,
}

pub(crate) fn serialize<S: Serializer>(report: &RunReport, serializer: S) -> Result<S::Ok, S::Error> {
    let RunReport { notebook, status, saved, output, duration_ms, cells, failed, not_run, notices } =
        report.clone();
    let cells = cells.into_iter().map(TravellingCell::from).collect();
    Travelling { notebook, status, saved, output, duration_ms, cells, failed, not_run, notices }
        .serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RunReport>, D::Error> {
    let Travelling { notebook, status, saved, output, duration_ms, cells, failed, not_run, notices } =
        Travelling::deserialize(deserializer)?;
    let cells = cells.into_iter().map(CellReport::from).collect();
    Ok(Box::new(RunReport { notebook, status, saved, output, duration_ms, cells, failed, not_run, notices }))
}

impl From<CellReport> for TravellingCell {
    fn from(CellReport { index, id, may_fail, report }: CellReport) -> TravellingCell {
        TravellingCell { index, id, may_fail, report }
    }
}

impl From<TravellingCell> for CellReport {
    fn from(TravellingCell { index, id, may_fail, report }: TravellingCell) -> CellReport {
        CellReport { index, id, may_fail, report }
    }
}

/// The report of one cell, as it travels.
mod cell {
    use super::{CellReport, Deserialize, Deserializer, Serialize, Serializer, TravellingCell};

    pub(super) fn serialize<S: Serializer>(report: &CellReport, serializer: S) -> Result<S::Ok, S::Error> {
        TravellingCell::from(report.clone()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<CellReport>, D::Error> {
        Ok(Box::new(TravellingCell::deserialize(from)?.into()))
    }
}
