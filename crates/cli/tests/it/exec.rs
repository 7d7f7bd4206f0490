//! `cellist exec` on real kernels, and its failures.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Backend, bare_python};
use crate::desk::{Desk, Ran};

const BOTH: [Backend; 2] = [Backend::BareRunner, Backend::Ipykernel];

impl Desk {
    /// A program of this name, made of a script.
    fn script(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn parsed(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.out).unwrap_or_else(|_| panic!("{}", ran.all()))
}

#[test]
fn code_comes_from_the_command_line_a_file_or_a_pipe_and_the_interpreter_is_named() {
    for backend in BOTH {
        let desk = Desk::new();
        desk.write("code.py", "print('from a file')");
        let ran = desk.run_on(backend, &["exec", "print('hello')\n6 * 7"]);
        assert_eq!((ran.exit, String::from_utf8_lossy(&ran.out).as_ref()), (0, "hello\n42\n"), "{}", ran.err);
        assert!(ran.err.contains(backend.python().to_str().unwrap()), "{}", ran.err);
        assert_eq!(desk.run_on(backend, &["exec", "-f", "code.py"]).out, b"from a file\n");
    }
    let desk = Desk::new();
    let python = bare_python();
    let ran = desk.feed(&["exec", "-", "--python", python.to_str().unwrap()], "print('piped')");
    assert_eq!(ran.out, b"piped\n", "{}", ran.err);
}

#[test]
fn a_report_has_every_key_and_says_how_the_code_ended() {
    for backend in BOTH {
        let desk = Desk::new();
        let ran = desk.run_on(backend, &["exec", "--json", "print('a')\n1 / 0"]);
        let json = parsed(&ran);
        assert_eq!(ran.exit, 1);
        for key in [
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
        ] {
            assert!(json.get(key).is_some(), "{key} is missing: {json}");
        }
        assert_eq!((&json["status"], &json["exit_code"]), (&json!("error"), &json!(1)));
        assert_eq!(json["error"]["ename"], "ZeroDivisionError");
        assert_eq!(json["outputs"][0]["text"], "a\n");
        assert_eq!(json["kernel"]["python"], json!(backend.python()));
        assert_eq!(json["kernel"]["state"], "kept");
        let text = json["text"].as_str().unwrap();
        assert!(
            text.starts_with("a\n") && text.contains("division by zero") && !text.contains('\x1b'),
            "{text}"
        );
    }
}

#[test]
fn code_that_does_not_stop_is_killed_after_the_grace_and_its_state_is_lost() {
    let stubborn = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        pass";
    for backend in BOTH {
        let desk = Desk::new();
        let begun = Instant::now();
        let ran = desk.run_on(backend, &["exec", "--json", "--timeout", "1", stubborn]);
        assert_eq!(ran.exit, 124, "{}", ran.all());
        assert!(begun.elapsed() < Duration::from_secs(20));
        let json = parsed(&ran);
        assert_eq!((&json["status"], &json["kernel"]["state"]), (&json!("timeout"), &json!("lost")));
        let text = json["text"].as_str().unwrap();
        assert!(text.contains("did not stop within 5 seconds"), "{text}");
    }
}

#[test]
fn asking_for_input_fails_at_once() {
    for backend in BOTH {
        let ran = Desk::new().run_on(backend, &["exec", "--json", "input('name? ')"]);
        let json = parsed(&ran);
        assert_eq!(
            (ran.exit, &json["stdin_requested"], &json["status"]),
            (1, &json!(true), &json!("error")),
            "{json}"
        );
        assert!(json["text"].as_str().unwrap().contains("input() is not supported"), "{json}");
    }
}

#[test]
fn secrets_stay_out_unless_they_are_named_and_a_missing_one_is_explained() {
    let code = "import os\nprint(os.environ['PI_PLAIN'])\nos.environ['OPENAI_API_KEY']";
    for backend in BOTH {
        let desk = Desk::new();
        backend.tally();
        let flags = backend.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let exec = |more: &[&str]| {
            let mut command = desk.command(&[&["exec", "--json", code], more, flags.as_slice()].concat());
            parsed(&desk.run_marked(command.env("OPENAI_API_KEY", "s3cret").env("PI_PLAIN", "plain")))
        };
        let hidden = exec(&[]);
        assert_eq!(hidden["error"]["ename"], "KeyError");
        let text = hidden["text"].as_str().unwrap();
        assert!(text.starts_with("plain\n") && text.contains("--pass-env OPENAI_API_KEY"), "{text}");
        assert_eq!(exec(&["--pass-env", "OPENAI_API_KEY"])["text"], "plain\n's3cret'\n");
    }
}

#[test]
fn a_missing_module_is_told_with_its_install_command() {
    let ran = Desk::new().run_on(Backend::Runner, &["exec", "import sklearn"]);
    let out = String::from_utf8_lossy(&ran.out);
    let python = testkit::python("kernels");
    assert!(out.contains(&format!("{} -m pip install scikit-learn", python.display())), "{out}");
}

#[test]
fn large_output_is_cut_and_what_is_left_says_so() {
    for backend in BOTH {
        let desk = Desk::new();
        let ran = desk.run_on(backend, &["exec", "--json", "for n in range(10_000): print('line', n)"]);
        let json = parsed(&ran);
        assert_eq!(json["truncated"]["total_lines"], 10_000);
        let text = json["text"].as_str().unwrap();
        assert!(text.starts_with("line 0\n") && text.contains("line 9999\n") && text.len() < 60_000);
        let ran = desk.run_on(backend, &["exec", "--json", "'x' * 20_000_000"]);
        assert!(ran.exit == 0 && ran.out.len() < 300_000, "{} bytes", ran.out.len());
    }
}

#[test]
fn what_ends_the_interpreter_does_not_end_in_success() {
    for backend in BOTH {
        let desk = Desk::new();
        let died = parsed(&desk.run_on(backend, &["exec", "--json", "import os; os._exit(7)"]));
        assert_eq!((&died["status"], &died["kernel"]["state"]), (&json!("error"), &json!("lost")));
        assert!(died["text"].as_str().unwrap().contains("exited with code 7"), "{died}");
        let crashed = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)";
        let died = parsed(&desk.run_on(backend, &["exec", "--json", crashed]));
        assert!(died["text"].as_str().unwrap().contains("SIGSEGV"), "{died}");
        let left = parsed(&desk.run_on(backend, &["exec", "--json", "raise SystemExit(2)"]));
        assert_eq!(
            (&left["error"]["ename"], &left["kernel"]["state"]),
            (&json!("SystemExit"), &json!("kept"))
        );
    }
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let desk = Desk::new();
    let refused = desk.run(&["exec", "1", "--cwd", "nowhere"]).refused(2);
    assert!(refused.contains("nowhere: no such folder") && refused.contains("hint: "), "{refused}");
    desk.write("file", "");
    let refused = desk.run(&["exec", "1", "--cwd", "file"]).refused(2);
    assert!(refused.contains("file: is not a folder"), "{refused}");
    let gone = desk.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = std::process::Command::new("sh");
    desk.prepare(&mut command);
    let script = format!("cd gone && rmdir ../gone && exec {} exec 1", env!("CARGO_BIN_EXE_cellist"));
    let ran = Ran::of(command.args(["-c", &script]));
    let refused = ran.refused(2);
    assert!(refused.contains("the current folder no longer exists"), "{refused}");
    assert!(refused.contains("--cwd"), "{refused}");
}

