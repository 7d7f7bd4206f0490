//! Progress bars that are widgets, as tqdm draws them in notebooks: a bar between two texts, in a box. Their
//! messages are read for how far they are; other widgets are let be.

use std::collections::HashMap;

use serde::Deserialize;

use crate::comm::{CommKind, CommMessage};
use crate::event::Event;

/// How many widgets are remembered; a program that makes more does not get more of our memory.
const MOST: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct Bars(HashMap<String, Widget>);

/// The known state of a widget.
#[derive(Debug)]
enum Widget {
    Bar { description: String, value: f64, max: f64 },
    Text(String),
    Box { left: String, bar: String, right: Option<String> },
}

/// A message about a widget, as far as bars are concerned.
struct Comm {
    comm_id: String,
    data: Data,
}

#[derive(Debug, Default, Deserialize)]
struct Data {
    #[serde(default)]
    state: BarState,
}

#[derive(Debug, Default, Deserialize)]
struct BarState {
    #[serde(rename = "_model_name")]
    model: Option<String>,
    // A bar's is a number, a text's is a text, a selection's may be anything.
    value: Option<serde_json::Value>,
    max: Option<serde_json::Value>,
    description: Option<serde_json::Value>,
    children: Option<serde_json::Value>,
}

impl Bars {
    /// The events that a message makes: how far a bar is, and its new text.
    pub(crate) fn hear(&mut self, message: &CommMessage) -> Vec<Event> {
        let Ok(data) = message.data.parse() else { return Vec::new() };
        let comm = Comm { comm_id: message.comm_id.clone(), data };
        match message.kind {
            CommKind::Open => self.open(comm).into_iter().collect(),
            CommKind::Message => {
                let progress = self.update(&comm);
                self.shown(&comm).into_iter().chain(progress).collect()
            }
            CommKind::Close => {
                self.close(&comm);
                Vec::new()
            }
        }
    }

    fn open(&mut self, comm: Comm) -> Option<Event> {
        let Comm { comm_id, data: Data { state } } = comm;
        if self.0.len() >= MOST && !self.0.contains_key(&comm_id) {
            return None;
        }
        let text = |value: &Option<serde_json::Value>| {
            value.as_ref().and_then(|value| value.as_str()).unwrap_or_default().to_owned()
        };
        let number = |value: &Option<serde_json::Value>| value.as_ref().and_then(serde_json::Value::as_f64);
        let widget = match state.model.as_deref()? {
            "FloatProgressModel" | "IntProgressModel" => Widget::Bar {
                description: text(&state.description),
                value: number(&state.value).unwrap_or_default(),
                max: number(&state.max).unwrap_or(100.0),
            },
            "HTMLModel" | "LabelModel" => Widget::Text(text(&state.value)),
            "HBoxModel" => {
                let [left, bar, right @ ..] = &children(state.children.as_ref())[..] else { return None };
                Widget::Box { left: left.clone(), bar: bar.clone(), right: right.first().cloned() }
            }
            _ => return None,
        };
        self.0.insert(comm_id, widget);
        None
    }

    /// A widget's new state: an event when it is a bar, or the count beside a bar whose end is not known.
    fn update(&mut self, comm: &Comm) -> Option<Event> {
        let state = &comm.data.state;
        match self.0.get_mut(&comm.comm_id)? {
            Widget::Bar { description, value, max } => {
                if let Some(text) = state.description.as_ref().and_then(|text| text.as_str()) {
                    *description = text.to_owned();
                }
                if let Some(new) = state.max.as_ref().and_then(serde_json::Value::as_f64) {
                    *max = new;
                }
                *value = state.value.as_ref().and_then(serde_json::Value::as_f64)?;
                self.progress(&comm.comm_id)
            }
            Widget::Text(text) => {
                state.value.as_ref().and_then(|new| new.as_str())?.clone_into(text);
                endless_count(text)?;
                let counted = self.0.values().find_map(|widget| match widget {
                    Widget::Box { bar, right, .. } if right.as_ref() == Some(&comm.comm_id) => Some(bar),
                    _ => None,
                });
                self.progress(counted?)
            }
            Widget::Box { .. } => None,
        }
    }

