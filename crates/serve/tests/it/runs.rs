//! Cells of an open notebook, run over the socket on a real kernel.

use std::fs;
use std::path::{Path, PathBuf};

use cellist_host::{
    CallRequest, Event, HostClient, NotebookAction, NotebookReply, NotebookRequest, NotebookRunRequest,
    OutputForm, Reply, Request, SessionName,
};
use cellist_live::{Actor, ActorKind};
use cellist_notebook::CellId;
use cellist_output::{Ansi, Limits};
use cellist_serve::IdlePolicy;
use cellist_session::execution::{Reading, RunReport, Status};
use cellist_session::orders::{ClientEnvironment, KernelRequest};
use cellist_session::sessions::{RunRules, SessionKind};
use cellist_settings::{BackendWish, Settings};
use serde_json::json;
use testkit::until;

use crate::bed::{Bed, LONG, soon};

/// A notebook with one code cell for each source, named `a`, `b` and so on.
fn notebook(bed: &Bed, sources: &[&str]) -> PathBuf {
    let cell = |(id, source): (char, &&str)| {
        json!({
            "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [], "source": [source],
        })
    };
    let cells: Vec<_> = ('a'..).zip(sources).map(cell).collect();
    let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    bed.scratch.write("nb.ipynb", notebook.to_string())
}

async fn attached(bed: &Bed) -> HostClient {
    let client = soon(HostClient::attach(&bed.seen_by("1.0.0"))).await.unwrap();
    client.set_environment(ClientEnvironment {
        backend: Some(BackendWish::Runner),
        python: Some(testkit::python("nbformat")),
        ..ClientEnvironment::default()
    });
    client
}

fn run(bed: &Bed, path: &Path, cells: &[&str]) -> Request {
    let reading = Reading::new(Limits::for_screen(), Ansi::Remove);
    let call = CallRequest {
        session: SessionName { id: "nb".into(), cwd: Some(bed.scratch.path().to_owned()) },
        here: bed.scratch.path().to_owned(),
        kernel: KernelRequest::default(),
        kind: SessionKind::Notebook { path: path.to_owned() },
        is_owned: false,
        cells: Vec::new(),
        soft_wait: LONG,
        reset: false,
        rules: RunRules { grace: LONG, ..RunRules::new(&Settings::default(), reading) },
        is_watched: true,
    };
    Request::Run(Box::new(NotebookRunRequest {
        path: path.to_owned(),
        cells: cells.iter().map(|cell| serde_json::from_value(json!(cell)).unwrap()).collect(),
        call,
        allow_errors: false,
        max_output: None,
        timing: false,
        author: Actor::new(ActorKind::Person, "one").into(),
    }))
}

fn ran(reply: Reply) -> RunReport {
    match reply {
        Reply::Ran(report) => *report,
        other => panic!("{other:?}"),
    }
}

/// Waits for the event that a cell runs.
async fn until_running(events: &mut tokio::sync::watch::Receiver<Option<Event>>, cell: &str) {
    let running = |event: &Option<Event>| matches!(event, Some(Event::Run(view)) if view.running().is_some_and(|step| step.cell == cell));
    drop(soon(events.wait_for(running)).await.unwrap());
}

/// Code that continues once a file exists.
fn waits_for(path: &Path) -> String {
    format!("import os, time\nwhile not os.path.exists({path:?}): time.sleep(0.01)")
}

async fn end(bed: &Bed, host: tokio::task::JoinHandle<()>) {
    soon(bed.seen_by("1.0.0").stop()).await.unwrap();
    soon(host).await.unwrap();
}

#[tokio::test]
async fn cells_are_run_and_their_outputs_are_in_the_notebook_and_in_the_report() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let path = notebook(&bed, &["x = 20", "print(x + 1)", "1 / 0", "print('never')"]);
    let client = attached(&bed).await;
    let report = soon(client.ask(run(&bed, &path, &["a", "b", "c", "d"]))).await.unwrap();
    let report = ran(report);
    assert_eq!((report.status, report.not_run, report.unsaved), (Status::Error, 1, None));
    let cells: Vec<_> = report.cells.iter().map(|cell| (cell.index, cell.id.as_deref())).collect();
    assert_eq!(cells, [(0, Some("a")), (1, Some("b")), (2, Some("c"))]);
    assert_eq!(report.cells[1].report.text, "21\n");
    assert_eq!(report.cells[2].report.error.as_ref().unwrap().ename, "ZeroDivisionError");
    assert!(fs::read_to_string(&path).unwrap().contains("21\\n"));
    // The state is kept, and the order of its kernel is known.
    let again = ran(soon(client.ask(run(&bed, &path, &["b"]))).await.unwrap());
    assert_eq!((again.status, again.cells[0].report.text.as_str()), (Status::Ok, "21\n"));
    // A kernel that is to be restarted is so once, not for each cell.
    let mut anew = run(&bed, &path, &["a", "b"]);
    if let Request::Run(run) = &mut anew {
        run.call.reset = true;
    }
    let anew = ran(soon(client.ask(anew)).await.unwrap());
    assert_eq!((anew.status, anew.cells[1].report.execution_count), (Status::Ok, Some(2)));
    end(&bed, host).await;
}

#[tokio::test]
async fn a_run_continues_when_its_client_disconnects() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let go = bed.scratch.path().join("go");
    let path = notebook(&bed, &[&waits_for(&go), "print('after', 'all')"]);
    let client = attached(&bed).await;
    let pending = client.begin(run(&bed, &path, &["a", "b"]));
    until_running(&mut pending.events(), "a").await;
    drop((pending, client));
    let left = async {
        while bed.seen_by("1.0.0").state().await.unwrap().unwrap().clients > 0 {
            tokio::task::yield_now().await;
        }
    };
    soon(left).await;
    fs::write(&go, "").unwrap();
    until(|| fs::read_to_string(&path).unwrap().contains("after all\\n")).await;
    end(&bed, host).await;
}

