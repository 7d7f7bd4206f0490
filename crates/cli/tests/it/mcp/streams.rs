//! MCP on standard streams: lists, rejected requests, and the fate of the host.

use serde_json::{Value, json};

use super::client::Client;
use crate::desk::Desk;

const NEW: &str = "2026-07-28";
const OLD: &str = "2025-11-25";

fn names(list: &Value) -> String {
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("no list: {list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The metadata of each request in the newer version.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn each_mode_lists_its_tools_in_a_fixed_order_without_a_host() {
    let desk = Desk::new();
    for (mode, expected) in [
        (
            "ask",
            "get_notebook_cells get_cell_outputs search_notebook notebook_kernel read get_variables wait read_artifact",
        ),
        (
            "edit",
            "get_notebook_cells get_cell_outputs search_notebook notebook_kernel read get_variables wait read_artifact",
        ),
        (
            "agent",
            "get_notebook_cells get_cell_outputs search_notebook run_notebook_cells add_notebook_cell update_notebook_cell \
             delete_notebook_cells move_notebook_cell undo create_notebook notebook_kernel notebook read edit write \
             python eval get_variables wait read_artifact",
        ),
    ] {
        let mut client = Client::start(desk.command(&["mcp", "--mode", mode, "--standalone"]));
        let listed = client.ask("tools/list", json!({ "_meta": meta() }));
        assert_eq!(names(&listed), expected);
        assert_eq!(client.leave(), 0);
    }
    assert!(!desk.state().join("run/host.json").exists());
}

#[test]
fn older_and_newer_clients_are_both_served() {
    let desk = Desk::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", OLD] {
        let mut client = Client::greet(desk.command(&["mcp", "--standalone"]), version);
        assert!(names(&client.ask("tools/list", json!({}))).contains("run_notebook_cells"));
        assert_eq!(client.leave(), 0);
    }
    let mut client = Client::start(desk.command(&["mcp", "--standalone"]));
    let found = client.ask("server/discover", json!({ "_meta": meta() }));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEW)) && versions.contains(&json!(OLD)), "{found}");
    assert!(names(&client.ask("tools/list", json!({ "_meta": meta() }))).contains("run_notebook_cells"));
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_host_is_started_and_stays_when_the_client_goes_away() {
    let desk = Desk::new();
    let mut client = Client::greet(desk.command(&["mcp"]), OLD);
    let (text, failed) = client.call("read_artifact", json!({ "id": "nothing" }));
    assert!(failed && text.starts_with("Error: "), "{text}");
    let status = desk.json(&["status"]);
    assert_eq!((&status["running"], &status["clients"]), (&json!(true), &json!(1)));
    assert_eq!(client.leave(), 0);
    assert_eq!(desk.json(&["status"])["pid"], status["pid"]);
}

#[test]
fn a_host_that_was_stopped_is_started_anew_by_the_next_call() {
    let desk = Desk::new();
    let mut client = Client::greet(desk.command(&["mcp"]), OLD);
    let (first, _) = client.call("read_artifact", json!({ "id": "nothing" }));
    let before = desk.json(&["status"])["pid"].clone();
    desk.run(&["stop"]).ok();
    let (second, _) = client.call("read_artifact", json!({ "id": "nothing" }));
    assert_eq!(first, second);
    assert_ne!(desk.json(&["status"])["pid"], before);
    assert_eq!(client.leave(), 0);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would_and_the_server_goes_on() {
    let desk = Desk::new();
    let mut client = Client::greet(desk.command(&["mcp", "--standalone"]), OLD);
    let unknown = client.ask("tools/call", json!({ "name": "fly", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("there is no tool `fly`; there are get_notebook_cells, "), "{message}");
    for params in [
        json!({ "name": "read", "arguments": "path" }),
        json!({ "name": "read", "arguments": [1] }),
        json!({ "arguments": {} }),
        json!({ "name": 7 }),
    ] {
        let refused = client.ask("tools/call", params.clone());
        assert_eq!(refused["error"]["code"], -32602, "{params}: {refused}");
    }
    assert_eq!(client.ask("sing", json!({}))["error"]["code"], -32601);
    let (text, failed) = client.call("read_artifact", json!({}));
    assert!(failed && text.contains("id"), "{text}");
    let (text, failed) = client.call("python", json!({ "code": "x".repeat(10_000_000) }));
    assert!(failed && text.starts_with("Error: the arguments of python are 9 MB"), "{text}");
    assert!(names(&client.ask("tools/list", json!({}))).contains("python"));
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_tool_of_another_mode_is_refused_with_the_mode_that_has_it() {
    let desk = Desk::new();
    let mut client = Client::greet(desk.command(&["mcp", "--mode", "ask", "--standalone"]), OLD);
    let (text, failed) = client.call("python", json!({ "code": "1" }));
    assert!(failed && text.starts_with("Error: ") && text.to_lowercase().contains("agent mode"), "{text}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn prompts_and_resources_are_offered() {
    let desk = Desk::new();
    let mut client = Client::greet(desk.command(&["mcp", "--mode", "ask", "--standalone"]), OLD);
    let prompts = client.ask("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "notebook");
    assert_eq!(prompts["result"]["prompts"][0]["arguments"][0]["required"], false);
    let prompt = client.ask("prompts/get", json!({ "name": "notebook" }));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("get_notebook_cells") && !text.contains("run_notebook_cells"), "{text}");
    assert_eq!(client.ask("prompts/get", json!({ "name": "song" }))["error"]["code"], -32602);
    assert_eq!(client.ask("resources/list", json!({}))["result"]["resources"], json!([]));
    let templates = client.ask("resources/templates/list", json!({}));
    let templates = templates["result"]["resourceTemplates"].as_array().unwrap().clone();
    let uris: Vec<&str> = templates.iter().map(|it| it["uriTemplate"].as_str().unwrap()).collect();
    assert_eq!(uris, ["file://{+path}", "artifact://{id}"]);
    for uri in ["artifact://nothing", "http://elsewhere/", "file://elsewhere/x"] {
        let refused = client.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(refused["error"]["code"], -32002, "{refused}");
    }
    assert_eq!(client.leave(), 0);
}

#[test]
fn only_a_notebook_that_is_there_can_be_attached() {
    let desk = Desk::with(&["x = 1"]);
    desk.write("notes.txt", "one");
    std::fs::create_dir(desk.path().join("folder")).unwrap();
    for (name, why) in
        [("folder", "is a folder"), ("notes.txt", "is not a notebook"), ("none.ipynb", "no such file")]
    {
        let refused = desk.run(&["mcp", "--attach", name]).refused(2);
        assert!(refused.contains(&format!("{name}: {why}")) && refused.contains("hint: "), "{refused}");
    }
    // A client that disconnects at once is no error.
    assert_eq!(desk.run(&["mcp", "--attach", "nb.ipynb"]).ok(), "");
}
