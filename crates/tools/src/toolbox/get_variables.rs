//! `get_variables`: what there is in a Python kernel, found out by code that nobody sees and that leaves nothing behind.

use std::fmt::Write;
use std::time::Duration;

use cellist_output::{Ansi, Limits};
use cellist_session::execution::{Limit, Reading};
use cellist_session::sessions::{Call as SessionCall, Code, SessionError, SessionKey, SessionState};
use serde::Deserialize;

use super::runs::{failure, session_call};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::budget;
use crate::result::fit;

/// The code that looks.
const LOOK: &str = include_str!("variables.py");
/// What its answer begins with.
const MARK: &str = "cellist-variables ";
/// How many variables are told.
const MOST: usize = 100;
/// How many characters of a value are told.
const WIDTH: usize = 80;
/// How long to wait for a kernel that is busy.
const PATIENCE: Duration = Duration::from_secs(5);
/// What the answer may have on its way.
const ON_THE_WAY: usize = 512 * 1024;

/// What the code tells.
#[derive(Debug, Deserialize)]
struct Told {
    variables: Vec<Variable>,
    functions: Vec<String>,
    classes: Vec<String>,
    modules: Vec<String>,
    more: usize,
    missing: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Variable {
    name: String,
    r#type: String,
    shape: Option<Vec<Option<i64>>>,
    dtype: Option<String>,
    columns: Option<Vec<String>>,
    #[serde(default)]
    more_columns: usize,
    length: Option<i64>,
    preview: Option<String>,
}

impl Toolbox {
    pub(super) async fn get_variables(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let (key, name) = self.looked_at(&call)?;
        let no_kernel = || Ok(Answer::text(format!("{name}: no kernel runs, so there are no variables.")));
        let view = self.sessions.list().into_iter().find(|view| view.id == key.id && view.cwd == key.cwd);
        let (Some(view), Some(order)) = (view, self.sessions.order(&key)) else { return no_kernel() };
        let is_busy = || {
            Answer::failure(format_args!(
                "{name}: the kernel is busy; ask again when it is idle, or interrupt it with `notebook_kernel`"
            ))
        };
        match view.state {
            SessionState::Dead => return no_kernel(),
            SessionState::Starting => return Err(is_busy()),
            SessionState::Idle | SessionState::Busy | SessionState::Silent => {}
        }
        if !order.language().eq_ignore_ascii_case("python") {
            return Err(Answer::failure(format_args!(
                "{name}: variables can be listed in Python kernels only, and this one runs {}; run code that shows them",
                order.language()
            )));
        }
        let settings = self.settings(call.caller(), &key.cwd).await?;
        let code = Code { code: code(call.arguments.texts("names")), hidden: true, ..Code::default() };
        let work = session_call(&call, key, order, vec![code], &settings);
        let reading = Reading::new(Limits::new(ON_THE_WAY, 10_000), Ansi::Remove);
        let limit = Limit::Given(PATIENCE);
        let ticket =
            self.sessions.call(SessionCall { owner: None, limit, reading, kind: kind_of(&view), ..work });
        let report = match tokio::time::timeout(PATIENCE, ticket.done()).await {
            Ok(report) => report.map_err(|error| failure(&format_args!("{name}: {error}"), error.hint()))?,
            Err(_) => {
                // Still in the queue, it never runs.
                ticket.canceller().cancel();
                return Err(is_busy());
            }
        };
        let text = report.cells.first().map(|cell| cell.report.text.as_str()).unwrap_or_default();
        let told = text.lines().find_map(|line| line.strip_prefix(MARK));
        match told.and_then(|json| serde_json::from_str::<Told>(json).ok()) {
            Some(told) => Ok(Answer::text(fit(in_words(&told, &name), budget::budget(call.arguments)))),
            None => Err(Answer::failure(format_args!("{name}: the kernel did not tell its variables"))),
        }
    }

