//! Runs on a kernel that does what it is told, in files of their own.

use std::path::PathBuf;

use cellist_output::{Ansi, Limits, Output};
use cellist_settings::Home;
use cellist_store::Store;
use cellist_store::artifact::Retention;
use serde_json::{Value, json};
use testkit::Scratch;

use super::*;
use crate::told::Told;

/// Remembers what it is told.
#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn started(&mut self, step: &Step) {
        self.0.push(format!("{}/{} {}", step.position + 1, step.count, step.title));
    }

    fn shows(&mut self, _: String, _: Option<&Bar>) {}

    fn finished(&mut self, report: &CellReport) {
        self.0.push(format!("{:?}", report.report.status));
    }
}

struct Bench {
    scratch: Scratch,
    state: Scratch,
    kernel: Told,
    plan: Plan,
    notes: Notes,
}

impl Bench {
    fn new(sources: &[&str]) -> Bench {
        let cells: Vec<Value> =
            sources.iter().enumerate().map(|(at, source)| cell(at, source, &[])).collect();
        Bench::of(cells)
    }

    fn of(cells: Vec<Value>) -> Bench {
        let (scratch, state) = (Scratch::new(), Scratch::new());
        let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        scratch.write("nb.ipynb", notebook.to_string());
        let reading = Reading::new(Limits::for_screen(), Ansi::Remove);
        let plan = Plan {
            cells: Selection::All,
            parameters: Vec::new(),
            allow_errors: false,
            timeout: None,
            grace: GRACE,
            on_stuck: OnStuck::Kill,
            max_output: Some(MAX_OUTPUT),
            timing: false,
            reading,
            artifacts: None,
            receipts: None,
        };
        Bench { scratch, state, kernel: Told::new(), plan, notes: Notes::default() }
    }

    fn path(&self) -> PathBuf {
        self.scratch.path().join("nb.ipynb")
    }

    async fn run(&mut self) -> Ran {
        self.run_to(None, &mut Cancel::never()).await
    }

    async fn run_to(&mut self, output: Option<&str>, cancel: &mut Cancel) -> Ran {
        let store = Store::new(Home::at(self.state.path()));
        let output = output.map(|name| self.scratch.path().join(name));
        let mut document = Document::open(&store, &self.path(), output.as_deref()).unwrap();
        let cells = prepare(&mut document, &self.plan, "python").unwrap();
        self.run_document(&mut document, &cells, cancel).await
    }

    async fn run_document(&mut self, document: &mut Document, cells: &[CellId], cancel: &mut Cancel) -> Ran {
        let around = Surroundings::default();
        run(document, &self.kernel, cells, &self.plan, &around, cancel, &mut self.notes).await
    }

    fn saved(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.path()).unwrap()).unwrap()
    }

    /// What the outputs of each cell say, as text.
    fn texts(&self) -> Vec<String> {
        let saved = self.saved();
        let outputs = |cell: &Value| -> String {
            let outputs: Vec<Output> = serde_json::from_value(cell["outputs"].clone()).unwrap_or_default();
            outputs.iter().map(|output| output.text().trim_end().to_owned()).collect::<Vec<_>>().join("|")
        };
        saved["cells"].as_array().unwrap().iter().map(outputs).collect()
    }
}

fn cell(at: usize, source: &str, tags: &[&str]) -> Value {
    json!({
        "cell_type": "code", "execution_count": null, "id": format!("c{at}"), "metadata": { "tags": tags },
        "outputs": [{ "output_type": "stream", "name": "stdout", "text": "old" }], "source": source,
    })
}

#[tokio::test]
async fn cells_run_in_order_and_their_outputs_and_counts_are_saved() {
    let mut bench = Bench::new(&["# first\nout a\nout b\nresult 1", "", "out c"]);
    let ran = bench.run().await;
    assert!(ran.save_error.is_none() && ran.report.saved);
    assert_eq!((ran.report.status, ran.report.cells.len()), (Status::Ok, 2));
    assert_eq!(bench.texts(), ["a\nb|1", "old", "c"]);
    assert_eq!(bench.notes.0, ["1/2 first", "Ok", "2/2 out c", "Ok"]);
    let saved = bench.saved();
    assert_eq!(saved["cells"][2]["execution_count"], json!(2));
    assert_eq!(saved["metadata"]["language_info"], json!({ "name": "python" }));
    testkit::assert_valid(bench.path());
}

