//! An edit through the host, in which one system call of the host's save fails or is the last. An edit that was acknowledged is
//! in the file, the file is whole, and the next edit works.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::clients::Going;
use super::save_faults::{Case, Fault, attack, is_met};
use crate::desk::{Desk, source};
use crate::mcp::client::Client;

/// The sources in the file, which must be whole.
fn sources(desk: &Desk) -> Result<Vec<String>, String> {
    let found: Value =
        serde_json::from_slice(&desk.read("nb.ipynb")).map_err(|error| format!("not whole: {error}"))?;
    Ok(found["cells"].as_array().into_iter().flatten().map(|cell| source(&cell["source"])).collect())
}

fn until(mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        if Instant::now() > deadline {
            return Err("waited too long".into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// An agent that edits through the host.
struct Editing<'a> {
    desk: &'a Desk,
    agent: Client,
}

impl Editing<'_> {
    fn new(desk: &Desk) -> Editing<'_> {
        let agent = Client::greet(desk.command(&["mcp", "--mode", "agent"]), "2025-11-25");
        Editing { desk, agent }
    }

    /// Adds a cell, and tells whether that was acknowledged.
    fn add(&mut self, content: &str) -> bool {
        let arguments = json!({ "notebook": "nb.ipynb", "type": "code", "content": content, "index": -1 });
        self.agent.try_call("add_notebook_cell", arguments).is_some_and(|(_, failed)| !failed)
    }

    /// Adds `b = 2` while a fault is about, and checks that the file is whole, now and after the next edit.
    fn check(&mut self) -> Result<(), String> {
        let is_acknowledged = self.add("b = 2");
        let found = sources(self.desk)?;
        let count =
            |sources: &[String], wanted: &str| sources.iter().filter(|source| *source == wanted).count();
        if is_acknowledged && count(&found, "b = 2") != 1 {
            return Err(format!("acknowledged, and the file has {found:?}"));
        }
        // Calls are counted for each thread, so another thread of the host may meet the fault once more.
        let later = ["c = 3", "d = 4", "e = 5", "f = 6", "g = 7", "h = 8"];
        let Some(next) = later.into_iter().find(|content| self.add(content)) else {
            return Err("no later edit works".into());
        };
        let found = sources(self.desk)?;
        if count(&found, "a = 1") != 1
            || count(&found, next) != 1
            || found.iter().any(|one| count(&found, one) > 1)
        {
            return Err(format!("after the next edit the file has {found:?}"));
        }
        if is_acknowledged && count(&found, "b = 2") != 1 {
            return Err(format!("acknowledged, and gone after the next edit: {found:?}"));
        }
        Ok(())
    }

    /// Ends the host, or the host that took the place of a killed one.
    fn end(self, pid: &str) -> Result<(), String> {
        drop(self.agent);
        self.desk.run(&["stop"]);
        let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
        match std::fs::read_dir(self.desk.path()).unwrap().count() {
            1 => Ok(()),
            left => Err(format!("{left} files are in the folder")),
        }
    }
}

fn edit_once(case: &Case) -> Result<bool, String> {
    let desk = Desk::with(&["a = 1"]);
    let (mut command, trace) = case.command(&desk, &["serve"]);
    let mut host = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_there = || desk.state().join("run/host.json").exists();
    until(|| is_there() || host.try_wait().unwrap().is_some())?;
    if !is_there() {
        // It met the fault when it started, and could not.
        return Ok(false);
    }
    let pid = desk.json(&["status"])["pid"].to_string();
    let mut editing = Editing::new(&desk);
    editing.check()?;
    let met = is_met(&trace);
    editing.end(&pid)?;
    host.wait().unwrap();
    Ok(met)
}

#[test]
fn calls_of_a_host_that_saves_an_edit_fail_or_are_the_last() {
    let mut cases = Vec::new();
    for (call, most) in [("fsync", 3), ("renameat2", 1), ("ftruncate", 4), ("fchmod", 1), ("unlink", 1)] {
        for number in 1..=most {
            for fault in [Fault::Kill, Fault::Error("EIO")] {
                cases.push(Case { call: call.into(), number, fault });
            }
        }
    }
    let met = attack(&cases, || (), |(), case| edit_once(case));
    println!("{met} of {} faults in a host", cases.len());
    assert!(met >= 12, "only {met} of {} cases met their fault", cases.len());
}

