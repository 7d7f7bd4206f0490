//! `cellist run` on real kernels: files, output and leftovers.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench::{Backend, Mark};
use crate::desk::{Desk, notebook};

const BOTH: [Backend; 2] = [Backend::BareRunner, Backend::Ipykernel];

impl Desk {
    pub(crate) fn notebook_json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// Runs a notebook with nbclient and stores the result under another name.
    pub(crate) fn run_with_nbclient(&self, name: &str, reference: &str) {
        let mut command = Command::new(testkit::python("kernels"));
        command.arg(testkit::repo_root().join("testkit/python/reference.py")).args([name, reference]);
        self.prepare(&mut command);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The outputs of a cell of `nb.ipynb`.
    pub(crate) fn outputs(&self, index: usize) -> Value {
        self.notebook_json("nb.ipynb")["cells"][index]["outputs"].clone()
    }
}

/// A notebook with one tag on one of its cells.
pub(crate) fn tagged(sources: &[&str], index: usize, tag: &str) -> String {
    let mut notebook: Value = serde_json::from_str(&notebook(sources)).unwrap();
    notebook["cells"][index]["metadata"]["tags"] = json!([tag]);
    notebook.to_string()
}

#[test]
fn a_run_saves_outputs_and_counts_and_says_what_it_did() {
    for backend in BOTH {
        let desk = Desk::with(&["# Sum it up\nx = 20\nprint('x is', x)", "x + 22"]);
        let ran = desk.run_on(backend, &["run", "nb.ipynb"]);
        let out = String::from_utf8(ran.out).unwrap();
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{out}");
        assert!(out.starts_with("[1/2] cell 0 Sum it up\nx is 20\n  ok, "), "{out}");
        assert!(out.contains("[2/2] cell 1 x + 22\n42\n  ok, "), "{out}");
        assert!(out.contains(" · saved nb.ipynb · ") && out.contains("python"), "{out}");
        assert_eq!(
            desk.outputs(0),
            json!([{ "name": "stdout", "output_type": "stream", "text": ["x is 20\n"] }])
        );
        let result = &desk.outputs(1)[0];
        assert_eq!((&result["data"]["text/plain"], &result["execution_count"]), (&json!(["42"]), &json!(2)));
    }
}

#[test]
fn the_file_is_what_nbclient_writes() {
    for name in ["results", "displays", "errors", "async", "state"] {
        let desk = Desk::unjudged();
        let suite = testkit::repo_root().join("crates/cli/tests/suite").join(format!("{name}.ipynb"));
        desk.write("nb.ipynb", std::fs::read(suite).unwrap());
        desk.run_with_nbclient("nb.ipynb", "reference.ipynb");
        let ran = desk.run_on(Backend::Ipykernel, &["run", "nb.ipynb"]);
        assert_eq!(ran.exit, 0, "{}", ran.all());
        let (ours, theirs) = (desk.notebook_json("nb.ipynb"), desk.notebook_json("reference.ipynb"));
        assert_eq!(ours["metadata"], theirs["metadata"]);
        let cells = ours["cells"].as_array().unwrap().iter().zip(theirs["cells"].as_array().unwrap());
        for (ours, theirs) in cells {
            assert_eq!(comparable(ours), comparable(theirs), "{name} {}", ours["id"]);
        }
    }
}

/// A cell without details that differ between runs of nbclient: stream boundaries, memory addresses, and the
/// process id in file names. Only the first folder on the path is our own addition.
pub(crate) fn comparable(cell: &Value) -> Value {
    let mut cell = cell.clone();
    if cell["id"] == "c17" && crate::desk::source(&cell["source"]).contains("sys.path[0]") {
        cell["outputs"] = json!([]);
    }
    let mut outputs: Vec<Value> = Vec::new();
    for output in cell["outputs"].as_array().into_iter().flatten() {
        let mut output = output.clone();
        if output["output_type"] == "stream" {
            output["text"] = json!(crate::desk::source(&output["text"]));
            if let Some(last) = outputs.last_mut()
                && last["name"] == output["name"]
                && last["output_type"] == "stream"
            {
                last["text"] =
                    json!(format!("{}{}", last["text"].as_str().unwrap(), output["text"].as_str().unwrap()));
                continue;
            }
        }
        outputs.push(output);
    }
    cell["outputs"] = json!(outputs);
    let text = serde_json::to_string(&cell).unwrap();
    let mut pieces = text.split("0x");
    let mut masked = pieces.next().unwrap().to_owned();
    for piece in pieces {
        masked.push_str(piece.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()));
    }
    let mut pieces = masked.split("ipykernel_");
    let mut nameless = pieces.next().unwrap().to_owned();
    for piece in pieces {
        nameless.push_str(piece.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    serde_json::from_str(&nameless).unwrap()
}

#[test]
fn the_first_failing_cell_ends_the_run_with_1_and_is_saved() {
    for backend in BOTH {
        let desk = Desk::with(&["print('a')", "1 / 0", "print('never')"]);
        let ran = desk.run_on(backend, &["run", "nb.ipynb", "--json"]);
        assert_eq!(ran.exit, 1, "{}", ran.all());
        let json: Value = serde_json::from_slice(&ran.out).unwrap();
        assert_eq!(
            (&json["status"], &json["saved"], &json["not_run"]),
            (&json!("error"), &json!(true), &json!(1))
        );
        let cells = json["cells"].as_array().unwrap();
        assert_eq!((cells.len(), &cells[1]["index"], &cells[1]["id"]), (2, &json!(1), &json!("b")));
        assert_eq!(cells[1]["error"]["ename"], "ZeroDivisionError");
        assert_eq!((&cells[1]["exit_code"], &cells[0]["exit_code"]), (&json!(1), &json!(0)));
        assert_eq!(cells[0]["text"], "a\n");
        assert!(cells[0]["kernel"]["python"].as_str().unwrap().contains("python"));
        assert_eq!(desk.outputs(1)[0]["ename"], "ZeroDivisionError");
        assert_eq!(desk.outputs(2), json!([]));
    }
}

#[test]
fn errors_can_be_allowed_for_all_cells_or_for_one() {
    for backend in BOTH {
        let desk = Desk::with(&["1 / 0", "print('b')"]);
        let ran = desk.run_on(backend, &["run", "nb.ipynb", "--allow-errors"]);
        assert_eq!(ran.exit, 0);
        assert!(ran.all().contains(", 1 failed (allowed): 0 · saved nb.ipynb"), "{}", ran.all());
        assert_eq!(desk.outputs(1)[0]["text"], json!(["b\n"]));

        let desk = Desk::new();
        desk.write("nb.ipynb", tagged(&["1 / 0", "print('b')"], 0, "raises-exception"));
        assert_eq!(desk.run_on(backend, &["run", "nb.ipynb"]).exit, 0);
        assert_eq!(desk.outputs(0)[0]["ename"], "ZeroDivisionError");

        desk.write("nb.ipynb", tagged(&["1 / 0", "print('b')"], 0, "skip-execution"));
        assert_eq!(desk.run_on(backend, &["run", "nb.ipynb"]).exit, 0);
        assert_eq!(desk.outputs(0), json!([]));
    }
}

#[test]
fn a_cell_over_its_time_is_interrupted_and_the_run_ends_with_124() {
    for backend in BOTH {
        for code in [
            "import time\nprint('a', flush=True)\ntime.sleep(60)",
            "print('a', flush=True)\nwhile True: pass",
        ] {
            let desk = Desk::with(&[code, "print('never')"]);
            let ran = desk.run_on(backend, &["run", "nb.ipynb", "--timeout", "1", "--json"]);
            assert_eq!(ran.exit, 124, "{}", ran.all());
            let json: Value = serde_json::from_slice(&ran.out).unwrap();
            let cell = &json["cells"][0];
            assert_eq!((&json["status"], &cell["status"]), (&json!("timeout"), &json!("timeout")));
            assert_eq!((&cell["cancelled"], &cell["exit_code"]), (&json!(true), &Value::Null));
            assert_eq!(cell["kernel"]["state"], "kept");
            assert!(cell["text"].as_str().unwrap().contains("Command timed out after 1 seconds"), "{cell}");
            let outputs = desk.outputs(0);
            assert_eq!(
                (&outputs[0]["text"], &outputs[1]["ename"]),
                (&json!(["a\n"]), &json!("KeyboardInterrupt"))
            );
        }
    }
}

#[test]
fn parameters_are_typed_written_into_a_cell_and_replaced_by_the_next_run() {
    let desk = Desk::new();
    desk.write("nb.ipynb", tagged(&["x = 1\nname = 'no'", "print(x, name, more)"], 0, "parameters"));
    desk.write("more.yaml", "more:\n  - 1\n  - two\nx: 9\n");
    let run = |x: &str| {
        let arguments = ["run", "nb.ipynb", "-p", x, "--param", "name=Ada", "-f", "more.yaml"];
        let ran = desk.run_on(Backend::BareRunner, &arguments);
        assert_eq!(ran.exit, 0, "{}", ran.all());
        desk.outputs(2)[0]["text"].clone()
    };
    assert_eq!(run("x=0.5"), json!(["0.5 Ada [1, 'two']\n"]));
    let source = "# Parameters\nmore = [1, \"two\"]\nx = 0.5\nname = \"Ada\"\n";
    assert_eq!(desk.sources()[1], source);
    assert_eq!(run("x=None"), json!(["None Ada [1, 'two']\n"]));
    assert_eq!(desk.sources().len(), 3);
    let injected = &desk.notebook_json("nb.ipynb")["cells"][1];
    assert_eq!(injected["metadata"]["tags"], json!(["injected-parameters"]));

    let refused = desk.run(&["run", "nb.ipynb", "-p", "a b=1"]).refused(2);
    assert!(refused.contains("`a b` cannot be the name of a parameter"), "{refused}");
}

#[test]
fn outputs_go_to_another_file_and_only_named_cells_run() {
    let desk = Desk::with(&["print(0)", "print(1)", "print(2)", "print(3)"]);
    let before = desk.read("nb.ipynb");
    let ran = desk.run_on(Backend::BareRunner, &["run", "nb.ipynb", "-o", "out.ipynb", "--cells", "d,0-1"]);
    assert_eq!(ran.exit, 0, "{}", ran.all());
    assert_eq!(desk.read("nb.ipynb"), before);
    let out = desk.notebook_json("out.ipynb");
    let counts: Vec<&Value> =
        out["cells"].as_array().unwrap().iter().map(|cell| &cell["execution_count"]).collect();
    assert_eq!(counts, [&json!(1), &json!(2), &Value::Null, &json!(3)]);

    let refused = desk.run(&["run", "nb.ipynb", "--cells", "7"]).refused(2);
    assert!(refused.contains("cell 7 does not exist"), "{refused}");
    let refused = desk.run(&["run", "nb.ipynb", "-o", "no/where.ipynb"]).refused(2);
    assert!(refused.contains("the folder no does not exist"), "{refused}");
    let refused = desk.run(&["run", "gone.ipynb"]).refused(2);
    assert!(refused.contains("gone.ipynb: no such file"), "{refused}");
}

#[test]
fn bytes_that_no_output_touches_stay_as_they_were() {
    let desk = Desk::unjudged();
    let text = r#"{"nbformat_minor":5, "nbformat": 4,
   "metadata":{"mine":1e0,"language_info":{"name":"python"}},  "cells":[{"id":"a","source":"print(\u00e9)" ,
   "cell_type":"code","outputs":[],"execution_count":null,"metadata":{ "big":12345678901234567890123 }}]}"#;
    desk.write("nb.ipynb", text.replace("print(\\u00e9)", "print('\\u00e9')"));
    assert_eq!(desk.run_on(Backend::BareRunner, &["run", "nb.ipynb"]).exit, 0);
    let after = desk.text("nb.ipynb");
    assert!(
        after.contains(r#""mine":1e0,"#) && after.contains(r#"{ "big":12345678901234567890123 }"#),
        "{after}"
    );
    assert!(after.contains("\"source\":\"print('\\u00e9')\" ,"), "{after}");
}

/// A run whose second cell has printed and goes on, so that it can be disturbed.
fn begun(desk: &Desk, backend: Backend, code: &str, mark: &Mark) -> std::process::Child {
    backend.tally();
    desk.write(
        "nb.ipynb",
        notebook(&[
            "print('first')",
            &format!("print('second', flush=True)\nopen('begun', 'w').close()\n{code}"),
            "'never'",
        ]),
    );
    let flags = backend.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut command = desk.command(&[&["run", "nb.ipynb"], flags.as_slice()].concat());
    mark.put_on(&mut command);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !desk.path().join("begun").exists() {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline, "the cell did not begin");
        std::thread::yield_now();
    }
    child
}

fn pid(child: &std::process::Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

#[test]
fn an_interrupt_stops_the_cell_saves_what_there_is_and_ends_with_130() {
    for backend in BOTH {
        for signal in [Signal::INT, Signal::TERM] {
            let (desk, mark) = (Desk::new(), Mark::new());
            let child = begun(&desk, backend, "import time; time.sleep(60)", &mark);
            kill_process(pid(&child), signal).unwrap();
            let done = child.wait_with_output().unwrap();
            let out = String::from_utf8_lossy(&done.stdout);
            assert_eq!(done.status.code(), Some(130), "{out}");
            assert!(out.contains("interrupted, 1 not run · saved nb.ipynb"), "{out}");
            assert_eq!(desk.outputs(0)[0]["text"], json!(["first\n"]));
            assert_eq!(desk.outputs(1)[0]["text"], json!(["second\n"]));
            mark.assert_gone(Duration::from_secs(2));
        }
    }
}

#[test]
fn nothing_is_left_two_seconds_after_a_kill() {
    for backend in BOTH {
        let (desk, mark) = (Desk::new(), Mark::new());
        let code = "import subprocess; subprocess.run(['sleep', '600'])";
        let mut child = begun(&desk, backend, code, &mark);
        assert!(mark.carriers().len() >= 2, "the kernel carries the mark too");
        kill_process(pid(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        mark.assert_gone(Duration::from_secs(2));
    }
}

#[test]
fn outputs_that_cannot_be_saved_are_kept_elsewhere_and_the_run_ends_with_4() {
    let desk = Desk::with(&["import os\nos.remove('nb.ipynb')\nprint('worth keeping')"]);
    let ran = desk.run_on(Backend::BareRunner, &["run", "nb.ipynb", "--json"]);
    assert_eq!(ran.exit, 4, "{}", ran.all());
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((&json["saved"], &json["status"]), (&json!(false), &json!("ok")));
    assert!(json["error"]["message"].as_str().unwrap().contains("nb.ipynb"), "{json}");
    let notices: Vec<&str> = json["notices"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let kept = notices.iter().find_map(|notice| notice.split_once(" were saved to ")).unwrap().1;
    assert!(std::fs::read_to_string(kept).unwrap().contains("worth keeping"));
}

#[test]
fn large_output_is_cut_in_the_file_unless_all_of_it_is_wanted() {
    let code = "for number in range(300_000):\n    print('line', number, 'x' * 40)";
    let desk = Desk::with(&[code]);
    let ran = desk.run_on(Backend::BareRunner, &["run", "nb.ipynb", "--json"]);
    assert_eq!(ran.exit, 0);
    assert!(ran.out.len() < 200_000, "{} bytes", ran.out.len());
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(json["cells"][0]["truncated"]["total_lines"], 300_000);
    let outputs = desk.outputs(0);
    assert_eq!(outputs.as_array().unwrap().len(), 3);
    assert!(crate::desk::source(&outputs[1]["text"]).contains("bytes of output left out here"));
    assert!(crate::desk::source(&outputs[2]["text"]).contains("line 299999 "));
    let size = desk.read("nb.ipynb").len();
    assert!((10_000_000..13_000_000).contains(&size), "{size}");

    assert_eq!(desk.run_on(Backend::BareRunner, &["run", "nb.ipynb", "--full-outputs", "--json"]).exit, 0);
    let outputs = desk.outputs(0);
    assert_eq!(outputs.as_array().unwrap().len(), 1);
    assert_eq!(outputs[0]["text"].as_array().unwrap().len(), 300_000);
}

#[test]
fn a_kernel_that_dies_is_told_of_and_ends_the_run() {
    for backend in BOTH {
        let desk = Desk::with(&["print('a', flush=True)\nimport os\nos._exit(3)", "'never'"]);
        let ran = desk.run_on(backend, &["run", "nb.ipynb", "--allow-errors", "--json"]);
        assert_eq!(ran.exit, 1, "{}", ran.all());
        let json: Value = serde_json::from_slice(&ran.out).unwrap();
        let cell = &json["cells"][0];
        assert_eq!((&cell["kernel"]["state"], &json["not_run"]), (&json!("lost"), &json!(1)));
        assert!(cell["text"].as_str().unwrap().contains("it exited with code 3"), "{cell}");
    }
}

#[test]
fn a_notebook_in_another_language_runs_on_its_kernel_or_says_how_to_install_it() {
    let desk = Desk::new();
    let with_kernel = |name: &str, language: &str, source: &str| {
        let mut notebook: Value = serde_json::from_str(&notebook(&[source])).unwrap();
        notebook["metadata"] =
            json!({ "kernelspec": { "name": name, "language": language, "display_name": name } });
        desk.write("nb.ipynb", notebook.to_string());
    };
    let python = testkit::python("kernels");
    let argv = [python.to_str().unwrap(), "-m", "bash_kernel", "-f", "{connection_file}"];
    let spec = json!({ "argv": argv, "display_name": "Bash", "language": "bash" });
    desk.write("jupyter/kernels/bash/kernel.json", spec.to_string());
    let lost = json!({ "argv": ["no-such-program"], "display_name": "R", "language": "R" });
    desk.write("jupyter/kernels/ir/kernel.json", lost.to_string());
    let run = || {
        let mut command = desk.command(&["run", "nb.ipynb"]);
        desk.run_marked(command.env("JUPYTER_PATH", desk.path().join("jupyter")))
    };
    with_kernel("bash", "bash", "echo from $0");
    let ran = run();
    assert_eq!(ran.exit, 0, "{}", ran.all());
    assert!(desk.outputs(0)[0]["text"][0].as_str().unwrap().contains("bash"), "{}", desk.outputs(0));

    with_kernel("ir", "R", "1");
    let refused = run().refused(3);
    assert!(
        refused.contains("the kernel `ir` starts with `no-such-program`, which is not there"),
        "{refused}"
    );
    with_kernel("julia-1.11", "julia", "1");
    let refused = run().refused(3);
    assert!(refused.contains("wants the kernel `julia-1.11` (julia), which is not installed"), "{refused}");
    assert!(refused.contains("hint: install it: julia -e"), "{refused}");
}

#[test]
fn a_notebook_that_cannot_be_saved_is_refused_before_anything_runs() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with(&["open('ran', 'w').close()"]);
    std::fs::set_permissions(desk.path().join("nb.ipynb"), std::fs::Permissions::from_mode(0o444)).unwrap();
    let refused = desk.run(&["run", "nb.ipynb"]).refused(4);
    assert!(refused.contains("nb.ipynb: is read-only"), "{refused}");
    assert!(refused.contains("chmod u+w nb.ipynb"), "{refused}");
    assert!(!desk.path().join("ran").exists());
    assert_eq!(desk.run(&["run", "nb.ipynb", "-o", "out.ipynb"]).exit, 0);
    assert!(desk.path().join("ran").exists());
}

#[test]
fn a_run_without_anything_to_run_says_why() {
    let desk = Desk::new();
    let cell =
        |kind: &str| serde_json::json!({ "cell_type": kind, "id": kind, "metadata": {}, "source": "x" });
    let notebook = serde_json::json!({ "cells": [cell("markdown"), cell("raw")], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    desk.write("nb.ipynb", notebook.to_string());
    let ran = desk.run(&["run", "nb.ipynb", "--cells", "0"]);
    assert!(ran.exit == 0 && ran.err.contains("nothing to run: cell 0 is markdown"), "{}", ran.all());
    let ran = desk.run(&["run", "nb.ipynb"]);
    assert!(ran.err.contains("nothing to run: cell 0 is markdown, cell 1 is raw"), "{}", ran.all());
}

#[test]
fn a_run_that_allows_errors_is_well_and_counts_them() {
    let desk = Desk::with(&["1 / 0", "2"]);
    let ran = desk.run(&["run", "nb.ipynb", "--allow-errors", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((ran.exit, &json["status"], &json["failed"]), (0, &"ok".into(), &1.into()), "{json}");
    assert_eq!(json["cells"][0]["status"], "error");
}

#[test]
fn a_notebook_whose_kernel_is_not_installed_says_what_it_runs_on() {
    let desk = Desk::new();
    let kernelspec = serde_json::json!({ "name": "myenv", "display_name": "Mine", "language": "python" });
    let notebook = serde_json::json!({ "cells": [], "metadata": { "kernelspec": kernelspec }, "nbformat": 4, "nbformat_minor": 5 });
    desk.write("nb.ipynb", notebook.to_string());
    let ran = desk.run(&["run", "nb.ipynb"]);
    assert!(ran.err.contains("the notebook's kernel `myenv` is not installed; it runs on "), "{}", ran.all());
}

#[test]
fn output_of_a_thread_while_a_later_cell_runs_is_in_the_file_with_the_cell_that_started_it() {
    for backend in BOTH {
        let starts = "import threading\ngo, said = threading.Event(), threading.Event()\ndef late():\n    go.wait()\n    \
                      print('late')\n    said.set()\nthreading.Thread(target=late).start()\nprint('first')";
        let desk = Desk::with(&[starts, "print('between')", "go.set()\nsaid.wait()\nprint('third')"]);
        let ran = desk.run_on(backend, &["run", "nb.ipynb"]);
        assert_eq!(ran.exit, 0, "{}", ran.all());
        let texts: Vec<Value> = (0..3).map(|cell| desk.outputs(cell)).collect();
        let text = |lines: &[&str]| json!([{ "output_type": "stream", "name": "stdout", "text": lines }]);
        let expected = [text(&["first\n", "late\n"]), text(&["between\n"]), text(&["third\n"])];
        assert_eq!(texts, expected, "{backend:?}");
    }
}
