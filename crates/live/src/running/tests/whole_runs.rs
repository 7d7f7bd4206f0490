//! Runs of whole notebooks, as `cellist run` makes them: in a separate session, in a file with earlier outputs.

use std::path::PathBuf;
use std::time::Duration;

use cellist_output::{Output, StreamName};
use cellist_session::execution::{Limit, MAX_OUTPUT, OnStuck};
use cellist_session::sessions::{RetryOnCrash, SessionKind};
use cellist_store::receipts::Receipts;
use serde_json::{Value, json};
use testkit::until;

use super::*;

/// Longer than any run takes that ends.
const LONG: Duration = Duration::from_secs(60);

fn cell(at: usize, source: &str, tags: &[&str]) -> Value {
    json!({
        "cell_type": "code", "execution_count": null, "id": name(at), "metadata": { "tags": tags },
        "outputs": [{ "output_type": "stream", "name": "stdout", "text": "old" }], "source": source,
    })
}

/// Cell ids are a, b, c and so on.
fn name(at: usize) -> String {
    char::from(b'a' + u8::try_from(at).unwrap()).to_string()
}

async fn desk_of(cells: Vec<Value>, kernels: Kernels) -> Desk {
    let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    Desk::of(notebook.to_string().into_bytes(), kernels).await
}

async fn desk_on(kernels: Kernels, sources: &[&str]) -> Desk {
    let cells = sources.iter().enumerate().map(|(at, source)| cell(at, source, &[])).collect();
    desk_of(cells, kernels).await
}

async fn desk(sources: &[&str]) -> Desk {
    desk_on(Kernels::new(), sources).await
}

impl Desk {
    /// All cells, in a session with this name.
    fn whole(&self, session: &str) -> CellBatch {
        let cells = self.document.view().notebook.cells().iter().map(|cell| cell.id().clone()).collect();
        let mut call = call(session);
        call.kind = SessionKind::Run { path: Some(self.document.path().to_owned()) };
        (call.rules.on_stuck, call.rules.retry) = (Some(OnStuck::Kill), RetryOnCrash::Never);
        CellBatch { cells, call, max_output: Some(MAX_OUTPUT), timing: false, ..batch(&[]) }
    }

    async fn run_whole(&self) -> RunReport {
        self.run_batch(self.whole("run"), Cancel::never()).await
    }

    async fn run_batch(&self, batch: CellBatch, cancel: Cancel) -> RunReport {
        let running = self.document.run(&self.kernels.sessions, batch, ann(), cancel);
        tokio::time::timeout(LONG, running).await.expect("the run ends").unwrap()
    }

    /// Runs all cells, and cancels them when `meanwhile` has ended.
    async fn run_while(&self, meanwhile: impl Future<Output = ()>) -> RunReport {
        let (canceller, cancel) = Cancel::channel();
        let meanwhile = async {
            meanwhile.await;
            canceller.cancel();
        };
        tokio::join!(self.run_batch(self.whole("run"), cancel), meanwhile).0
    }

    /// Waits until the open notebook shows this output of a cell.
    async fn until_shown(&self, at: usize, text: &str) {
        let mut views = self.document.watch();
        views.wait_for(|view| texts(&view.notebook)[at] == text).await.unwrap();
    }

    fn file(&self) -> PathBuf {
        self.scratch.path().join("nb.ipynb")
    }

    fn saved(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }
}

#[tokio::test]
async fn the_feed_has_each_cell_and_its_end_and_the_file_has_the_counts() {
    let desk = desk(&["# first\nout a\nout b\nresult 1", "", "out c"]).await;
    let batch = desk.whole("run");
    let states = batch.feed.watch();
    let report = desk.run_batch(batch, Cancel::never()).await;
    assert_eq!((report.status, report.cells.len(), report.unsaved), (Status::Ok, 2, None));
    assert_eq!(desk.texts(), ["a\nb|1", "old", "c"]);
    let events: Vec<String> = states.borrow().events.iter().map(line).collect();
    assert_eq!(events, ["1/2 first", "Ok", "2/2 out c", "Ok"]);
    let saved = desk.saved();
    assert_eq!(saved["cells"][2]["execution_count"], json!(2));
    assert_eq!(saved["metadata"]["language_info"], json!({ "name": "python" }));
    desk.close().await;
}

