//! Files of a living host are removed, and its parts are killed: the next command finds the same host, or just another one.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::wait_until;

use crate::bench::Backend;
use crate::desk::Desk;

fn exec(desk: &Desk, backend: Backend, code: &str) -> String {
    let flags = backend.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let ran = desk.json(&[&["exec", "--session", "s", code], flags.as_slice()].concat());
    ran["text"].as_str().unwrap().trim_end().to_owned()
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_host_whose_files_are_removed_makes_them_anew_and_keeps_its_sessions() {
    Backend::BareRunner.tally();
    let desk = Desk::new();
    assert_eq!(exec(&desk, Backend::BareRunner, "x = 41"), "");
    let host = desk.json(&["status"])["pid"].clone();
    let run = desk.state().join("run");
    for removed in ["host.sock", "host.json", "host.lock", "."] {
        match removed {
            // The host may make a file anew while the folder is being removed.
            "." => wait_until("the folder is gone", || fs::remove_dir_all(&run).is_ok()),
            file => fs::remove_file(run.join(file)).unwrap(),
        }
        let began = Instant::now();
        assert_eq!(exec(&desk, Backend::BareRunner, "x = x + 1; print(x > 41)"), "True", "{removed}");
        assert!(began.elapsed() < Duration::from_secs(5), "{removed}: {:?}", began.elapsed());
        assert_eq!(desk.json(&["status"])["pid"], host, "{removed}: no other host took its place");
        wait_until("all is there again", || {
            ["host.sock", "host.json", "host.lock"].iter().all(|name| run.join(name).exists())
        });
    }
    assert_eq!(exec(&desk, Backend::BareRunner, "print(x)"), "45");
    desk.run(&["stop"]).ok();
    assert!(!run.join("host.json").exists() && !run.join("host.sock").exists());
}

#[test]
fn a_host_whose_state_folder_is_removed_leaves() {
    let desk = Desk::new();
    let home = desk.path().join("home");
    let status = Command::new(env!("CARGO_BIN_EXE_cellist"))
        .args(["serve", "--background", "--json"])
        .env("CELLIST_HOME", &home)
        .output()
        .unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    let host = status["pid"].to_string();
    fs::remove_dir_all(&home).unwrap();
    wait_until("it has left", || {
        let stat = fs::read_to_string(format!("/proc/{host}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z")
    });
    assert!(!home.exists(), "and makes nothing anew");
}

#[test]
fn kernels_of_a_host_that_was_killed_with_its_guard_are_swept_by_the_next_host() {
    Backend::Ipykernel.tally();
    let desk = Desk::new();
    let kernel = exec(&desk, Backend::Ipykernel, "import os; print(os.getpid())");
    let host = desk.json(&["status"])["pid"].to_string();
    let run = desk.state().join("run");
    let folders = || names(&run).into_iter().filter(|name| name.starts_with('k')).collect::<Vec<_>>();
    assert_eq!((folders().len(), names(&run.join("held")).len()), (1, 1));
    // So that it cannot replace its guard.
    assert!(Command::new("kill").args(["-STOP", &host]).status().unwrap().success());
    let children = fs::read_to_string(format!("/proc/{host}/task/{host}/children")).unwrap_or_default();
    let tasks = names(Path::new(&format!("/proc/{host}/task")));
    let all = tasks
        .iter()
        .map(|task| fs::read_to_string(format!("/proc/{host}/task/{task}/children")).unwrap_or_default());
    let all: String = all.collect::<Vec<_>>().join(" ") + " " + &children;
    let guard = all
        .split_whitespace()
        .find(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0guard\0")));
    kill(guard.expect("it has a guard"));
    kill(&host);
    let is_alive =
        || fs::read_to_string(format!("/proc/{kernel}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
    assert!(is_alive() && folders().len() == 1, "nobody was left to end it");
    desk.json(&["serve", "--background"]);
    wait_until("the kernel and its folder are gone", || !is_alive() && folders().is_empty());
    wait_until("its ledger too", || names(&run.join("held")).is_empty());
    wait_until("the log tells it", || {
        let log = fs::read_to_string(desk.state().join("log/host.log")).unwrap();
        log.contains("removed leftovers of killed processes: 1 kernels, 1 folders")
    });
}
