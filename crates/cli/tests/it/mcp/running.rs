//! Code that runs while a client waits, gives up or goes away.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use testkit::wait_until;

use super::client::Client;
use super::official::{Official, WAYS};
use crate::bench::{Backend, Mark, without_environments};
use crate::desk::Desk;

/// Code that says that it runs and then waits for a file that may never come.
const WAITS: &str = "import os, time\nkept = 'kept'\nopen('begun', 'w').close()\n\
                     while not os.path.exists('go'):\n    time.sleep(0.01)\nopen('ended', 'w').close()";

struct Bed {
    desk: Desk,
    mark: Mark,
}

impl Bed {
    fn new() -> Bed {
        Backend::Runner.tally();
        Bed { desk: Desk::new(), mark: Mark::new() }
    }

    /// A server whose kernels are runners.
    fn command(&self) -> Command {
        let flags = Backend::Runner.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = self.desk.command(&[&["mcp"], flags.as_slice()].concat());
        self.mark.put_on(&mut command);
        without_environments(&mut command);
        command
    }

    fn has(&self, name: &str) -> bool {
        self.desk.path().join(name).exists()
    }
}

fn waits() -> Value {
    json!({ "code": WAITS, "soft_wait": 300, "timeout": 600 })
}

#[test]
fn cancelling_a_call_interrupts_what_it_runs_and_keeps_the_state() {
    let bed = Bed::new();
    let mut client = Client::greet(bed.command(), "2025-11-25");
    let call = client.begin("tools/call", json!({ "name": "python", "arguments": waits() }));
    wait_until("the code runs", || bed.has("begun"));
    client.notify("notifications/cancelled", json!({ "requestId": call, "reason": "enough" }));
    let (text, failed) = client.call("python", json!({ "code": "print(kept)" }));
    assert!(!failed && text.contains("kept"), "{text}");
    assert!(!bed.has("ended"));
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_command_of_the_shell_goes_with_all_that_it_started_when_its_call_is_cancelled() {
    let bed = Bed::new();
    let mut command = bed.command();
    command.args(["--tools", "all"]);
    let mut client = Client::greet(command, "2025-11-25");
    let (text, failed) = client.call("bash", json!({ "command": "echo hello; exit 4" }));
    assert_eq!((text.as_str(), failed), (FAILED, true));
    let waits = "(echo $BASHPID > pid; mv pid begun; while [ ! -e go ]; do sleep 0.01; done) & wait";
    let arguments = json!({ "command": waits, "soft_wait": 300, "timeout": 600 });
    let call = client.begin("tools/call", json!({ "name": "bash", "arguments": arguments }));
    wait_until("the command runs", || bed.has("begun"));
    let child = format!("/proc/{}/cmdline", bed.desk.text("begun").trim());
    client.notify("notifications/cancelled", json!({ "requestId": call, "reason": "enough" }));
    wait_until("what it started is gone", || fs::read(&child).unwrap_or_default().is_empty());
    let (text, failed) = client.call("bash", json!({ "command": "echo next" }));
    assert_eq!((text.as_str(), failed), ("next", false));
    assert_eq!(client.leave(), 0);
}

/// The result of a command that prints hello and fails.
const FAILED: &str = "Error: CommandFailed: exit code 4\nhello";

#[test]
fn the_official_client_gives_up_a_call_over_every_transport() {
    for way in WAYS {
        let bed = Bed::new();
        let mut client = Official::with(&bed.desk, bed.command(), way);
        let until = bed.desk.path().join("begun");
        let step = json!({ "do": "call", "name": "python", "arguments": waits(), "until": until });
        assert_eq!(client.ask(&step)["given_up"], true);
        let (text, failed) = client.call("python", &json!({ "code": "print(kept)", "soft_wait": 60 }));
        assert!(!failed && text.contains("kept"), "{way:?}: {text}");
        assert!(!bed.has("ended"), "{way:?}");
    }
}

#[test]
fn what_a_client_on_standard_streams_has_begun_goes_on_when_it_goes_away() {
    let bed = Bed::new();
    let mut client = Client::greet(bed.command(), "2025-11-25");
    client.begin("tools/call", json!({ "name": "python", "arguments": waits() }));
    wait_until("the code runs", || bed.has("begun"));
    assert_eq!(client.leave(), 0);
    assert!(!bed.has("ended"));
    fs::write(bed.desk.path().join("go"), "").unwrap();
    wait_until("the code ends by itself", || bed.has("ended"));
}

#[test]
fn progress_is_told_to_whoever_asks_for_it_and_only_ever_rises() {
    let bed = Bed::new();
    let mut client = Client::greet(bed.command(), "2025-11-25");
    let code = "import os, time\nfor i in range(1, 4):\n    print(f'step {i}', flush=True)\n    \
                time.sleep(0.5)\n    while i == 3 and not os.path.exists('go'):\n        time.sleep(0.01)";
    let call = json!({ "name": "python", "arguments": { "code": code, "soft_wait": 300 }, "_meta": { "progressToken": "p" } });
    let call = client.begin("tools/call", call);
    let is_told = |client: &Client| {
        let told = client.notifications.iter().filter(|told| told["method"] == "notifications/progress");
        told.filter(|told| told["params"]["message"].as_str().is_some_and(|text| text.contains("step")))
            .count()
            >= 2
    };
    client.hear(is_told);
    fs::write(bed.desk.path().join("go"), "").unwrap();
    let answer = client.answer(call);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let told: Vec<&Value> = client.notifications.iter().map(|told| &told["params"]).collect();
    assert!(told.iter().all(|told| told["progressToken"] == "p"), "{told:?}");
    let numbers: Vec<f64> = told.iter().filter_map(|told| told["progress"].as_f64()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    assert_eq!(client.leave(), 0);
}
