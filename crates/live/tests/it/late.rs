//! Outputs that change after the end of their cell: of threads, and of progress bars that are widgets.

use std::sync::Arc;

use cellist_kernel::order::Way;
use cellist_live::{Actor, ActorKind, Author, CellBatch, Document, Documents};
use cellist_notebook::{CellId, Notebook};
use cellist_output::{Output, StreamName};
use cellist_session::execution::Cancel;
use cellist_session::sessions::{RunFeed, SessionCall, SessionKey, SessionKind};
use testkit::until;

use crate::bed::Bed as Files;
use crate::sessions::{ALL, BOTH, Backend, Bed, done, in_time, last};

pub(super) struct Desk {
    files: Files,
    pub(super) bed: Bed,
    documents: Documents,
    pub(super) document: Document,
    max_output: Option<usize>,
}

impl Desk {
    /// A notebook with these cells. `GO` in them is the path of a file that does not exist yet.
    pub(super) async fn new(backend: Backend, sources: &[&str]) -> Desk {
        Desk::on(Bed::new(backend), sources).await
    }

    pub(super) async fn on(bed: Bed, sources: &[&str]) -> Desk {
        let go = bed.scratch.path().join("go");
        let sources: Vec<String> =
            sources.iter().map(|source| source.replace("GO", &format!("{go:?}"))).collect();
        let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
        let files = Files::new(&sources);
        let documents = Documents::new(files.store.clone());
        let document = documents.open(&files.path).await.unwrap();
        bed.sessions.set_notebooks(Arc::new(documents.clone()));
        Desk { files, bed, documents, document, max_output: None }
    }

    /// Creates the file that threads wait for.
    fn lets_go(&self) {
        std::fs::write(self.bed.scratch.path().join("go"), "").unwrap();
    }

    pub(super) fn key(&self) -> SessionKey {
        SessionKey::of_notebook(self.document.path())
    }

    pub(super) fn call(&self, code: &[&str]) -> SessionCall {
        let kind = SessionKind::Notebook { path: self.document.path().to_owned() };
        SessionCall { key: self.key(), kind, ..self.bed.call("s", code) }
    }

    pub(super) fn author() -> Author {
        Actor::new(ActorKind::Person, "ann").into()
    }

    pub(super) fn id(&self, cell: usize) -> CellId {
        self.document.view().notebook.cells()[cell].id().clone()
    }

    /// Runs cells as a separate run.
    pub(super) async fn run(&self, cells: &[usize]) {
        let (call, max_output) = (self.call(&[]), self.max_output);
        let cells = cells.iter().map(|cell| self.id(*cell)).collect();
        let batch = CellBatch {
            cells,
            call,
            allow_errors: true,
            max_output,
            timing: false,
            feed: RunFeed::default(),
        };
        let ran = self.document.run(&self.bed.sessions, batch, Desk::author(), Cancel::never());
        in_time(ran).await.unwrap();
    }

    /// The printed text of the cells, in the file.
    async fn texts(&self) -> Vec<String> {
        self.document.save().await.unwrap();
        self.in_file()
    }

    /// The printed text of the cells, in the file as it is now.
    fn in_file(&self) -> Vec<String> {
        let bytes = std::fs::read(&self.files.path).unwrap();
        let notebook = Notebook::parse(bytes, cellist_notebook::Ids::seeded(0)).unwrap();
        let text = |output: &Output| match output {
            Output::Stream { name: StreamName::Stdout, .. } => output.text().into_owned(),
            other => format!("{other:?}"),
        };
        notebook.cells().iter().map(|cell| cell.outputs().iter().map(text).collect()).collect()
    }

    pub(super) async fn end(self) {
        self.documents.close().await;
        self.bed.end().await;
    }
}

/// Starts a thread that prints when there is a file `GO`.
const STARTS: &str = "import os, threading, time\ndef late():\n    while not os.path.exists(GO):\n        \
                      time.sleep(0.01)\n    print('late')\nthread = threading.Thread(target=late)\n\
                      thread.start()\nprint('first')";
const LETS_GO: &str = "open(GO, 'w').close()\nthread.join()\nprint('second')";

