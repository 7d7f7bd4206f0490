//! A save in which one system call fails, or is the last: each call of it in turn, by `strace`. The notebook is the old or the
//! new one, whole; the exit status and the message are true; the next save works and leaves nothing behind.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use crate::bench::bare_python;
use crate::desk::{Desk, notebook};

/// The fault of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Error(&'static str),
    Kill,
}

/// One call of a command and its fault.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) call: String,
    pub(super) number: usize,
    pub(super) fault: Fault,
}

impl Case {
    /// The fault, in the words of strace.
    pub(super) fn what(&self) -> String {
        match self.fault {
            Fault::Error(name) => format!("error={name}"),
            Fault::Kill => "signal=KILL".into(),
        }
    }

    /// A command with the fault, and where its trace goes.
    pub(super) fn command(&self, desk: &Desk, arguments: &[&str]) -> (Command, PathBuf) {
        let trace = desk.state().join("trace");
        let what = self.what();
        let mut command = strace(desk, &trace);
        // Quicker, but it delivers no signals.
        if matches!(self.fault, Fault::Error(_)) {
            command.arg("--seccomp-bpf");
        }
        command.args(["-e", &format!("trace={}", self.call)]);
        command.args(["-e", &format!("inject={}:{what}:when={}", self.call, self.number)]);
        command.arg(env!("CARGO_BIN_EXE_cellist")).args(arguments);
        (command, trace)
    }

    /// The command, run with the fault, and whether it met it.
    fn run(&self, desk: &Desk, arguments: &[&str]) -> (Output, bool) {
        let (mut command, trace) = self.command(desk, arguments);
        let ended = command.output().unwrap();
        (ended, is_met(&trace))
    }
}

/// Whether a call of the trace met its fault.
pub(super) fn is_met(trace: &Path) -> bool {
    let traced = fs::read_to_string(trace).unwrap_or_default();
    traced.contains("(INJECTED)") || traced.contains("killed by SIGKILL")
}

fn strace(desk: &Desk, trace: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-q", "-o"]).arg(trace);
    desk.prepare(&mut command);
    command
}

/// How often a command makes each call: before it looks at the state folder, and in all.
fn calls(desk: &Desk, arguments: &[&str]) -> BTreeMap<String, (usize, usize)> {
    let trace = desk.state().join("trace");
    let mut command = strace(desk, &trace);
    let ended = command.arg(env!("CARGO_BIN_EXE_cellist")).args(arguments).output().unwrap();
    assert!(ended.status.success(), "strace is needed: {ended:?}");
    let state = desk.state().to_str().unwrap().to_owned();
    let mut has_begun = false;
    let mut calls: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for line in fs::read_to_string(&trace).unwrap().lines() {
        let Some((head, rest)) = line.split_once('(') else { continue };
        has_begun |= rest.contains(&state);
        let name = head.split_whitespace().last().unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        let (before, all) = calls.entry(name.to_owned()).or_default();
        *before += usize::from(!has_begun);
        *all += 1;
    }
    calls
}

/// The errors that a call may meet.
fn errors(call: &str) -> &'static [&'static str] {
    match call {
        "openat" => &["EACCES", "EMFILE", "EIO", "ENOSPC"],
        "write" | "ftruncate" | "fallocate" => &["ENOSPC", "EIO"],
        "fsync" => &["EIO", "ENOSPC"],
        "rename" | "renameat2" | "unlink" | "mkdir" => &["EIO", "EACCES", "ENOSPC"],
        "mmap" | "brk" | "mremap" | "madvise" => &["ENOMEM"],
        "read" | "flock" => &["EINTR", "EIO"],
        "close" => &["EINTR"],
        "getrandom" => &["ENOSYS"],
        // They cannot fail.
        "exit_group" | "exit" | "geteuid" | "getpid" | "gettid" => &[],
        _ => &["EIO"],
    }
}

fn cases(calls: &BTreeMap<String, (usize, usize)>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (call, (before, all)) in calls {
        for number in before + 1..=*all {
            let case = |fault| Case { call: call.clone(), number, fault };
            cases.push(case(Fault::Kill));
            cases.extend(errors(call).iter().map(|error| case(Fault::Error(error))));
        }
    }
    cases
}

