//! `cellist settings`, and the effect of settings on commands that run code.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::bench::{Backend, bare_python};
use crate::desk::{Desk, notebook};
use crate::sessions::Bed;

impl Desk {
    pub(crate) fn user_settings(&self, text: &str) {
        fs::write(self.state().join("config.toml"), text).unwrap();
    }

    /// Runs code on the bare runner, with these flags and variables.
    fn exec(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Value {
        Backend::BareRunner.tally();
        let python = bare_python();
        let python = ["--python", python.to_str().unwrap(), "--json"];
        let mut command = self.command(&[&["exec"], arguments, &python].concat());
        command.envs(variables.iter().copied());
        let ran = self.run_marked(&mut command);
        serde_json::from_slice(&ran.out).unwrap_or_else(|_| panic!("{}", ran.all()))
    }
}

#[test]
fn every_setting_is_listed_with_its_value_and_where_that_comes_from() {
    let desk = Desk::new();
    desk.user_settings("[python]\nidle_timeout = 90\n");
    desk.write(".cellist/config.toml", "output.max_lines = 10\n");
    let mut command = desk.command(&["settings", "--set", "python.backend=runner"]);
    command.env("CELLIST_RUN_SOFT_WAIT", "1.5");
    let text = crate::desk::Ran::of(&mut command).ok();
    let project = desk.path().canonicalize().unwrap();
    let text =
        text.replace(project.to_str().unwrap(), "PROJECT").replace(desk.state().to_str().unwrap(), "USER");
    assert_snapshot!(text, @r#"
    python.backend          "runner"   --set
    python.kernel_mode      "session"  default
    python.tool_mode        "both"     default
    python.shared_gateway   true       default
    python.retry_on_crash   "auto"     default
    python.max_sessions     4          default
    python.idle_timeout     "90s"      USER/config.toml:2
    python.heartbeat        "5s"       default
    python.interrupt_grace  "5s"       default
    python.on_stuck         "none"     default
    python.startup_timeout  "1m"       default
    python.pass_env         []         default
    session.idle            "1h"       default
    host.idle               "5m"       default
    output.max_bytes        "50KiB"    default
    output.max_lines        10         PROJECT/.cellist/config.toml:1
    run.soft_wait           "1500ms"   CELLIST_RUN_SOFT_WAIT
    notebook.timing         false      default
    notebook.max_output     "10MiB"    default
    notebook.review         true       default
    artifacts.max_bytes     "8GiB"     default
    artifacts.max_age       "30d"      default
    bridge.inherit          false      default
    terminal.images         "auto"     default
    tools.roots             []         default
    tools.redact            true       default
    tools.allow_writes      []         default
    chat.provider           "auto"     default
    chat.model              "none"     default
    chat.base_url           "none"     default
    chat.api_key            "none"     default
    chat.run_code           "ask"      default
    chat.context            "32KiB"    default
    chat.max_steps          100        default
    chat.max_tokens         8192       default
    chat.exclude            []         default

    PROJECT/.cellist/config.toml was read
    USER/config.toml was read
    "#);
}

#[test]
fn programs_get_values_in_seconds_and_bytes() {
    let desk = Desk::new();
    desk.user_settings("\n[python]\nidle_timeout = \"2m\"\n");
    let json = desk.json(&["settings"]);
    let find = |name: &str| {
        let all = json["settings"].as_array().unwrap();
        all.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    let row = find("python.idle_timeout");
    assert_eq!((&row["value"], &row["default"], &row["origin"]), (&json!(120), &json!(300), &json!("user")));
    assert_eq!((&row["line"], &row["needs_trust"]), (&json!(3), &json!(false)));
    assert_eq!(row["path"], json!(desk.state().join("config.toml")));
    assert_eq!(find("notebook.max_output")["value"], json!(10 << 20));
    assert_eq!(find("python.pass_env")["needs_trust"], json!(true));
    assert_eq!(json["files"], json!([{ "path": desk.state().join("config.toml"), "exists": true }]));
    assert_eq!(json["project"], Value::Null);
}

#[test]
fn what_is_wrong_is_named_with_its_place_by_every_command_that_needs_settings() {
    let desk = Desk::with(&["1"]);
    desk.write(".cellist/config.toml", "[python]\nmax_sessions = 'many'\n");
    let before = desk.read("nb.ipynb");
    for arguments in [&["settings"][..], &["exec", "1"], &["run", "nb.ipynb"]] {
        let said = desk.run(arguments).refused(2);
        assert!(said.contains("/.cellist/config.toml:2: python.max_sessions cannot be \"many\""), "{said}");
        assert!(said.contains("hint: python.max_sessions takes a whole number from 1 to 1000"), "{said}");
    }
    let ran = desk.run(&["settings", "--json"]);
    let error = serde_json::from_slice::<Value>(&ran.out).unwrap()["error"].clone();
    assert_eq!((ran.exit, &error["kind"]), (2, &json!("invalid_setting")));
    assert_eq!(error["faults"].as_array().unwrap().len(), 1);
    // Commands that need no settings still work.
    desk.run(&["read", "nb.ipynb"]).ok();
    assert_eq!(desk.read("nb.ipynb"), before);
}

#[test]
fn output_is_cut_as_the_settings_say() {
    let desk = Desk::new();
    desk.user_settings("output.max_lines = 5\n");
    let json = desk.exec(&["for i in range(100): print(i)"], &[]);
    assert_eq!(json["truncated"]["total_lines"], json!(100), "{json:#}");
    let shown = json["truncated"]["shown_lines"].as_u64().unwrap();
    assert!(shown <= 5, "{json:#}");
    let json = desk.exec(&["for i in range(100): print(i)"], &[("CELLIST_OUTPUT_MAX_LINES", "100")]);
    assert_eq!(json["truncated"], Value::Null);
}

#[test]
fn variables_are_passed_on_as_the_settings_say() {
    let desk = Desk::new();
    let code = "import os; print(os.environ.get('MY_TOKEN'), os.environ.get('OTHER_TOKEN'))";
    let variables = [("MY_TOKEN", "1"), ("OTHER_TOKEN", "2")];
    assert_eq!(desk.exec(&[code], &variables)["text"], "None None\n");
    desk.user_settings("python.pass_env = ['MY_TOKEN']\n");
    assert_eq!(desk.exec(&[code], &variables)["text"], "1 None\n");
    assert_eq!(desk.exec(&[code, "--pass-env", "OTHER_TOKEN"], &variables)["text"], "1 2\n");
}

#[test]
fn a_flag_for_the_backend_is_stronger_than_the_setting() {
    let desk = Desk::new();
    desk.user_settings("python.backend = 'jupyter'\n");
    let python = bare_python();
    let python = ["--python", python.to_str().unwrap()];
    let ran = desk.run_marked(&mut desk.command(&[&["exec", "1"], &python[..]].concat()));
    assert_eq!(ran.exit, 3, "{}", ran.all());
    let json = desk.exec(&["1", "--backend", "runner"], &[]);
    assert_eq!(json["kernel"]["backend"], "runner");
    let json = desk.exec(&["1", "--set", "python.backend=runner"], &[]);
    assert_eq!(json["kernel"]["backend"], "runner");
}

#[test]
fn a_kernel_that_takes_longer_than_the_settings_allow_is_given_up() {
    let desk = Desk::new();
    let python = desk.write("python", "#!/bin/sh\nexec sleep 100\n");
    fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let arguments =
        ["exec", "1", "--python", "./python", "--backend", "runner", "--set", "python.startup_timeout=1"];
    let ran = desk.run_marked(&mut desk.command(&arguments));
    assert_eq!(ran.exit, 3, "{}", ran.all());
    assert!(ran.err.contains("1 s"), "{}", ran.err);
}

#[test]
fn a_notebook_gets_times_only_when_they_are_wanted() {
    for backend in [Backend::BareRunner, Backend::Ipykernel] {
        let desk = Desk::with(&["import time; time.sleep(0.01)"]);
        let metadata = |desk: &Desk| {
            let notebook: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
            notebook["cells"][0]["metadata"].clone()
        };
        assert_eq!(desk.run_on(backend, &["run", "nb.ipynb"]).exit, 0);
        assert_eq!(metadata(&desk), json!({}));
        desk.user_settings("notebook.timing = true\n");
        assert_eq!(desk.run_on(backend, &["run", "nb.ipynb"]).exit, 0);
        let times = metadata(&desk)["execution"].clone();
        let keys: Vec<&String> = times.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "iopub.execute_input",
                "iopub.status.busy",
                "iopub.status.idle",
                "shell.execute_reply",
                "shell.execute_reply.started"
            ]
        );
        let time = |key: &str| times[key].as_str().unwrap().to_owned();
        assert!(time("shell.execute_reply.started") < time("shell.execute_reply"), "{times:#}");
        assert_eq!(time("shell.execute_reply").len(), "2026-11-15T12:30:00.123456Z".len());
    }
}

#[test]
fn what_a_notebook_keeps_is_cut_as_the_settings_say() {
    let desk = Desk::new();
    desk.write("nb.ipynb", notebook(&["print('x' * 5000)"]));
    desk.user_settings("notebook.max_output = '2KiB'\n");
    let length = || desk.read("nb.ipynb").len();
    assert_eq!(desk.run_on(Backend::BareRunner, &["run", "nb.ipynb"]).exit, 0);
    assert!(length() < 4000, "{}", desk.text("nb.ipynb"));
    assert_eq!(desk.run_on(Backend::BareRunner, &["run", "nb.ipynb", "--full-outputs"]).exit, 0);
    assert!(length() > 5000, "{}", desk.text("nb.ipynb"));
}

#[test]
fn the_host_keeps_as_many_sessions_as_its_user_says() {
    let bed = Bed::new(Backend::BareRunner);
    bed.desk.user_settings("python.max_sessions = 1\n");
    assert_eq!(bed.start("x = 1\nprint(x)")["text"], "1\n");
    let python = bare_python();
    let other = ["exec", "--session", "other", "--python", python.to_str().unwrap(), "--json", "1"];
    assert_eq!(bed.run(&other).exit, 0);
    let sessions = bed.run(&["sessions", "--json"]).json();
    let ids: Vec<&str> =
        sessions["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["other"]);
}

#[test]
fn a_session_keeps_nothing_where_each_call_is_to_have_its_own_kernel() {
    let bed = Bed::new(Backend::BareRunner);
    bed.desk.user_settings("python.kernel_mode = 'per-call'\n");
    assert_eq!(bed.start("x = 1\nprint(x)")["text"], "1\n");
    let again = bed.start("x");
    assert_eq!(again["error"]["ename"], "NameError", "{again:#}");
}

#[test]
fn a_host_does_not_start_on_settings_that_are_broken() {
    let desk = Desk::new();
    desk.user_settings("python.heartbeat = 'often'\n");
    let said = desk.run(&["serve"]).refused(2);
    assert!(said.contains("config.toml:1: python.heartbeat cannot be \"often\""), "{said}");
    let said = desk.run(&["exec", "--session", "s", "1"]).refused(2);
    assert!(said.contains("config.toml:1: python.heartbeat cannot be \"often\""), "{said}");
}
