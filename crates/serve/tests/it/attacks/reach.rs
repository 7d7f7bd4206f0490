//! Code in a kernel calls tools. In no mode of its agent does it reach secrets, state files, or
//! files that other programs execute.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use cellist_session::execution::Status;
use cellist_session::sessions::OwnerId;
use cellist_tools::{Agent, Mode, ToolSet};
use serde_json::json;
use testkit::{SECRET, SECRETS, STATE_FILES};

use crate::bed::soon;
use crate::bridge::Site;

/// Calls each tool on each path, and collects answers and refusals.
const CODE: &str = "
import json
told, refused = [], {}
for path in PATHS:
    for spelled in (path, path + ':raw'):
        for name, given in [
            ('read', {'path': spelled}),
            ('write', {'path': spelled, 'content': 'x'}),
            ('edit', {'path': spelled, 'old': 'n', 'new': 'x'}),
            ('get_notebook_cells', {'notebook': path}),
            ('search_notebook', {'notebook': path, 'query': 'needle'}),
            ('create_notebook', {'notebook': path}),
        ]:
            try:
                told.append((name, spelled, getattr(tool, name)(**given)))
            except Exception as error:
                assert type(error).__name__ == 'ToolError', error
                refused[name + ' ' + spelled] = str(error)
with open('found.json', 'w') as file:
    json.dump({'told': told, 'refused': refused}, file)
";

/// Whether a refusal is due to the mode.
fn is_of_mode(why: &str) -> bool {
    why.contains("needs Edit mode") || why.contains("needs Agent mode")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_calls_tools_reaches_no_secret_and_no_state_file_in_any_mode() {
    let site = Site::new("runner", |_| {}).await;
    let state = STATE_FILES.map(|name| format!("home/{name}"));
    let private: Vec<&str> = SECRETS.into_iter().chain(state.iter().map(String::as_str)).collect();
    for name in &private {
        let path = site.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = if *name == "home/config.toml" { format!("# {SECRET}") } else { SECRET.to_owned() };
        fs::write(path, text).unwrap();
    }
    symlink(site.file(".env"), site.file("e.ipynb")).unwrap();
    fs::hard_link(site.file("id_rsa"), site.file("h.ipynb")).unwrap();
    let paths: Vec<&str> = private.iter().copied().chain(["e.ipynb", "h.ipynb"]).collect();
    let code = CODE.replace("PATHS", &json!(paths).to_string());
    for mode in Mode::ALL {
        let mut caller = site.agent.caller().clone();
        // A setting that allows all writes does not include them.
        (caller.mode, caller.tools, caller.allowed) = (mode, ToolSet::All, vec!["/".to_owned()]);
        let agent = Arc::new(Agent::new(caller, OwnerId(format!("{mode}"))));
        let report = soon(site.run_for(Some(agent), &code).done()).await.unwrap();
        let text = &report.cells[0].report.text;
        assert_eq!(report.status, Status::Ok, "{mode}: {text}");
        let found = fs::read_to_string(site.file("found.json")).unwrap();
        assert!(!found.contains(SECRET), "{mode}: {found}");
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["told"], json!([]), "{mode}");
        let refused = found["refused"].as_object().unwrap();
        assert_eq!(refused.len(), paths.len() * 2 * 6, "{mode}");
        for (call, why) in refused {
            let why = why.as_str().unwrap();
            let path = call.split(' ').nth(1).unwrap();
            let table =
                if path.starts_with("home/") { "belongs to cellist itself" } else { "is kept from models" };
            // The mode refuses a tool that changes files first.
            let by_mode = mode != Mode::Agent && is_of_mode(why);
            assert!(why.contains(table) || by_mode, "{mode} {call}: {why}");
        }
        let looks = refused.iter().filter(|(call, _)| call.starts_with("read ") || call.starts_with("get_"));
        assert!(looks.into_iter().all(|(_, why)| !is_of_mode(why.as_str().unwrap())), "{mode}");
    }
    for name in private {
        assert!(fs::read_to_string(site.file(name)).unwrap().ends_with(SECRET), "{name}");
    }
    site.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_calls_tools_writes_nothing_that_other_programs_run() {
    let site = Site::new("runner", |_| {}).await;
    fs::create_dir_all(site.file(".git")).unwrap();
    fs::write(site.file(".git/config"), "old").unwrap();
    let code = "try:\n    tool.write(path='.git/config', content='evil')\nexcept Exception as error:\n    print('refused:', error)";
    for (mode, expected) in
        [(Mode::Ask, "Edit mode"), (Mode::Edit, "tools.allow_writes"), (Mode::Agent, "tools.allow_writes")]
    {
        let mut caller = site.agent.caller().clone();
        caller.mode = mode;
        let agent = Arc::new(Agent::new(caller, OwnerId(format!("{mode}"))));
        let report = soon(site.run_for(Some(agent), code).done()).await.unwrap();
        let text = &report.cells[0].report.text;
        assert!(text.starts_with("refused: ") && text.contains(expected), "{mode}: {text}");
        assert_eq!(fs::read_to_string(site.file(".git/config")).unwrap(), "old", "{mode}");
    }
    site.close().await;
}
