//! Compares widget state and the outputs captured by Output widgets with nbclient's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use cellist_kernel::order::Way;
use cellist_kernel::zmq::KernelCommand;
use cellist_live::CellBatch;
use cellist_session::execution::Cancel;
use cellist_session::sessions::RunFeed;
use serde_json::Value;

use crate::late::Desk;
use crate::sessions::{Backend, Bed, in_time};

const CELLS: &[&str] = &[
    "import ipywidgets as w\nfrom IPython.display import display, clear_output\nout = w.Output()\ndisplay(out)",
    "print('before')\nwith out:\n    print('one')\n    display('shown')\n    print('two')\nprint('after')",
    "inner = w.Output()\nwith out:\n    print('outer')\n    with inner:\n        print('inner')\n    print('outer again')",
    "with inner:\n    clear_output(wait=True)\n    print('newer')",
    "gone = w.Output()\nwith gone:\n    print('gone')\ngone.clear_output()",
    "@out.capture(clear_output=True)\ndef show():\n    print('captured')\n    return 7\nshow()",
    "failed = w.Output()\nwith failed:\n    raise ValueError('inside')",
    "slider = w.IntSlider(value=3, description='n')\nslider.value = 7\nimage = w.Image(value=b'\\x00\\xff', format='png')\n\
     image.value = b'\\x01'\nw.VBox([slider, image, out])",
    "button = w.Button()\nbutton.close()\nprint([(len(it.outputs), it.msg_id) for it in (out, inner, gone, failed)])",
    "inner.append_stdout('added\\n')\ninner.outputs",
];

async fn run(desk: &Desk, way: Option<Way>, cells: &[usize]) {
    let mut call = desk.call(&[]);
    if let Some(way) = way {
        Arc::make_mut(&mut call.order).way = way;
    }
    let cells = cells.iter().map(|cell| desk.id(*cell)).collect();
    let feed = RunFeed::default();
    let batch = CellBatch { cells, call, allow_errors: true, max_output: None, timing: false, feed };
    let ran = desk.document.run(&desk.bed.sessions, batch, Desk::author(), Cancel::never());
    in_time(ran).await.unwrap();
}

fn in_file(path: &Path) -> Value {
    testkit::assert_valid(path);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Runs the same notebook with nbclient.
fn nbclient(python: &Path, desk: &Desk) -> Value {
    let target = desk.bed.scratch.path().join("reference.ipynb");
    let source = desk.bed.scratch.path().join("source.ipynb");
    std::fs::copy(desk.document.path(), &source).unwrap();
    let program = testkit::repo_root().join("testkit/python/reference.py");
    // On a machine that is busy nbclient sometimes waits for ever, with a kernel that is idle.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let ran = (0..5).any(|_| {
        let mut command = Command::new("timeout");
        command.arg("40").arg(python).arg(&program).args([&source, &target]);
        command.env("IPYTHONDIR", desk.bed.scratch.path()).status().unwrap().success()
    });
    assert!(ran, "nbclient has failed five times");
    in_file(&target)
}

/// The models, without their ids and in an order independent of them.
fn models(notebook: &Value) -> Vec<String> {
    let state = &notebook["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"];
    assert_eq!((&state["version_major"], &state["version_minor"]), (&2.into(), &0.into()));
    let mut models: Vec<String> = state["state"].as_object().unwrap().values().map(masked).collect();
    models.sort();
    models
}

/// The outputs of each cell, with neighbouring pieces of a stream as one.
fn cells(notebook: &Value) -> Vec<String> {
    let outputs = |cell: &Value| {
        let mut all: Vec<Value> = Vec::new();
        for output in cell["outputs"].as_array().unwrap().iter().map(sorted) {
            match all.last_mut().filter(|last| !last["name"].is_null() && last["name"] == output["name"]) {
                Some(last) => {
                    last["text"] =
                        [&last["text"], &output["text"]].map(|it| it.as_str().unwrap()).concat().into()
                }
                None => all.push(output),
            }
        }
        masked(&all.into())
    };
    notebook["cells"].as_array().unwrap().iter().map(outputs).collect()
}

