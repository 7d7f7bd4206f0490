//! Reports of editors over HTTP: the active notebook and the selected cells.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use cellist_platform::aside::aside;
use cellist_tools::{EditorReport, EditorSelection, EditorState};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::PageServer;
use crate::mcp::path_of;

/// The format of a report, as a hint.
const FORM: &str = "send {\"notebook\": \"/path/to/nb.ipynb\" or null, \"select\": [cells], \"editing\": cell or null, \
                    \"attach\": true or false, \"detach\": true or false}; all fields but `notebook` are optional, and a \
                    cell is an id or an index from 0";

/// The body of a report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportBody {
    /// A `Value`, because a missing field and null differ.
    notebook: Value,
    #[serde(default)]
    select: Vec<ReportedCell>,
    #[serde(default)]
    editing: Option<ReportedCell>,
    #[serde(default)]
    attach: bool,
    #[serde(default)]
    detach: bool,
}

/// A cell by id or index.
#[derive(Debug)]
struct ReportedCell(String);

impl<'de> Deserialize<'de> for ReportedCell {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ReportedCell, D::Error> {
        match Value::deserialize(from)? {
            Value::String(name) if !name.trim().is_empty() => Ok(ReportedCell(name)),
            Value::Number(index) if index.is_u64() => Ok(ReportedCell(index.to_string())),
            other => Err(D::Error::custom(format!("{other} is not the id or index of a cell"))),
        }
    }
}

/// Returns the last report.
pub(super) async fn show(State(page): State<Arc<PageServer>>) -> Response {
    editor_response(&page.shared.service.toolbox().editor())
}

/// Takes a report, and returns the current state.
pub(super) async fn report(State(page): State<Arc<PageServer>>, body: Bytes) -> Response {
    let reading = aside(move || read(&body));
    match reading.await {
        Ok(Ok(report)) => editor_response(&page.shared.service.toolbox().apply_report(report)),
        Ok(Err(message)) => {
            let error = json!({ "error": { "kind": "bad_report", "message": message, "hint": FORM } });
            json_response(StatusCode::BAD_REQUEST, &error)
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn editor_response(editor: &EditorState) -> Response {
    json_response(StatusCode::OK, &json!({ "editor": editor, "notebookMode": editor.notebook().is_some() }))
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], format!("{body}\n")).into_response()
}

fn read(body: &[u8]) -> Result<EditorReport, String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("invalid JSON: {error}"))?;
    if !body.is_object() {
        return Err("a report must be a JSON object".to_owned());
    }
    let body: ReportBody = serde_json::from_value(body).map_err(|error| error.to_string())?;
    if body.attach && body.detach {
        return Err("`attach` and `detach` exclude each other".to_owned());
    }
    let active = match &body.notebook {
        Value::Null if body.attach || body.detach || body.editing.is_some() || !body.select.is_empty() => {
            return Err("`notebook` is null: nothing to attach or select".to_owned());
        }
        Value::Null => None,
        Value::String(name) => Some(file(name)?),
        other => return Err(format!("`notebook` is {other}: it must be a path or null")),
    };
    let only = |wanted: bool| active.iter().filter(|_| wanted).cloned().collect();
    let cells = body.select.into_iter().map(|cell| cell.0).collect();
    Ok(EditorReport {
        attach: only(body.attach),
        detach: only(body.detach),
        selection: EditorSelection { cells, editing: body.editing.map(|cell| cell.0) },
        active,
    })
}

/// A file by its absolute path or file URL.
fn file(name: &str) -> Result<PathBuf, String> {
    let path = path_of(name).unwrap_or_else(|| name.to_owned());
    if !Path::new(&path).is_absolute() {
        return Err(format!("{name}: `notebook` must be an absolute path, or file:///…"));
    }
    let real = fs::canonicalize(&path).map_err(|error| format!("{path}: {error}"))?;
    if real.is_dir() {
        return Err(format!("{path}: is a folder, not a file"));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    #[test]
    fn a_report_is_parsed_as_the_command_sends_it() {
        let scratch = Scratch::new();
        let path = fs::canonicalize(scratch.write("a b.ipynb", "{}")).unwrap();
        let report = |body: Value| read(body.to_string().as_bytes());
        let body = json!({ "notebook": path, "select": [3, "x1"], "editing": "x1", "attach": true });
        let selection = EditorSelection { cells: vec!["3".into(), "x1".into()], editing: Some("x1".into()) };
        let expected = EditorReport {
            active: Some(path.clone()),
            selection,
            attach: vec![path.clone()],
            detach: Vec::new(),
        };
        assert_eq!(report(body).unwrap(), expected);
        let address = cellist_tools::context::file_uri(&path);
        assert_eq!(report(json!({ "notebook": address })).unwrap().active, Some(path));
        assert_eq!(report(json!({ "notebook": null })).unwrap(), EditorReport::default());
    }

    #[test]
    fn an_invalid_report_is_refused_with_the_reason() {
        let scratch = Scratch::new();
        let path = scratch.write("nb.ipynb", "{}");
        let check = |body: Value, expected: &str| {
            let why = read(body.to_string().as_bytes()).unwrap_err();
            assert!(why.contains(expected), "{body}: {why}");
        };
        check(json!({}), "missing field `notebook`");
        check(json!([null, [], null, true, false]), "must be a JSON object");
        check(json!({ "notebook": 3 }), "`notebook` is 3");
        check(json!({ "notebook": "nb.ipynb" }), "must be an absolute path");
        check(json!({ "notebook": "/no/such/nb.ipynb" }), "/no/such/nb.ipynb: ");
        check(json!({ "notebook": scratch.path() }), "is a folder, not a file");
        check(json!({ "notebook": path, "select": "3" }), "expected a sequence");
        check(json!({ "notebook": path, "select": [-1] }), "-1 is not the id or index of a cell");
        check(json!({ "notebook": path, "editing": {} }), "{} is not the id or index of a cell");
        check(json!({ "notebook": path, "attach": "yes" }), "expected a boolean");
        check(json!({ "notebook": path, "attach": true, "detach": true }), "exclude each other");
        check(json!({ "notebook": null, "attach": true }), "nothing to attach");
        check(json!({ "notebook": path, "selected": [] }), "unknown field `selected`");
        assert!(read(b"notebook=nb.ipynb").is_err() && read(&[0xff]).is_err() && read(b"").is_err());
    }
}