#[tokio::test]
async fn the_first_failing_cell_ends_the_run_and_is_saved() {
    let mut bench = Bench::new(&["out a", "raise ValueError no", "out never"]);
    let ran = bench.run().await;
    assert_eq!((ran.report.status, ran.report.not_run), (Status::Error, 1));
    let failed = &ran.report.cells[1].report;
    assert_eq!((failed.exit_code, failed.error.as_ref().unwrap().ename.as_str()), (Some(1), "ValueError"));
    assert_eq!(bench.texts(), ["a", "ValueError no", "old"]);
}

#[tokio::test]
async fn errors_that_are_allowed_or_expected_do_not_end_it_and_tagged_cells_are_left_alone() {
    let cells = || {
        vec![
            cell(0, "raise ValueError no", &["raises-exception"]),
            cell(1, "out skipped", &["skip-execution"]),
            cell(2, "out b", &[]),
        ]
    };
    let mut bench = Bench::of(cells());
    let ran = bench.run().await;
    assert_eq!(ran.report.status, Status::Ok);
    assert_eq!(bench.texts(), ["ValueError no", "old", "b"]);

    let mut bench = Bench::new(&["raise ValueError no", "out b"]);
    bench.plan.allow_errors = true;
    assert_eq!(bench.run().await.report.status, Status::Ok);
    assert_eq!(bench.texts(), ["ValueError no", "b"]);
}

#[tokio::test]
async fn a_cell_over_its_time_is_interrupted_and_its_state_kept() {
    let mut bench = Bench::new(&["out a\nhang", "out never"]);
    bench.plan.timeout = Some(Duration::from_millis(50));
    let ran = bench.run().await;
    let cell = &ran.report.cells[0].report;
    assert_eq!((ran.report.status, cell.exit_code, cell.cancelled), (Status::Timeout, None, true));
    assert_eq!(cell.kernel.state, KernelState::Kept);
    assert_eq!(cell.text, "a\nCommand timed out after 0 seconds");
    assert_eq!(bench.texts(), ["a", "old"]);
}

#[tokio::test]
async fn a_cell_that_ignores_the_interrupt_costs_the_kernel() {
    let mut bench = Bench::new(&["out a\nhang"]);
    bench.kernel.deaf = true;
    bench.plan.timeout = Some(Duration::from_millis(20));
    bench.plan.grace = Duration::from_millis(20);
    let ran = bench.run().await;
    let cell = &ran.report.cells[0].report;
    assert_eq!((ran.report.status, cell.kernel.state), (Status::Timeout, KernelState::Lost));
    assert!(
        cell.text.ends_with("The kernel's state was lost: variables and imports are gone."),
        "{}",
        cell.text
    );
}

#[tokio::test]
async fn a_cancelled_run_saves_what_there_is() {
    let bench = Bench::new(&["out a", "out b\nhang", "out never"]);
    let (canceller, mut cancel) = Cancel::channel();
    let cancelling = async {
        while bench.kernel.running.lock().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        canceller.cancel();
    };
    let store = Store::new(Home::at(bench.state.path()));
    let mut document = Document::open(&store, &bench.path(), None).unwrap();
    let cells = prepare(&mut document, &bench.plan, "python").unwrap();
    let (around, mut notes) = (Surroundings::default(), Notes::default());
    let running = run(&mut document, &bench.kernel, &cells, &bench.plan, &around, &mut cancel, &mut notes);
    let (ran, ()) = tokio::join!(running, cancelling);
    assert_eq!((ran.report.status, ran.report.not_run), (Status::Cancelled, 1));
    assert_eq!(bench.texts(), ["a", "b", "old"]);
}

#[tokio::test]
async fn a_dead_kernel_ends_the_run_and_says_how_it_died() {
    let mut bench = Bench::new(&["out a\ndie", "out never"]);
    bench.plan.allow_errors = true;
    let ran = bench.run().await;
    let cell = &ran.report.cells[0].report;
    assert_eq!((cell.status, cell.kernel.state), (Status::Error, KernelState::Lost));
    assert!(cell.text.contains("it exited with code 3"), "{}", cell.text);
    assert_eq!(bench.texts(), ["a", "old"]);
}

#[tokio::test]
async fn an_update_changes_the_cell_where_the_display_stands_and_late_output_goes_to_the_last_one() {
    let mut bench = Bench::new(&["display d one", "out b", "update d two\nlate x\nout c"]);
    bench.run().await;
    assert_eq!(bench.texts(), ["two", "b\nx", "c"]);
}

#[tokio::test]
async fn outputs_can_go_to_another_file() {
    let mut bench = Bench::new(&["out a"]);
    let before = std::fs::read(bench.path()).unwrap();
    let ran = bench.run_to(Some("out.ipynb"), &mut Cancel::never()).await;
    assert!(ran.report.saved && ran.report.output.ends_with("out.ipynb"));
    assert_eq!(std::fs::read(bench.path()).unwrap(), before);
    testkit::assert_valid(bench.scratch.path().join("out.ipynb"));
}

