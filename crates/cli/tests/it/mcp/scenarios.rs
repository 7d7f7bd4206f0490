//! When a notebook counts as worked on: attached to the conversation and in the active editor, and nothing less.

use serde_json::{Value, json};

use super::client::Client;
use super::official::{Official, Way};
use crate::desk::{Desk, notebook};

/// A caller of tools.
enum Caller {
    ByHand(Client),
    Official(Official),
}

impl Caller {
    fn start(desk: &Desk, way: Way, words: &[&str]) -> Caller {
        match way {
            Way::Stdio => {
                Caller::ByHand(Client::greet(desk.command(&[&["mcp"], words].concat()), "2025-11-25"))
            }
            Way::Http => Caller::Official(Official::start(desk, words, (Way::Http, "2026-07-28"))),
        }
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        match self {
            Caller::ByHand(client) => client.call(tool, arguments),
            Caller::Official(client) => client.call(tool, &arguments),
        }
    }
}

impl Caller {
    /// The names of the tools that are offered now.
    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        match self {
            Caller::ByHand(client) => {
                let listed = client.ask("tools/list", json!({}));
                let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
                tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
            }
            Caller::Official(client) => client.tools(),
        }
    }
}

/// The tools that a mode allows on an active notebook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Works {
    /// Looking alone.
    ReadOnly,
    /// Everything.
    Full,
    /// Nothing, since no notebook is worked on.
    Off,
}

/// Tries to look and to change, with the notebook named and without.
#[track_caller]
fn check(desk: &Desk, caller: &mut Caller, scenario: &str, expected: Works) {
    let offered = caller.tools();
    for (tool, expected) in [
        ("get_notebook_cells", expected != Works::Off),
        ("get_cell_outputs", expected != Works::Off),
        ("notebook_kernel", expected != Works::Off),
        ("update_notebook_cell", expected == Works::Full),
        ("run_notebook_cells", expected == Works::Full),
        ("read", true),
    ] {
        assert_eq!(offered.iter().any(|name| name == tool), expected, "{scenario}: {tool} in {offered:?}");
    }
    for arguments in [json!({}), json!({ "notebook": "nb.ipynb" })] {
        let before = desk.read("nb.ipynb");
        let with = |more: Value| {
            let mut all = arguments.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        let (text, failed) = caller.call("get_notebook_cells", with(json!({})));
        assert_eq!(failed, expected == Works::Off, "{scenario}: {text}");
        assert_eq!(text.contains("x = 1"), expected != Works::Off, "{scenario}: {text}");
        let content = format!("x = 1 # {scenario} {arguments}");
        let (text, failed) =
            caller.call("update_notebook_cell", with(json!({ "cell": "a", "content": content })));
        assert_eq!(failed, expected != Works::Full, "{scenario}: {text}");
        if failed {
            assert!(text.starts_with("Error: "), "{scenario}: {text}");
            assert_eq!(desk.read("nb.ipynb"), before, "{scenario}");
        } else {
            assert_ne!(desk.read("nb.ipynb"), before, "{scenario}");
        }
    }
}

fn all_modes(way: Way) {
    let modes = [("ask", Works::ReadOnly), ("edit", Works::ReadOnly), ("agent", Works::Full)];
    for (mode, works) in modes {
        let desk = Desk::with(&["x = 1"]);
        desk.write("other.ipynb", notebook(&["y = 1"]));
        let start = |attached: &[&str]| {
            let words = [&["--mode", mode, "--require-active"], attached].concat();
            Caller::start(&desk, way, &words)
        };
        let active = |words: &[&str]| desk.run(&[&["editor"], words].concat()).ok();
        let mut caller = start(&["--attach", "nb.ipynb"]);
        active(&["nb.ipynb"]);
        check(&desk, &mut caller, &format!("attached and active, {mode}"), works);
        active(&["other.ipynb"]);
        check(&desk, &mut caller, &format!("attached, another is active, {mode}"), Works::Off);
        let mut caller = start(&[]);
        active(&["nb.ipynb"]);
        check(&desk, &mut caller, &format!("active, not attached, {mode}"), Works::Off);
        let mut caller = start(&["--attach", "other.ipynb", "nb.ipynb"]);
        check(&desk, &mut caller, &format!("several attached, one of them active, {mode}"), works);
        active(&["--none"]);
        check(&desk, &mut caller, &format!("several attached, none active, {mode}"), Works::Off);
    }
}

#[test]
fn the_eight_scenarios_hold_on_standard_streams() {
    all_modes(Way::Stdio);
}

#[test]
fn the_eight_scenarios_hold_over_http() {
    all_modes(Way::Http);
}

#[test]
fn a_client_is_told_when_the_notebook_in_front_changes_what_it_is_offered() {
    let desk = Desk::with(&["x = 1"]);
    let command = desk.command(&["mcp", "--require-active", "--attach", "nb.ipynb"]);
    let mut client = Client::start(command);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = client.ask("initialize", hello);
    assert_eq!(greeting["result"]["capabilities"]["tools"]["listChanged"], true, "{greeting}");
    client.notify("notifications/initialized", json!({}));
    let mut caller = Caller::ByHand(client);
    assert!(!caller.tools().iter().any(|tool| tool == "get_notebook_cells"));
    for (words, count) in
        [["editor", "nb.ipynb"], ["editor", "--none"], ["editor", "nb.ipynb"]].iter().zip(1..)
    {
        desk.run(words).ok();
        if let Caller::ByHand(client) = &mut caller {
            client.hear(|client| {
                let changes = client.notifications.iter();
                changes.filter(|told| told["method"] == "notifications/tools/list_changed").count() == count
            });
        }
        let is_on = words[1] != "--none";
        assert_eq!(caller.tools().iter().any(|tool| tool == "get_notebook_cells"), is_on, "{words:?}");
    }
}