/// Runs all cases, two at a time, each worker at a desk of its own. Returns how many met their fault.
pub(super) fn attack<T, C: Debug + Sync>(
    cases: &[C],
    desk: impl Fn() -> T + Sync,
    check: impl Fn(&T, &C) -> Result<bool, String> + Sync,
) -> usize {
    let (next, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let desk = desk();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match check(&desk, case) {
                        Ok(is_met) => drop(met.fetch_add(usize::from(is_met), Ordering::Relaxed)),
                        Err(why) => failures.lock().unwrap().push(format!("{case:?}: {why}")),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
    met.into_inner()
}

const OLD: [&str; 6] = ["cell", "edit", "nb.ipynb", "0", "--source", "a = 1"];
const NEW: [&str; 6] = ["cell", "edit", "nb.ipynb", "0", "--source", "a = 2"];

fn old() -> String {
    notebook(&["a = 1", "print(a)"])
}

/// One faulty save of an edit, and a sound one that takes it back.
fn edit_once(desk: &Desk, case: &Case) -> Result<bool, String> {
    let (old, new) = (old(), notebook(&["a = 2", "print(a)"]));
    let (ended, met) = case.run(desk, &NEW);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    // The next reader completes an interrupted in-place save.
    let is_killed = ended.status.code().is_none();
    if is_killed {
        desk.run(&["read", "nb.ipynb"]);
    }
    let found = desk.text("nb.ipynb");
    let is_new = match found {
        found if found == old => false,
        found if found == new => true,
        found => return Err(format!("neither the old nor the new version: {found:?}; {said}")),
    };
    match ended.status.code() {
        Some(0) if !is_new => return Err(format!("said to be saved, and is not; {said}")),
        Some(0) => {}
        // The output could not be printed, and the error says so.
        Some(4) if is_new && said.contains("standard output") => {}
        Some(_) if is_new => return Err(format!("said to have failed, and is saved; {said}")),
        Some(2..=4) if said.starts_with("error: ") => {}
        Some(code) => return Err(format!("exit status {code}; {said}")),
        // Killed, or out of memory.
        None => {}
    }
    let again = desk.run(&OLD);
    if again.exit != 0 {
        return Err(format!("the next save fails: {}", again.err));
    }
    if desk.text("nb.ipynb") != old {
        return Err(format!("the next save wrote {:?}", desk.text("nb.ipynb")));
    }
    let left: Vec<String> = fs::read_dir(desk.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !["nb.ipynb", "other.ipynb"].contains(&name.as_str()))
        .collect();
    if !left.is_empty() {
        return Err(format!("left in the folder: {left:?}"));
    }
    if fs::read_dir(desk.state().join("recovered")).is_ok_and(|mut kept| kept.next().is_some()) {
        let kept = desk.state().join("recovered");
        fs::remove_dir_all(kept).unwrap();
        return Err(format!("a version was kept that nobody wrote; {said}"));
    }
    Ok(met)
}

#[test]
fn each_system_call_of_a_save_fails_or_is_the_last() {
    let desk = || Desk::with(&["a = 1", "print(a)"]);
    let first = desk();
    first.run(&NEW).ok();
    let cases = cases(&calls(&first, &OLD));
    let met = attack(&cases, desk, edit_once);
    assert!(met >= 300, "only {met} of {} cases met their fault", cases.len());
    println!("{met} faults in a save");
}

#[test]
fn a_folder_that_cannot_be_synced_is_told_unless_its_file_system_never_can() {
    let desk = Desk::with(&["a = 1", "print(a)"]);
    let fsyncs = calls(&desk, &NEW)["fsync"].1;
    desk.run(&OLD).ok();
    let save = |number, error| {
        let case = Case { call: "fsync".into(), number, fault: Fault::Error(error) };
        let (ended, met) = case.run(&desk, &NEW);
        assert!(met);
        desk.run(&OLD).ok();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    let (code, said) = save(fsyncs, "EIO");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.starts_with("note: ") && said.contains("is saved, but its folder could not be synced"),
        "{said}"
    );
    assert_eq!(save(fsyncs, "EINVAL"), (Some(0), String::new()));
    let (code, said) = save(1, "EIO");
    assert_eq!(code, Some(4), "the file itself: {said}");
}

#[test]
fn each_system_call_of_a_save_into_the_file_itself_fails_or_is_the_last() {
    let desk = || {
        let desk = Desk::with(&["a = 1", "print(a)"]);
        fs::hard_link(desk.path().join("nb.ipynb"), desk.path().join("other.ipynb")).unwrap();
        desk
    };
    let first = desk();
    first.run(&NEW).ok();
    let cases = cases(&calls(&first, &OLD));
    let met = attack(&cases, desk, edit_once);
    assert!(met >= 300, "only {met} of {} cases met their fault", cases.len());
    println!("{met} faults in a save into the file itself");
}

#[test]
fn calls_that_save_a_run_fail_or_are_the_last() {
    let python = bare_python().display().to_string();
    let desk = || Desk::with(&["a = 1", "print(a)"]);
    let mut cases = Vec::new();
    for (call, numbers) in
        [("fsync", 1..=6), ("renameat2", 1..=2), ("ftruncate", 1..=6), ("fchmod", 1..=2), ("unlink", 1..=2)]
    {
        for number in numbers {
            for fault in [Fault::Kill, Fault::Error("EIO")] {
                cases.push(Case { call: call.into(), number, fault });
            }
        }
    }
    let met = attack(&cases, desk, |desk, case| {
        let run = ["run", "nb.ipynb", "--backend", "runner", "--python", &python];
        let (ended, met) = case.run(desk, &run);
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let is_run = |text: &str| {
            let found: Value = serde_json::from_str(text).map_err(|error| format!("not whole: {error}"))?;
            let sources: Vec<String> = found["cells"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|cell| crate::desk::source(&cell["source"]))
                .collect();
            if sources != ["a = 1", "print(a)"] {
                return Err(format!("other sources: {sources:?}"));
            }
            Ok(found["cells"][1]["outputs"][0]["text"] == serde_json::json!(["1\n"]))
        };
        let has_output = is_run(&desk.text("nb.ipynb"))?;
        match ended.status.code() {
            Some(0) if !has_output => return Err(format!("said to be saved, and is not; {said}")),
            Some(0 | 3 | 4) | None => {}
            Some(code) => return Err(format!("exit status {code}; {said}")),
        }
        let again = desk.run(&run);
        if again.exit != 0 || !is_run(&desk.text("nb.ipynb"))? {
            return Err(format!("the next run is not saved: {}", again.err));
        }
        if fs::read_dir(desk.path()).unwrap().count() != 1 {
            return Err("something is left in the folder".into());
        }
        desk.run(&["cell", "clear", "nb.ipynb"]).ok();
        Ok(met)
    });
    println!("{met} of {} faults in a run", cases.len());
    assert!(met >= 12, "only {met} of {} cases met their fault", cases.len());
}
