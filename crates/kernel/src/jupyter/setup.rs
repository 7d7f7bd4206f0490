//! The hidden code that sets up a Python kernel, and how its answer reads.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use super::message::{Message, unhex};
use crate::launch::Launch;

const SCRIPT: &str = include_str!("start.py");
const RESULT: &str = "_cellist_started";

/// The kind of message by which a kernel that is about to end itself learns that all it said was heard, where it
/// cannot look at our files.
pub(crate) const HEARD: &str = "cellist_heard";

/// The inputs of a kernel's setup.
pub(crate) struct Given<'a> {
    pub(crate) launch: &'a Launch,
    /// How it is told that all it said was heard.
    pub(crate) heard: Sign<'a>,
    /// Variables to set, and whether the folder is to be entered: for kernels whose process we do not start.
    pub(crate) elsewhere: Option<&'a [(String, String)]>,
}

/// How a kernel that is about to end itself is told that all it said was heard.
pub(crate) enum Sign<'a> {
    /// By a file.
    File(&'a Path),
    /// By a message on its control channel.
    Message,
}

/// The request that sets up a kernel. Names that it needs are gone when it was answered.
pub(crate) fn request(given: &Given<'_>) -> serde_json::Value {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let Given { launch, heard, elsewhere } = given;
    // Another machine does not have our files, but may have folders of the same names.
    let source = |path: &Path| elsewhere.and_then(|_| std::fs::read_to_string(path).ok());
    let modules: Vec<_> = launch
        .modules
        .iter()
        .map(
            |module| json!({"name": module.name, "path": text(&module.path), "source": source(&module.path)}),
        )
        .collect();
    let cwd = launch.cwd.canonicalize().unwrap_or_else(|_| launch.cwd.clone());
    let (sign, message) = match heard {
        Sign::File(file) => (Some(text(file)), None),
        Sign::Message => (None, Some(HEARD)),
    };
    let variables = elsewhere.map(|variables| {
        variables.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect()
    });
    let variables: Option<serde_json::Map<String, serde_json::Value>> = variables;
    let given = json!({
        "cwd": text(&cwd),
        "prelude": launch.prelude,
        "modules": modules,
        "heard": sign,
        "heard_message": message,
        "variables": variables,
    });
    let code = format!(
        "{RESULT} = {{}}\nexec({}, {RESULT})\n{RESULT} = {RESULT}['start']({}, globals())\n",
        python_text(SCRIPT),
        python_text(&given.to_string())
    );
    let mut request = execute(&code, true);
    request["user_expressions"] = json!({"started": format!("globals().pop({RESULT:?})()")});
    request
}

/// The result of a setup.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) notices: Vec<String>,
    pub(crate) kernel_waits: bool,
}

pub(crate) fn answer(message: &Message) -> Setup {
    #[derive(Deserialize)]
    struct SetupReply {
        ename: Option<String>,
        evalue: Option<String>,
        #[serde(default)]
        user_expressions: serde_json::Value,
    }
    #[derive(Deserialize)]
    struct SetupResult {
        failed: Vec<ModuleFailure>,
        kernel_waits: bool,
        /// The folder that it runs in because the one that was wanted is not there, and why not.
        #[serde(default)]
        stays: Option<(String, String)>,
    }
    #[derive(Deserialize)]
    struct ModuleFailure {
        name: Option<String>,
        path: String,
        error: String,
        message: String,
        line: Option<u64>,
    }

    let Ok(reply) = message.read::<SetupReply>() else { return Setup::default() };
    if let Some(name) = reply.ename {
        let said = cellist_output::notices::raised(&name, &reply.evalue.unwrap_or_default());
        return Setup {
            notices: vec![format!("the kernel could not be set up: {said}")],
            kernel_waits: false,
        };
    }
    let text = reply.user_expressions["started"]["data"]["text/plain"].as_str().unwrap_or_default();
    let started = unhex(text.trim_matches(['\'', '"']).as_bytes())
        .and_then(|json| serde_json::from_slice::<SetupResult>(&json).ok());
    let Some(started) = started else { return Setup::default() };
    let stays = started.stays.map(|(folder, reason)| {
        format!("the kernel's machine does not have the notebook's folder: it runs in {folder} ({reason})")
    });
    let notices = started.failed.into_iter().map(|ModuleFailure { name, path, error, message, line }| {
        let what = name.map_or_else(|| "the prelude".to_owned(), |name| format!("module {name}"));
        let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
        format!("{what} failed ({path}{line}): {}", cellist_output::notices::raised(&error, &message))
    });
    Setup { notices: stays.into_iter().chain(notices).collect(), kernel_waits: started.kernel_waits }
}

/// Code that sets and removes variables of a Python process, and leaves no name behind.
pub(crate) fn variables(changes: &[(String, Option<String>)]) -> String {
    let lines = changes.iter().map(|(name, value)| match value {
        Some(value) => {
            format!("__import__('os').environ[{}] = {}\n", python_text(name), python_text(value))
        }
        None => format!("__import__('os').environ.pop({}, None)\n", python_text(name)),
    });
    lines.collect()
}

/// A request to run code; hidden code is not counted, kept or shown.
pub(crate) fn execute(code: &str, hidden: bool) -> serde_json::Value {
    json!({
        "code": code,
        "silent": hidden,
        "store_history": !hidden,
        "user_expressions": {},
        "allow_stdin": false,
        "stop_on_error": false,
    })
}

/// A text as Python writes it: JSON's escapes are Python's, too.
fn python_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &serde_json::Value) -> Setup {
        let content = content.to_string().into();
        answer(&Message { kind: "execute_reply".into(), id: "1".into(), content, ..Message::default() })
    }

    fn hex(json: &serde_json::Value) -> String {
        let digits: String = json.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("'{digits}'")
    }

    #[test]
    fn what_failed_is_told_with_its_line() {
        let started = json!({"kernel_waits": true, "failed": [
            {"name": null, "path": "<prelude>", "error": "NameError", "message": "no x", "line": 2},
            {"name": "mine", "path": "/m.py", "error": "OSError", "message": "", "line": null},
        ]});
        let reply = json!({"user_expressions": {"started": {"data": {"text/plain": hex(&started)}}}});
        let notices = vec![
            "the prelude failed (<prelude>, line 2): NameError: no x".into(),
            "module mine failed (/m.py): OSError".into(),
        ];
        assert_eq!(read(&reply), Setup { notices, kernel_waits: true });
    }

    #[test]
    fn a_kernel_that_answers_otherwise_is_let_be() {
        assert_eq!(read(&json!({})), Setup::default());
        assert_eq!(
            read(&json!({"user_expressions": {"started": {"data": {"text/plain": "'zz'"}}}})),
            Setup::default()
        );
        let raised = read(&json!({"status": "error", "ename": "SyntaxError", "evalue": "old"}));
        assert_eq!(raised.notices, ["the kernel could not be set up: SyntaxError: old"]);
    }

    #[test]
    fn texts_are_quoted_for_python() {
        let code = variables(&[("A".into(), Some("it's \"x\"\n\\é😀".into())), ("B".into(), None)]);
        assert_eq!(
            code,
            "__import__('os').environ[\"A\"] = \"it's \\\"x\\\"\\n\\\\é😀\"\n__import__('os').environ.pop(\"B\", None)\n"
        );
    }
}