#[test]
fn without_python_the_command_says_what_to_install() {
    let desk = Desk::new();
    let mut command = desk.command(&["exec", "1"]);
    let refused = desk.run_marked(command.env("PATH", desk.path())).refused(3);
    assert!(refused.contains("no Python was found"), "{refused}");
    assert!(
        refused.contains("hint: install Python 3.8 or newer, or name one with --python PATH"),
        "{refused}"
    );
    let refused = desk.run(&["exec", "1", "--python", "/no/python"]).refused(3);
    assert!(refused.contains("/no/python cannot be used: there is no such file"), "{refused}");
}

#[test]
fn without_ipykernel_the_command_says_how_to_install_it() {
    let desk = Desk::new();
    let python = testkit::python("nbformat");
    let python = python.to_str().unwrap();
    let refused = desk.run(&["exec", "1", "--backend", "jupyter", "--python", python]).refused(3);
    assert!(refused.contains(&format!("ipykernel is not installed in {python}")), "{refused}");
    assert!(refused.contains(&format!("{python} -m pip install ipykernel")), "{refused}");
    // Unchecked, it is the kernel that fails, and says why.
    let mut command = desk.command(&["exec", "1", "--backend", "jupyter", "--python", python]);
    let failed = desk.run_marked(command.env("PI_PYTHON_SKIP_CHECK", "1")).refused(3);
    assert!(failed.contains("ipykernel is not installed"), "{failed}");
}

