//! `cellist run` on an open notebook: the host runs it, all clients see it, and the result is that of a run on
//! the file.

use std::path::Path;
use std::process::{Child, Output, Stdio};

use cellist_host::{Activity, FullNotebook};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::wait_until;

use crate::bench::{Backend, Mark};
use crate::desk::{Desk, notebook};
use crate::notebooks::{LONG, Page};
use crate::run::tagged;

const BOTH: [Backend; 2] = [Backend::BareRunner, Backend::Ipykernel];

/// A command that goes on, and is ended when nobody looks at it any more.
struct Going(Option<Child>);

impl Going {
    /// Runs `nb.ipynb`.
    fn run(desk: &Desk, backend: Backend, mark: &Mark, more: &[&str]) -> Going {
        let flags = backend.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = desk.command(&[&["run", "nb.ipynb"], flags.as_slice(), more].concat());
        mark.put_on(&mut command);
        Going(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    fn signal(&self, signal: Signal) {
        let pid = self.0.as_ref().unwrap().id();
        kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
    }

    fn done(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Code that says that it has begun and goes on when a file is there.
fn waits_for(begun: &str, go: &str) -> String {
    format!(
        "import os, time\nopen({begun:?}, 'w').close()\nwhile not os.path.exists({go:?}): time.sleep(0.01)"
    )
}

fn activities(whole: &FullNotebook) -> Vec<Activity> {
    whole.cells.iter().filter_map(|cell| Some(whole.conditions.get(&cell.id)?.activity)).collect()
}

/// A notebook without the ids of new cells, which differ between runs.
fn comparable(path: &Path) -> Value {
    let mut notebook: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for cell in notebook["cells"].as_array_mut().unwrap() {
        if cell["metadata"]["tags"] == json!(["injected-parameters"]) {
            cell["id"] = Value::Null;
        }
    }
    notebook
}

/// The report of a run, without times and ids of new cells.
fn told(out: &[u8]) -> Value {
    let mut told: Value = serde_json::from_slice(out).unwrap();
    told["duration_ms"] = Value::Null;
    for cell in told["cells"].as_array_mut().into_iter().flatten() {
        cell["duration_ms"] = Value::Null;
        if cell["id"].as_str().is_some_and(|id| id.len() > 1) {
            cell["id"] = Value::Null;
        }
    }
    told
}

#[test]
fn whoever_has_the_notebook_open_sees_each_cell_run_and_may_type_meanwhile() {
    for backend in BOTH {
        let desk = Desk::new();
        let second = format!("print('second')\n{}", waits_for("begun", "go"));
        desk.write("nb.ipynb", notebook(&["print('first')", &second, "print('third')"]));
        let (page, mark) = (Page::open(&desk), Mark::new());
        let going = Going::run(&desk, backend, &mark, &[]);
        wait_until("the second cell runs, with what it shows in the notebook", || {
            let state = page.state();
            activities(&page.whole()) == [Activity::Idle, Activity::Running, Activity::Pending]
                && state.text().contains("second\\n")
                && state.text().contains("first\\n")
        });
        // It takes the newest text when its turn comes.
        page.type_into("c", "print('typed')");
        desk.write("go", "");
        let done = going.done();
        let out = String::from_utf8_lossy(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{out}");
        assert!(out.starts_with("[1/3] cell 0 print('first')\nfirst\n  ok, "), "{out}");
        assert!(out.contains("[3/3] cell 2 print('typed')\ntyped\n  ok, "), "{out}");
        assert!(out.contains("ran 3 cells in ") && out.contains(" · saved nb.ipynb · "), "{out}");
        assert_eq!(desk.outputs(2)[0]["text"], json!(["typed\n"]));
        let state = page.state();
        assert_eq!(activities(&page.whole()), [Activity::Idle; 3]);
        assert_eq!(desk.text("nb.ipynb"), state.text(), "one owner saved it");
        // The kernel was its own, and has gone with it.
        assert_eq!(desk.json(&["sessions"])["sessions"], json!([]));
        mark.assert_gone(LONG);
    }
}

#[test]
fn the_file_is_as_after_a_run_of_the_file_alone() {
    let sources = [
        "x = 1",
        "print('x is', x)\nx",
        "h = display('old', display_id='d')",
        "h.update('new'); 1 / 0",
        "print('last')",
    ];
    let flags: [&[&str]; 4] = [
        &["--allow-errors"],
        &["-p", "x=5", "-p", "name=some text"],
        &["--cells", "0,c,3-4"],
        &["-p", "a=1", "--cells", "1"],
    ];
    for backend in BOTH {
        for flags in flags {
            let given = tagged(&sources, 0, "parameters");
            let (here, there) = (Desk::new(), Desk::new());
            here.write("nb.ipynb", &given);
            there.write("nb.ipynb", &given);
            let _page = Page::open(&there);
            let arguments = [&["run", "nb.ipynb", "--json"], flags].concat();
            let (alone, open) = (here.run_on(backend, &arguments), there.run_on(backend, &arguments));
            assert_eq!(alone.exit, open.exit, "{flags:?} {}{}", alone.all(), open.all());
            assert_eq!(told(&alone.out), told(&open.out), "{flags:?}");
            let file = |desk: &Desk| comparable(&desk.path().join("nb.ipynb"));
            assert_eq!(file(&here), file(&there), "{flags:?}");
        }
    }
}

#[test]
fn what_cannot_be_run_is_refused_as_for_a_file_and_changes_nothing() {
    let (here, there) = (Desk::with(&["1 + 1"]), Desk::with(&["1 + 1"]));
    let _page = Page::open(&there);
    let before = there.read("nb.ipynb");
    for arguments in [
        ["--cells", "7"].as_slice(),
        &["--cells", "nope"],
        &["-p", "a b=1"],
        &["-p", "x=1", "--python", "/nowhere/python"],
        &["-p", "x=1", "--kernel", "nosuchkernel"],
    ] {
        let arguments = [&["run", "nb.ipynb"], arguments].concat();
        let (alone, open) = (here.run(&arguments), there.run(&arguments));
        assert_eq!((alone.exit, &alone.err), (open.exit, &open.err), "{arguments:?}");
        assert!(alone.exit == 2 || alone.exit == 3, "{arguments:?}");
        assert_eq!(there.read("nb.ipynb"), before);
    }
}

#[test]
fn an_interrupt_stops_the_cell_saves_what_there_is_and_ends_with_130() {
    for backend in BOTH {
        let desk = Desk::new();
        let second = format!("print('second', flush=True)\n{}", waits_for("begun", "never"));
        desk.write("nb.ipynb", notebook(&["print('first')", &second, "print('third')"]));
        let (page, mark) = (Page::open(&desk), Mark::new());
        let going = Going::run(&desk, backend, &mark, &[]);
        wait_until("the cell begins", || desk.path().join("begun").exists());
        going.signal(Signal::INT);
        let done = going.done();
        let out = String::from_utf8_lossy(&done.stdout);
        assert_eq!(done.status.code(), Some(130), "{out}");
        assert!(out.contains("interrupted, 1 not run · saved nb.ipynb"), "{out}");
        assert_eq!(desk.outputs(0)[0]["text"], json!(["first\n"]));
        assert_eq!(desk.outputs(1)[0]["text"], json!(["second\n"]));
        assert_eq!(activities(&page.whole()), [Activity::Idle; 3]);
        mark.assert_gone(LONG);
    }
}

#[test]
fn a_time_limit_is_for_each_cell_and_ends_with_124() {
    let desk = Desk::with(&["1", "import time; time.sleep(600)", "2"]);
    let _page = Page::open(&desk);
    let ran = desk.run_on(Backend::BareRunner, &["run", "nb.ipynb", "--timeout", "1", "--json"]);
    let told: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((ran.exit, &told["status"], &told["not_run"]), (124, &json!("timeout"), &json!(1)));
}

#[test]
fn a_run_whose_terminal_is_gone_ends_and_leaves_no_kernel() {
    let desk = Desk::new();
    desk.write("nb.ipynb", notebook(&["print('first')", &waits_for("begun", "never"), "print('third')"]));
    let (page, mark) = (Page::open(&desk), Mark::new());
    let going = Going::run(&desk, Backend::BareRunner, &mark, &[]);
    wait_until("the cell begins", || desk.path().join("begun").exists());
    going.signal(Signal::KILL);
    drop(going);
    mark.assert_gone(LONG);
    wait_until("no cell runs any more", || activities(&page.whole()) == [Activity::Idle; 3]);
    assert_eq!(desk.outputs(2), json!([]), "the cells behind it did not run on another kernel");
    assert_eq!(desk.json(&["sessions"])["sessions"], json!([]));
}

#[test]
fn a_host_that_is_killed_meanwhile_is_told_and_the_file_is_sound() {
    let desk = Desk::new();
    desk.write("nb.ipynb", notebook(&["print('first')", &waits_for("begun", "never")]));
    let (_page, mark) = (Page::open(&desk), Mark::new());
    let going = Going::run(&desk, Backend::BareRunner, &mark, &[]);
    wait_until("the cell begins", || desk.path().join("begun").exists());
    let pid = desk.json(&["status"])["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    let done = going.done();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("nb.ipynb: the host exited before it replied"), "{said}");
    assert!(
        said.contains("hint: the kernel is lost; the notebook has the outputs saved until then"),
        "{said}"
    );
    mark.assert_gone(LONG);
    assert_eq!(desk.notebook_json("nb.ipynb")["cells"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_of_the_file_alone_can_still_be_asked_for() {
    let desk = Desk::with(&["print('first')"]);
    let page = Page::open(&desk);
    let before = page.version();
    let ran = desk.run_on(Backend::BareRunner, &["run", "nb.ipynb", "--standalone"]);
    assert_eq!(ran.exit, 0, "{}", ran.all());
    wait_until("the host takes it in", || page.state().text().contains("first\\n"));
    assert!(page.since(before).iter().all(|change| change.actor.id != "command-line"));
}
