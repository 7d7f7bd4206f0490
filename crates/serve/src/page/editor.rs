//! What an editor reports over HTTP: the notebook in front of a person, and what is selected in it.

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

use super::Page;
use crate::mcp::path_of;

/// What a report looks like.
const FORM: &str = "send {\"notebook\": \"/path/to/nb.ipynb\" or null, \"select\": [cells], \"editing\": cell or null, \
                    \"attach\": true or false, \"detach\": true or false}; all but `notebook` may be left out, and a \
                    cell is an id or an index from 0 on";

/// A report as it is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    /// Left out and null are different things, so it cannot be an option here.
    notebook: Value,
    #[serde(default)]
    select: Vec<CellSaid>,
    #[serde(default)]
    editing: Option<CellSaid>,
    #[serde(default)]
    attach: bool,
    #[serde(default)]
    detach: bool,
}

/// A cell by id or index.
#[derive(Debug)]
struct CellSaid(String);

impl<'de> Deserialize<'de> for CellSaid {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CellSaid, D::Error> {
        match Value::deserialize(from)? {
            Value::String(name) if !name.trim().is_empty() => Ok(CellSaid(name)),
            Value::Number(index) if index.is_u64() => Ok(CellSaid(index.to_string())),
            other => Err(D::Error::custom(format!("{other} names no cell"))),
        }
    }
}

/// What was reported last.
pub(super) async fn look(State(page): State<Arc<Page>>) -> Response {
    told(&page.shared.service.toolbox().editor())
}

/// Takes a report, and tells what is in front of a person now.
pub(super) async fn report(State(page): State<Arc<Page>>, body: Bytes) -> Response {
    let reading = aside(move || read(&body));
    match reading.await {
        Ok(Ok(report)) => told(&page.shared.service.toolbox().apply_report(report)),
        Ok(Err(message)) => {
            let error = json!({ "error": { "kind": "bad_report", "message": message, "hint": FORM } });
            answer(StatusCode::BAD_REQUEST, &error)
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn told(editor: &EditorState) -> Response {
    answer(StatusCode::OK, &json!({ "editor": editor, "notebookMode": editor.notebook().is_some() }))
}

fn answer(status: StatusCode, said: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], format!("{said}\n")).into_response()
}

fn read(body: &[u8]) -> Result<EditorReport, String> {
    let said: Value = serde_json::from_slice(body).map_err(|error| format!("this is no JSON: {error}"))?;
    if !said.is_object() {
        return Err("a report is an object".to_owned());
    }
    let said: Said = serde_json::from_value(said).map_err(|error| error.to_string())?;
    if said.attach && said.detach {
        return Err("`attach` and `detach` exclude each other".to_owned());
    }
    let active = match &said.notebook {
        Value::Null if said.attach || said.detach || said.editing.is_some() || !said.select.is_empty() => {
            return Err("`notebook` is null, so there is nothing to attach or to select in".to_owned());
        }
        Value::Null => None,
        Value::String(name) => Some(file(name)?),
        other => return Err(format!("`notebook` is {other}: it must be a path or null")),
    };
    let only = |wanted: bool| active.iter().filter(|_| wanted).cloned().collect();
    let cells = said.select.into_iter().map(|cell| cell.0).collect();
    Ok(EditorReport {
        attach: only(said.attach),
        detach: only(said.detach),
        selection: EditorSelection { cells, editing: said.editing.map(|cell| cell.0) },
        active,
    })
}

/// A file by an absolute path or its address.
fn file(name: &str) -> Result<PathBuf, String> {
    let path = path_of(name).unwrap_or_else(|| name.to_owned());
    if !Path::new(&path).is_absolute() {
        return Err(format!("{name}: `notebook` must be an absolute path, or file:///…"));
    }
    let real = fs::canonicalize(&path).map_err(|error| format!("{path}: {error}"))?;
    if real.is_dir() {
        return Err(format!("{path}: is a directory"));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    #[test]
    fn a_report_is_what_the_command_would_send() {
        let scratch = Scratch::new();
        let path = fs::canonicalize(scratch.write("a b.ipynb", "{}")).unwrap();
        let report = |said: Value| read(said.to_string().as_bytes());
        let said = json!({ "notebook": path, "select": [3, "x1"], "editing": "x1", "attach": true });
        let selection = EditorSelection { cells: vec!["3".into(), "x1".into()], editing: Some("x1".into()) };
        let expected = EditorReport {
            active: Some(path.clone()),
            selection,
            attach: vec![path.clone()],
            detach: Vec::new(),
        };
        assert_eq!(report(said).unwrap(), expected);
        let address = cellist_tools::context::file_uri(&path);
        assert_eq!(report(json!({ "notebook": address })).unwrap().active, Some(path));
        assert_eq!(report(json!({ "notebook": null })).unwrap(), EditorReport::default());
    }

    #[test]
    fn what_is_no_report_is_refused_with_what_is_wrong() {
        let scratch = Scratch::new();
        let path = scratch.write("nb.ipynb", "{}");
        let check = |said: Value, expected: &str| {
            let why = read(said.to_string().as_bytes()).unwrap_err();
            assert!(why.contains(expected), "{said}: {why}");
        };
        check(json!({}), "missing field `notebook`");
        check(json!([null, [], null, true, false]), "is an object");
        check(json!({ "notebook": 3 }), "`notebook` is 3");
        check(json!({ "notebook": "nb.ipynb" }), "must be an absolute path");
        check(json!({ "notebook": "/no/such/nb.ipynb" }), "/no/such/nb.ipynb: ");
        check(json!({ "notebook": scratch.path() }), "is a directory");
        check(json!({ "notebook": path, "select": "3" }), "expected a sequence");
        check(json!({ "notebook": path, "select": [-1] }), "-1 names no cell");
        check(json!({ "notebook": path, "editing": {} }), "{} names no cell");
        check(json!({ "notebook": path, "attach": "yes" }), "expected a boolean");
        check(json!({ "notebook": path, "attach": true, "detach": true }), "exclude each other");
        check(json!({ "notebook": null, "attach": true }), "nothing to attach");
        check(json!({ "notebook": path, "selected": [] }), "unknown field `selected`");
        assert!(read(b"notebook=nb.ipynb").is_err() && read(&[0xff]).is_err() && read(b"").is_err());
    }
}