#[test]
fn a_broken_environment_is_passed_over_and_named() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path().join("broken/bin")).unwrap();
    symlink("/gone/python3", desk.path().join("broken/bin/python")).unwrap();
    desk.write("broken/pyvenv.cfg", "home = /gone\n");
    let broken = desk.path().join("broken");
    let mut command = desk.command(&["exec", "print('ran')"]);
    let ran = desk.run_marked(command.env("VIRTUAL_ENV", &broken));
    assert_eq!((ran.exit, ran.out.as_slice()), (0, b"ran\n".as_slice()), "{}", ran.err);
    assert!(
        ran.err.contains("broken/bin/python was passed over: it is a link to /gone/python3"),
        "{}",
        ran.err
    );
    let refused = desk.run(&["exec", "1", "--python", "broken"]).refused(3);
    assert!(refused.contains("hint: make the environment anew: python3 -m venv --clear"), "{refused}");
}

#[test]
fn a_shim_is_seen_through_and_one_that_leads_nowhere_is_named() {
    let desk = Desk::new();
    let shim = "#!/usr/bin/env bash\necho 'the shim was started' >&2\nexec pyenv exec python \"$@\"\n";
    desk.script("pyenv/shims/python", shim);
    fs::create_dir_all(desk.path().join("pyenv/versions/3.99.1/bin")).unwrap();
    symlink(bare_python(), desk.path().join("pyenv/versions/3.99.1/bin/python")).unwrap();
    desk.write(".python-version", "3.99\n");
    let run = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        command.env("PATH", desk.path().join("pyenv/shims")).env("PYENV_ROOT", desk.path().join("pyenv"));
        desk.run_marked(command.env_remove("PYENV_VERSION"))
    };
    let ran = run(&["exec", "print('ran')"]);
    assert_eq!((ran.exit, ran.out.as_slice()), (0, b"ran\n".as_slice()), "{}", ran.err);
    assert!(ran.err.contains("pyenv/versions/3.99.1/bin/python"), "{}", ran.err);
    desk.write(".python-version", "3.42\n");
    let refused = run(&["exec", "1"]).refused(3);
    assert!(refused.contains("a shim of pyenv for python 3.42, which is not installed"), "{refused}");
}

#[test]
fn a_shim_that_must_be_asked_is_asked_once() {
    let desk = Desk::new();
    let shim = format!(
        "#!/bin/sh\n# mystery\necho asked >> {}/log\nexec {} \"$@\"\n",
        desk.path().display(),
        bare_python().display()
    );
    desk.script("tool/shims/python", &shim);
    for _ in 0..2 {
        let mut command = desk.command(&["exec", "print('ran')"]);
        let ran = desk.run_marked(command.env("PATH", desk.path().join("tool/shims")));
        assert_eq!((ran.exit, ran.out.as_slice()), (0, b"ran\n".as_slice()), "{}", ran.err);
    }
    assert_eq!(desk.text("log"), "asked\n");
}

#[test]
fn a_kernel_that_is_never_ready_is_given_up_and_what_it_said_is_shown() {
    let desk = Desk::new();
    let python = desk.script("bin/python", "#!/bin/sh\necho 'I am stuck' >&2\nexec sleep 600\n");
    let begun = Instant::now();
    let mut command = desk.command(&["exec", "1", "--python", python.to_str().unwrap()]);
    let refused = desk.run_marked(&mut command).refused(3);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(refused.contains("not ready within 10 seconds") && refused.contains("I am stuck"), "{refused}");
    let python = desk.script("bin/python3", "#!/bin/sh\necho 'I am broken' >&2\nexit 9\n");
    let mut command = desk.command(&["exec", "1", "--python", python.to_str().unwrap()]);
    let refused = desk.run_marked(&mut command).refused(3);
    assert!(refused.contains("exited with code 9") && refused.contains("I am broken"), "{refused}");
}

#[test]
fn a_start_and_its_messages_can_be_watched() {
    for backend in BOTH {
        let desk = Desk::new();
        backend.tally();
        let flags = backend.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = desk.command(&[&["exec", "print(6 * 7)"], flags.as_slice()].concat());
        let ran = desk.run_marked(command.env("PI_DEBUG_STARTUP", "1").env("PI_PYTHON_IPC_TRACE", "1"));
        assert_eq!((ran.exit, ran.out.as_slice()), (0, b"42\n".as_slice()), "{}", ran.err);
        assert!(ran.err.contains("startup: ") && ran.err.contains("the kernel is ready"), "{}", ran.err);
        assert!(ran.err.contains("ipc ") && ran.err.contains("print(6 * 7)"), "{}", ran.err);
    }
}