fn line(event: &RunEvent) -> String {
    match event {
        RunEvent::Began(step) => format!("{}/{} {}", step.position + 1, step.count, step.title),
        RunEvent::Ended(report) => format!("{:?}", report.report.status),
    }
}

#[tokio::test]
async fn the_report_of_a_failed_run_has_the_exception_and_cells_after_it_keep_their_outputs() {
    let desk = desk(&["out a", "raise ValueError no", "out never"]).await;
    let report = desk.run_whole().await;
    assert_eq!((report.status, report.not_run), (Status::Error, 1));
    let failed = &report.cells[1].report;
    assert_eq!((failed.exit_code, failed.error.as_ref().unwrap().ename.as_str()), (Some(1), "ValueError"));
    assert_eq!(desk.texts(), ["a", "ValueError no", "old"]);
    desk.close().await;
}

#[tokio::test]
async fn errors_that_are_allowed_or_expected_do_not_end_a_run_and_skipped_cells_are_left_alone() {
    let cells = vec![
        cell(0, "raise ValueError no", &["raises-exception"]),
        cell(1, "out skipped", &["skip-execution"]),
        cell(2, "out b", &[]),
    ];
    let tagged = desk_of(cells, Kernels::new()).await;
    assert_eq!(tagged.run_whole().await.status, Status::Ok);
    assert_eq!(tagged.texts(), ["ValueError no", "old", "b"]);
    tagged.close().await;

    let desk = desk(&["raise ValueError no", "out b"]).await;
    let batch = CellBatch { allow_errors: true, ..desk.whole("run") };
    assert_eq!(desk.run_batch(batch, Cancel::never()).await.status, Status::Ok);
    assert_eq!(desk.texts(), ["ValueError no", "b"]);
    desk.close().await;
}

#[tokio::test]
async fn a_cell_over_its_time_is_interrupted_and_its_state_kept() {
    let desk = desk(&["out a\nhang", "out never"]).await;
    let mut batch = desk.whole("run");
    batch.call.rules.limit = Limit::Given(Duration::from_millis(50));
    let report = desk.run_batch(batch, Cancel::never()).await;
    let cell = &report.cells[0].report;
    assert_eq!((report.status, cell.exit_code, cell.cancelled), (Status::Timeout, None, true));
    assert_eq!(cell.kernel.state, KernelState::Kept);
    assert_eq!(cell.text, "a\nCommand timed out after 0 seconds");
    assert_eq!(desk.texts(), ["a", "old"]);
    desk.close().await;
}

#[tokio::test]
async fn a_cell_that_ignores_the_interrupt_costs_the_kernel() {
    let desk = desk_on(Kernels::deaf(), &["out a\nhang"]).await;
    let mut batch = desk.whole("run");
    batch.call.rules.limit = Limit::Given(Duration::from_millis(20));
    batch.call.rules.grace = Duration::from_millis(20);
    let report = desk.run_batch(batch, Cancel::never()).await;
    let cell = &report.cells[0].report;
    assert_eq!((report.status, cell.kernel.state), (Status::Timeout, KernelState::Lost));
    let lost = "The kernel's state was lost: variables and imports are gone.";
    assert!(cell.text.ends_with(lost), "{}", cell.text);
    desk.close().await;
}

#[tokio::test]
async fn a_cancelled_run_saves_the_outputs_until_then() {
    let desk = desk(&["out a", "out b\nhang", "out never"]).await;
    let report = desk.run_while(desk.until_shown(1, "b")).await;
    assert_eq!((report.status, report.not_run), (Status::Cancelled, 1));
    assert_eq!(desk.texts(), ["a", "b", "old"]);
    desk.close().await;
}