/// The file that a call is about, where others are left alone.
#[derive(Clone, Copy, Debug)]
enum About {
    Anything,
    Notebook,
    Folder,
    /// The journal of the save, in the lock file.
    Journal,
    History,
}

impl About {
    /// The file, once an edit has made it.
    fn path(self, desk: &Desk) -> Option<PathBuf> {
        let only = |folder: &str| {
            let mut files = std::fs::read_dir(desk.state().join(folder)).unwrap();
            files.next().map(|file| file.unwrap().path())
        };
        match self {
            About::Anything => None,
            About::Notebook => Some(desk.path().join("nb.ipynb")),
            About::Folder => Some(desk.path().to_owned()),
            About::Journal => only("locks"),
            About::History => only("history"),
        }
    }
}

/// An edit during which a host that works already meets a fault.
fn edit_later(about: About, case: &Case) -> Result<bool, String> {
    let desk = Desk::with(&["a = 1"]);
    let mut host = desk.command(&["serve"]);
    let mut host = Going(host.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until(|| desk.state().join("run/host.json").exists())?;
    let mut editing = Editing::new(&desk);
    if !editing.add("first = 0") {
        return Err("the first edit failed, without a fault".into());
    }
    let trace = desk.state().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&trace).args(["-p", &host.0.id().to_string()]);
    if let Some(path) = about.path(&desk) {
        command.arg("-P").arg(path.canonicalize().unwrap());
    }
    command.args(["-e", &format!("trace={}", case.call)]);
    command.args(["-e", &format!("inject={}:{}:when={}", case.call, case.what(), case.number)]);
    let mut strace = Going(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(strace.0.stderr.take().unwrap()).lines();
    let attached = said.find(|line| line.as_ref().map_or(true, |line| line.contains("attached")));
    if !matches!(attached, Some(Ok(_))) {
        return Err("strace did not attach".into());
    }
    // Later output must not fill the pipe.
    let rest = thread::spawn(move || said.for_each(drop));
    let checked = editing.check();
    let _ = Command::new("kill").args(["-INT", &strace.0.id().to_string()]).status();
    strace.0.wait().unwrap();
    rest.join().unwrap();
    checked?;
    let met = is_met(&trace);
    editing.end(&host.0.id().to_string())?;
    host.0.wait().unwrap();
    Ok(met)
}

#[test]
fn opens_and_writes_of_a_host_that_saves_an_edit_fail_or_are_the_last() {
    let (full, files, broken) = (Fault::Error("ENOSPC"), Fault::Error("EMFILE"), Fault::Error("EIO"));
    let mut cases = Vec::new();
    let mut add = |about: About, call: &str, most: usize, faults: &[Fault]| {
        for number in 1..=most {
            for fault in faults {
                cases.push((about, Case { call: call.into(), number, fault: *fault }));
            }
        }
    };
    add(About::Anything, "openat", 8, &[files, full, Fault::Kill]);
    add(About::Notebook, "openat", 2, &[files, broken]);
    add(About::Folder, "openat", 2, &[files]);
    add(About::Journal, "openat", 1, &[files, full]);
    add(About::Journal, "write", 4, &[full, broken, Fault::Kill]);
    add(About::Journal, "ftruncate", 2, &[full]);
    add(About::History, "openat", 2, &[files, full]);
    add(About::History, "write", 2, &[full, Fault::Kill]);
    add(About::Anything, "fsync", 3, &[full]);
    add(About::Anything, "renameat2", 1, &[full]);
    let met = attack(&cases, || (), |(), (about, case)| edit_later(*about, case));
    println!("{met} of {} faults in a host at work", cases.len());
    assert!(met * 2 >= cases.len(), "only {met} of {} cases met their fault", cases.len());
}
