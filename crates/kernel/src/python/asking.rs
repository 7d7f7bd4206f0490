//! The one case where a process has to be asked: a shim that cannot be seen through. It is asked once, and the
//! answer is kept with its inputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};

use cellist_platform::Variables;
use cellist_platform::fault::{self, Site};
use serde::{Deserialize, Serialize};

use super::{Flaw, Interpreter, Shim};

/// How long a shim may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers of shims, by the shim and its inputs.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers(BTreeMap<String, PathBuf>);

/// Puts the program behind a shim in the shim's place. Answers are kept in the file `memory`; one that cannot
/// be written only means that the shim is asked again.
pub async fn settle(
    interpreter: Interpreter,
    memory: &Path,
    variables: &Variables,
    cwd: &Path,
) -> Result<Interpreter, Flaw> {
    let Some(shim) = &interpreter.shim else { return Ok(interpreter) };
    let key = key(shim, cwd);
    let text = std::fs::read(memory).unwrap_or_default();
    let mut answers: Answers = serde_json::from_slice(&text).unwrap_or_default();
    let known = answers.0.get(&key).filter(|path| path.is_file()).cloned();
    let path = match known {
        Some(path) => path,
        None => {
            let path = ask(shim, variables, cwd).await.ok_or(Flaw::SilentShim { tool: shim.tool })?;
            answers.0.insert(key, path.clone());
            keep(memory, &answers);
            path
        }
    };
    let environment = super::layout::environment_of(&super::Disk, &path);
    Ok(Interpreter { path, environment, shim: None, ..interpreter })
}

async fn ask(shim: &Shim, variables: &Variables, cwd: &Path) -> Option<PathBuf> {
    let mut command = tokio::process::Command::new(&shim.path);
    command.args(["-I", "-c", "import sys; print(sys.executable)"]).current_dir(cwd).env_clear();
    command.envs(variables.iter()).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    fault::point(Site::InterpreterProcess).ok()?;
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    (output.status.success() && path.is_file()).then_some(path)
}

fn key(shim: &Shim, cwd: &Path) -> String {
    let stamp = |path: &Path| {
        let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |age| age.as_nanos())
    };
    let files = [&shim.path].into_iter().chain(&shim.depends_on);
    let mut key = cwd.display().to_string();
    for file in files {
        key.push_str(&format!("|{}@{}", file.display(), stamp(file)));
    }
    key
}

fn keep(memory: &Path, answers: &Answers) {
    let Ok(text) = serde_json::to_vec_pretty(answers) else { return };
    let beside = memory.with_extension(format!("{}.new", std::process::id()));
    if let Some(folder) = memory.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    if std::fs::write(&beside, text).is_ok() && std::fs::rename(&beside, memory).is_err() {
        let _ = std::fs::remove_file(&beside);
    }
}