    /// The text of the whole bar, after a text of it has changed: a widget's display keeps the one that it began with.
    fn shown(&self, comm: &Comm) -> Option<Event> {
        comm.data.state.value.as_ref()?.as_str()?;
        let part = &comm.comm_id;
        let (model, left, bar, right) = self.0.iter().find_map(|(model, widget)| match widget {
            Widget::Box { left, bar, right: Some(right) } if left == part || right == part => {
                Some((model, left, bar, right))
            }
            _ => None,
        })?;
        let text = |id: &String| match self.0.get(id) {
            Some(Widget::Text(text)) => Some(plain(text)),
            _ => None,
        };
        let (left, right) = (text(left)?, text(right)?);
        let Some(Widget::Bar { value, max, .. }) = self.0.get(bar) else { return None };
        let text = match endless_count(&right) {
            Some(_) => format!("{left} {right}").trim_start().to_owned(),
            None => format!("{left}|{}| {right}", drawn(*value, *max)),
        };
        Some(Event::WidgetText { model: model.clone(), text })
    }

    fn close(&mut self, comm: &Comm) {
        self.0.remove(&comm.comm_id);
    }

    fn progress(&self, id: &str) -> Option<Event> {
        let Widget::Bar { description, value, max } = self.0.get(id)? else { return None };
        let texts = self.0.values().find_map(|widget| match widget {
            Widget::Box { left, bar, right } if bar == id => Some((left, right)),
            _ => None,
        });
        let text = |id: &String| match self.0.get(id) {
            Some(Widget::Text(text)) => text.as_str(),
            _ => "",
        };
        let (left, right) = match texts {
            Some((left, right)) => (text(left), right.as_ref().map_or("", text)),
            None => ("", ""),
        };
        let label =
            if description.is_empty() { label(left) } else { description.trim_end_matches([':', ' ']) };
        // Without a known end tqdm draws a full bar of length one and counts beside it.
        let (done, total) = match endless_count(right).filter(|_| *max == 1.0) {
            Some(count) => (count, None),
            None => (*value, Some(*max)),
        };
        Some(Event::Progress { label: label.to_owned(), done, total })
    }
}

/// `work:  30%` is a bar of `work`.
fn label(left: &str) -> &str {
    let text = left.trim();
    let text =
        text.strip_suffix('%').map_or(text, |text| text.trim_end_matches(|c: char| c.is_ascii_digit()));
    text.trim_end().trim_end_matches(':')
}

/// The text of a piece of HTML that has no elements.
fn plain(html: &str) -> String {
    let text = html.replace('\u{2007}', " ").replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&#x27;", "'").replace("&amp;", "&").trim().to_owned()
}

/// A bar of ten characters.
fn drawn(value: f64, max: f64) -> String {
    let tenths = if max > 0.0 { (10.0 * value / max).clamp(0.0, 10.0).floor() } else { 0.0 };
    let filled = (0..10).filter(|at| f64::from(*at) < tenths).count();
    format!("{}{}", "█".repeat(filled), " ".repeat(10 - filled))
}

/// `123/? [00:01, …]`, or `123it […]` in older versions, has done 123 of nobody knows how many.
fn endless_count(right: &str) -> Option<f64> {
    let right = right.trim_start();
    let end = right.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let endless = right[end..].starts_with("/?") || right[end..].starts_with("it");
    right[..end].parse().ok().filter(|_| endless)
}