#[test]
fn a_users_own_module_is_loaded_and_a_folders_is_not() {
    let desk = Desk::new();
    fs::create_dir_all(desk.state().join("modules")).unwrap();
    fs::write(desk.state().join("modules/mine.py"), "mine = 'loaded'\n").unwrap();
    desk.write(".cellist/modules/theirs.py", "mine = 'replaced'\n");
    for backend in BOTH {
        let ran = desk.run_on(backend, &["exec", "mine"]);
        assert_eq!(ran.out, b"'loaded'\n", "{}", ran.err);
        assert!(ran.err.contains("is not trusted, so this has no effect: modules/theirs.py"), "{}", ran.err);
    }
}

/// A kernel that another program started.
struct Foreign(std::process::Child);

impl Foreign {
    fn start(desk: &Desk) -> Foreign {
        let file = desk.path().join("kernel.json");
        let child = std::process::Command::new(Backend::Ipykernel.python())
            .args(["-m", "ipykernel_launcher", "-f"])
            .arg(&file)
            .env("IPYTHONDIR", desk.path().join("ipython"))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !fs::read(&file).is_ok_and(|json| serde_json::from_slice::<Value>(&json).is_ok()) {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        Foreign(child)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_kernel_that_runs_already_is_joined_and_goes_on() {
    let desk = Desk::with(&["x = x + 1\nx"]);
    let mut foreign = Foreign::start(&desk);
    assert_eq!(desk.run(&["exec", "--existing", "kernel.json", "x = 41"]).exit, 0);
    let ran = desk.run(&["run", "nb.ipynb", "--existing", "kernel.json", "--json"]);
    assert_eq!((ran.exit, &parsed(&ran)["cells"][0]["text"]), (0, &json!("42\n")), "{}", ran.all());
    let stopped =
        desk.run(&["exec", "--existing", "kernel.json", "--timeout", "1", "import time; time.sleep(60)"]);
    assert_eq!(stopped.exit, 124, "{}", stopped.all());
    assert_eq!(desk.run(&["exec", "--existing", "kernel.json", "print(x)"]).out, b"42\n");
    assert!(foreign.0.try_wait().unwrap().is_none() && desk.path().join("kernel.json").exists());

    let refused = desk.run(&["exec", "--existing", "none.json", "1"]).refused(3);
    assert!(refused.contains("none.json cannot be read"), "{refused}");
    assert!(!refused.contains("os error"), "{refused}");
    assert!(refused.contains("hint: name the connection file"), "{refused}");
    for other in [["--python", "python3"], ["--kernel", "bash"], ["--session", "s"]] {
        let refused = desk.run(&["exec", "--existing", "kernel.json", other[0], other[1], "1"]).refused(2);
        assert!(refused.contains("cannot be used with"), "{refused}");
    }
}

#[test]
fn a_kernelspec_that_cannot_be_read_is_named_with_the_reason() {
    let desk = Desk::new();
    let file = desk.write("jupyter/kernels/torn/kernel.json", "{");
    let mut command = desk.command(&["exec", "--kernel", "torn", "1"]);
    let refused = Ran::of(command.env("JUPYTER_PATH", desk.path().join("jupyter"))).refused(3);
    assert!(refused.contains(&format!("{} cannot be read: ", file.display())), "{refused}");
}

#[test]
fn code_can_look_up_where_it_runs_and_where_artifacts_are() {
    let desk = Desk::new();
    let code = "import json, os\n\
        with open(os.environ['PI_SESSION_FILE']) as file:\n    where = json.load(file)\n\
        print(where['session'], where['notebook'], os.path.samefile(where['cwd'], '.'))\n\
        print(os.environ['ARTIFACTS'] == os.environ['PI_ARTIFACTS_DIR'], os.path.isdir(os.environ['ARTIFACTS']))\n\
        print(os.environ['PI_SESSION_FILE'])";
    let out = desk.run(&["exec", "--backend", "runner", code]).out;
    let out = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["None None True", "True True"]);
    assert!(!std::path::Path::new(lines[2]).exists(), "the file goes with the command");
}
