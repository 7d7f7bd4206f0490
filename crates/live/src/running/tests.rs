mod kernels;
mod whole_runs;

use std::sync::Arc;

use cellist_notebook::{CellType, Ids, Notebook};
use cellist_session::sessions::{RunState, SessionKey};
use cellist_settings::Home;
use cellist_store::Store;
use cellist_store::receipts::Stale;
use testkit::Scratch;

use super::*;
use crate::{Activity, Actor, ActorKind, DocumentView, Documents, Op, Submission};
use kernels::{Kernels, call};

struct Desk {
    scratch: Scratch,
    documents: Documents,
    document: Document,
    kernels: Kernels,
}

impl Desk {
    /// A notebook with one code cell for each source, named a, b, c and so on.
    async fn new(sources: &[&str]) -> Desk {
        let mut notebook = Notebook::empty(Ids::seeded(1));
        for (at, source) in sources.iter().enumerate() {
            let name = char::from(b'a' + u8::try_from(at).unwrap()).to_string();
            notebook.insert_named(at, name.as_str().into(), CellType::Code, source);
        }
        Desk::of(notebook.to_bytes(), Kernels::new()).await
    }

    /// A notebook from these bytes.
    async fn of(notebook: Vec<u8>, kernels: Kernels) -> Desk {
        let scratch = Scratch::new();
        let path = scratch.write("nb.ipynb", notebook);
        let documents = Documents::new(Store::new(Home::at(scratch.path().join("home"))));
        let document = documents.open(&path).await.unwrap();
        kernels.sessions.set_notebooks(Arc::new(documents.clone()));
        Desk { scratch, documents, document, kernels }
    }

    async fn run(&self, cells: &[&str]) -> RunReport {
        self.run_until(cells, Cancel::never()).await
    }

    async fn run_until(&self, cells: &[&str], cancel: Cancel) -> RunReport {
        let key = SessionKey::of_notebook(self.document.path());
        let batch = batch(cells);
        let batch = CellBatch { call: SessionCall { key, ..batch.call }, ..batch };
        self.document.run(&self.kernels.sessions, batch, ann(), cancel).await.unwrap()
    }

    async fn submit(&self, op: Op) {
        let base = self.document.view().version;
        let submission = Submission { base, tag: None, ops: vec![op] };
        self.document.submit(submission, ann()).await.unwrap();
    }

    /// The output texts of each cell, in the file.
    fn texts(&self) -> Vec<String> {
        let bytes = std::fs::read(self.scratch.path().join("nb.ipynb")).unwrap();
        testkit::validate_bytes(&bytes).unwrap();
        texts(&Notebook::parse(bytes, Ids::seeded(0)).unwrap())
    }

    async fn close(self) {
        drop(self.document);
        self.documents.close().await;
        self.kernels.sessions.close().await;
    }
}

fn batch(cells: &[&str]) -> CellBatch {
    CellBatch {
        cells: cells.iter().map(|cell| CellId::from(*cell)).collect(),
        call: call("nb"),
        allow_errors: false,
        max_output: None,
        timing: true,
        feed: RunFeed::default(),
    }
}

fn ann() -> Author {
    Actor::new(ActorKind::Person, "ann").into()
}

fn texts(notebook: &Notebook) -> Vec<String> {
    let text = |cell: &cellist_notebook::Cell| -> String {
        cell.outputs().iter().map(|output| output.text().trim_end().to_owned()).collect::<Vec<_>>().join("|")
    };
    notebook.cells().iter().map(text).collect()
}

fn activity(view: &DocumentView, cell: &str) -> Activity {
    view.cells().get(&CellId::from(cell)).map_or(Activity::Idle, |state| state.activity)
}

fn stale(view: &DocumentView, cell: &str) -> Vec<Stale> {
    view.cells().get(&CellId::from(cell)).map(|state| state.stale.clone()).unwrap_or_default()
}

#[tokio::test]
async fn cells_run_in_order_and_their_outputs_and_states_are_in_the_notebook_and_the_file() {
    let desk = Desk::new(&["out a\nresult 1", "", "out c"]).await;
    let report = desk.run(&["a", "b", "c"]).await;
    assert_eq!((report.status, report.cells.len(), report.unsaved), (Status::Ok, 2, None));
    assert_eq!(desk.texts(), ["a|1", "", "c"]);
    let saved = std::fs::read(desk.scratch.path().join("nb.ipynb")).unwrap();
    let saved: serde_json::Value = serde_json::from_slice(&saved).unwrap();
    assert_eq!(saved["metadata"]["language_info"]["name"], "python");
    let times = |at: usize| saved["cells"][at]["metadata"]["execution"].as_object().map_or(0, |it| it.len());
    assert_eq!([times(0), times(1), times(2)], [5, 0, 5]);
    let view = desk.document.view();
    let last = |cell: &str| view.cells()[&CellId::from(cell)].last.clone().unwrap();
    assert_eq!((last("a").order, last("c").order, last("c").success), (Some(1), Some(2), true));
    assert!(stale(&view, "a").is_empty() && activity(&view, "c") == Activity::Idle);
    desk.close().await;
}

