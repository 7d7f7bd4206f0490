//! Commands on a notebook that is open in the host: they go through the host and print the same as for a file.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use cellist_host::{
    FullNotebook, Host, HostClient, NotebookAction, NotebookReply, NotebookRequest, NotebookState,
    OutputForm, Reply, Request,
};
use cellist_live::{Actor, ActorKind, Change, Op, Submission};
use cellist_settings::Home;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::desk::Desk;

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A client that has `nb.ipynb` open.
pub(crate) struct Page {
    runtime: Runtime,
    client: HostClient,
    /// Is told of changes since the notebook was opened.
    follower: HostClient,
    path: PathBuf,
    seen: RefCell<Vec<Change>>,
}

const FOLLOW: NotebookAction = NotebookAction::Follow { clients: Vec::new(), outputs: OutputForm::Whole };

impl Page {
    /// Starts a host and opens the notebook in it.
    pub(crate) fn open(desk: &Desk) -> Page {
        desk.json(&["serve", "--background"]);
        let runtime = Runtime::new().unwrap();
        let host = Host::of(&Home::at(desk.state()), env!("CARGO_PKG_VERSION"));
        let attach = || runtime.block_on(HostClient::attach(&host)).unwrap();
        let (client, follower) = (attach(), attach());
        let page =
            Page { runtime, client, follower, path: desk.path().join("nb.ipynb"), seen: RefCell::default() };
        page.begin(&page.follower, FOLLOW, false);
        page.whole();
        page
    }

