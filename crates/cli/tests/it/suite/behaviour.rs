//! Behaviour that stored outputs cannot show: floods, interrupts and nested loops.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::Backend;
use crate::desk::{Desk, notebook, source};

const BOTH: [Backend; 2] = [Backend::BareRunner, Backend::Ipykernel];

fn outputs(desk: &Desk, index: usize) -> Vec<Value> {
    let notebook: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
    notebook["cells"][index]["outputs"].as_array().unwrap().clone()
}

#[test]
fn ten_thousand_small_prints_are_one_stream_in_order() {
    for backend in BOTH {
        let desk = Desk::with(&["for number in range(10_000):\n    print(number)"]);
        assert_eq!(desk.run_on(backend, &["run", "nb.ipynb"]).exit, 0);
        let outputs = outputs(&desk, 0);
        assert_eq!(outputs.len(), 1);
        let expected: String = (0..10_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(source(&outputs[0]["text"]), expected);
    }
}

#[test]
fn a_string_of_twenty_megabytes_arrives_whole() {
    for backend in BOTH {
        let desk = Desk::with(&["print('x' * 20_000_000)", "'y' * 20_000_000"]);
        let ran = desk.run_on(backend, &["run", "nb.ipynb", "--full-outputs"]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert_eq!(source(&outputs(&desk, 0)[0]["text"]).len(), 20_000_001);
        assert_eq!(source(&outputs(&desk, 1)[0]["data"]["text/plain"]).len(), 20_000_002);
    }
}

#[test]
fn whatever_a_cell_is_doing_it_is_stopped_and_the_result_says_what_became_of_the_state() {
    let table = [
        ("import time; time.sleep(60)", "kept"),
        ("import asyncio\nawait asyncio.sleep(60)", "kept"),
        ("while True: pass", "kept"),
        ("import subprocess; subprocess.run(['sleep', '60'])", "kept"),
        ("import ctypes; ctypes.PyDLL(None).sleep(60)", ""),
    ];
    for backend in BOTH {
        for (code, state) in table {
            let begun = Instant::now();
            let ran = Desk::new().run_on(backend, &["exec", "--json", "--timeout", "1", code]);
            assert!(begun.elapsed() < Duration::from_secs(15), "{code}");
            let report: Value = serde_json::from_slice(&ran.out).unwrap();
            assert_eq!((ran.exit, &report["status"]), (124, &json!("timeout")), "{code}: {report}");
            let found = report["kernel"]["state"].as_str().unwrap();
            assert!(state.is_empty() || found == state, "{code} on {backend:?}: {report}");
            // The kernel ends with the command, so only the loss is reported.
            let is_said = report["text"].as_str().unwrap().contains("The kernel's state was");
            assert_eq!(is_said, found == "lost", "{report}");
        }
    }
}

#[test]
fn a_command_in_the_background_can_interrupt_what_its_cells_started() {
    // A shell starts background jobs with interrupts ignored, which children inherit.
    for backend in BOTH {
        let desk = Desk::new();
        let code = "import subprocess; subprocess.run(['sleep', '60'])";
        let flags = backend.flags();
        let arguments = ["exec", "--json", "--timeout", "1", code];
        let cellist = desk.command(&[]);
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' INT QUIT; exec \"$0\" \"$@\""]).arg(cellist.get_program());
        command.args(arguments).args(flags);
        desk.prepare(&mut command);
        let ran = desk.run_marked(&mut command);
        let report: Value = serde_json::from_slice(&ran.out).unwrap();
        assert_eq!(report["kernel"]["state"], "kept", "{report}");
    }
}

#[test]
fn a_loop_inside_the_loop_does_no_harm() {
    for backend in BOTH {
        let desk = Desk::new();
        let cells =
            ["import asyncio\nasyncio.run(asyncio.sleep(0, 'inner'))", "await asyncio.sleep(0, 'outer')"];
        desk.write("nb.ipynb", notebook(&cells));
        assert_eq!(desk.run_on(backend, &["run", "nb.ipynb", "--allow-errors"]).exit, 0);
        assert_eq!(outputs(&desk, 1)[0]["data"]["text/plain"], json!(["'outer'"]));
    }
}

#[test]
fn no_cell_runs_after_one_that_called_exit() {
    for backend in BOTH {
        for code in ["exit()\nprint('whole')", "print('whole')\nquit()"] {
            let desk = Desk::with(&[code, "print('not run')"]);
            let ran = desk.run_on(backend, &["run", "nb.ipynb"]);
            assert_eq!(ran.exit, 1, "{}", ran.all());
            assert_eq!(source(&outputs(&desk, 0)[0]["text"]), "whole\n");
            assert!(ran.all().contains("The kernel died: it exited with code 0."), "{}", ran.all());
            assert!(!outputs(&desk, 1).iter().any(|output| output["output_type"] == "stream"), "{backend:?}");
        }
    }
}

#[test]
fn commands_run_in_the_users_own_shell() {
    for backend in BOTH {
        let desk = Desk::with(&["![[ 1 == 1 ]] && echo {a,b}", "x = !echo {a,b}\nx"]);
        let flags = backend.flags();
        let mut command = desk.command(&["run", "nb.ipynb"]);
        command.args(flags).env("SHELL", "/bin/bash");
        let ran = desk.run_marked(&mut command);
        assert_eq!(ran.exit, 0, "{}", ran.all());
        assert_eq!(source(&outputs(&desk, 0)[0]["text"]), "a b\r\n", "{backend:?}");
        assert_eq!(source(&outputs(&desk, 1)[0]["data"]["text/plain"]), "['a b']", "{backend:?}");
    }
}

#[test]
fn output_in_order_from_python_c_and_children() {
    // ipykernel guarantees no order between Python's own text and other writes to the descriptors.
    let code = "import ctypes, os, subprocess, sys\n\
                print('1 Python')\nos.write(1, b'2 descriptor\\n')\nprint('3 Python')\n\
                subprocess.run(['echo', '4 child'])\nprint('5 Python')\n\
                ctypes.CDLL(None).puts(b'6 C'); ctypes.CDLL(None).fflush(None)\nprint('7 Python');";
    let desk = Desk::with(&[code]);
    assert_eq!(desk.run_on(Backend::BareRunner, &["run", "nb.ipynb"]).exit, 0);
    let outputs = outputs(&desk, 0);
    let text = source(&outputs[0]["text"]);
    assert_eq!(text, "1 Python\n2 descriptor\n3 Python\n4 child\n5 Python\n6 C\n7 Python\n");
}

#[test]
fn all_that_a_kernel_said_before_it_ended_itself_is_there() {
    let code = "for number in range(1500): print(number)\nimport os; os._exit(3)";
    let expected: String = (0..1500).map(|number| format!("{number}\n")).collect();
    for backend in BOTH {
        let desk = Desk::with(&[code, "1"]);
        let ran = desk.run_on(backend, &["run", "nb.ipynb"]);
        assert_eq!(ran.exit, 1, "{}", ran.all());
        let outputs = outputs(&desk, 0);
        assert_eq!(source(&outputs[0]["text"]), expected, "{backend:?}");
        assert!(ran.all().contains("it exited with code 3"), "{}", ran.all());
        assert!(!ran.all().contains("may be missing"), "{}", ran.all());
    }
}