#[tokio::test]
async fn cells_run_their_newest_text_and_survive_edits_and_deletions() {
    let desk = Arc::new(Desk::new(&["out a\nhang", "out b", "out c"]).await);
    let (canceller, cancel) = Cancel::channel();
    let running = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move { desk.run_until(&["a", "b", "c"], cancel).await }
    });
    let mut views = desk.document.watch();
    let shows = |view: &DocumentView| texts(&view.notebook)[0] == "a";
    let view = views.wait_for(|view| shows(view)).await.unwrap().clone();
    assert_eq!((activity(&view, "a"), activity(&view, "b")), (Activity::Running, Activity::Pending));
    desk.submit(Op::Write { cell: "a".into(), source: "edited".into() }).await;
    desk.submit(Op::Delete { cell: "b".into() }).await;
    canceller.cancel();
    let report = running.await.unwrap();
    assert_eq!((report.status, report.not_run), (Status::Cancelled, 2));
    let view = desk.document.view();
    assert_eq!(stale(&view, "a"), [Stale::Edited]);
    assert_eq!((desk.texts(), activity(&view, "c")), (vec!["a".to_owned(), String::new()], Activity::Idle));
    // A cell edited before its turn runs with the new text.
    desk.submit(Op::Write { cell: "c".into(), source: "out new".into() }).await;
    let report = desk.run(&["b", "c"]).await;
    assert_eq!((report.cells.len(), desk.texts()[1].as_str()), (1, "new"));
    Arc::try_unwrap(desk).ok().unwrap().close().await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_while_another_is_before_it_runs_nothing() {
    let desk = Arc::new(Desk::new(&["out a\nhang", "out b", "out c"]).await);
    let run = |cells: &'static [&'static str]| {
        let ((canceller, cancel), desk) = (Cancel::channel(), Arc::clone(&desk));
        (canceller, tokio::spawn(async move { desk.run_until(cells, cancel).await }))
    };
    let (first, hanging) = run(&["a"]);
    let mut views = desk.document.watch();
    views.wait_for(|view| texts(&view.notebook)[0] == "a").await.unwrap();
    let (second, waiting) = run(&["b", "c"]);
    views.wait_for(|view| activity(view, "b") == Activity::Running).await.unwrap();
    second.cancel();
    let report = waiting.await.unwrap();
    assert_eq!((report.status, report.cells.len(), report.not_run), (Status::Cancelled, 0, 2));
    assert_eq!(report.notices, ["Cancelled while waiting in the queue; the code did not run"]);
    first.cancel();
    assert_eq!(hanging.await.unwrap().status, Status::Cancelled);
    assert_eq!(desk.texts(), ["a", "", ""]);
    Arc::try_unwrap(desk).ok().unwrap().close().await;
}

#[tokio::test]
async fn a_cell_that_is_deleted_while_it_runs_leaves_nothing_behind() {
    let desk = Arc::new(Desk::new(&["out a\nhang", "out b"]).await);
    let (canceller, cancel) = Cancel::channel();
    let running = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move { desk.run_until(&["a"], cancel).await }
    });
    let mut views = desk.document.watch();
    views.wait_for(|view| texts(&view.notebook)[0] == "a").await.unwrap();
    desk.submit(Op::Delete { cell: "a".into() }).await;
    canceller.cancel();
    assert_eq!(running.await.unwrap().status, Status::Cancelled);
    assert_eq!(desk.texts(), [""]);
    Arc::try_unwrap(desk).ok().unwrap().close().await;
}

#[tokio::test]
async fn the_first_failure_ends_a_run_and_keeps_its_error() {
    let desk = Desk::new(&["out a", "raise ValueError no", "out never"]).await;
    let report = desk.run(&["a", "b", "c"]).await;
    assert_eq!(
        (report.status, report.not_run, desk.texts()[1].as_str()),
        (Status::Error, 1, "ValueError no")
    );
    let view = desk.document.view();
    let last = view.cells()[&CellId::from("b")].last.clone().unwrap();
    assert!(!last.success && activity(&view, "c") == Activity::Idle);
    desk.close().await;
}

