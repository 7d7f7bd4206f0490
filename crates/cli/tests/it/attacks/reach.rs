//! The reach of agents over MCP and in a shell: no secret, nothing of the state folder, and nothing that other
//! programs run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{SECRET, SECRETS};

use crate::desk::{Desk, Ran, notebook};
use crate::mcp::client::Client;

/// Why the table refuses a path: it is a state file, or a secret.
fn denial(path: &str) -> &'static str {
    if Path::new(path).is_absolute() { "belongs to cellist itself" } else { "is kept from models" }
}

/// A project with secrets in it, and a state folder that the agent was even given.
fn desk() -> (Desk, Vec<String>) {
    let desk = Desk::unjudged();
    desk.write("nb.ipynb", notebook(&["x = 1"]));
    for name in SECRETS {
        desk.write(name, format!("KEY={SECRET}\n"));
    }
    symlink(desk.path().join(".env"), desk.path().join("e.ipynb")).unwrap();
    fs::hard_link(desk.path().join("id_rsa"), desk.path().join("h.ipynb")).unwrap();
    let state = ["config.toml", "modules/a.py", "prompts/a.md", "log/a.log", "talks/a.json", "keep/a.ipynb"];
    for name in state {
        let path = desk.state().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = if name == "config.toml" { format!("# {SECRET}\n") } else { SECRET.to_owned() };
        fs::write(path, text).unwrap();
    }
    // A host and a person's commands make these.
    desk.run(&["open", "--no-browser", "nb.ipynb"]).ok();
    desk.write("project/.cellist/config.toml", "[python]\nkernel_mode = \"call\"\n");
    desk.run(&["trust", "project"]).ok();
    desk.run(&["cell", "edit", "nb.ipynb", "0", "--source", "x = 2"]).ok();
    let first_in = |folder: &str| {
        let first = fs::read_dir(desk.state().join(folder)).unwrap().next().unwrap().unwrap().file_name();
        format!("{folder}/{}", first.to_str().unwrap())
    };
    let made = ["run/host.json", "run/page.json", "run/host.sock", "log/host.log"].map(str::to_owned);
    let names =
        state.iter().map(|name| (*name).to_owned()).chain(made).chain(["trust", "history"].map(first_in));
    let state: Vec<String> = names.map(|name| desk.state().join(name).to_str().unwrap().to_owned()).collect();
    let missing: Vec<&String> = state.iter().filter(|path| !Path::new(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let paths = SECRETS.iter().map(|name| (*name).to_owned()).chain(state);
    let paths = paths.chain(["e.ipynb".to_owned(), "h.ipynb".to_owned()]).collect();
    (desk, paths)
}

#[test]
fn no_secret_and_no_state_file_is_read_over_mcp_in_any_mode_with_any_tools() {
    let (desk, paths) = desk();
    assert_eq!(paths.len(), SECRETS.len() + 12 + 2);
    let roots = format!("tools.roots={}", desk.state().display());
    for mode in ["ask", "edit", "agent"] {
        for tools in ["notebook", "all"] {
            let words = ["mcp", "--mode", mode, "--tools", tools, "--set", &roots];
            let mut client = Client::greet(desk.command(&words), "2025-11-25");
            for path in &paths {
                for (tool, arguments) in [
                    ("read", json!({ "path": path })),
                    ("read", json!({ "path": format!("{path}:raw") })),
                    ("get_notebook_cells", json!({ "notebook": path })),
                    ("search_notebook", json!({ "notebook": path, "query": "needle" })),
                    ("edit", json!({ "path": format!("{path}:raw"), "old": "needle", "new": "x" })),
                    ("write", json!({ "path": path, "content": "changed" })),
                ] {
                    let (text, failed) = client.call(tool, arguments);
                    assert!(failed && !text.contains(SECRET), "{mode} {tools} {tool} {path}: {text}");
                    // The mode and the set of tools decide first.
                    let is_offered =
                        tool.ends_with("_notebook") || tool.ends_with("_cells") || tools == "all";
                    let changes = matches!(tool, "edit" | "write");
                    let may_change = mode == "agent" || mode == "edit" && !path.ends_with(".ipynb");
                    let may = is_offered && (!changes || may_change);
                    assert!(!may || text.contains(denial(path)), "{mode} {tools} {tool} {path}: {text}");
                }
                let read = client.ask("resources/read", json!({ "uri": format!("file://{path}") }));
                assert!(read["error"].is_object() && !read.to_string().contains(SECRET), "{path}: {read}");
            }
            let listed = client.ask("resources/list", json!({}));
            assert!(!listed.to_string().contains("e.ipynb"), "{listed}");
            assert_eq!(client.leave(), 0);
        }
    }
    for name in SECRETS {
        assert_eq!(desk.text(name), format!("KEY={SECRET}\n"), "{name}");
    }
}

/// A client that can ask a person, and the answers that the person gives.
struct Asking {
    client: Client,
    said: Value,
    questions: Vec<String>,
}

impl Asking {
    fn new(desk: &Desk, said: Value) -> Asking {
        let mut client = Client::start(desk.command(&["mcp", "--mode", "edit", "--tools", "all"]));
        let capabilities = json!({ "elicitation": {} });
        let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
        client.ask("initialize", greeting);
        client.notify("notifications/initialized", json!({}));
        Asking { client, said, questions: Vec::new() }
    }

    fn write(&mut self, path: &str) -> (String, bool) {
        let arguments = json!({ "path": path, "content": "changed\n" });
        let id = self.client.begin("tools/call", json!({ "name": "write", "arguments": arguments }));
        loop {
            let question = |message: &Value| message["method"] == "elicitation/create";
            self.client.hear(|client| client.has(id) || client.notifications.iter().any(question));
            let asked = self.client.notifications.iter().position(question);
            let Some(asked) = asked.map(|at| self.client.notifications.remove(at)) else { break };
            self.questions.push(asked["params"]["message"].as_str().unwrap().to_owned());
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": self.said });
            self.client.write_line(answer.to_string().as_bytes());
        }
        let answer = self.client.answer(id);
        (
            answer["result"]["content"][0]["text"].as_str().unwrap().to_owned(),
            answer["result"]["isError"] == true,
        )
    }
}

#[test]
fn a_client_that_can_ask_a_person_asks_for_each_path_and_no_means_no() {
    let desk = Desk::new();
    for name in [".github/workflows/ci.yml", ".git/config"] {
        desk.write(name, "old\n");
    }
    for no in [json!({ "action": "decline" }), json!({ "action": "accept", "content": { "allow": false } })] {
        let mut asking = Asking::new(&desk, no);
        let (text, failed) = asking.write(".git/config");
        assert!(failed && text.contains("tools.allow_writes"), "{text}");
        assert_eq!(asking.questions.len(), 1);
    }
    let mut asking = Asking::new(&desk, json!({ "action": "accept", "content": { "allow": true } }));
    let (text, failed) = asking.write(".github/workflows/ci.yml");
    assert!(!failed, "{text}");
    let real = desk.path().canonicalize().unwrap().join(".github/workflows/ci.yml");
    assert!(asking.questions[0].contains(real.to_str().unwrap()), "{:?}", asking.questions);
    // Once was asked for this path, and it is asked for another.
    assert!(!asking.write(".github/workflows/ci.yml").1);
    assert_eq!(asking.questions.len(), 1);
    asking.said = json!({ "action": "cancel" });
    assert!(asking.write(".git/config").1);
    assert_eq!(asking.questions.len(), 2);
    assert_eq!(
        (desk.text(".git/config"), desk.text(".github/workflows/ci.yml")),
        ("old\n".into(), "changed\n".into())
    );
}

#[test]
fn a_client_that_cannot_ask_is_told_how_a_person_allows_it_and_the_setting_does() {
    let desk = Desk::new();
    desk.write(".github/ci.yml", "old\n");
    let write = |words: &[&str]| {
        let words = [&["mcp", "--mode", "edit", "--tools", "all"], words].concat();
        let mut client = Client::greet(desk.command(&words), "2025-11-25");
        client.call("write", json!({ "path": ".github/ci.yml", "content": "new\n" }))
    };
    let (text, failed) = write(&[]);
    let path = desk.path().canonicalize().unwrap().join(".github/ci.yml");
    let expected = format!("the user can add {path:?} to the setting tools.allow_writes in ");
    assert!(failed && text.contains(&expected), "{text}");
    // A project's own file does not.
    desk.write(".cellist/config.toml", "[tools]\nallow_writes = [\"/\"]\n");
    assert!(write(&[]).1);
    fs::write(desk.state().join("config.toml"), format!("[tools]\nallow_writes = [{path:?}]\n")).unwrap();
    let (text, failed) = write(&[]);
    assert!(!failed && desk.text(".github/ci.yml") == "new\n", "{text}");
}

#[test]
fn an_agent_in_a_shell_reaches_what_other_agents_reach_and_a_person_all_of_it() {
    let (desk, paths) = desk();
    desk.write("secret.ipynb", notebook(&[SECRET]));
    desk.write(".github/nb.ipynb", notebook(&["x"]));
    fs::write(desk.state().join("config.toml"), "[chat]\nexclude = [\"secret.*\"]\n").unwrap();
    let agent = |words: &[&str]| Ran::of(desk.command(words).env("CELLIST_AGENT", "scribe"));
    let refused = |words: &[&str]| {
        let ran = agent(words);
        let told = format!("{}{}", String::from_utf8_lossy(&ran.out), ran.err);
        assert!(ran.exit != 0 && !told.contains(SECRET), "{words:?}: {told}");
        told
    };
    for path in paths.iter().map(String::as_str).chain(["secret.ipynb"]) {
        let told = refused(&["read", &format!("{path}:raw")]);
        assert!(told.contains(denial(path)), "{path}: {told}");
    }
    for words in [
        &["read", "secret.ipynb"][..],
        &["diff", "nb.ipynb", "secret.ipynb"],
        &["diff", "nb.ipynb", ".env"],
        &["write", "nb.ipynb", ".env"],
        &["cell", "insert", "nb.ipynb", "end", "--file", ".env"],
        &["cell", "edit", "secret.ipynb", "0", "--source", "x"],
        &["history", "secret.ipynb"],
        &["merge", "nb.ipynb", "secret.ipynb", "nb.ipynb"],
        &["edit", "secret.ipynb", "--old", "s", "--new", "t"],
    ] {
        refused(words);
    }
    for words in [
        &["cell", "edit", ".github/nb.ipynb", "0", "--source", "evil"][..],
        &["cell", "insert", ".github/nb.ipynb", "end", "--source", "evil"],
        &["new", ".git/new.ipynb"],
        &["run", ".github/nb.ipynb"],
    ] {
        fs::create_dir_all(desk.path().join(".git")).unwrap();
        assert!(refused(words).contains("tools.allow_writes"), "{words:?}");
    }
    for words in [&["trust"][..], &["status", "--token"], &["git-setup"], &["open"], &["revoke", "--all"]] {
        assert!(refused(words).contains("is not available to agents"), "{words:?}");
    }
    assert!(desk.text(".github/nb.ipynb").contains('x') && !desk.path().join(".git/new.ipynb").exists());
    // People are not restricted, and neither is an agent's ordinary work.
    assert!(desk.run(&["read", "secret.ipynb"]).ok().contains(SECRET));
    desk.run(&["cell", "edit", ".github/nb.ipynb", "0", "--source", "mine"]).ok();
    assert_eq!(agent(&["cell", "edit", "nb.ipynb", "0", "--source", "y = 2"]).exit, 0);
    assert_eq!(desk.sources(), ["y = 2"]);
}