fn children(value: Option<&serde_json::Value>) -> Vec<String> {
    let children = value.and_then(serde_json::Value::as_array).map_or(&[][..], Vec::as_slice);
    let ids = children.iter().filter_map(|child| child.as_str()?.strip_prefix("IPY_MODEL_"));
    ids.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn comm(id: &str, state: &Value) -> Comm {
        Comm { comm_id: id.into(), data: serde_json::from_value(json!({"state": state})).unwrap() }
    }

    fn tqdm(left: &str, bar: &Value, right: &str) -> Bars {
        let mut bars = Bars::default();
        bars.open(comm("l", &json!({"_model_name": "HTMLModel", "value": left})));
        bars.open(comm("b", bar));
        bars.open(comm("r", &json!({"_model_name": "HTMLModel", "value": right})));
        let parts = json!(["IPY_MODEL_l", "IPY_MODEL_b", "IPY_MODEL_r"]);
        bars.open(comm("box", &json!({"_model_name": "HBoxModel", "children": parts})));
        bars
    }

    fn progress(label: &str, done: f64, total: Option<f64>) -> Option<Event> {
        Some(Event::Progress { label: label.into(), done, total })
    }

    #[test]
    fn a_bar_tells_its_label_and_how_far_it_is() {
        let bar = json!({"_model_name": "FloatProgressModel", "value": 0.0, "max": 10.0, "bar_style": ""});
        let mut bars = tqdm("load:   0%", &bar, "0/10 [00:00&lt;?, ?it/s]");
        assert_eq!(bars.update(&comm("b", &json!({"value": 3.0}))), progress("load", 3.0, Some(10.0)));
        assert_eq!(bars.update(&comm("l", &json!({"value": "write:  40%"}))), None);
        assert_eq!(bars.update(&comm("b", &json!({"value": 4.0}))), progress("write", 4.0, Some(10.0)));
        assert_eq!(bars.update(&comm("b", &json!({"bar_style": "success"}))), None);
    }

    #[test]
    fn a_bar_that_has_moved_has_another_text() {
        let bar = json!({"_model_name": "FloatProgressModel", "value": 0.0, "max": 30.0, "bar_style": ""});
        let mut bars = tqdm("load:   0%", &bar, "0/30 [00:00&lt;?, ?it/s]");
        let mut text = |id: &str, value: Value| {
            let comm = comm(id, &json!({ "value": value }));
            bars.update(&comm);
            bars.shown(&comm)
        };
        assert_eq!(text("b", json!(30.0)), None);
        text("l", json!("load: 100%"));
        let end = "load: 100%|██████████| 30/30 [00:01<00:00, 29.9it/s]";
        let told = Event::WidgetText { model: "box".into(), text: end.into() };
        assert_eq!(text("r", json!("\u{2007}30/30\u{2007}[00:01&lt;00:00, 29.9it/s]")), Some(told));
    }

    #[test]
    fn a_bar_without_an_end_counts_by_the_text_beside_it() {
        let bar = json!({"_model_name": "FloatProgressModel", "value": 0.0, "max": 1.0, "bar_style": ""});
        let mut bars = tqdm("", &bar, "");
        for (text, count) in
            [("\u{2007}57/?\u{2007}[00:01&lt;…]", 57.0), (" 1024it [00:01, 41.2it/s]", 1024.0)]
        {
            assert_eq!(bars.update(&comm("r", &json!({"value": text}))), progress("", count, None));
            assert_eq!(bars.update(&comm("b", &json!({"value": 1.0}))), progress("", count, None));
        }
    }

    #[test]
    fn a_bar_that_stands_alone_has_its_description() {
        let mut bars = Bars::default();
        bars.open(comm("b", &json!({"_model_name": "IntProgressModel", "description": "Loading:"})));
        assert_eq!(bars.update(&comm("b", &json!({"value": 7}))), progress("Loading", 7.0, Some(100.0)));
        bars.close(&comm("b", &json!({})));
        assert_eq!(bars.update(&comm("b", &json!({"value": 8}))), None);
    }

    #[test]
    fn other_widgets_and_strange_states_do_no_harm() {
        let mut bars = Bars::default();
        for state in [
            json!({}),
            json!({"_model_name": "SliderModel", "value": [1, 2]}),
            json!({"_model_name": "FloatProgressModel", "value": "x", "max": [], "description": 3}),
            json!({"_model_name": "HBoxModel", "children": 7}),
        ] {
            assert_eq!(bars.open(comm("w", &state)), None);
            assert_eq!(bars.update(&comm("w", &json!({"value": {"a": 1}}))), None);
        }
        for at in 0..2 * MOST {
            bars.open(comm(&at.to_string(), &json!({"_model_name": "HTMLModel"})));
        }
        assert_eq!(bars.0.len(), MOST);
    }
}
