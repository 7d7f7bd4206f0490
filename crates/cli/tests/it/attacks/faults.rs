//! Panics in one part of a real host. The others go on.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::wait_until;

use crate::bench::{Backend, Mark, without_environments};
use crate::desk::{Desk, notebook};
use crate::mcp::client::Client;

/// Code that says that it runs and then waits for a file.
const WAITS: &str = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'):\n    \
                     time.sleep(0.01)\nprint('waited')";

/// A host that fails as a plan says.
pub(super) struct Shaky {
    pub(super) desk: Desk,
    mark: Mark,
    host: Child,
}

impl Shaky {
    /// A host that `program` starts, the binary itself where it is empty.
    pub(super) fn new(before: &str) -> Shaky {
        Shaky::set_up(before, |_| {})
    }

    /// The same in a folder that is prepared first.
    pub(super) fn set_up(before: &str, prepare: impl FnOnce(&Desk)) -> Shaky {
        Backend::Runner.tally();
        let (desk, mark) = (Desk::new(), Mark::new());
        prepare(&desk);
        desk.write("nb.ipynb", notebook(&["x = 0", "print(x)"]));
        let script = format!("{before} exec \"$0\" serve");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_cellist")]);
        desk.prepare(&mut command);
        without_environments(&mut command);
        let log = File::create(desk.state().join("serve.log")).unwrap();
        command.env("CELLIST_FAULTS", desk.state().join("plan")).stdout(Stdio::null()).stderr(log);
        let host = command.spawn().unwrap();
        let shaky = Shaky { desk, mark, host };
        wait_until("the host is there", || shaky.desk.json(&["status"])["running"] == true);
        shaky
    }

    fn command(&self, words: &[&str]) -> Command {
        let flags = Backend::Runner.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = self.desk.command(&[words, flags.as_slice()].concat());
        self.mark.put_on(&mut command);
        without_environments(&mut command);
        command
    }

    /// An agent with a session of its own.
    pub(super) fn agent(&self) -> Client {
        Client::greet(self.command(&["mcp", "--tools", "all"]), "2025-11-25")
    }

    pub(super) fn plan(&self) -> PathBuf {
        self.desk.state().join("plan")
    }

    /// Has something go wrong from now on, once.
    pub(super) fn plans(&self, plan: &str) {
        let new = self.desk.state().join("plan.new");
        fs::write(&new, plan).unwrap();
        fs::rename(new, self.plan()).unwrap();
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.desk.state().join("serve.log")).unwrap()
    }

    /// The page's response to the user's link, head and body.
    pub(super) fn page(&self) -> Option<String> {
        let opened = self.desk.run(&["open", "--no-browser", "--json", "nb.ipynb"]);
        let opened: serde_json::Value = serde_json::from_slice(&opened.out).ok()?;
        let link = opened["link"].as_str()?;
        let (host, path) = link.strip_prefix("http://")?.split_once('/')?;
        let mut stream = TcpStream::connect(host).ok()?;
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    pub(super) fn check_upright(&mut self) {
        assert!(self.host.try_wait().unwrap().is_none(), "the host is gone: {}", self.log());
        assert_eq!(self.desk.json(&["status"])["pid"], self.host.id());
    }
}

impl Drop for Shaky {
    fn drop(&mut self) {
        let _ = self.desk.command(&["stop"]).output();
        let _ = self.host.wait();
    }
}

pub(super) fn edit(text: &str) -> serde_json::Value {
    json!({ "notebook": "nb.ipynb", "cell": "a", "content": text })
}

#[test]
fn a_panic_in_one_session_leaves_the_others_and_open_notebooks_alone() {
    let mut shaky = Shaky::new("");
    let (mut hit, mut busy, mut writer) = (shaky.agent(), shaky.agent(), shaky.agent());
    let (text, failed) = hit.call("python", json!({ "code": "x = 1" }));
    assert!(!failed, "{text}");
    let waiting = busy
        .begin("tools/call", json!({ "name": "python", "arguments": { "code": WAITS, "soft_wait": 100 } }));
    wait_until("the code runs", || shaky.desk.path().join("begun").exists());
    let (text, failed) = writer.call("update_notebook_cell", edit("x = 1"));
    assert!(!failed, "{text}");

    shaky.plans("panic session");
    let (text, failed) = hit.call("python", json!({ "code": "x + 1" }));
    assert!(failed && text.contains("internal error: a fault of the test in session"), "{text}");
    shaky.check_upright();
    let log = shaky.log();
    assert_eq!(log.matches("internal error: a fault of the test in session (").count(), 1, "{log}");

    // The others go on, and the session begins anew.
    let (text, failed) = writer.call("update_notebook_cell", edit("x = 2"));
    assert!(!failed, "{text}");
    assert_eq!(shaky.desk.sources()[0], "x = 2");
    File::create(shaky.desk.path().join("go")).unwrap();
    let waited = busy.answer(waiting);
    assert!(waited["result"]["content"].to_string().contains("waited"), "{waited}");
    let (text, failed) = hit.call("python", json!({ "code": "print('x' in globals())" }));
    assert!(!failed && text.contains("False") && text.contains("internal error of cellist"), "{text}");
}

#[test]
fn a_panic_in_an_open_notebook_loses_nothing_that_was_acknowledged() {
    let mut shaky = Shaky::new("");
    let (mut writer, mut other) = (shaky.agent(), shaky.agent());
    let (text, failed) = other.call("python", json!({ "code": "y = 7" }));
    assert!(!failed, "{text}");
    for (place, tool, arguments) in [
        ("document", "get_notebook_cells", json!({ "notebook": "nb.ipynb" })),
        ("tool", "get_notebook_cells", json!({ "notebook": "nb.ipynb" })),
        ("request", "update_notebook_cell", edit("x = -1")),
    ] {
        let (text, failed) = writer.call("update_notebook_cell", edit(&format!("x = '{place}'")));
        assert!(!failed, "{text}");
        shaky.plans(&format!("panic {place}"));
        let (text, failed) = writer.call(tool, arguments);
        assert!(failed && text.contains(&format!("a fault of the test in {place}")), "{place}: {text}");
        shaky.check_upright();
        assert_eq!(shaky.desk.sources()[0], format!("x = '{place}'"));
        let (text, failed) = writer.call("get_notebook_cells", json!({ "notebook": "nb.ipynb" }));
        assert!(!failed && text.contains(&format!("x = '{place}'")), "{text}");
        let (text, failed) = other.call("python", json!({ "code": "print(y)" }));
        assert!(!failed && text.contains('7'), "{text}");
    }
}

#[test]
fn a_panic_in_a_call_of_a_server_without_a_host_fails_that_call() {
    Backend::Runner.tally();
    let desk = Desk::new();
    desk.write("nb.ipynb", notebook(&["x = 0"]));
    let plan = desk.state().join("plan");
    let mut command = desk.command(&["mcp", "--standalone"]);
    command.env("CELLIST_FAULTS", &plan);
    let mut client = Client::greet(command, "2025-11-25");
    for place in ["tool", "document"] {
        fs::write(&plan, format!("panic {place}")).unwrap();
        let (text, failed) = client.call("get_notebook_cells", json!({ "notebook": "nb.ipynb" }));
        assert!(failed && text.contains(&format!("a fault of the test in {place}")), "{text}");
        let (text, failed) = client.call("get_notebook_cells", json!({ "notebook": "nb.ipynb" }));
        assert!(!failed && text.contains("x = 0"), "{text}");
    }
    assert_eq!(client.leave(), 0);
}