    /// The session that is looked at, and what to call it.
    fn looked_at(&self, call: &Call<'_>) -> Result<(SessionKey, String), Answer> {
        let caller = call.caller();
        let named = call.arguments.text("session").map(str::trim).filter(|name| !name.is_empty());
        let (editor, notebook) = (self.editor(), call.arguments.text("notebook"));
        let of_notebook = || self.sight(call, &editor).notebook(notebook);
        let place = match (named, notebook) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(of_notebook()?),
            // The active notebook, or else the caller's own session.
            (None, None) => of_notebook().ok(),
        };
        if let Some(place) = place {
            return Ok((SessionKey::of_notebook(&place.real), place.name));
        }
        let named = named.unwrap_or(&caller.session);
        match self.sessions.find(named, None) {
            Ok(key) => Ok((key, format!("session {named}"))),
            Err(SessionError::NoSuchSession { .. }) => {
                Ok((SessionKey::new(named, caller.cwd.as_path()), format!("session {named}")))
            }
            Err(error) => Err(failure(&error, None)),
        }
    }
}

/// What the session is there for stays what it is.
fn kind_of(view: &cellist_session::sessions::SessionView) -> cellist_session::sessions::Kind {
    match &view.notebook {
        Some(path) => cellist_session::sessions::Kind::Notebook { path: path.clone() },
        None => cellist_session::sessions::Kind::Tool,
    }
}

/// The code, which runs in a namespace of its own.
fn code(names: Option<&[String]>) -> String {
    let literal = |text: &str| serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned());
    let names = match names {
        None => "None".to_owned(),
        Some(names) => {
            let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
            format!("[{}]", names.join(", "))
        }
    };
    let look = literal(&format!("{LOOK}\n_cellist_variables(namespace, {names}, {MOST}, {WIDTH})\n"));
    format!("exec({look}, {{'namespace': globals()}})")
}

fn in_words(told: &Told, name: &str) -> String {
    let Told { variables, functions, classes, modules, more, missing } = told;
    let mut text = match variables.len() + more {
        1 => format!("{name}: 1 variable"),
        count => format!("{name}: {count} variables"),
    };
    for variable in variables {
        let Variable { name, r#type, shape, dtype, columns, more_columns, length, preview } = variable;
        let _ = write!(text, "\n{name}: {type}", r#type = r#type);
        if let Some(shape) = shape {
            let sizes: Vec<String> = shape
                .iter()
                .map(|size| size.map_or_else(|| "?".to_owned(), |size| size.to_string()))
                .collect();
            let _ = write!(text, " {}", if sizes.is_empty() { "scalar".to_owned() } else { sizes.join("×") });
        }
        if let Some(dtype) = dtype {
            let _ = write!(text, " {dtype}");
        }
        if let Some(length) = length {
            let _ = write!(text, " of {length}");
        }
        if let Some(preview) = preview {
            let _ = write!(text, " = {preview}");
        }
        if let Some(columns) = columns {
            let _ = write!(text, ", columns {}", columns.join(", "));
            if *more_columns > 0 {
                let _ = write!(text, " and {more_columns} more");
            }
        }
    }
    if *more > 0 {
        let _ = write!(text, "\n{more} more; name them in `names`");
    }
    for (what, names) in [("functions", functions), ("classes", classes), ("modules", modules)] {
        if !names.is_empty() {
            let _ = write!(text, "\n{what}: {}", names.join(", "));
        }
    }
    if !missing.is_empty() {
        let _ = write!(text, "\nnot there: {}", missing.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn variables_are_told_in_a_line_each() {
        let told = serde_json::from_str(
            r#"{"variables": [
                {"name": "x", "type": "int", "preview": "1"},
                {"name": "df", "type": "DataFrame", "shape": [3, 2], "columns": ["a int64", "b str"], "more_columns": 4},
                {"name": "a", "type": "ndarray", "shape": [], "dtype": "float64"},
                {"name": "l", "type": "list", "length": 3, "preview": "[1, 2, 3]"}],
            "functions": ["f", "g"], "classes": [], "modules": ["np"], "more": 2, "missing": ["z"]}"#,
        );
        assert_snapshot!(in_words(&told.unwrap(), "nb.ipynb"), @r"
        nb.ipynb: 6 variables
        x: int = 1
        df: DataFrame 3×2, columns a int64, b str and 4 more
        a: ndarray scalar float64
        l: list of 3 = [1, 2, 3]
        2 more; name them in `names`
        functions: f, g
        modules: np
        not there: z
        ");
    }

    #[test]
    fn names_are_handed_in_as_text_and_never_as_code() {
        let code = code(Some(&["a\"]); import os #".to_owned()]));
        assert!(code.starts_with("exec(\"") && code.ends_with(", {'namespace': globals()})"));
        assert!(code.contains(r#"[\"a\\\"]); import os #\"]"#), "{code}");
    }
}
