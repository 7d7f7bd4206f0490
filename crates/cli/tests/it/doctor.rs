//! `cellist doctor`: causes each fault and checks its line and hint.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::bare_python;
use crate::desk::Desk;

/// The result of a look around, with one thing wrong.
#[track_caller]
fn examine(desk: &Desk, spoil: impl FnOnce(&mut Command)) -> (i32, Value) {
    let mut command = desk.command(&["doctor", "--json"]);
    spoil(&mut command);
    let ran = desk.run_marked(&mut command);
    (ran.exit, serde_json::from_slice(&ran.out).unwrap_or_else(|_| panic!("{}", ran.all())))
}

/// The line of that name fails, with a message and a hint that contain these.
#[track_caller]
fn assert_failed(json: &Value, name: &str, message: &str, hint: &str) {
    let checks = json["checks"].as_array().unwrap();
    let failed: Vec<&Value> =
        checks.iter().filter(|check| check["name"] == name && check["status"] == "failed").collect();
    let is_told = |check: &&&Value| {
        check["message"].as_str().unwrap().contains(message) && check["hint"].as_str().unwrap().contains(hint)
    };
    assert!(failed.iter().any(|check| is_told(&check)), "no such line: {json:#}");
    assert_eq!(json["ok"], false);
}

#[test]
fn where_nothing_is_wrong_every_line_is_well() {
    let desk = Desk::new();
    let python = testkit::python("kernels");
    let environment = python.parent().unwrap().parent().unwrap().to_owned();
    crate::bench::Backend::Runner.tally();
    crate::bench::Backend::Ipykernel.tally();
    let (exit, json) = examine(&desk, |command| {
        command.env("VIRTUAL_ENV", &environment);
    });
    assert_eq!((exit, &json["ok"]), (0, &json!(true)), "{json:#}");
    let names: Vec<&str> =
        json["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "folder",
            "state",
            "settings",
            "python",
            "runner",
            "ipykernel",
            "kernels",
            "gateway",
            "terminal",
            "host"
        ]
    );
    let mut command = desk.command(&["doctor"]);
    let text = desk.run_marked(command.env("VIRTUAL_ENV", &environment)).ok();
    assert!(text.contains("✓ runner       works with "), "{text}");
}

#[test]
fn a_missing_python() {
    let desk = Desk::new();
    let (exit, json) = examine(&desk, |command| {
        command.env("PATH", desk.path());
    });
    assert_eq!(exit, 3);
    assert_failed(&json, "python", "not found", "install Python 3.8 or newer");
}

#[test]
fn a_broken_environment() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path().join("v/bin")).unwrap();
    symlink("/gone/python3", desk.path().join("v/bin/python")).unwrap();
    desk.write("v/pyvenv.cfg", "home = /gone\n");
    let (exit, json) = examine(&desk, |command| {
        command.env("VIRTUAL_ENV", desk.path().join("v"));
    });
    assert_eq!(exit, 1);
    assert_failed(&json, "environment", "it is a link to /gone/python3", "python3 -m venv --clear");
}

#[test]
fn a_python_that_does_not_start() {
    let desk = Desk::new();
    let python = desk.write("bin/python", "#!/bin/sh\necho 'no such luck' >&2\nexit 4\n");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let (exit, json) = examine(&desk, |command| {
        command.env("PATH", desk.path().join("bin"));
    });
    assert_eq!(exit, 3);
    assert_failed(&json, "runner", "no such luck", "--python PATH");
}

#[test]
fn an_ipykernel_that_does_not_start() {
    let desk = Desk::new();
    let made =
        Command::new(bare_python()).args(["-m", "venv", "--without-pip"]).arg(desk.path().join("v")).output();
    assert!(made.unwrap().status.success());
    let library = fs::read_dir(desk.path().join("v/lib")).unwrap().next().unwrap().unwrap().path();
    let package = library.join("site-packages/ipykernel");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("__init__.py"), "").unwrap();
    let (exit, json) = examine(&desk, |command| {
        command.env("VIRTUAL_ENV", desk.path().join("v"));
    });
    assert_eq!(exit, 1);
    assert_failed(&json, "ipykernel", "ipykernel is not installed", "-m pip install ipykernel");
}

#[test]
fn kernels_that_cannot_be_started_or_read() {
    let desk = Desk::new();
    let lost = json!({ "argv": ["no-such-program"], "display_name": "R", "language": "R" });
    desk.write("jupyter/kernels/ir/kernel.json", lost.to_string());
    desk.write("jupyter/kernels/torn/kernel.json", "{");
    let (exit, json) = examine(&desk, |command| {
        command.env("JUPYTER_PATH", desk.path().join("jupyter"));
    });
    assert_eq!(exit, 1);
    assert_failed(&json, "kernel", "ir: its program `no-such-program`", "install R, or remove");
    assert_failed(&json, "kernel", "torn/kernel.json is not a kernelspec", "reinstall the kernel, or remove");
}

#[test]
fn a_gateway_that_is_set() {
    let desk = Desk::new();
    let (exit, json) = examine(&desk, |command| {
        command.env("PI_PYTHON_GATEWAY_URL", "http://127.0.0.1:1");
    });
    assert_eq!(exit, 1);
    assert_failed(&json, "gateway", "http://127.0.0.1:1 cannot be reached", "unset PI_PYTHON_GATEWAY_URL");
}

#[test]
fn a_state_folder_that_cannot_be_written() {
    let desk = Desk::new();
    let file = desk.write("file", "");
    let (exit, json) = examine(&desk, |command| {
        command.env("CELLIST_HOME", file.join("below"));
    });
    assert_eq!(exit, 1);
    assert_failed(&json, "state", "cannot write to", "set CELLIST_HOME");
}

#[test]
fn a_folder_that_is_gone() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("gone")).unwrap();
    let mut command = Command::new("sh");
    desk.prepare(&mut command);
    let script = format!("cd gone && rmdir ../gone && exec {} doctor --json", env!("CARGO_BIN_EXE_cellist"));
    let ran = desk.run_marked(command.args(["-c", &script]));
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_failed(&json, "folder", "no longer exists", "change to an existing folder");
}

#[test]
fn settings_that_are_broken() {
    let desk = Desk::new();
    desk.write(".cellist/config.toml", "[python]\nbackned = 'runner'\n");
    std::fs::write(desk.state().join("config.toml"), "output.max_lines = 'few'\n").unwrap();
    let (exit, json) = examine(&desk, |_| {});
    assert_eq!(exit, 1, "{json:#}");
    assert_failed(
        &json,
        "settings",
        ".cellist/config.toml:2: there is no setting python.backned",
        "python.backend?",
    );
    assert_failed(&json, "settings", "config.toml:1: output.max_lines cannot be \"few\"", "a whole number");
}

#[test]
fn settings_that_are_used_and_those_that_need_trust() {
    let desk = Desk::new();
    desk.write(".cellist/config.toml", "[python]\npass_env = ['KEY']\n");
    let (_, json) = examine(&desk, |_| {});
    let checks = json["checks"].as_array().unwrap();
    let lines: Vec<(&str, &str)> = checks
        .iter()
        .filter(|check| check["name"] == "settings")
        .map(|check| (check["status"].as_str().unwrap(), check["message"].as_str().unwrap()))
        .collect();
    assert_eq!(lines.len(), 2, "{json:#}");
    assert!(lines[0].0 == "ok" && lines[0].1.ends_with(".cellist/config.toml"), "{lines:?}");
    assert!(lines[1].0 == "warning" && lines[1].1.contains("python.pass_env (line 2)"), "{lines:?}");
}
