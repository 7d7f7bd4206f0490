//! The inspector of the protocol's own project, on its command line.

use std::process::Command;

use serde_json::Value;

use super::official::{Server, TOKEN};
use crate::desk::{Desk, Ran};

/// Sends a request through the inspector.
fn inspect(desk: &Desk, words: &[&str]) -> Ran {
    let (node, packages) = testkit::node("mcp-clients");
    let mut command = Command::new(node);
    desk.prepare(&mut command);
    command.arg(packages.join(".bin").join("mcp-inspector")).arg("--cli").args(words);
    Ran::of(&mut command)
}

#[track_caller]
fn json(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.out).unwrap_or_else(|_| panic!("{}", ran.all()))
}

#[test]
fn the_inspector_lists_and_calls_over_both_transports_and_finds_nothing_to_complain_about() {
    let desk = Desk::with(&["x = 1"]);
    let before = desk.read("nb.ipynb");
    let server = Server::start(desk.command(&["mcp", "--standalone", "--mode", "ask"]));
    let header = format!("Authorization: Bearer {TOKEN}");
    let http = [server.url.as_str(), "--transport", "http", "--header", &header];
    let stdio = [env!("CARGO_BIN_EXE_cellist"), "mcp", "--standalone", "--mode", "ask"];
    let mut told = Vec::new();
    for target in [&stdio[..], &http[..]] {
        let listed = inspect(&desk, &[target, &["--method", "tools/list", "--strict"]].concat());
        assert_eq!(listed.exit, 0, "{}", listed.all());
        assert!(!listed.err.contains("Warning"), "{}", listed.err);
        let names: Vec<String> =
            json(&listed)["tools"].as_array().unwrap().iter().map(|tool| tool["name"].to_string()).collect();
        let call = |tool, argument| {
            let words = ["--method", "tools/call", "--tool-name", tool, "--tool-arg", argument];
            inspect(&desk, &[target, &words].concat())
        };
        // It does not call tools that are not listed.
        let unlisted = call("delete_notebook_cells", "cells=[0]");
        assert!(unlisted.exit == 5 && unlisted.err.contains("tool_not_found"), "{}", unlisted.all());
        let refused = call("read_artifact", "id=nothing");
        assert_eq!(refused.exit, 5, "{}", refused.all());
        let answer = json(&refused);
        assert_eq!(answer["isError"], true);
        told.push((names, answer["content"][0]["text"].as_str().unwrap().to_owned()));
    }
    assert_eq!(told[0], told[1]);
    assert!(told[0].1.starts_with("Error: "), "{:?}", told[0].1);
    assert_eq!(desk.read("nb.ipynb"), before);
}
