//! Shell commands: reported, limited, stopped and stored like code.

use std::fs;
use std::path::Path;

use cellist_settings::ToolMode;
use cellist_tools::{AnswerBlock, ToolSet};
use serde_json::json;

use super::desk::{Desk, LONG, artifact, execution};

fn desk() -> Desk {
    Desk::with("runner", |caller| caller.tools = ToolSet::All)
}

/// A command that waits until a file exists.
fn waits_for(file: &Path) -> String {
    format!("while [ ! -e '{}' ]; do sleep 0.01; done", file.display())
}

/// Waits until the process whose number is in a file is gone.
async fn is_gone(file: &Path) {
    let pid = fs::read_to_string(file).unwrap();
    let process = Path::new("/proc").join(pid.trim());
    let gone = async {
        // A zombie has no command line.
        while !fs::read(process.join("cmdline")).unwrap_or_default().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, gone).await.expect("it is still there");
}

#[tokio::test]
async fn both_streams_keep_their_order_and_a_failure_has_the_exit_code() {
    let desk = desk();
    let told = desk.told("bash", json!({ "command": "echo one; echo two >&2; echo three; pwd" })).await;
    assert_eq!(told, format!("one\ntwo\nthree\n{}", desk.bed.work().display()));
    assert_eq!(desk.told("bash", json!({ "command": "true" })).await, "[No output]");
    let failed = desk.refused("bash", json!({ "command": "echo half; exit 3" })).await;
    assert_eq!(failed, "Error: CommandFailed: exit code 3\nhalf");
    let failed = desk.refused("bash", json!({ "command": "kill -SEGV $$" })).await;
    assert!(failed.starts_with("Error: CommandFailed: it was ended by SIGSEGV"), "{failed}");
    let failed = desk.refused("bash", json!({ "command": " " })).await;
    assert!(failed.contains("`command` is empty"), "{failed}");
    let failed = desk.refused("bash", json!({ "command": "pwd", "cwd": "nowhere" })).await;
    assert!(failed.contains("no such folder"), "{failed}");
    // There is no terminal to read from, so the command does not wait.
    assert_eq!(desk.told("bash", json!({ "command": "cat; read x || echo none" })).await, "none");
    desk.bed.close().await;
}

#[tokio::test]
async fn the_notice_of_a_cut_is_true_for_any_budget() {
    let desk = desk();
    for most in [300, 400, 500, 600, 800, 1500] {
        let text = desk.told("bash", json!({ "command": "seq 100000", "max_output": most })).await;
        let (shown, said): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| !line.starts_with('['));
        let [.., notice] = said.as_slice() else { panic!("{most}: nothing is said: {text}") };
        let told = format!("[Output cut: {} of 100000 lines", shown.len());
        assert!(text.len() <= most && notice.starts_with(&told), "{most}: {text}");
    }
    desk.bed.close().await;
}

#[tokio::test]
async fn long_output_is_cut_and_stored_whole() {
    let desk = desk();
    let answer = desk.call("bash", json!({ "command": "seq 200000", "max_output": 2000 })).await;
    let text = answer.all_text();
    assert!(!answer.is_failure && text.len() <= 2000, "{text}");
    assert!(text.starts_with("1\n2\n") && text.contains("\n200000\n"), "{text}");
    assert!(answer.blocks.iter().any(|block| matches!(block, AnswerBlock::Link { .. })), "{text}");
    let last = json!({ "id": artifact(&answer), "tail": 1 });
    assert!(desk.told("read_artifact", last).await.contains("200000"));
    desk.bed.close().await;
}

#[tokio::test]
async fn a_timeout_ends_a_command_and_its_children() {
    let desk = desk();
    let (child, never) = (desk.signal("child"), desk.signal("never"));
    let command =
        format!("echo begun; (echo $BASHPID > '{}'; {}) & wait", child.display(), waits_for(&never));
    let failed = desk.refused("bash", json!({ "command": command, "timeout": 1 })).await;
    assert!(failed.starts_with("Error: Command timed out after 1 seconds\nbegun"), "{failed}");
    assert!(!failed.contains("kernel"), "{failed}");
    is_gone(&child).await;
    desk.bed.close().await;
}