#[tokio::test]
async fn a_cell_is_stale_without_its_kernel_or_after_a_later_run_above() {
    let desk = Desk::new(&["out a", "out b", "die"]).await;
    desk.run(&["a", "b"]).await;
    desk.run(&["a"]).await;
    assert_eq!(stale(&desk.document.view(), "b"), [Stale::EarlierRan { cell: "a".into() }]);
    let report = desk.run(&["c"]).await;
    assert_eq!(report.status, Status::Error);
    for cell in ["a", "b", "c"] {
        assert!(stale(&desk.document.view(), cell).contains(&Stale::KernelGone), "{cell}");
    }
    desk.run(&["a"]).await;
    assert!(stale(&desk.document.view(), "a").is_empty());
    assert!(stale(&desk.document.view(), "b").contains(&Stale::KernelGone));
    desk.kernels.sessions.stop(&SessionKey::of_notebook(desk.document.path())).await.unwrap();
    assert_eq!(stale(&desk.document.view(), "a"), [Stale::KernelGone]);
    desk.close().await;
}

#[tokio::test]
async fn an_update_changes_the_cell_where_the_display_stands() {
    let desk = Desk::new(&["display d one", "out b", "update d two\nlate x\nout c"]).await;
    desk.run(&["a", "b", "c"]).await;
    assert_eq!(desk.texts(), ["two", "b\nx", "c"]);
    desk.close().await;
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_no_cell_waiting() {
    let desk = Desk::new(&["hang", "out b"]).await;
    let mut views = desk.document.watch();
    tokio::select! {
        _ = desk.run(&["a", "b"]) => unreachable!("it hangs"),
        _ = views.wait_for(|view| activity(view, "a") == Activity::Running) => {}
    }
    let waits = |view: &DocumentView| ["a", "b"].iter().any(|cell| activity(view, cell) != Activity::Idle);
    views.wait_for(|view| !waits(view)).await.unwrap();
    desk.close().await;
}

#[tokio::test]
async fn an_empty_cell_that_was_queued_does_not_wait_for_ever() {
    let desk = Desk::new(&["out a", ""]).await;
    let cells: Vec<CellId> = vec!["a".into(), "b".into()];
    // Like a page before the turn of its run.
    desk.document.mark_waiting(cells).await.unwrap();
    desk.run(&["a", "b"]).await;
    for cell in ["a", "b"] {
        assert_eq!(activity(&desk.document.view(), cell), Activity::Idle, "{cell}");
    }
    desk.close().await;
}

#[tokio::test]
async fn a_cell_that_was_interrupted_has_not_failed() {
    let desk = Desk::new(&["hang", "out b"]).await;
    let (canceller, cancel) = Cancel::channel();
    let mut views = desk.document.watch();
    let (report, ()) = tokio::join!(desk.run_until(&["a", "b"], cancel), async {
        views.wait_for(|view| activity(view, "a") == Activity::Running).await.unwrap();
        canceller.cancel();
    });
    assert_eq!((report.status, report.failed, report.not_run), (Status::Cancelled, 0, 1));
    let view = desk.document.view();
    let last = view.cells()[&CellId::from("a")].last.clone().unwrap();
    assert_eq!((last.status, last.status.word(), last.success), (Status::Cancelled, "interrupted", false));
    desk.close().await;
}

#[tokio::test]
async fn a_cell_that_the_session_refuses_does_not_lose_the_report_of_those_before() {
    let desk = Desk::new(&["out a", "out b", "out c"]).await;
    let (mill, batch) = (Arc::clone(&desk.kernels.mill), batch(&["a", "b", "c"]));
    let mut states = batch.feed.watch();
    // Kills the kernel when a cell has ended, and makes the next start fail.
    let sabotage = async {
        let has_ended = |state: &RunState| matches!(state.events.last(), Some(RunEvent::Ended(_)));
        states.wait_for(has_ended).await.unwrap();
        let error = cellist_kernel::Error::CannotStart { program: "python".into(), reason: "gone".into() };
        mill.failures.lock().unwrap().push_back(error);
        mill.kill_last();
    };
    let running = desk.document.run(&desk.kernels.sessions, batch, ann(), Cancel::never());
    let (ran, ()) = tokio::join!(running, sabotage);
    let Err(RunError::Stopped { error, cell, report }) = ran else { panic!("{ran:?}") };
    assert!(matches!(error, SessionError::CannotStart { .. }) && cell.as_str() == "b", "{error}");
    assert_eq!((report.status, report.cells.len(), report.not_run), (Status::Error, 1, 2));
    assert!(report.unsaved.is_none() && report.cells[0].report.status == Status::Ok);
    assert_eq!(desk.texts(), ["a", "", ""]);
    let view = desk.document.view();
    assert!(["a", "b", "c"].iter().all(|cell| activity(&view, cell) == Activity::Idle));
    desk.close().await;
}