#[tokio::test]
async fn what_someone_else_changed_meanwhile_is_kept() {
    let mut bench = Bench::new(&["out a", "out b"]);
    let store = Store::new(Home::at(bench.state.path()));
    let mut document = Document::open(&store, &bench.path(), None).unwrap();
    let cells = prepare(&mut document, &bench.plan, "python").unwrap();
    let changed = bench.saved().to_string().replace("out b", "out b  # edited");
    std::fs::write(bench.path(), changed).unwrap();
    let ran = bench.run_document(&mut document, &cells, &mut Cancel::never()).await;
    assert!(ran.report.saved, "{:?}", ran.save_error);
    assert_eq!(bench.texts(), ["a", "b"]);
    assert_eq!(bench.saved()["cells"][1]["source"], json!("out b  # edited"));
}

#[tokio::test]
async fn a_file_that_is_gone_does_not_take_the_outputs_with_it() {
    let mut bench = Bench::new(&["out a"]);
    let store = Store::new(Home::at(bench.state.path()));
    let mut document = Document::open(&store, &bench.path(), None).unwrap();
    let cells = prepare(&mut document, &bench.plan, "python").unwrap();
    std::fs::remove_file(bench.path()).unwrap();
    let ran = bench.run_document(&mut document, &cells, &mut Cancel::never()).await;
    assert!(!ran.report.saved && ran.save_error.is_some());
    let kept = ran.report.notices.iter().find(|notice| notice.contains("is kept in")).unwrap();
    let path = kept.rsplit(' ').next().unwrap();
    assert!(std::fs::read_to_string(path).unwrap().contains("\"a\\n\""), "{kept}");
}

