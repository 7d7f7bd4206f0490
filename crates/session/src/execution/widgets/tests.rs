use cellist_kernel::scripted::{Transcript, TranscriptStep};
use cellist_notebook::Ids;

use super::*;

/// An Output widget and a slider in a box, and text before, inside and behind the block of the Output widget.
const BLOCK: &str = r#"
    {"execute": null}
    {"event": "started", "count": 1}
    {"event": "comm", "id": "out", "comm": {"kind": "open", "target": "jupyter.widget", "request": "r1", "data": {"state":
        {"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output", "_model_module_version": "1.0.0",
         "outputs": [], "msg_id": ""}, "buffer_paths": []}}}
    {"event": "stream", "name": "stdout", "text": "before\n"}
    {"event": "comm", "id": "out", "comm": {"kind": "message", "request": "r1", "data": {"method": "update",
        "state": {"msg_id": "r1"}, "buffer_paths": []}}}
    {"event": "stream", "name": "stdout", "text": "inside "}
    {"event": "stream", "name": "stdout", "text": "it\n"}
    {"event": "display", "data": {"text/plain": "d"}, "metadata": {}}
    {"event": "comm", "id": "out", "comm": {"kind": "message", "request": "r1", "data": {"method": "update",
        "state": {"msg_id": ""}, "buffer_paths": []}}}
    {"event": "stream", "name": "stdout", "text": "behind\n"}
    {"event": "done", "status": "ok", "count": 1}
"#;

/// Splits a transcript into one step per line.
fn lines(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with(r#"{"ev"#) || line.starts_with(r#"{"ex"#) {
            lines.push('\n');
        }
        lines.push_str(line);
    }
    lines
}

/// Feeds a transcript to the widgets and returns the text left for the cells.
fn hear(widgets: &mut Widgets, text: &str) -> String {
    let transcript: Transcript = lines(text).parse().unwrap();
    let mut left = String::new();
    for recorded in transcript.executions {
        widgets.begin();
        for step in recorded.steps {
            let TranscriptStep::Event(event) = step else { continue };
            match widgets.hear(event) {
                Some(Event::Stream { bytes, .. }) => left += str::from_utf8(&bytes).unwrap(),
                Some(Event::UpdateDisplay { display_id, .. }) => left += &format!("[{display_id}]"),
                Some(Event::Started { .. } | Event::Done(_)) | None => {}
                Some(other) => panic!("{other:?}"),
            }
        }
    }
    left
}

fn notebook(json: Value) -> Notebook {
    Notebook::parse(json.to_string().into_bytes(), Ids::seeded(0)).unwrap()
}

