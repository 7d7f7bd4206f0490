//! Commands on gateways: flags and variables, and the gateway of our own that processes share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Flavour, Jupyter, TOKEN};

use crate::bench::without_environments;
use crate::desk::{Desk, Ran};

fn run(desk: &Desk, arguments: &[&str], prepare: impl Fn(&mut Command)) -> Ran {
    let mut command = desk.command(arguments);
    without_environments(&mut command);
    for name in ["PI_PYTHON_GATEWAY_URL", "PI_PYTHON_GATEWAY_TOKEN"] {
        command.env_remove(name);
    }
    prepare(&mut command);
    Ran::of(&mut command)
}

#[test]
fn code_and_notebooks_run_on_a_gateway_that_is_named() {
    let server = Jupyter::shared(Flavour::JupyterServer);
    let url = server.url();
    let desk = Desk::with(&["x = 6 * 7\nx"]);
    let token = |command: &mut Command| {
        command.env("PI_PYTHON_GATEWAY_TOKEN", TOKEN);
    };
    let report = run(&desk, &["exec", "6 * 7", "--json", "--gateway", &url], token).json();
    assert_eq!((&report["text"], &report["kernel"]["backend"]), (&json!("42\n"), &json!("gateway")));

    // By the variable, too, and no secret leaves.
    let code = "import os\nsorted(name for name in os.environ if 'TOKEN' in name or 'KEY' in name)";
    let report = run(&desk, &["exec", code, "--json", "--pass-env", "OPENAI_API_KEY"], |command| {
        command.env("PI_PYTHON_GATEWAY_URL", &url).env("PI_PYTHON_GATEWAY_TOKEN", TOKEN);
        command.env("OPENAI_API_KEY", "hush").env("GITHUB_TOKEN", "hush");
    })
    .json();
    assert_eq!(report["text"], "[]\n", "{report}");
    assert!(report["notices"].to_string().contains("OPENAI_API_KEY was not sent to the gateway"), "{report}");

    run(&desk, &["run", "nb.ipynb", "--gateway", &url], token).ok();
    let notebook: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
    assert_eq!(notebook["cells"][0]["outputs"][0]["data"]["text/plain"], json!(["42"]));

    let refused = run(&desk, &["exec", "1", "--gateway", &url], |_| {}).refused(3);
    assert!(refused.contains("wants a token") && refused.contains("PI_PYTHON_GATEWAY_TOKEN"), "{refused}");
    let refused = run(&desk, &["exec", "1", "--gateway", "http://127.0.0.1:1"], |_| {}).refused(3);
    assert!(refused.contains("http://127.0.0.1:1 cannot be reached"), "{refused}");
    let refused = run(&desk, &["exec", "1", "--gateway", "127.0.0.1"], |_| {}).refused(3);
    assert!(refused.contains("is not the address of a gateway"), "{refused}");
    let refused = run(&desk, &["exec", "1", "--kernel-id", "x"], |_| {}).refused(3);
    assert!(refused.contains("none is named"), "{refused}");

    let listed = run(&desk, &["kernels", "--json", "--gateway", &url], token).json();
    let names = listed["gateway"]["kernels"].as_array().unwrap();
    assert!(names.iter().any(|kernel| kernel["name"] == "python3"), "{listed}");
}

#[test]
fn a_notebook_runs_in_the_kernel_that_its_jupyter_server_has_for_it() {
    let server = Jupyter::shared(Flavour::JupyterServer);
    let desk = Desk::with(&["kept = 7\nkept"]);
    let folder = server.root().join("joined");
    std::fs::create_dir_all(&folder).unwrap();
    let notebook = folder.join("nb.ipynb");
    std::fs::copy(desk.path().join("nb.ipynb"), &notebook).unwrap();
    let body =
        r#"{"path": "joined/nb.ipynb", "type": "notebook", "name": "nb", "kernel": {"name": "python3"}}"#;
    let (status, said) = server.ask("POST", "/api/sessions", body);
    assert_eq!(status, 201, "{said}");
    let session: Value =
        serde_json::from_str(&said[said.find('{').unwrap()..=said.rfind('}').unwrap()]).unwrap();
    let id = session["kernel"]["id"].as_str().unwrap();
    let token = |command: &mut Command| {
        command.env("PI_PYTHON_GATEWAY_TOKEN", TOKEN);
    };
    let (url, path) = (server.url(), notebook.to_str().unwrap());
    run(&desk, &["run", path, "--join", "--gateway", &url], token).ok();
    // It keeps running, with the state of the cell.
    let report =
        run(&desk, &["exec", "kept + 1", "--json", "--gateway", &url, "--kernel-id", id], token).json();
    assert_eq!(report["text"], "8\n");
    assert_eq!(server.ask("GET", &format!("/api/kernels/{id}"), "").0, 200);
}

/// A state folder with a gateway, which is ended with it.
pub(crate) struct Shared {
    desk: Desk,
    python: PathBuf,
}

