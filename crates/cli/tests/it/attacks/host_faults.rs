//! An edit through the host, in which one system call of the host's save fails or is the last. An edit that was acknowledged is
//! in the file, the file is whole, and the next edit works.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

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
    let mut agent = Client::greet(desk.command(&["mcp", "--mode", "agent"]), "2025-11-25");
    let mut add = |content: &str| {
        let arguments = json!({ "notebook": "nb.ipynb", "type": "code", "content": content, "index": -1 });
        agent.try_call("add_notebook_cell", arguments).is_some_and(|(_, failed)| !failed)
    };
    let is_acknowledged = add("b = 2");
    let found = sources(&desk)?;
    let count = |sources: &[String], wanted: &str| sources.iter().filter(|source| *source == wanted).count();
    if is_acknowledged && count(&found, "b = 2") != 1 {
        return Err(format!("acknowledged, and the file has {found:?}"));
    }
    // Calls are counted for each thread, so another thread of the host may meet the fault once more.
    let later = ["c = 3", "d = 4", "e = 5", "f = 6", "g = 7", "h = 8"];
    let Some(next) = later.into_iter().find(|content| add(content)) else {
        return Err("no later edit works".into());
    };
    let found = sources(&desk)?;
    if count(&found, "a = 1") != 1
        || count(&found, next) != 1
        || found.iter().any(|one| count(&found, one) > 1)
    {
        return Err(format!("after the next edit the file has {found:?}"));
    }
    if is_acknowledged && count(&found, "b = 2") != 1 {
        return Err(format!("acknowledged, and gone after the next edit: {found:?}"));
    }
    let met = is_met(&trace);
    drop(agent);
    desk.run(&["stop"]);
    let _ = Command::new("kill").args(["-9", &pid]).stderr(Stdio::null()).status();
    host.wait().unwrap();
    let left = std::fs::read_dir(desk.path()).unwrap().count();
    if left != 1 {
        return Err(format!("{left} files are in the folder"));
    }
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
