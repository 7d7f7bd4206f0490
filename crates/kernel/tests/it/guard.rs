//! The guard: its cleaning when its owner is gone, and its restraint while the owner lives.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use cellist_kernel::guard::Guard;
use cellist_kernel::process::{Process, Signal, Spawn};
use testkit::Scratch;

use crate::traces::{children, in_group, until_gone};

const ROLE: &str = "CELLIST_TEST_GUARD_OWNER";
const LEDGER_ROLE: &str = "CELLIST_TEST_LEDGER_OWNER";

fn guard() -> Guard {
    Guard::new(env!("CARGO_BIN_EXE_cellist-kernel-guard"), Vec::<String>::new())
}

fn family() -> Spawn {
    Spawn {
        program: "/bin/sh".into(),
        arguments: vec![
            "-c".into(),
            "trap '' TERM HUP INT; sleep 600 & (sleep 600 & sleep 600) & setsid sleep 600 & wait".into(),
        ],
        cwd: "/".into(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Stdio::null(),
        stdout: Stdio::null(),
        stderr: Stdio::null(),
        descriptors: Vec::new(),
    }
}

/// Not a test of its own: the process that the next test kills.
#[tokio::test]
async fn owner() {
    let Ok(folder) = std::env::var(ROLE) else { return };
    let guard = guard();
    guard.add_path(folder.as_ref());
    let first = Process::spawn(family(), &guard).unwrap();
    let second = Process::spawn(family(), &guard).unwrap();
    let mut apart = Vec::new();
    for family in [&first, &second] {
        let own_session = |id: &u32| !in_group(*id).is_empty();
        while in_group(family.id()).len() < 4 || !children(family.id()).iter().any(own_session) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        apart.extend(children(family.id()).into_iter().find(own_session));
    }
    let guards: Vec<u32> = loop {
        let guards: Vec<u32> = children(std::process::id())
            .into_iter()
            .filter(|id| ![first.id(), second.id()].contains(id))
            .collect();
        if !guards.is_empty() {
            break guards;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    assert_eq!(guards.len(), 1, "one guard for both");
    guard.settle();
    eprintln!("ready {} {} {} {} {}", first.id(), second.id(), apart[0], apart[1], guards[0]);
    std::future::pending::<()>().await;
}

#[test]
fn nothing_is_left_within_two_seconds_of_a_killed_owner() {
    let scratch = Scratch::new();
    let private = scratch.path().join("private");
    fs::create_dir(&private).unwrap();
    fs::write(private.join("connection.json"), "{}").unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "guard::owner", "--nocapture", "--test-threads=1"])
        .env(ROLE, &private)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stderr.take().unwrap()).lines();
    let ready = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("ready ").map(str::to_owned));
    let ids: Vec<u32> = ready.unwrap().split(' ').map(|id| id.parse().unwrap()).collect();
    let guard = ids[4];
    // A process that has just begun does not hold off signals yet: hangup, interrupt and terminate are 1, 2 and 15.
    let holds_off = || {
        let status = fs::read_to_string(format!("/proc/{guard}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 0x4003 == 0x4003
    };
    while !holds_off() {
        thread::sleep(Duration::from_millis(2));
    }
    // The keys of a terminal reach the guard's owner, and must not reach the guard.
    for name in ["-INT", "-TERM", "-HUP"] {
        assert!(Command::new("kill").args([name, &guard.to_string()]).status().unwrap().success());
    }
    let stat = fs::read_to_string(format!("/proc/{guard}/stat")).unwrap();
    let session = stat.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap().to_owned();
    assert_eq!(session, guard.to_string(), "the guard leads a session of its own");

    owner.kill().unwrap();
    owner.wait().unwrap();
    let began = Instant::now();
    for group in &ids[..4] {
        until_gone(*group);
    }
    while private.exists()
        || fs::read_to_string(format!("/proc/{guard}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
    {
        assert!(began.elapsed() < Duration::from_secs(2), "the guard or the folder is still there");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The guard process of this test, which is known by an argument that means nothing to it.
fn guard_of(argument: &str, known: &[u32]) -> u32 {
    let mark = format!("\0{argument}\0");
    let is_ours =
        |id: &u32| fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.ends_with(mark.as_bytes()));
    loop {
        let found = children(std::process::id()).into_iter().find(|id| !known.contains(id) && is_ours(id));
        if let Some(id) = found {
            return id;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}

#[tokio::test]
async fn a_guard_that_was_killed_is_replaced_at_once_and_knows_everything_again() {
    let scratch = Scratch::new();
    let (kept, removed) = (scratch.write("kept", ""), scratch.write("removed", ""));
    let own = Guard::new(env!("CARGO_BIN_EXE_cellist-kernel-guard"), ["lost-and-replaced"]);
    own.add_path(&removed);
    own.add_path(&kept);
    own.remove_path(&kept);
    let mut known = Vec::new();
    // Nothing is registered meanwhile: the owner notices by itself.
    for _ in 0..3 {
        let guard = guard_of("lost-and-replaced", &known);
        kill(guard);
        known.push(guard);
    }
    let last = guard_of("lost-and-replaced", &known);
    own.settle();
    drop(own);
    while fs::read_to_string(format!("/proc/{last}/stat")).is_ok() {
        thread::sleep(Duration::from_millis(2));
    }
    assert!(kept.exists());
    assert!(!removed.exists());
}

#[tokio::test]
async fn guards_that_die_again_and_again_are_logged_and_not_started_without_end() {
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let scratch = Scratch::new();
    let held = scratch.write("held", "");
    let own =
        Guard::new("/bin/false", ["crash-loop"]).with_log(|line| LINES.lock().unwrap().push(line.into()));
    own.add_path(&held);
    let line = loop {
        let lines = LINES.lock().unwrap().clone();
        if let Some(last) = lines.iter().find(|line| line.ends_with("another is started in 2 s")) {
            assert_eq!(lines.len(), 6, "{lines:?}");
            break last.clone();
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert!(line.contains("the guard of the kernels (process") && line.contains("exit status: 1"), "{line}");
}

/// Not a test of its own: an owner with a ledger, which the next test kills together with its guard.
#[tokio::test]
async fn owner_with_a_ledger() {
    let Ok(folder) = std::env::var(LEDGER_ROLE) else { return };
    let folder = std::path::Path::new(&folder);
    let guard = Guard::new(env!("CARGO_BIN_EXE_cellist-kernel-guard"), ["with-ledger"]).with_ledger(folder);
    let private = folder.join("k0123456789");
    guard.add_path(&private);
    fs::create_dir(&private).unwrap();
    let family = Process::spawn(family(), &guard).unwrap();
    guard.settle();
    let own = guard_of("with-ledger", &[]);
    eprintln!("ready {} {own}", family.id());
    std::future::pending::<()>().await;
}

#[test]
fn leftovers_of_an_owner_that_was_killed_with_its_guard_are_swept_by_the_next_owner() {
    let scratch = Scratch::new();
    let run = scratch.path().canonicalize().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "guard::owner_with_a_ledger", "--nocapture", "--test-threads=1"])
        .env(LEDGER_ROLE, &run)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stderr.take().unwrap()).lines();
    let ready = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("ready ").map(str::to_owned));
    let ids: Vec<u32> = ready.unwrap().split(' ').map(|id| id.parse().unwrap()).collect();
    let (family, its_guard) = (ids[0], ids[1]);

    let next = Guard::new(env!("CARGO_BIN_EXE_cellist-kernel-guard"), ["next"]).with_ledger(&run);
    next.sweep();
    next.settle();
    assert!(!in_group(family).is_empty() && run.join("k0123456789").exists(), "their owner lives");

    // So that the owner cannot replace it.
    assert!(Command::new("kill").args(["-STOP", &owner.id().to_string()]).status().unwrap().success());
    kill(its_guard);
    owner.kill().unwrap();
    owner.wait().unwrap();
    // Another process by now, as far as the ledger goes.
    let mut other = Command::new("setsid").args(["sleep", "600"]).spawn().unwrap();
    let ledger = run.join("held/0000000000000000");
    fs::write(&ledger, format!("+g{} 1 another boot\0", other.id())).unwrap();
    assert!(!in_group(family).is_empty() && run.join("k0123456789").exists());
    next.sweep();
    next.settle();
    until_gone(family);
    assert!(!run.join("k0123456789").exists() && !ledger.exists());
    assert!(other.try_wait().unwrap().is_none(), "a reused number is let be");
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(fs::read_dir(run.join("held")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_living_owner_s_processes_are_let_be_until_it_kills_them() {
    let own = guard();
    let process = Process::spawn(family(), &own).unwrap();
    process.signal(Signal::TERM);
    assert!(process.death().borrow().is_none());
    process.kill_tree().await;
    until_gone(process.id());
}

#[tokio::test]
async fn a_guard_that_cannot_start_stops_nothing() {
    let own = Guard::new("/nowhere/guard", Vec::<String>::new());
    let process = Process::spawn(family(), &own).unwrap();
    process.kill_tree().await;
}