#[tokio::test]
async fn parameters_are_run_before_what_uses_them_and_only_named_cells_with_them() {
    let mut bench =
        Bench::of(vec![cell(0, "out a", &["parameters"]), cell(1, "out b", &[]), cell(2, "out c", &[])]);
    bench.plan.parameters = vec![("x".into(), Literal::typed("1"))];
    bench.plan.cells = Selection::Named(vec!["c2".into()]);
    bench.run().await;
    assert_eq!(*bench.kernel.heard.lock().unwrap(), ["# Parameters\nx = 1\n", "out c"]);
    assert_eq!(bench.saved()["cells"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn one_piece_of_code_gives_a_whole_report() {
    let kernel = Told::new();
    let reading = Reading::new(Limits::new(20, 100), Ansi::Remove);
    let code = "out 0123456789\nout 0123456789\nraise ModuleNotFoundError No module named 'numpy'";
    let once = Once { code, timeout: None, grace: GRACE, on_stuck: OnStuck::Kill, reading, artifacts: None };
    let around = Surroundings { has_pip: true, ..Surroundings::default() };
    let report = execute_once(&kernel, &once, &around, &mut Cancel::never(), |_, _| {}).await.unwrap();
    assert_eq!((report.status, report.exit_code), (Status::Error, Some(1)));
    assert!(report.truncated.is_some());
    assert!(
        report.text.ends_with("numpy is not installed in /py: /py -m pip install numpy"),
        "{}",
        report.text
    );
    let json = serde_json::to_value(&report).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "status",
            "exit_code",
            "text",
            "outputs",
            "error",
            "execution_count",
            "duration_ms",
            "cancelled",
            "still_running",
            "stdin_requested",
            "truncated",
            "artifact",
            "kernel",
            "notices"
        ]
    );
}

#[tokio::test]
async fn who_asks_a_second_time_to_stop_is_told_that_this_ended_the_kernel() {
    let mut kernel = Told::new();
    kernel.deaf = true;
    let reading = Reading::new(Limits::for_screen(), Ansi::Remove);
    let (grace, on_stuck) = (1000 * GRACE, OnStuck::Kill);
    let once = Once { code: "out a\nhang", timeout: None, grace, on_stuck, reading, artifacts: None };
    let (canceller, mut cancel) = Cancel::channel();
    let around = Surroundings::default();
    let running = execute_once(&kernel, &once, &around, &mut cancel, |_, _| {});
    let impatience = async {
        loop {
            canceller.cancel();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let report = tokio::select! {
        report = running => report.unwrap(),
        () = impatience => unreachable!(),
    };
    assert_eq!((report.status, report.kernel.state), (Status::Cancelled, KernelState::Lost));
    assert_eq!(
        report.text,
        "a\nExecution was cancelled\nThe kernel was asked to stop a second time and was killed.\n\
         The kernel's state was lost: variables and imports are gone."
    );
    let sent = serde_json::to_string(&report).unwrap();
    let arrived: Report = serde_json::from_str(&sent).unwrap();
    assert_eq!(serde_json::to_string(&arrived).unwrap(), sent);
}

#[tokio::test]
async fn what_is_cut_is_kept_whole_and_the_file_says_where() {
    let line = "x".repeat(99_999);
    let code = vec![format!("out {line}"); 20].join("\n");
    let mut bench = Bench::new(&[&code]);
    let artifacts = Artifacts::new(&Home::at(bench.state.path()), Retention::default());
    bench.plan.max_output = Some(500_000);
    bench.plan.artifacts = Some(artifacts.clone());
    let ran = bench.run().await;
    let report = &ran.report.cells[0].report;
    let id = report.artifact.clone().unwrap();
    assert!(report.text.ends_with(&format!("All of it: artifact://{id}]")), "{}", report.text);
    assert!(bench.texts()[0].contains(&format!("left out here. All of it: artifact://{id}]")));
    let kept = std::fs::read_to_string(artifacts.path(&id.parse().unwrap())).unwrap();
    assert!(kept == format!("{line}\n").repeat(20));
    let [row] = artifacts.list().unwrap().try_into().unwrap();
    assert_eq!(row.origin.notebook, Some(bench.path()));
}

#[tokio::test]
async fn what_ran_is_written_down_outside_the_file() {
    let mut bench = Bench::new(&["out a", "raise ValueError no"]);
    let receipts = Receipts::new(&Home::at(bench.state.path()));
    bench.plan.receipts = Some(receipts.clone());
    bench.run().await;
    let ran = receipts.of(&bench.path());
    let told: Vec<_> = ran.iter().map(|it| (it.cell.as_str(), it.status, it.execution_count)).collect();
    assert_eq!(told, [("c0", Status::Ok, Some(1)), ("c1", Status::Error, Some(2))]);
    assert_eq!(ran[0].source, receipts::mark("out a"));
    assert_eq!((&ran[0].kernel, ran[0].python.as_deref()), (&ran[1].kernel, Some("/py".as_ref())));
    // The next run has a kernel of its own.
    bench.run().await;
    assert_ne!(receipts.of(&bench.path())[2].kernel, ran[0].kernel);
}

#[tokio::test]
async fn that_nothing_can_be_written_down_is_said_once_and_fails_nothing() {
    let mut bench = Bench::new(&["out a", "out b"]);
    let file = bench.scratch.write("file", "no folder");
    bench.plan.receipts = Some(Receipts::new(&Home::at(file)));
    let ran = bench.run().await;
    assert_eq!((ran.report.status, ran.report.saved), (Status::Ok, true));
    let [said] = ran.report.notices.as_slice() else { panic!("{:?}", ran.report.notices) };
    assert!(said.starts_with("what ran could not be written down: "), "{said}");
}

#[tokio::test]
async fn outputs_that_come_out_as_they_were_before_are_saved_over_those_saved_in_between() {
    let bench = Bench::new(&["out a"]);
    let store = Store::new(Home::at(bench.state.path()));
    let outputs = |text: &str| [Output::stream(cellist_output::StreamName::Stdout, text)];
    let mut before = Vec::new();
    for _ in 0..2 {
        let mut document = Document::open(&store, &bench.path(), None).unwrap();
        let id = document.notebook().cells()[0].id().clone();
        for text in ["a\n", "a\nb\n"] {
            document.set_outputs(&id, &outputs(text), Some(1));
            if let Some(saving) = document.begin_save() {
                document.finish(saving).await.unwrap();
            }
        }
        assert_eq!(document.take_notices(), Vec::<String>::new());
        let after = std::fs::read(bench.path()).unwrap();
        assert!(before.is_empty() || before == after, "{}", String::from_utf8_lossy(&after));
        before = after;
    }
}

#[tokio::test]
async fn what_a_cell_showed_is_in_the_file_while_a_later_one_runs_in_silence() {
    let mut bench = Bench::new(&["out a", "hang"]);
    let (path, (canceller, mut cancel)) = (bench.path(), Cancel::channel());
    let watching = tokio::spawn(async move {
        while !std::fs::read_to_string(&path).unwrap().contains("a\\n") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        canceller.cancel();
    });
    let ran = tokio::time::timeout(Duration::from_secs(60), bench.run_to(None, &mut cancel)).await;
    assert_eq!(ran.expect("it is saved before the run is over").report.status, Status::Cancelled);
    watching.await.unwrap();
}