    /// Asks something, which is stopped at once where it may wait.
    fn begin(&self, client: &HostClient, ask: NotebookAction, is_stopped: bool) -> NotebookReply {
        let asked = Request::Notebook(Box::new(NotebookRequest { path: self.path.clone(), ask }));
        let answer = async {
            let pending = client.begin(asked);
            if is_stopped {
                pending.stop().stop();
            }
            tokio::time::timeout(LONG, pending.done()).await.unwrap().unwrap()
        };
        match self.runtime.block_on(answer) {
            Reply::Notebook(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn ask(&self, ask: NotebookAction) -> NotebookReply {
        self.begin(&self.client, ask, false)
    }

    pub(crate) fn whole(&self) -> FullNotebook {
        match self.ask(FOLLOW) {
            NotebookReply::Whole(whole) => *whole,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn state(&self) -> NotebookState {
        match self.ask(NotebookAction::Read(Some(Actor::new(ActorKind::Person, "page")))) {
            NotebookReply::State(state) => *state,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.whole().version
    }

    pub(crate) fn since(&self, version: u64) -> Vec<Change> {
        match self.begin(&self.follower, NotebookAction::News, true) {
            NotebookReply::News(news) => self.seen.borrow_mut().extend(news.changes),
            other => panic!("{other:?}"),
        }
        self.seen.borrow().iter().filter(|change| change.version > version).cloned().collect()
    }

    /// Types into a cell.
    pub(crate) fn type_into(&self, cell: &str, source: &str) {
        let op = Op::Write { cell: serde_json::from_value(json!(cell)).unwrap(), source: source.into() };
        let submission = Submission { base: self.version(), tag: None, ops: vec![op] };
        let author = Actor::new(ActorKind::Person, "page").into();
        let taken = self.ask(NotebookAction::Submit { submission, author: Some(author) });
        assert!(matches!(taken, NotebookReply::Version(_)), "{taken:?}");
    }
}

/// The output of a command, without values that differ between any two notebooks.
fn told(desk: &Desk, arguments: &[&str]) -> (i32, Value) {
    let ran = desk.run(&[arguments, &["--json"]].concat());
    let mut told: Value = serde_json::from_slice(&ran.out).unwrap();
    hide(&mut told);
    (ran.exit, told)
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match key.as_str() {
                    "at" | "until" => *value = Value::Null,
                    _ => hide(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(hide),
        _ => {}
    }
}

#[test]
fn whoever_has_a_notebook_open_sees_what_a_command_did_and_who_it_was() {
    let desk = Desk::with(&["one", "two"]);
    let page = Page::open(&desk);
    let before = page.version();
    desk.run(&["cell", "edit", "nb.ipynb", "a", "--source", "ONE"]).ok();
    assert_eq!(desk.sources(), ["ONE", "two"], "it is on disk");
    let seen = page.since(before);
    assert!(seen.len() == 1 && seen[0].actor.id == "command-line", "{seen:?}");

    page.type_into("b", "typed");
    let read = desk.json(&["read", "nb.ipynb"]);
    assert_eq!(read["cells"][1]["source"], "typed");
    assert_eq!(read["revision"], page.state().content.0.revision().to_string());
    assert!(desk.run(&["read", "nb.ipynb:raw"]).ok().contains("typed"));
    let by: Vec<Value> = desk.json(&["history", "nb.ipynb"])["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["actor"]["id"].clone())
        .collect();
    assert_eq!(by, ["page", "command-line"]);

    let undone = desk.json(&["undo", "nb.ipynb", "--entry", "0"]);
    assert_eq!((&undone["undone"][0]["number"], &undone["written"]), (&json!(0), &json!(true)));
    assert_eq!(desk.sources(), ["one", "typed"]);
    assert!(page.since(before).iter().all(|change| change.actor.kind != ActorKind::Disk));
    drop(page);
    desk.run(&["stop"]).ok();
}

#[test]
fn commands_on_an_open_notebook_answer_as_they_do_on_a_file() {
    let sources = ["x = 1", "y = 2", "z = 3"];
    let (there, file) = (Desk::with(&sources), Desk::with(&sources));
    let page = Page::open(&there);
    let first = there.revision();
    assert_eq!(file.revision(), first);
    let base: [&str; 2] = ["--base", &first];
    let commands: [Vec<&str>; 17] = [
        vec!["read", "nb.ipynb#b"],
        vec!["cell", "edit", "nb.ipynb", "0", "--source", "x = 10"],
        vec!["cell", "edit", "nb.ipynb", "9", "--source", "none"],
        vec!["cell", "edit", "nb.ipynb", "0", "--source", "x = 11", base[0], base[1]],
        vec!["cell", "edit", "nb.ipynb", "0", "--source", "x = 10"],
        vec!["cell", "move", "nb.ipynb", "-1", "0"],
        vec!["cell", "retype", "nb.ipynb", "b", "markdown"],
        vec!["cell", "clear", "nb.ipynb"],
        vec!["cell", "delete", "nb.ipynb", "b", base[0], base[1]],
        vec!["edit", "nb.ipynb", "--old", "z = 3", "--new", "z = 4"],
        vec!["edit", "nb.ipynb", "--old", "nowhere", "--new", "z = 4"],
        vec!["edit", "nb.ipynb", "--old", "x = 10", "--new", "x", "--base", "0000000000000000"],
        vec!["write", "nb.ipynb", "text"],
        vec!["write", "nb.ipynb", "text", base[0], base[1]],
        vec!["undo", "nb.ipynb", "--turn", "t99"],
        vec!["undo", "nb.ipynb", "--entry", "0"],
        vec!["history", "nb.ipynb"],
    ];
    for desk in [&there, &file] {
        desk.write("text", "# %% [code] cell:0\nx = 12\n");
    }
    for command in &commands {
        assert_eq!(told(&there, command), told(&file, command), "{command:?}");
        assert_eq!(there.read("nb.ipynb"), file.read("nb.ipynb"), "{command:?}");
    }
    drop(page);
    there.run(&["stop"]).ok();
}

#[test]
fn a_command_that_is_to_stand_alone_or_is_about_another_notebook_uses_the_file() {
    let desk = Desk::with(&["one", "two"]);
    desk.write("other.ipynb", desk.read("nb.ipynb"));
    let page = Page::open(&desk);
    let before = page.version();
    desk.run(&["cell", "edit", "other.ipynb", "a", "--source", "ONE"]).ok();
    assert_eq!(desk.json(&["status"])["notebooks"], 1, "the other one was not opened");
    desk.run(&["cell", "edit", "nb.ipynb", "a", "--source", "ONE", "--standalone"]).ok();
    let begun = std::time::Instant::now();
    while page.version() == before {
        assert!(begun.elapsed() < LONG, "the file was not looked at");
        std::thread::yield_now();
    }
    assert_eq!(page.since(before)[0].actor.kind, ActorKind::Disk);
    drop(page);
    desk.run(&["stop"]).ok();
}

#[test]
fn the_json_of_an_open_notebook_is_changed_through_it_and_loses_nobodys_edit() {
    let desk = Desk::with(&["one", "two"]);
    let page = Page::open(&desk);
    let before = page.version();
    let given = desk.text("nb.ipynb").replace("\"two\"", "\"TWO\"").replace("\"metadata\"", "\"metadata\" ");
    desk.feed(&["write", "nb.ipynb:raw"], &given).ok();
    assert_eq!(desk.text("nb.ipynb"), given, "byte for byte");
    let seen = page.since(before);
    assert!(seen.iter().all(|change| change.actor.id == "command-line") && !seen.is_empty(), "{seen:?}");
    assert_eq!(page.state().text(), given);
    let cells: Vec<String> =
        page.state().content.0.cells().iter().map(|cell| cell.id().to_string()).collect();
    assert_eq!(cells, ["a", "b"]);

    // The edit applies to unsaved input too.
    page.type_into("a", "typed");
    desk.run(&["edit", "nb.ipynb:raw", "--old", "TWO", "--new", "2"]).ok();
    assert_eq!(desk.sources(), ["typed", "2"]);

    // A file based on a revision before the typing is refused.
    let read = desk.run(&["read", "nb.ipynb:raw"]).ok();
    let base = desk.revision();
    page.type_into("b", "later");
    let stale = desk.feed(&["write", "nb.ipynb:raw", "--base", &base], read.replace("typed", "mine"));
    let said = stale.refused(4);
    assert!(
        said.contains("nb.ipynb: has changed since revision ") && said.contains("read it again"),
        "{said}"
    );
    let stale = desk.run(&["edit", "nb.ipynb:raw", "--base", &base, "--old", "typed", "--new", "mine"]);
    assert!(stale.refused(4).contains("nb.ipynb: has changed since revision "));
    let broken = desk.feed(&["write", "nb.ipynb:raw"], "{}");
    assert!(broken.refused(2).contains("standard input"), "it is what was given that is wrong");
    let read = desk.json(&["read", "nb.ipynb"]);
    assert_eq!(
        (&read["cells"][0]["source"], &read["cells"][1]["source"]),
        (&json!("typed"), &json!("later"))
    );
}

#[test]
fn what_an_agent_does_from_a_shell_waits_for_review_and_is_taken_back_as_a_turn() {
    for is_open in [false, true] {
        let desk = Desk::with(&["one", "two"]);
        let before = desk.read("nb.ipynb");
        let page = is_open.then(|| Page::open(&desk));
        for change in [
            ["cell", "edit", "nb.ipynb", "a", "--source", "ONE"].as_slice(),
            &["cell", "insert", "nb.ipynb", "end", "--source", "three"],
        ] {
            let ran = crate::desk::Ran::of(desk.command(change).env("CELLIST_AGENT", "scribe"));
            assert_eq!(ran.exit, 0, "{ran:?}");
        }
        let page = page.unwrap_or_else(|| Page::open(&desk));
        assert_eq!(page.whole().review.cells.len(), 2, "both cells wait for review");
        desk.run(&["cell", "edit", "nb.ipynb", "b", "--source", "a person's"]).ok();
        let history = desk.json(&["history", "nb.ipynb"]);
        let agents: Vec<&Value> = history["entries"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["actor"]["kind"] == "agent")
            .collect();
        assert_eq!((agents.len(), &agents[0]["actor"]["name"]), (2, &json!("scribe")));
        assert_eq!(agents[0]["turn"], agents[1]["turn"]);
        desk.run(&["undo", "nb.ipynb", "--turn", agents[0]["turn"].as_str().unwrap()]).ok();
        assert_eq!(desk.sources(), ["one", "a person's"]);
        desk.run(&["undo", "nb.ipynb", "--entry", &history["entries"][0]["number"].to_string()]).ok();
        assert_eq!(desk.read("nb.ipynb"), before);
        assert_eq!(page.whole().review.cells.len(), 0);
    }
}
