//! Tracks the widgets of a run: their state for `metadata.widgets`, and the outputs that Output widgets capture.
//! Pure: events in, JSON out.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cellist_kernel::{CommKind, CommMessage, Event};
use cellist_notebook::Notebook;
use cellist_output::{MimeBundle, Output, RawJson, StreamName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::output_buffer::OutputBuffer;

/// Key in the notebook metadata.
pub const WIDGETS: &str = "widgets";

/// MIME type of the state under that key.
const STATE: &str = "application/vnd.jupyter.widget-state+json";

/// Byte limit of the state. Changes past the limit are dropped, like widget state that was never saved.
const MOST_BYTES: usize = 128 << 20;

/// The state of the widgets that a run has seen.
#[derive(Debug, Default)]
pub(super) struct Widgets {
    models: BTreeMap<String, WidgetModel>,
    takers: OutputTakers,
    max_output: Option<usize>,
    bytes: usize,
    is_changed: bool,
    /// Output widgets whose captured outputs the program does not know yet.
    untold: BTreeSet<String>,
    /// Whether models saved by earlier runs are included.
    has_earlier: bool,
}

/// The state of one widget.
#[derive(Debug, Default)]
struct WidgetModel {
    state: BTreeMap<String, RawJson>,
    /// Binary values by their path in the state, a JSON array.
    buffers: BTreeMap<String, Bytes>,
    /// The outputs captured by an Output widget.
    taken: Option<OutputBuffer>,
    /// Whether the program has set the outputs itself since then.
    has_own_outputs: bool,
    /// Whether the model was seen from its first message on.
    is_whole: bool,
    /// Whether the model is known only from the notebook.
    is_earlier: bool,
}

impl Widgets {
    pub(super) fn new(max_output: Option<usize>) -> Widgets {
        Widgets { max_output, ..Widgets::default() }
    }

    /// Starts the next cell. An Output widget captures the outputs of one execution.
    pub(super) fn begin(&mut self) {
        self.takers = OutputTakers::default();
    }

    /// Handles a widget event. Returns the event if it belongs to the cells.
    pub(super) fn hear(&mut self, event: Event) -> Option<Event> {
        if let Event::Comm(message) = &event {
            self.takers.hear(message);
            self.comm(message);
            return None;
        }
        let Some(taker) = self.takers.newest() else { return Some(event) };
        let rest = match &event {
            Event::Display { data, metadata, display_id: Some(id) }
            | Event::Result { data, metadata, display_id: Some(id), .. } => {
                // Cells with the same display change too.
                let (display_id, data, metadata) = (id.clone(), data.clone(), metadata.clone());
                Some(Event::UpdateDisplay { display_id, data, metadata })
            }
            Event::Stream { late: false, .. }
            | Event::Display { .. }
            | Event::Result { .. }
            | Event::Error { .. }
            | Event::ClearOutput { .. } => None,
            _ => return Some(event),
        };
        let model = self.models.entry(taker.to_owned()).or_default();
        model.taken.get_or_insert_with(|| OutputBuffer::new(self.max_output)).apply(event);
        model.has_own_outputs = false;
        self.untold.insert(taker.to_owned());
        self.is_changed = true;
        rest
    }

    fn comm(&mut self, message: &CommMessage) {
        let Ok(CommData { state: Some(state), buffer_paths }) = message.data.parse() else { return };
        let (size, buffers) =
            (message.data.get().len(), message.buffers.iter().map(Bytes::len).sum::<usize>());
        if self.bytes + size + buffers > MOST_BYTES {
            return;
        }
        let model = self.models.entry(message.comm_id.clone()).or_default();
        let before = model.size();
        if message.kind == CommKind::Open {
            (model.is_whole, model.is_earlier) = (true, false);
        }
        model.has_own_outputs |= state.contains_key("outputs");
        model.state.extend(state);
        let places = buffer_paths.iter().map(|path| path.get().to_owned());
        model.buffers.extend(places.zip(message.buffers.iter().cloned()));
        self.bytes = self.bytes - before + model.size();
        self.is_changed = true;
    }

    /// Returns the messages that tell the program which outputs its widgets captured since the last call.
    pub(super) fn take_messages(&mut self) -> Vec<CommMessage> {
        let untold = std::mem::take(&mut self.untold);
        let told = |comm_id: String| {
            let outputs = self.models.get(&comm_id)?.taken.as_ref()?.saved();
            let outputs: Vec<SentOutput<'_>> = outputs.iter().map(SentOutput::from).collect();
            let outputs = serde_json::to_string(&outputs).ok()?;
            let data = format!(r#"{{"method":"update","state":{{"outputs":{outputs}}},"buffer_paths":[]}}"#);
            let (data, metadata) = (RawJson::new(data).ok()?, RawJson::empty_object());
            let (kind, target, buffers) = (CommKind::Message, None, Vec::new());
            Some(CommMessage { kind, comm_id, target, data, metadata, buffers, request: None, late: false })
        };
        untold.into_iter().filter_map(told).collect()
    }

    /// Returns the new value of `metadata.widgets`, if it changed since the last call.
    pub(super) fn metadata(&mut self, notebook: &Notebook) -> Option<Value> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        if !std::mem::replace(&mut self.has_earlier, true) {
            self.add_earlier(&notebook.metadata()[WIDGETS][STATE]["state"]);
        }
        let kept = self.kept(notebook);
        let models = self.models.iter().filter(|(id, _)| kept.as_ref().is_none_or(|kept| kept.contains(*id)));
        let models: Map<String, Value> =
            models.filter_map(|(id, model)| Some((id.clone(), model.to_json()?))).collect();
        Some(json!({ STATE: { "state": models, "version_major": 2, "version_minor": 0 } }))
    }

    /// Adds the notebook's models from earlier runs. The kernel may still have newer versions of them.
    fn add_earlier(&mut self, known: &Value) {
        #[derive(Deserialize)]
        struct SavedModel {
            state: BTreeMap<String, Value>,
            #[serde(default)]
            buffers: Vec<SavedBuffer>,
        }
        #[derive(Deserialize)]
        struct SavedBuffer {
            path: Value,
            data: String,
        }
        for (id, saved) in known.as_object().into_iter().flatten() {
            let Ok(saved) = SavedModel::deserialize(saved) else { continue };
            let is_new = !self.models.contains_key(id);
            let model = self.models.entry(id.clone()).or_default();
            if model.is_whole {
                continue;
            }
            (model.is_whole, model.is_earlier) = (true, is_new);
            let outputs = saved.state.get("outputs").cloned().unwrap_or_default();
            for (key, value) in saved.state {
                model.state.entry(key).or_insert_with(|| RawJson::from_value(&value));
            }
            for SavedBuffer { path, data } in saved.buffers {
                let Ok(data) = STANDARD.decode(data) else { continue };
                model.buffers.entry(path.to_string()).or_insert_with(|| data.into());
            }
            if let (Some(taken), Ok(outputs)) = (&mut model.taken, Vec::<Output>::deserialize(&outputs)) {
                taken.put_before(outputs);
            }
        }
    }

    /// Returns the models to save: those of this run, and earlier ones that a cell still shows. `None` means all,
    /// if there are no earlier ones.
    fn kept(&self, notebook: &Notebook) -> Option<BTreeSet<String>> {
        if !self.models.values().any(|model| model.is_earlier) {
            return None;
        }
        let mut kept = BTreeSet::new();
        let outputs = notebook.cells().iter().flat_map(|cell| cell.outputs());
        let shown = outputs.filter_map(|output| output.data()?.widget_model());
        let own = self.models.iter().filter(|(_, model)| !model.is_earlier).map(|(id, _)| id.clone());
        let mut waiting: Vec<String> = shown.chain(own).collect();
        while let Some(id) = waiting.pop() {
            let Some((id, model)) = self.models.get_key_value(&id) else { continue };
            if kept.insert(id.clone()) {
                waiting.extend(model.state.values().flat_map(|value| references(value.get())));
            }
        }
        Some(kept)
    }
}

impl WidgetModel {
    fn size(&self) -> usize {
        let state = self.state.iter().map(|(key, value)| key.len() + value.get().len());
        let buffers = self.buffers.iter().map(|(place, buffer)| place.len() + buffer.len());
        state.chain(buffers).sum()
    }

    /// Returns the model as saved in a notebook, or `None` if its first message was not seen.
    fn to_json(&self) -> Option<Value> {
        let value = |json: &RawJson| json.parse::<Value>().unwrap_or_default();
        let mut state: Map<String, Value> =
            self.state.iter().map(|(key, json)| (key.clone(), value(json))).collect();
        let name = state.get("_model_name")?.clone();
        if let Some(taken) = self.taken.as_ref().filter(|_| !self.has_own_outputs) {
            state.insert("outputs".into(), serde_json::to_value(taken.saved()).unwrap_or_default());
        }
        let field = |key: &str| state.get(key).cloned().unwrap_or_default();
        let mut model = json!({
            "model_name": name,
            "model_module": field("_model_module"),
            "model_module_version": field("_model_module_version"),
        });
        if !self.buffers.is_empty() {
            let buffer = |(place, data): (&String, &Bytes)| {
                let path: Value = serde_json::from_str(place).unwrap_or_default();
                json!({ "data": STANDARD.encode(data), "encoding": "base64", "path": path })
            };
            model["buffers"] = self.buffers.iter().map(buffer).collect();
        }
        model["state"] = Value::Object(state);
        Some(model)
    }
}

/// An output as sent to the program. Keys have the order of other clients, because programs print them.
#[derive(Serialize)]
#[serde(tag = "output_type", rename_all = "snake_case")]
enum SentOutput<'a> {
    Stream { name: StreamName, text: &'a str },
    DisplayData { metadata: &'a RawJson, data: &'a MimeBundle },
    ExecuteResult { metadata: &'a RawJson, data: &'a MimeBundle, execution_count: Option<u64> },
    Error { ename: &'a str, evalue: &'a str, traceback: &'a [String] },
}

impl<'a> From<&'a Output> for SentOutput<'a> {
    fn from(output: &'a Output) -> SentOutput<'a> {
        match output {
            Output::Stream { name, text } => SentOutput::Stream { name: *name, text },
            Output::Display { data, metadata, .. } => SentOutput::DisplayData { metadata, data },
            Output::Result { data, metadata, execution_count, .. } => {
                SentOutput::ExecuteResult { metadata, data, execution_count: *execution_count }
            }
            Output::Error { name, message, traceback } => {
                SentOutput::Error { ename: name, evalue: message, traceback }
            }
        }
    }
}

/// The part of a comm message that concerns state.
#[derive(Deserialize)]
struct CommData {
    state: Option<BTreeMap<String, RawJson>>,
    #[serde(default)]
    buffer_paths: Vec<RawJson>,
}

/// The Output widgets that capture the outputs of the running execution, newest last.
#[derive(Debug, Default)]
pub(super) struct OutputTakers(Vec<String>);

impl OutputTakers {
    /// Notes that a widget starts or stops capturing outputs.
    pub(super) fn hear(&mut self, message: &CommMessage) {
        #[derive(Deserialize)]
        struct TakerData {
            state: TakerState,
        }
        #[derive(Deserialize)]
        struct TakerState {
            msg_id: String,
        }
        // Skips parsing of unrelated messages, which may be large.
        if message.kind != CommKind::Message || message.late || !message.data.get().contains("\"msg_id\"") {
            return;
        }
        let Ok(TakerData { state: TakerState { msg_id } }) = message.data.parse() else { return };
        if msg_id.is_empty() {
            if let Some(at) = self.0.iter().rposition(|id| *id == message.comm_id) {
                self.0.remove(at);
            }
        } else if Some(&msg_id) == message.request.as_ref() {
            self.0.push(message.comm_id.clone());
        }
    }

    /// The widget that captures outputs now.
    pub(super) fn newest(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }
}

/// Returns the models referenced by a piece of state.
fn references(json: &str) -> impl Iterator<Item = String> + '_ {
    let named = json.split("\"IPY_MODEL_").skip(1);
    named.filter_map(|rest| rest.split_once('"')).map(|(id, _)| id.to_owned())
}

#[cfg(test)]
mod tests;