#[tokio::test]
async fn a_dead_kernel_ends_the_run_and_the_report_says_how_it_died() {
    let desk = desk(&["out a\ndie", "out never"]).await;
    let batch = CellBatch { allow_errors: true, ..desk.whole("run") };
    let report = desk.run_batch(batch, Cancel::never()).await;
    let cell = &report.cells[0].report;
    assert_eq!((cell.status, cell.kernel.state), (Status::Error, KernelState::Lost));
    assert!(cell.text.contains("it exited with code 3"), "{}", cell.text);
    assert_eq!((report.status, report.not_run), (Status::Error, 1));
    assert_eq!(desk.texts(), ["a", "old"]);
    desk.close().await;
}

/// Runs a notebook while another program edits the second cell of its file during that cell's run.
async fn edited_by_another_program() -> (Desk, RunReport) {
    let desk = desk(&["out a", "out b\nhang"]).await;
    let report = desk.run_while(async {
        desk.until_shown(1, "b").await;
        // The other program has read all outputs so far.
        desk.document.save().await.unwrap();
        let edited = desk.saved().to_string().replace("hang", "hang  # edited");
        std::fs::write(desk.file(), edited).unwrap();
    });
    let report = report.await;
    (desk, report)
}

#[tokio::test]
async fn an_edit_of_another_program_during_the_run_is_kept() {
    let (desk, report) = edited_by_another_program().await;
    assert_eq!((report.status, &report.unsaved), (Status::Cancelled, &None));
    assert_eq!(desk.texts(), ["a", "b"]);
    assert_eq!(desk.saved()["cells"][1]["source"], json!("out b\nhang  # edited"));
    desk.close().await;
}

#[tokio::test]
async fn an_edit_of_another_program_during_the_run_is_in_the_notices() {
    let (desk, report) = edited_by_another_program().await;
    assert_eq!(report.notices, ["the notebook was changed by another program meanwhile; both are kept"]);
    desk.close().await;
}

#[tokio::test]
async fn a_file_that_is_gone_does_not_take_the_outputs_with_it() {
    let desk = desk(&["out a"]).await;
    std::fs::remove_file(desk.file()).unwrap();
    let report = desk.run_whole().await;
    assert!(report.status == Status::Ok && report.unsaved.is_some(), "{report:?}");
    let rescued = desk.documents.close().await;
    let [copy] = rescued.as_slice() else { panic!("{rescued:?}") };
    let copy = std::fs::read_to_string(copy).unwrap();
    assert!(copy.contains("\"a\\n\""), "{copy}");
    desk.close().await;
}

#[tokio::test]
async fn output_that_is_cut_is_kept_whole_and_the_file_says_where() {
    let line = "x".repeat(99_999);
    let desk = desk(&[&vec![format!("out {line}"); 20].join("\n")]).await;
    let batch = CellBatch { max_output: Some(500_000), ..desk.whole("run") };
    let report = desk.run_batch(batch, Cancel::never()).await;
    let report = &report.cells[0].report;
    let id = report.artifact.clone().unwrap();
    assert!(report.text.ends_with(&format!("All of it: artifact://{id}]")), "{}", report.text);
    assert!(desk.texts()[0].contains(&format!("left out here. All of it: artifact://{id}]")));
    let artifacts = &desk.kernels.artifacts;
    let kept = std::fs::read_to_string(artifacts.path(&id.parse().unwrap())).unwrap();
    assert!(kept == format!("{line}\n").repeat(20));
    let [row] = artifacts.list().unwrap().try_into().unwrap();
    assert_eq!(row.origin.notebook.as_deref(), Some(desk.document.path()));
    desk.close().await;
}

