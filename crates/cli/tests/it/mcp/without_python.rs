//! A machine without Python: commands stand in for it, and every answer that matters says so.

use serde_json::json;

use super::client::Client;
use crate::bench::without_environments;
use crate::desk::Desk;

/// Stops the host when the test is over, however it ends.
struct Hosted(Desk);

impl Drop for Hosted {
    fn drop(&mut self) {
        let _ = self.0.command(&["stop"]).output();
    }
}

#[test]
fn where_no_python_is_found_bash_stands_in_and_says_so() {
    let hosted = Hosted(Desk::with(&["1 + 1"]));
    let mut command = hosted.0.command(&["mcp", "--tools", "all"]);
    without_environments(&mut command);
    // A folder of its own: agents may not change notebooks in folders of programs.
    let programs = hosted.0.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    command.env("PATH", programs).env_remove("PI_PY");
    let mut client = Client::greet(command, "2025-06-18");
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let offers = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    assert!(offers("bash") && offers("run_notebook_cells"), "{listed}");
    assert!(!offers("python") && !offers("eval"), "{listed}");
    let bash = tools.iter().find(|tool| tool["name"] == "bash").unwrap();
    assert!(!bash["description"].as_str().unwrap().contains("`python`"), "{bash}");

    let (text, failed) = client.call("bash", json!({ "command": "echo $((6 * 7))" }));
    assert!(!failed && text.contains("42"), "{text}");
    assert!(text.contains("no Python was found: python and eval are not among your tools"), "{text}");
    let (text, failed) = client.call("python", json!({ "code": "1" }));
    assert!(failed && text.contains("no Python was found; use bash instead"), "{text}");
    let (text, failed) = client.call("run_notebook_cells", json!({ "notebook": "nb.ipynb" }));
    assert!(failed && text.contains("no Python was found"), "{text}");
    assert_eq!(client.leave(), 0);
}
