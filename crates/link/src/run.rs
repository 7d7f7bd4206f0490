//! Running cells of an open notebook: what is asked, what is heard meanwhile, and how the report travels.

use std::path::PathBuf;

use cellist_notebook::CellId;
use cellist_session::execution::{CellReport, Report, RunReport, Status};
use cellist_session::live::{Activity, Author, View};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
}

/// How a run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    /// The version of the notebook that has the outputs so far.
    pub version: u64,
    /// The cell that runs.
    pub running: Option<CellId>,
    /// How many cells wait for their turn.
    pub waiting: usize,
}

impl RunView {
    /// How the run of these cells stands.
    pub(crate) fn of(cells: &[CellId], view: &View) -> RunView {
        let states = view.cells();
        let are = |activity: Activity| {
            cells.iter().filter(move |cell| states.get(*cell).is_some_and(|state| state.activity == activity))
        };
        RunView {
            version: view.version,
            running: are.clone()(Activity::Running).next().cloned(),
            waiting: are(Activity::Pending).count(),
        }
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
    let cells = cells.into_iter().map(|CellReport { index, id, may_fail, report }| TravellingCell {
        index,
        id,
        may_fail,
        report,
    });
    let cells = cells.collect();
    Travelling { notebook, status, saved, output, duration_ms, cells, failed, not_run, notices }
        .serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RunReport>, D::Error> {
    let Travelling { notebook, status, saved, output, duration_ms, cells, failed, not_run, notices } =
        Travelling::deserialize(deserializer)?;
    let cells = cells.into_iter().map(|TravellingCell { index, id, may_fail, report }| CellReport {
        index,
        id,
        may_fail,
        report,
    });
    let cells = cells.collect();
    Ok(Box::new(RunReport { notebook, status, saved, output, duration_ms, cells, failed, not_run, notices }))
}