#[tokio::test]
async fn the_receipts_of_a_run_are_outside_the_file() {
    let desk = desk(&["out a", "raise ValueError no"]).await;
    let receipts = Receipts::new(desk.documents.store().home());
    desk.run_whole().await;
    let ran = receipts.of(&desk.file());
    let told: Vec<_> = ran.iter().map(|it| (it.cell.as_str(), it.status, it.execution_count)).collect();
    assert_eq!(told, [("a", Status::Ok, Some(1)), ("b", Status::Error, Some(2))]);
    assert_eq!(ran[0].source, mark("out a"));
    assert_eq!((&ran[0].kernel, ran[0].python.as_deref()), (&ran[1].kernel, Some("/py".as_ref())));
    // The next run has another kernel.
    desk.run_batch(desk.whole("another run"), Cancel::never()).await;
    assert_ne!(receipts.of(&desk.file())[2].kernel, ran[0].kernel);
    desk.close().await;
}

fn assert_noticed_once(report: &RunReport) {
    let [notice] = report.notices.as_slice() else { panic!("{:?}", report.notices) };
    assert!(notice.starts_with("the record of this run was not saved: "), "{notice}");
}

#[tokio::test]
async fn receipts_that_cannot_be_written_are_noticed_once_and_fail_nothing() {
    let desk = desk(&["out a", "out b"]).await;
    desk.scratch.write("home/receipts", "no folder");
    let report = desk.run_whole().await;
    assert_eq!((report.status, &report.unsaved), (Status::Ok, &None));
    assert_noticed_once(&report);
    assert_eq!(desk.texts(), ["a", "b"]);
    desk.close().await;
}

#[tokio::test]
async fn receipts_that_cannot_be_written_by_several_saves_of_a_run_are_noticed_once() {
    let desk = desk(&["out a", "out b\nhang"]).await;
    desk.scratch.write("home/receipts", "no folder");
    let report = desk.run_while(async {
        desk.until_shown(1, "b").await;
        desk.document.save().await.unwrap();
    });
    let report = report.await;
    assert_eq!((report.status, &report.unsaved), (Status::Cancelled, &None));
    assert_noticed_once(&report);
    assert_eq!(desk.texts(), ["a", "b"]);
    desk.close().await;
}

#[tokio::test]
async fn outputs_that_come_out_as_before_are_saved_over_those_saved_in_between() {
    let desk = desk(&["out a"]).await;
    desk.documents.close().await;
    let outputs = |text: &str| vec![Output::stream(StreamName::Stdout, text)];
    let mut before = Vec::new();
    for _ in 0..2 {
        let document = desk.documents.open(&desk.file()).await.unwrap();
        for text in ["a\n", "a\nb\n"] {
            assert!(document.set_outputs("a".into(), outputs(text), Some(1), false, ann()).await.unwrap());
            document.save().await.unwrap();
        }
        assert_eq!(document.view().notices, Vec::<String>::new());
        assert_eq!(desk.texts(), ["a\nb"]);
        let after = std::fs::read(desk.file()).unwrap();
        assert!(before.is_empty() || before == after, "{}", String::from_utf8_lossy(&after));
        before = after;
        desk.documents.close().await;
    }
    desk.close().await;
}

#[tokio::test]
async fn the_output_of_a_cell_is_in_the_file_while_a_later_one_runs_in_silence() {
    let desk = desk(&["out a", "hang"]).await;
    let report = desk.run_while(until(|| desk.texts()[0] == "a")).await;
    assert_eq!(report.status, Status::Cancelled);
    desk.close().await;
}

#[tokio::test]
async fn late_output_after_the_last_cell_is_in_the_file_when_the_run_ends() {
    let desk = desk(&["out a", "out b\nafter x\nafter y"]).await;
    let report = desk.run_whole().await;
    assert_eq!((report.status, &report.unsaved), (Status::Ok, &None));
    assert_eq!(desk.texts(), ["a", "b\nx\ny"]);
    desk.close().await;
}

#[tokio::test]
async fn late_output_of_a_cell_that_was_seen_running_is_in_the_file_when_the_run_ends() {
    let desk = desk(&["out a", "out b\nhang\nafter x\nafter y"]).await;
    let report = desk.run_while(desk.until_shown(1, "b")).await;
    assert_eq!((report.status, &report.unsaved), (Status::Cancelled, &None));
    assert_eq!(desk.texts(), ["a", "b\nx\ny"]);
    desk.close().await;
}