impl Shared {
    pub(crate) fn new() -> Shared {
        Shared { desk: Desk::new(), python: testkit::python("gateway") }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.desk.command(arguments);
        without_environments(&mut command);
        command.env_remove("PI_PYTHON_GATEWAY_URL").arg("--python").arg(&self.python);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    pub(crate) fn gateways(&self) -> Vec<Value> {
        self.run(&["gateway", "--json"]).json()["gateways"].as_array().unwrap().clone()
    }

    /// The gateway's own record.
    fn entry(&self) -> PathBuf {
        let mut folders = std::fs::read_dir(self.desk.state().join("gateway")).unwrap();
        folders.next().unwrap().unwrap().path().join("gateway.json")
    }

    fn exec(&self) -> Ran {
        self.run(&["exec", "6 * 7", "--backend", "gateway"])
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.desk.run(&["stop"]);
        self.run(&["gateway", "stop"]);
    }
}

#[test]
fn twenty_processes_that_start_at_once_share_one_gateway() {
    let shared = Shared::new();
    let start = |_| {
        let mut command = shared.command(&["gateway", "start", "--json"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..20).map(start).collect();
    let mut found = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let gateways = answer["gateways"].as_array().unwrap();
        assert_eq!(gateways.len(), 1, "{answer}");
        found.insert(gateways[0]["pid"].as_u64().unwrap());
    }
    assert_eq!(found.len(), 1, "{found:?}");
    let ran = shared.exec();
    assert_eq!((ran.exit, ran.out.as_slice()), (0, b"42\n".as_slice()), "{}", ran.all());
    let stopped = shared.run(&["gateway", "stop", "--json"]).json();
    assert_eq!(stopped["stopped"][0]["pid"].as_u64(), found.first().copied());
    assert!(shared.gateways().is_empty());
}

#[test]
fn a_gateway_that_is_gone_or_cannot_be_found_is_replaced() {
    let shared = Shared::new();
    assert_eq!(shared.exec().exit, 0);
    let first = shared.gateways()[0]["pid"].as_i64().unwrap();
    assert_eq!(shared.gateways()[0]["kernels"], 0, "the kernel ended with its command");

    // Killed: its words stay, and its lock is free.
    let killed = Command::new("kill").args(["-9", &first.to_string()]).status().unwrap();
    assert!(killed.success());
    let words = std::fs::read_to_string(shared.entry()).unwrap();
    // Its process id belongs to another program by now.
    let reused = words.replace(&first.to_string(), &std::process::id().to_string());
    std::fs::write(shared.entry(), reused).unwrap();
    assert_eq!(shared.exec().exit, 0);
    let second = shared.gateways()[0]["pid"].as_i64().unwrap();
    assert!(second != first && second != i64::from(std::process::id()));

    // Half of its words, while it lives: nobody could find it any more.
    let words = std::fs::read(shared.entry()).unwrap();
    std::fs::write(shared.entry(), &words[..words.len() / 2]).unwrap();
    assert_eq!(shared.exec().exit, 0);
    let third = shared.gateways();
    assert_eq!(third.len(), 1);
    assert_ne!(third[0]["pid"].as_i64(), Some(second));

    // Half of its words, and it is gone.
    let pid = third[0]["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    std::fs::write(shared.entry(), "{\"pid\": 1, \"po").unwrap();
    assert_eq!(shared.exec().exit, 0);
}

#[test]
fn kernels_of_a_host_that_was_killed_are_ended_by_the_next_one() {
    let shared = Shared::new();
    let exec = |code| shared.run(&["exec", code, "--backend", "gateway", "--session", "s", "--json"]).json();
    exec("x = 1");
    let host = shared.desk.json(&["status"])["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &host]).status().unwrap().success());
    assert_eq!(shared.gateways()[0]["kernels"], 1, "it stays until someone comes");
    let report = exec("'x' in globals()");
    let text = "False\n[New kernel: the host was restarted. Earlier state is gone.]";
    assert_eq!(report["text"], text, "{report}");
    assert_eq!(shared.gateways()[0]["kernels"], 1);
    assert_eq!(shared.gateways()[0]["idle_timeout"], 900);
    let status = shared.run(&["gateway"]).all();
    assert!(status.contains("A gateway stops after 15 minutes without a kernel"), "{status}");
}

#[test]
fn what_our_own_gateway_needs_is_said() {
    let desk = Desk::new();
    let bare = crate::bench::bare_python();
    let python = bare.to_str().unwrap();
    let refused = run(&desk, &["exec", "1", "--backend", "gateway", "--python", python], |_| {}).refused(3);
    let install = format!("{python} -m pip install jupyter_kernel_gateway ipykernel");
    assert!(refused.contains(&install), "{refused}");
    let arguments = ["exec", "1", "--backend", "gateway", "--set", "python.shared_gateway=false"];
    let refused = run(&desk, &arguments, |_| {}).refused(3);
    assert!(refused.contains("Shared Python gateway required; local gateways are disabled"), "{refused}");
    assert!(!desk.state().join("gateway").exists());
}