fn empty() -> Notebook {
    notebook(json!({ "cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 }))
}

fn models(widgets: &mut Widgets, notebook: &Notebook) -> Value {
    let mut metadata = widgets.metadata(notebook).unwrap();
    let saved = &mut metadata[STATE];
    assert_eq!((&saved["version_major"], &saved["version_minor"]), (&json!(2), &json!(0)));
    saved["state"].take()
}

fn outputs(widgets: &mut Widgets, model: &str) -> Value {
    widgets.is_changed = true;
    models(widgets, &empty())[model]["state"]["outputs"].take()
}

fn text(text: &str) -> Value {
    json!({ "output_type": "stream", "name": "stdout", "text": text })
}

#[test]
fn an_output_widget_takes_the_outputs_of_its_block_and_no_others() {
    let mut widgets = Widgets::default();
    assert_eq!(hear(&mut widgets, BLOCK), "before\nbehind\n");
    let display = json!({ "output_type": "display_data", "data": { "text/plain": "d" }, "metadata": {} });
    let state = json!({
        "_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output", "_model_module_version": "1.0.0",
        "outputs": [text("inside it\n"), display], "msg_id": "",
    });
    let model = json!({
        "model_name": "OutputModel", "model_module": "@jupyter-widgets/output", "model_module_version": "1.0.0",
        "state": state,
    });
    assert_eq!(models(&mut widgets, &empty()), json!({ "out": model }));
    assert_eq!(widgets.metadata(&empty()), None, "nothing has changed since");
}

#[test]
fn a_block_that_has_no_end_takes_nothing_of_the_next_execution() {
    let mut widgets = Widgets::default();
    hear(&mut widgets, BLOCK);
    let open = r#"{"execute": null}
        {"event": "comm", "id": "out", "comm": {"kind": "message", "request": "r2", "data": {"state": {"msg_id": "r2"}}}}
        {"event": "stream", "name": "stdout", "text": "more\n"}
        {"execute": null}
        {"event": "comm", "id": "out", "comm": {"kind": "message", "request": "r2", "late": true, "data": {"state": {"msg_id": "r2"}}}}
        {"event": "stream", "name": "stdout", "text": "next\n"}"#;
    assert_eq!(hear(&mut widgets, open), "next\n");
    assert_eq!(outputs(&mut widgets, "out")[2], text("more\n"));
}

#[test]
fn blocks_may_stand_in_each_other_and_clear_their_own_outputs() {
    let mut widgets = Widgets::default();
    let nested = r#"{"execute": null}
        {"event": "comm", "id": "a", "comm": {"kind": "open", "data": {"state": {"_model_name": "OutputModel", "outputs": []}}}}
        {"event": "comm", "id": "b", "comm": {"kind": "open", "data": {"state": {"_model_name": "OutputModel", "outputs": []}}}}
        {"event": "comm", "id": "a", "comm": {"kind": "message", "request": "r", "data": {"state": {"msg_id": "r"}}}}
        {"event": "stream", "name": "stdout", "text": "a1"}
        {"event": "comm", "id": "b", "comm": {"kind": "message", "request": "r", "data": {"state": {"msg_id": "r"}}}}
        {"event": "stream", "name": "stdout", "text": "b1"}
        {"event": "clear_output", "waits": true}
        {"event": "stream", "name": "stdout", "text": "b2"}
        {"event": "comm", "id": "b", "comm": {"kind": "message", "request": "r", "data": {"state": {"msg_id": ""}}}}
        {"event": "stream", "name": "stdout", "text": "a2"}
        {"event": "display", "id": "named", "data": {"text/plain": "d"}}
        {"event": "comm", "id": "a", "comm": {"kind": "message", "request": "r", "data": {"state": {"msg_id": ""}}}}"#;
    assert_eq!(hear(&mut widgets, nested), "[named]");
    assert_eq!(outputs(&mut widgets, "b"), json!([text("b2")]));
    assert_eq!(outputs(&mut widgets, "a")[0], text("a1a2"));
    let cleared = r#"{"execute": null}
        {"event": "comm", "id": "a", "comm": {"kind": "message", "request": "s", "data": {"state": {"msg_id": "s"}}}}
        {"event": "clear_output"}"#;
    hear(&mut widgets, cleared);
    assert_eq!(outputs(&mut widgets, "a"), json!([]));
    let own = r#"{"execute": null}
        {"event": "comm", "id": "a", "comm": {"kind": "message", "request": "t", "data": {"state": {"outputs": ["own"]}}}}"#;
    hear(&mut widgets, own);
    assert_eq!(outputs(&mut widgets, "a"), json!(["own"]));
}

#[test]
fn the_newest_state_and_the_newest_buffers_are_kept() {
    let mut widgets = Widgets::default();
    let changed = r#"{"execute": null}
        {"event": "comm", "id": "i", "comm": {"kind": "open", "data": {"state": {"_model_name": "ImageModel", "width": ""},
            "buffer_paths": [["value"], ["x", 0]]}, "buffers": [[1], [2]]}}
        {"event": "comm", "id": "i", "comm": {"kind": "message", "data": {"method": "update", "state": {"width": "7"},
            "buffer_paths": [["value"]]}, "buffers": [[255, 0]]}}
        {"event": "comm", "id": "i", "comm": {"kind": "message", "data": {"method": "custom", "content": {}}}}
        {"event": "comm", "id": "unknown", "comm": {"kind": "message", "data": {"state": {"value": 1}}}}
        {"event": "comm", "id": "i", "comm": {"kind": "close"}}"#;
    hear(&mut widgets, changed);
    let buffer = |data: &str, path: Value| json!({ "data": data, "encoding": "base64", "path": path });
    let model = json!({
        "model_name": "ImageModel", "model_module": null, "model_module_version": null,
        "state": { "_model_name": "ImageModel", "width": "7" },
        "buffers": [buffer("/wA=", json!(["value"])), buffer("Ag==", json!(["x", 0]))],
    });
    assert_eq!(models(&mut widgets, &empty()), json!({ "i": model }));
}

#[test]
fn a_notebook_keeps_the_models_that_its_cells_still_show() {
    let saved = |state: Value| json!({ "model_name": state["_model_name"], "state": state });
    let view = json!({ "application/vnd.jupyter.widget-view+json": { "model_id": "box" } });
    let display = json!({ "output_type": "display_data", "data": view, "metadata": {} });
    let notebook = notebook(json!({
        "cells": [{ "cell_type": "code", "id": "c", "metadata": {}, "source": "", "execution_count": 1, "outputs": [display] }],
        "metadata": { "widgets": { STATE: { "version_major": 2, "version_minor": 0, "state": {
            "box": saved(json!({ "_model_name": "BoxModel", "children": ["IPY_MODEL_out"] })),
            "out": saved(json!({ "_model_name": "OutputModel", "outputs": [text("old\n")] })),
            "gone": saved(json!({ "_model_name": "IntSliderModel" })),
        } } } },
        "nbformat": 4, "nbformat_minor": 5,
    }));
    let mut widgets = Widgets::default();
    let more = r#"{"execute": null}
        {"event": "comm", "id": "out", "comm": {"kind": "message", "request": "r", "data": {"state": {"msg_id": "r"}}}}
        {"event": "stream", "name": "stdout", "text": "new\n"}
        {"event": "comm", "id": "unseen", "comm": {"kind": "open", "data": {"state": {"_model_name": "LayoutModel"}}}}"#;
    hear(&mut widgets, more);
    let models = models(&mut widgets, &notebook);
    let ids: Vec<&String> = models.as_object().unwrap().keys().collect();
    assert_eq!(ids, ["box", "out", "unseen"]);
    assert_eq!(models["out"]["state"]["outputs"], json!([text("old\nnew\n")]));
}

#[test]
fn a_run_without_widgets_leaves_the_metadata_alone() {
    let mut widgets = Widgets::default();
    let plain = r#"{"execute": null}
        {"event": "stream", "name": "stdout", "text": "a\n"}"#;
    assert_eq!(hear(&mut widgets, plain), "a\n");
    assert_eq!(widgets.metadata(&empty()), None);
}