#[tokio::test(flavor = "multi_thread")]
async fn late_output_of_a_thread_goes_into_the_cell_that_started_it() {
    for backend in ALL {
        let desk = Desk::new(backend, &[STARTS, LETS_GO]).await;
        desk.run(&[0]).await;
        desk.run(&[1]).await;
        assert_eq!(desk.texts().await, ["first\nlate\n", "second\n"], "{backend:?}");
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn late_output_of_one_run_goes_into_its_cell_too() {
    for backend in ALL {
        let desk = Desk::new(backend, &[STARTS, "print('between')", LETS_GO]).await;
        desk.run(&[0, 1, 2]).await;
        assert_eq!(desk.texts().await, ["first\nlate\n", "between\n", "second\n"], "{backend:?}");
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn late_output_is_in_the_file_without_another_run() {
    for backend in ALL {
        let desk = Desk::new(backend, &["print('other')", STARTS]).await;
        desk.run(&[0, 1]).await;
        desk.lets_go();
        until(|| desk.in_file() == ["other\n", "first\nlate\n"]).await;
        let count = desk.document.view().notebook.cells()[1].execution_count();
        assert_eq!(count, Some(2), "{backend:?}");
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn late_output_stays_out_of_code_that_is_no_cell() {
    for backend in ALL {
        let desk = Desk::new(backend, &[STARTS]).await;
        desk.run(&[0]).await;
        let go = desk.bed.scratch.path().join("go");
        let code = LETS_GO.replace("GO", &format!("{go:?}"));
        let report = last(in_time(done(&desk.bed.sessions.call(desk.call(&[&code])))).await);
        assert_eq!(report.text, "second\n", "{backend:?}");
        until(|| desk.in_file() == ["first\nlate\n"]).await;
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_output_of_a_kernel_that_ends_is_in_the_file() {
    for backend in BOTH {
        let starts = STARTS.replace("print('late')", "print('late', flush=True)\n    os._exit(3)");
        let desk = Desk::new(backend, &[&starts]).await;
        desk.run(&[0]).await;
        desk.lets_go();
        until(|| desk.in_file() == ["first\nlate\n"]).await;
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_between_runs_is_cut_as_the_outputs_of_a_run_are() {
    for backend in ALL {
        let flood = "for number in range(30000):\n        print(f'{number:099}')\n    print('late')";
        let mut desk = Desk::new(backend, &[&STARTS.replace("print('late')", flood)]).await;
        desk.max_output = Some(100_000);
        desk.run(&[0]).await;
        desk.lets_go();
        until(|| desk.in_file()[0].ends_with("late\n")).await;
        let outputs = desk.document.view().notebook.cells()[0].outputs();
        let (mut stdout, mut notice) = (String::new(), String::new());
        for output in &outputs {
            match output {
                Output::Stream { name: StreamName::Stdout, text } => stdout.push_str(text),
                other => notice.push_str(&other.text()),
            }
        }
        assert!(stdout.starts_with("first\n") && stdout.ends_with("late\n"), "{backend:?}");
        assert!((50_000..=150_000).contains(&stdout.len()), "{backend:?}: {}", stdout.len());
        // All printed bytes without the kept ones.
        let left_out = 30_000 * 100 + "first\nlate\n".len() - stdout.len();
        let digits: String = notice.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(digits.parse::<usize>().unwrap(), left_out, "{backend:?}: {notice}");
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn late_output_does_not_bring_back_outputs_that_were_cleared() {
    let second = "print('late')\n    while not os.path.exists(GO + '2'):\n        time.sleep(0.01)\n    print('later')";
    let desk = Desk::new(Backend::Runner, &[&STARTS.replace("print('late')", second)]).await;
    desk.run(&[0]).await;
    desk.lets_go();
    until(|| desk.in_file() == ["first\nlate\n"]).await;
    desk.document.set_outputs(desk.id(0), Vec::new(), None, true, Desk::author()).await.unwrap();
    std::fs::write(desk.bed.scratch.path().join("go2"), "").unwrap();
    until(|| desk.in_file() == ["later\n"]).await;
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_output_of_a_run_that_is_not_the_last_of_its_cell_goes_nowhere() {
    for backend in ALL {
        let again = "if 'thread' in globals():\n    print('again')\nelse:\n    ";
        let starts = format!("{again}{}", STARTS.replace('\n', "\n    "));
        let desk = Desk::new(backend, &[&starts, LETS_GO]).await;
        desk.run(&[0]).await;
        desk.run(&[0]).await;
        desk.run(&[1]).await;
        assert_eq!(desk.texts().await, ["again\n", "second\n"], "{backend:?}");
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_and_pools_write_for_the_cell_that_gave_them_work() {
    let task = "import asyncio\nasync def late():\n    await event.wait()\n    print('late')\n\
                event = asyncio.Event()\ntask = asyncio.create_task(late())\nprint('first')";
    let ends = "event.set()\nawait task\nprint('second')";
    let desk = Desk::new(Backend::Runner, &[task, ends]).await;
    desk.run(&[0]).await;
    desk.run(&[1]).await;
    assert_eq!(desk.texts().await, ["first\nlate\n", "second\n"]);
    desk.end().await;
    let pool = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n\
                pool.submit(print, 'one').result()";
    let desk = Desk::new(Backend::Runner, &[pool, "pool.submit(print, 'two').result()"]).await;
    desk.run(&[0]).await;
    desk.run(&[1]).await;
    assert_eq!(desk.texts().await, ["one\n", "two\n"]);
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bar_that_is_a_widget_ends_with_its_last_state_in_the_text_and_the_outputs() {
    for backend in ALL {
        let bed = Bed::new(backend);
        let code = "from tqdm.auto import tqdm\nfor _ in tqdm(range(30), desc='load'): pass";
        let mut call = bed.call("s", &[code]);
        if let Backend::Runner = backend {
            Arc::make_mut(&mut call.order).way = Way::Runner { python: testkit::python("kernels") };
        }
        let report = last(in_time(done(&bed.sessions.call(call))).await);
        assert!(
            report.text.contains("30/30") && !report.text.contains(" 0/30"),
            "{backend:?}: {}",
            report.text
        );
        let shown: Vec<&str> =
            report.outputs.iter().filter_map(|output| output.data()?.get_text("text/plain")).collect();
        assert!(
            shown.len() == 1 && shown[0].starts_with("load: 100%|██████████| 30/30 ["),
            "{backend:?}: {shown:?}"
        );
        bed.end().await;
    }
}
