//! The reason why a run ended early, as one line for the page.

use cellist_notebook::{CellId, Notebook};
use cellist_output::Ansi;
use cellist_session::execution::{Raised, RunReport, Status};

use crate::protocol::follow::RunStop;

/// Maximum characters of an error in the line.
const MOST_ERROR: usize = 120;

impl RunStop {
    /// Returns the reason if the run ended early. A run that was cancelled between two cells has no cell.
    pub(super) fn of(notebook: &Notebook, report: &RunReport) -> Option<RunStop> {
        let words = match report.status {
            Status::Ok => return None,
            Status::Error => "it failed",
            Status::Timeout => "it took too long",
            Status::Cancelled => "interrupted",
        };
        // The run has the status of the cell that ended it.
        let last = report.cells.last().filter(|last| last.report.status == report.status);
        let raised =
            last.and_then(|last| last.report.error.as_ref()).filter(|_| report.status == Status::Error);
        let error = raised.map_or_else(|| words.to_owned(), in_a_line);
        let cell = last.and_then(|last| {
            let by_id = last.id.as_deref().map(CellId::from).filter(|id| notebook.position(id).is_some());
            by_id.or_else(|| notebook.cells().get(last.index).map(|cell| cell.id().clone()))
        });
        Some(RunStop { cell, error, not_run: report.not_run })
    }
}

fn in_a_line(raised: &Raised) -> String {
    let message = raised.evalue.lines().next().unwrap_or_default();
    let text = match message {
        "" => raised.ename.clone(),
        message => format!("{}: {message}", raised.ename),
    };
    cellist_output::clean(text.as_bytes(), Ansi::Remove).chars().take(MOST_ERROR).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use cellist_notebook::Ids;
    use cellist_session::execution::{CellReport, Report};
    use serde_json::json;

    use super::*;

    /// The status of a cell, and the name and message of its error.
    type CellEnding<'a> = (Status, Option<(&'a str, &'a str)>);

    /// A report on three cells, of which the first ones ran and ended like this.
    fn report(status: Status, ran: &[CellEnding<'_>]) -> RunReport {
        let cell = |(index, (status, raised)): (usize, &CellEnding<'_>)| {
            let error =
                raised.map(|(ename, evalue)| json!({ "ename": ename, "evalue": evalue, "traceback": [] }));
            let report: Report = serde_json::from_value(json!({
                "status": status, "exit_code": null, "text": "", "outputs": [], "error": error,
                "execution_count": 1, "duration_ms": 1, "cancelled": false, "stdin_requested": false,
                "truncated": null, "artifact": null, "notices": [],
                "kernel": { "backend": "runner", "python": null, "state": "kept", "restarted": false },
            }))
            .unwrap();
            Arc::new(CellReport {
                index,
                id: Some(["a", "b", "c"][index].to_owned()),
                may_fail: true,
                report,
            })
        };
        RunReport {
            notebook: PathBuf::new(),
            status,
            unsaved: None,
            output: PathBuf::new(),
            duration_ms: 1,
            cells: ran.iter().enumerate().map(cell).collect(),
            not_run: 3 - ran.len(),
            failed: 0,
            notices: Vec::new(),
        }
    }

    #[test]
    fn a_run_that_stops_names_the_cell_that_ended_it_or_none_and_counts_the_cells_not_run() {
        let cell = |id: &str| json!({ "cell_type": "code", "id": id, "source": "", "metadata": {}, "outputs": [], "execution_count": null });
        let file = json!({ "cells": [cell("a"), cell("b"), cell("c")], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        let notebook = Notebook::parse(file.to_string().into_bytes(), Ids::seeded(0)).unwrap();
        let raised = Some(("KeyError", "'x'\nmore"));
        let interrupt = Some(("KeyboardInterrupt", ""));
        let ok = (Status::Ok, None);
        let between = |not_run| Some((None, "interrupted", not_run));
        for (status, ran, wanted) in [
            (Status::Ok, vec![ok, ok, ok], None),
            (Status::Error, vec![ok, (Status::Error, raised)], Some((Some("b"), "KeyError: 'x'", 1))),
            (Status::Error, vec![(Status::Error, None)], Some((Some("a"), "it failed", 2))),
            (Status::Timeout, vec![(Status::Timeout, interrupt)], Some((Some("a"), "it took too long", 2))),
            (Status::Cancelled, vec![(Status::Cancelled, interrupt)], Some((Some("a"), "interrupted", 2))),
            (Status::Cancelled, vec![ok], between(2)),
            // This cell may fail, so the run continued after it.
            (Status::Cancelled, vec![ok, (Status::Error, raised)], between(1)),
            (Status::Cancelled, vec![], between(3)),
        ] {
            let told = RunStop::of(&notebook, &report(status, &ran));
            let told = told.as_ref().map(|RunStop { cell, error, not_run }| {
                (cell.as_ref().map(CellId::as_str), error.as_str(), *not_run)
            });
            assert_eq!(told, wanted, "{status:?} {ran:?}");
        }
    }
}
