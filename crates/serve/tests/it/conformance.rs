//! The official MCP conformance suite against our server, for both protocol versions.

mod fixture;

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;

use cellist_serve::mcp::{HttpAccess, McpServer, listen};
use testkit::Scratch;

use fixture::Fixture;

/// Serves the fixture and runs scenarios of the suite against it.
fn run(words: &[&str]) -> String {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listening = runtime.block_on(async {
        let fixture = Fixture::new();
        let address = "127.0.0.1:0".parse().unwrap();
        listen(address, HttpAccess { token: None }, move || McpServer(fixture.clone())).await.unwrap()
    });
    let url = listening.url();
    let serving = runtime.spawn(listening.run());
    let (node, packages) = testkit::node("mcp-clients");
    let scratch = Scratch::new();
    let mut suite = Command::new(node);
    suite.arg(packages.join(".bin").join("conformance")).args(["server", "--url", &url]).args(words);
    // The timeout of a scenario, long enough for a loaded machine.
    suite.args(["--timeout", "120000"]).current_dir(scratch.path());
    let done = thread::spawn(move || suite.output().unwrap()).join().unwrap();
    serving.abort();
    let said = [done.stdout, done.stderr].concat();
    format!("{}\nexit {:?}", String::from_utf8_lossy(&said), done.status.code())
}

const NOT_ANNOUNCED: &str = "changes of resources are not announced: a client reads what it wants to know";
const NOTHING_ASKED: &str = "no call ever asks its client for input: the fixture has no tool that does";
const NO_TASKS: &str =
    "an extension that is not offered: long runs are executions, which the tool `wait` goes on with";

/// Scenarios that do not pass, each with the reason. None of them is about tools, progress,
/// cancelling or the transport.
const OLD: &[(&str, &str)] =
    &[("resources-subscribe", NOT_ANNOUNCED), ("resources-unsubscribe", NOT_ANNOUNCED)];
const NEW: &[(&str, &str)] = &[
    ("input-required-result-basic-elicitation", NOTHING_ASKED),
    ("input-required-result-basic-list-roots", NOTHING_ASKED),
    ("input-required-result-basic-sampling", NOTHING_ASKED),
    ("input-required-result-capability-check", NOTHING_ASKED),
    ("input-required-result-multi-round", NOTHING_ASKED),
    ("input-required-result-multiple-input-requests", NOTHING_ASKED),
    ("input-required-result-non-tool-request", NOTHING_ASKED),
    ("input-required-result-request-state", NOTHING_ASKED),
    ("input-required-result-result-type", NOTHING_ASKED),
    ("input-required-result-tampered-state", NOTHING_ASKED),
    ("tasks-capability-negotiation", NO_TASKS),
    ("tasks-dispatch-and-envelope", NO_TASKS),
    ("tasks-lifecycle", NO_TASKS),
    ("tasks-mrtr-composition", NO_TASKS),
    ("tasks-mrtr-input", NO_TASKS),
    ("tasks-request-headers", NO_TASKS),
    ("tasks-request-state-removal", NO_TASKS),
    ("tasks-required-task-error", NO_TASKS),
    ("tasks-wire-fields", NO_TASKS),
];

/// All required scenarios of a version pass except the listed ones, and each listed one still
/// fails.
#[track_caller]
fn check(version: &str, left_out: &[(&str, &str)], at_least: usize) {
    let said = run(&["--requirements", version]);
    let named = |mark: &str| -> BTreeSet<String> {
        let lines = said.lines().filter_map(|line| line.strip_prefix(mark));
        lines.filter_map(|line| line.split_once(": ")).map(|(name, _)| name.to_owned()).collect()
    };
    let expected: BTreeSet<String> = left_out.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(named("✗ "), expected, "{said}");
    assert!(named("✓ ").len() >= at_least, "{said}");
}

#[test]
fn the_suite_of_the_protocol_of_2025_11_25_passes() {
    check("2025-11-25", OLD, 31);
}

#[test]
fn the_suite_of_the_protocol_of_2026_07_28_passes() {
    check("2026-07-28", NEW, 30);
}