/// JSON without model ids, which have 32 digits.
fn masked(value: &Value) -> String {
    let text = sorted(value).to_string();
    let (mut masked, mut digits) = (String::new(), String::new());
    for character in text.chars().chain(['\n']) {
        if character.is_ascii_hexdigit() {
            digits.push(character);
            continue;
        }
        masked += if digits.len() == 32 { "ID" } else { &digits };
        masked.push(character);
        digits.clear();
    }
    masked
}

/// The same value, with keys in order and text in one piece.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let entry = |key: &String| (key.clone(), sorted(&object[key]));
            Value::Object(keys.into_iter().map(entry).collect())
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<String>().into()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn pythons() -> [PathBuf; 2] {
    [testkit::python("kernels"), testkit::python("kernels-6")]
}

#[tokio::test(flavor = "multi_thread")]
async fn widgets_are_saved_as_nbclient_saves_them() {
    let all: Vec<usize> = (0..CELLS.len()).collect();
    for python in pythons() {
        let desk = Desk::new(Backend::Jupyter, CELLS).await;
        let theirs = nbclient(&python, &desk);
        run(&desk, Some(Way::Jupyter(KernelCommand::ipykernel(&python))), &all).await;
        let ours = in_file(desk.document.path());
        assert_eq!(cells(&ours), cells(&theirs));
        assert_eq!(models(&ours), models(&theirs));
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn widgets_behind_a_gateway_are_saved_in_the_same_way() {
    let all: Vec<usize> = (0..CELLS.len()).collect();
    let desk = Desk::on(Bed::new(Backend::Gateway), CELLS).await;
    let theirs = nbclient(&testkit::python("kernels"), &desk);
    run(&desk, None, &all).await;
    let ours = in_file(desk.document.path());
    assert_eq!(cells(&ours), cells(&theirs));
    assert_eq!(models(&ours), models(&theirs));
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_run_changes_the_state_of_widgets_that_cells_still_show() {
    let sources = [
        "import ipywidgets as w\nout = w.Output()\nslider = w.IntSlider(value=1)\ndisplay(out, slider)",
        "slider.value += 1\nwith out: print('more')",
        "import ipywidgets as w\nw.Label('x')",
    ];
    let desk = Desk::new(Backend::Jupyter, &sources).await;
    for cells in [&[0_usize][..], &[1], &[1], &[2], &[2]] {
        run(&desk, None, cells).await;
    }
    let models = models(&in_file(desk.document.path()));
    assert!(models.iter().any(|model| model.contains(r#""value":3"#)), "{models:#?}");
    assert!(models.iter().any(|model| model.contains(r#""text":"more\nmore\n""#)), "{models:#?}");
    let labels = models.iter().filter(|model| model.contains(r#""model_name":"LabelModel""#)).count();
    assert_eq!(labels, 1, "the label of the run before is shown nowhere any more");
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn widgets_of_the_runner_are_saved_in_the_same_way() {
    let all: Vec<usize> = (0..CELLS.len()).collect();
    let python = testkit::python("kernels");
    let desk = Desk::on(Bed::new(Backend::Runner), CELLS).await;
    let theirs = nbclient(&python, &desk);
    run(&desk, Some(Way::Runner { python }), &all).await;
    let ours = in_file(desk.document.path());
    assert_eq!(cells(&ours), cells(&theirs));
    // The colours of tracebacks are compared by other tests.
    assert_eq!(uncoloured(models(&ours)), uncoloured(models(&theirs)));
    desk.end().await;
}

/// JSON without the escape sequences of colours.
fn uncoloured(models: Vec<String>) -> Vec<String> {
    let plain = |model: String| {
        let mut pieces = model.split("\\u001b[");
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |text, piece| text + piece.split_once('m').map_or("", |(_, rest)| rest))
    };
    models.into_iter().map(plain).collect()
}
