//! The configurations in the docs work: each is parsed as its client parses it, and its command is started
//! until it lists its tools.

use std::fs;

use serde_json::{Value, json};

use super::client::Client;
use crate::desk::Desk;

/// A piece of the page between fences.
struct Fence {
    heading: String,
    language: String,
    text: String,
}

fn fences(page: &str) -> Vec<Fence> {
    let (mut found, mut heading, mut open) = (Vec::new(), String::new(), None::<Fence>);
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(Fence {
                    heading: heading.clone(),
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(fence), None) => fence.text.push_str(&format!("{line}\n")),
            (None, None) => {
                if let Some(title) = line.strip_prefix("### ") {
                    heading = title.to_owned();
                }
            }
        }
    }
    found
}

impl Fence {
    fn value(&self) -> Option<Value> {
        Some(match self.language.as_str() {
            "json" => serde_json::from_str(&self.text).unwrap(),
            "toml" => toml::from_str(&self.text).unwrap(),
            "yaml" => serde_saphyr::from_str(&self.text).unwrap(),
            "sh" => return None,
            other => panic!("what is {other:?}?"),
        })
    }
}

/// The entry of our server in a client's configuration; none in our own settings.
fn server(config: &Value) -> Option<&Value> {
    if config.get("tools").is_some() {
        return None;
    }
    let lists = ["mcpServers", "servers", "mcp_servers", "context_servers", "extensions"];
    let list = lists.iter().find_map(|name| config.get(name)).unwrap_or_else(|| panic!("{config}"));
    Some(&list["cellist"])
}

#[track_caller]
fn starts(words: &[String]) {
    let desk = Desk::new();
    assert_eq!(words[0], "cellist");
    let here = desk.path().to_str().unwrap();
    let place = |word: &String| word.replace("/path/to/project", here).replace("${workspaceFolder}", here);
    let words: Vec<String> = words[1..].iter().map(place).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut client = Client::greet(desk.command(&words), "2025-11-25");
    let listed = client.ask("tools/list", json!({}));
    assert!(listed["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 10), "{listed}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn every_configuration_in_the_docs_is_read_and_its_command_lists_tools() {
    let page = fs::read_to_string(testkit::repo_root().join("docs/agents.md")).unwrap();
    let mut seen = Vec::new();
    for fence in fences(&page) {
        let Some(config) = fence.value() else { continue };
        let Some(entry) = server(&config) else { continue };
        if let Some(url) = entry["url"].as_str() {
            assert_eq!((fence.heading.as_str(), url), ("Over HTTP", "http://127.0.0.1:8642/mcp"));
            continue;
        }
        let program = entry.get("command").or(entry.get("cmd")).and_then(Value::as_str).unwrap();
        let arguments =
            entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned());
        starts(&std::iter::once(program.to_owned()).chain(arguments).collect::<Vec<_>>());
        seen.push(fence.heading);
    }
    let clients =
        ["Claude Code", "Claude Desktop", "Codex", "Cursor", "VS Code", "Zed", "Gemini CLI", "goose"];
    assert_eq!(seen, clients);
}

#[test]
fn the_command_that_adds_the_server_names_one_that_lists_tools() {
    for page in ["docs/agents.md", "README.md"] {
        let text = fs::read_to_string(testkit::repo_root().join(page)).unwrap();
        let line = text.lines().find(|line| line.contains("claude mcp add")).unwrap();
        let (_, command) = line.split_once(" -- ").unwrap();
        starts(&command.split(' ').map(str::to_owned).collect::<Vec<_>>());
    }
}

#[test]
fn the_skill_has_a_header_and_names_only_commands_that_there_are() {
    let text = fs::read_to_string(testkit::repo_root().join("skills/cellist/SKILL.md")).unwrap();
    let (header, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let header: Value = serde_saphyr::from_str(header).unwrap();
    assert_eq!(header["name"], "cellist");
    assert!((50..1024).contains(&header["description"].as_str().unwrap().len()));
    let desk = Desk::new();
    let mut commands: Vec<&str> = body
        .split(['`', '\n'])
        .filter_map(|piece| piece.trim().strip_prefix("cellist "))
        .filter_map(|rest| rest.split_whitespace().next())
        .collect();
    commands.sort_unstable();
    commands.dedup();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        assert!(desk.run(&[command, "--help"]).ok().contains("Usage"), "{command}");
    }
}