#[tokio::test]
async fn a_stubborn_command_is_killed_after_the_grace_period() {
    let desk = Desk::with("runner", |caller| {
        caller.tools = ToolSet::All;
        caller.environment.set = vec!["python.interrupt_grace=1".to_owned()];
    });
    let (child, never) = (desk.signal("child"), desk.signal("never"));
    let command =
        format!("trap '' INT TERM; echo $$ > '{}'; echo deaf; {}", child.display(), waits_for(&never));
    let mut calling = desk.start("bash", json!({ "command": command, "soft_wait": 600 }));
    calling.until(|progress| progress.message == "deaf").await;
    calling.canceller.cancel();
    let text = calling.answer().await.all_text();
    assert!(text.starts_with("Error: Execution was cancelled\ndeaf\n"), "{text}");
    assert!(
        text.ends_with("The command did not stop within 1 second of the interrupt and was killed."),
        "{text}"
    );
    is_gone(&child).await;
    desk.bed.close().await;
}

#[tokio::test]
async fn a_handed_over_command_does_not_block_others() {
    let desk = desk();
    let signal = desk.signal("go");
    let command = format!("echo begun; {}; echo done", waits_for(&signal));
    let handed = desk.told("bash", json!({ "command": command, "soft_wait": 0 })).await;
    let id = execution(&handed);
    // Neither other commands nor Python wait for it.
    assert_eq!(desk.told("bash", json!({ "command": "echo beside" })).await, "beside");
    fs::write(&signal, "").unwrap();
    assert_eq!(desk.told("wait", json!({ "execution": id, "timeout": 100 })).await, "begun\ndone");
    let command = format!("echo begun; {}", waits_for(&desk.signal("never")));
    let id = execution(&desk.told("bash", json!({ "command": command, "soft_wait": 0 })).await);
    let mut waiting = desk.start("wait", json!({ "execution": id, "timeout": 600 }));
    waiting.until(|progress| progress.message == "begun").await;
    desk.told("notebook_kernel", json!({ "execution": id, "action": "interrupt" })).await;
    let text = waiting.answer().await.all_text();
    assert!(text.starts_with("Error: Execution was cancelled"), "{text}");
    desk.bed.close().await;
}

#[tokio::test]
async fn background_processes_end_with_the_command() {
    let desk = desk();
    let child = desk.signal("child");
    let command = format!("sleep 1000 & echo $! > '{}'; echo done", child.display());
    assert_eq!(desk.told("bash", json!({ "command": command })).await, "done");
    is_gone(&child).await;
    desk.bed.close().await;
}

#[tokio::test]
async fn a_command_gets_kernel_variables_but_no_secrets() {
    let desk = Desk::with("runner", |caller| {
        caller.tools = ToolSet::All;
        for name in ["OPENAI_API_KEY", "GH_TOKEN", "PI_MARK"] {
            caller.environment.variables.push((name.into(), "value-of-it".into()));
        }
    });
    let told = desk.told("bash", json!({ "command": "env" })).await;
    let has = |name: &str| told.lines().any(|line| line.starts_with(&format!("{name}=")));
    assert!(has("PI_MARK") && has("PI_SESSION_FILE") && has("PI_ARTIFACTS_DIR"), "{told}");
    assert!(!has("OPENAI_API_KEY") && !has("GH_TOKEN"), "{told}");
    desk.bed.close().await;
}

#[tokio::test]
async fn without_python_the_shell_explains_once() {
    let desk = Desk::with("runner", |caller| {
        caller.tools = ToolSet::All;
        caller.environment.python = None;
        caller.environment.backend = None;
        caller.environment.variables = vec![("PATH".into(), "/nowhere".into())];
        let home = cellist_settings::Home::at(caller.cwd.join("home"));
        let settings = cellist_settings::Settings::default();
        (caller.tool_mode, _) = caller.environment.tool_mode(&home, &caller.cwd, &settings);
        assert_eq!(caller.tool_mode, ToolMode::BashOnly);
    });
    let told = desk.told("bash", json!({ "command": "echo one" })).await;
    assert_eq!(told, "[no Python was found: python and eval are not among your tools]\none");
    assert_eq!(desk.told("bash", json!({ "command": "echo two" })).await, "two");
    let refused = desk.refused("python", json!({ "code": "1" })).await;
    assert_eq!(refused, "Error: python is not among your tools: no Python was found; use bash instead");
    desk.bed.close().await;
}