#[tokio::test]
async fn a_cancelled_run_is_interrupted_and_keeps_its_state() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let (began, never) = (bed.scratch.path().join("began"), bed.scratch.path().join("never"));
    let endless = format!("open({began:?}, 'w').write('yes')\n{}", waits_for(&never));
    let path = notebook(&bed, &["x = 1", &endless, "print(x)"]);
    let client = attached(&bed).await;
    let pending = client.begin(run(&bed, &path, &["a", "b", "c"]));
    until_running(&mut pending.events(), "b").await;
    until(|| began.exists()).await;
    pending.stop().stop();
    let report = ran(soon(pending.done()).await.unwrap());
    assert_eq!((report.status, report.not_run), (Status::Cancelled, 1));
    let rest = ran(soon(client.ask(run(&bed, &path, &["c"]))).await.unwrap());
    assert_eq!(rest.cells[0].report.text, "1\n");
    end(&bed, host).await;
}

#[tokio::test]
async fn an_observer_receives_only_the_cells_that_change() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let cell = |at: usize| {
        let source = match at {
            500 => "for i in range(300): print('line', i, flush=True)".to_owned(),
            _ => format!("x = {at}  # {}", "as in any other cell ".repeat(10)),
        };
        json!({
            "cell_type": "code", "execution_count": null, "id": format!("c{at}"), "metadata": {}, "outputs": [], "source": source,
        })
    };
    let cells: Vec<_> = (0..1000).map(cell).collect();
    let language = json!({ "language_info": { "name": "python" } });
    let text =
        json!({ "cells": cells, "metadata": language, "nbformat": 4, "nbformat_minor": 5 }).to_string();
    let path = bed.scratch.write("nb.ipynb", &text);
    let (client, looker) = (attached(&bed).await, attached(&bed).await);
    let about = |ask| Request::Notebook(Box::new(NotebookRequest { path: path.clone(), ask }));
    let follow = || NotebookAction::Follow { clients: Vec::new(), outputs: OutputForm::Whole };
    // A first run writes into the notebook's own values what its kernel is.
    ran(soon(client.ask(run(&bed, &path, &["c0"]))).await.unwrap());
    let Reply::Notebook(NotebookReply::Whole(whole)) = soon(looker.ask(about(follow()))).await.unwrap()
    else {
        panic!("not the whole")
    };
    assert_eq!((whole.cells.len(), whole.conditions.len()), (1000, 1000));
    let (mut told, mut bytes, mut answers) = (Vec::new(), 0, 0);
    let pending = client.begin(run(&bed, &path, &["c500"]));
    let running = tokio::spawn(pending.done());
    let mut last = String::new();
    loop {
        let is_over = running.is_finished();
        let pending = looker.begin(about(NotebookAction::News));
        if is_over {
            // All events have arrived, or arrive at once.
            pending.stop().stop();
        }
        let reply = soon(pending.done()).await.unwrap();
        (bytes, answers) = (bytes + serde_json::to_vec(&reply).unwrap().len(), answers + 1);
        let Reply::Notebook(NotebookReply::News(news)) = reply else { panic!("{reply:?}") };
        assert!(!news.is_behind);
        told.extend(news.conditions.keys().chain(news.outputs.keys()).map(CellId::to_string));
        for outputs in news.outputs.values() {
            last = serde_json::to_string(&outputs.outputs).unwrap();
        }
        if is_over {
            break;
        }
    }
    assert_eq!(ran(soon(running).await.unwrap().unwrap()).status, Status::Ok);
    assert!(last.contains("line 0\\n") && last.contains("line 299\\n"), "{last}");
    told.retain(|cell| cell != "c500" && cell != "c0");
    assert!(told.is_empty(), "{told:?}");
    // Never more than the running cell, its status and a few words.
    assert!(bytes <= answers * (last.len() + 2000), "{bytes} bytes in {answers} answers");
    assert!(last.len() + 2000 < text.len() / 20);
    end(&bed, host).await;
}

#[tokio::test]
async fn ending_or_restarting_a_session_makes_all_cells_stale() {
    let bed = Bed::new();
    let host = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let path = notebook(&bed, &["x = 1"]);
    let (one, other) = (attached(&bed).await, attached(&bed).await);
    let open = async || {
        let follow = NotebookAction::Follow { clients: Vec::new(), outputs: OutputForm::Whole };
        let ask = NotebookRequest { path: path.clone(), ask: follow };
        let Reply::Notebook(NotebookReply::Whole(whole)) =
            soon(one.ask(Request::Notebook(Box::new(ask)))).await.unwrap()
        else {
            panic!("it is not open")
        };
        whole.conditions[&whole.cells[0].id].clone()
    };
    let stale = async || {
        let cell = open().await;
        assert!(cell.last.is_some());
        cell.stale
    };
    assert!(open().await.last.is_none());
    let session = || SessionName { id: "nb".into(), cwd: Some(bed.scratch.path().to_owned()) };
    for end in [Request::Restart(session()), Request::End(session())] {
        ran(soon(one.ask(run(&bed, &path, &["a"]))).await.unwrap());
        assert!(stale().await.is_empty());
        soon(other.ask(end)).await.unwrap();
        assert_eq!(stale().await, ["its kernel is gone"]);
    }
    end(&bed, host).await;
}
