//! One-line summaries of changed values other than source.

use std::collections::BTreeMap;

use cellist_notebook::Cell;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Longer values are not quoted.
const QUOTED: usize = 40;

/// How many outputs or keys are named before the rest is counted.
const NAMED: usize = 6;

/// One line about a key whose value is not the same on both sides.
pub(super) fn summary(key: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let what = match (before, after) {
        (None, None) => "same".into(),
        // The title names the id already.
        (None, Some(_)) if key == "id" => "added".into(),
        (None, Some(after)) => format!("added{}", in_brackets(key, after)),
        (Some(before), None) => format!("removed{}", in_brackets(key, before)),
        (Some(before), Some(after)) => changed(key, before, after),
    };
    format!("{key}: {what}")
}

/// Summaries of a cell's values other than its source.
pub(super) fn added_values(cell: &Cell) -> Vec<String> {
    let describe = |key: &str| Some(format!("{key}: {}", described(key, cell.value(key)?)?));
    ["outputs", "metadata", "attachments"].into_iter().filter_map(describe).collect()
}

fn changed(key: &str, before: &[u8], after: &[u8]) -> String {
    if key != "outputs"
        && let (Some(before), Some(after)) = (object(before), object(after))
    {
        return changed_keys(&before, &after);
    }
    match (described(key, before), described(key, after)) {
        (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
        (Some(both), Some(_)) => format!("{both}, changed"),
        (None, Some(after)) => format!("none → {after}"),
        (Some(before), None) => format!("{before} → none"),
        (None, None) => "changed".into(),
    }
}

fn in_brackets(key: &str, value: &[u8]) -> String {
    described(key, value).map_or_else(String::new, |words| format!(" ({words})"))
}

/// A value in a few words; nothing for one that is empty.
fn described(key: &str, value: &[u8]) -> Option<String> {
    if key == "outputs" {
        let outputs: Vec<OutputShape> = match serde_json::from_slice(value) {
            Ok(outputs) => outputs,
            Err(_) => return Some("outputs".into()),
        };
        return names(outputs.iter().map(OutputShape::in_words).collect());
    }
    if let Some(object) = object(value) {
        return names(object.into_iter().map(|(key, _)| key).collect());
    }
    match std::str::from_utf8(value) {
        Ok(text) if text.len() <= QUOTED => Some(text.to_owned()),
        Ok(_) | Err(_) => Some("a long value".into()),
    }
}

fn changed_keys(before: &serde_json::Map<String, Value>, after: &serde_json::Map<String, Value>) -> String {
    let removed = before.keys().filter(|key| !after.contains_key(*key)).map(|key| format!("{key} removed"));
    let others = after.iter().filter_map(|(key, value)| match before.get(key) {
        None => Some(format!("{key} added")),
        Some(old) if old != value => Some(format!("{key} changed")),
        Some(_) => None,
    });
    names(others.chain(removed).collect()).unwrap_or_else(|| "changed".into())
}

fn names(names: Vec<String>) -> Option<String> {
    match names.len() {
        0 => None,
        count if count <= NAMED => Some(names.join(", ")),
        count => Some(format!("{} and {} more", names[..NAMED].join(", "), count - NAMED)),
    }
}

fn object(value: &[u8]) -> Option<serde_json::Map<String, Value>> {
    match serde_json::from_slice(value) {
        Ok(Value::Object(object)) => Some(object),
        Ok(_) | Err(_) => None,
    }
}

/// The fields of an output that describe it.
#[derive(Deserialize)]
struct OutputShape {
    output_type: Option<String>,
    name: Option<String>,
    ename: Option<String>,
    data: Option<BTreeMap<String, IgnoredAny>>,
}

impl OutputShape {
    fn in_words(&self) -> String {
        let kind = self.output_type.as_deref().unwrap_or("output");
        let richest = |data: &BTreeMap<String, IgnoredAny>| {
            data.keys().find(|mime| *mime != "text/plain").or(data.keys().next()).cloned()
        };
        let detail = (self.name.clone())
            .or_else(|| self.ename.clone())
            .or_else(|| self.data.as_ref().and_then(richest));
        detail.map_or_else(|| kind.to_owned(), |detail| format!("{kind} {detail}"))
    }
}
