//! Evidence of the version that a program had read: hashes of ids, sources, metadata and long
//! outputs.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use cellist_notebook::{Cell, CellId, Notebook};
use cellist_output::{MimeData, Output};
use serde_json::Value;

/// Shorter outputs can agree by chance: two programs that run `1 + 1` both print `2`.
const LONG_OUTPUT: usize = 64;
/// Shorter metadata values belong to the format or to a convention.
const LONG_VALUE: usize = 8;
/// Metadata that every program writes with equal values.
const COMMON: [&str; 3] = ["kernelspec", "language_info", "tags"];

/// Hashes of values, to compare two versions.
pub(super) type Hashes = BTreeSet<u64>;

/// Hashes that distinguish a version of ours from an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// All ids and sources.
    pub(super) texts: Hashes,
    /// Metadata and outputs that the previous version lacks.
    pub(super) fresh: Hashes,
    /// Metadata and outputs that only the previous version has.
    pub(super) gone: Hashes,
}

impl Evidence {
    /// The evidence of a version that was made from `before`.
    pub(super) fn of(notebook: &Notebook, before: Option<&Notebook>) -> Evidence {
        let (fresh, gone) = before.map(|before| changed_values(before, notebook)).unwrap_or_default();
        Evidence { texts: texts(notebook), fresh, gone }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let lists = [&self.texts, &self.fresh, &self.gone];
        let numbers =
            lists.into_iter().flat_map(|list| [list.len() as u64].into_iter().chain(list.iter().copied()));
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Evidence> {
        let (numbers, rest) = bytes.as_chunks();
        let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
        let mut list = || {
            let length = usize::try_from(numbers.next()?).ok()?;
            let list: Vec<u64> = numbers.by_ref().take(length).collect();
            (list.len() == length).then(|| list.into_iter().collect())
        };
        let evidence = Evidence { texts: list()?, fresh: list()?, gone: list()? };
        (rest.is_empty() && numbers.next().is_none()).then_some(evidence)
    }
}

/// Hashes of the ids and sources of a notebook, except blank sources.
pub(super) fn texts(notebook: &Notebook) -> Hashes {
    let mut hashes = Hashes::new();
    for cell in notebook.cells() {
        hashes.extend(cell.stored_id().map(|id| hash(&("id", &*id))));
        let source = cell.source();
        if !source.trim().is_empty() {
            hashes.insert(hash(&("source", cell.cell_type().as_str(), &*source)));
        }
    }
    hashes
}

/// Hashes of the metadata values and long outputs of a notebook.
pub(super) fn values(notebook: &Notebook) -> Hashes {
    let mut hashes = Hashes::new();
    leaves(&notebook.metadata(), "", &mut hashes);
    notebook.cells().iter().for_each(|cell| add_values(cell, &mut hashes));
    hashes
}

/// Hashes that only `new` has, and hashes that only `old` has. Skips unchanged cells.
fn changed_values(old: &Notebook, new: &Notebook) -> (Hashes, Hashes) {
    let (mut before, mut after) = (Hashes::new(), Hashes::new());
    if old.value("metadata") != new.value("metadata") {
        leaves(&old.metadata(), "", &mut before);
        leaves(&new.metadata(), "", &mut after);
    }
    let mut known: HashMap<&CellId, &Cell> = old.cells().iter().map(|cell| (cell.id(), cell)).collect();
    for cell in new.cells() {
        match known.remove(cell.id()) {
            Some(old) if is_same(old, cell) => {}
            Some(old) => {
                add_values(old, &mut before);
                add_values(cell, &mut after);
            }
            None => add_values(cell, &mut after),
        }
    }
    known.values().for_each(|cell| add_values(cell, &mut before));
    (&after - &before, &before - &after)
}

fn is_same(one: &Cell, other: &Cell) -> bool {
    one.is_untouched_since(other)
        || ["metadata", "outputs"].iter().all(|key| one.value(key) == other.value(key))
}

/// Larger outputs are skipped: hashing them would double the memory.
const LARGEST_OUTPUTS: usize = 32 * 1024 * 1024;

fn add_values(cell: &Cell, hashes: &mut Hashes) {
    leaves(&cell.metadata(), "", hashes);
    let size = cell.value("outputs").map_or(0, <[u8]>::len);
    if cell.has_outputs() && size <= LARGEST_OUTPUTS {
        cell.outputs().iter().for_each(|output| add_output(output, hashes));
    }
}

/// Hashes an output by its text, because programs differ in the layout of the JSON.
fn add_output(output: &Output, hashes: &mut Hashes) {
    let mut add = |text: &str| {
        if text.len() > LONG_OUTPUT {
            hashes.insert(hash(&("output", text)));
        }
    };
    match output {
        Output::Stream { text, .. } => add(text),
        Output::Display { data, .. } | Output::Result { data, .. } => {
            for (_, data) in data.iter() {
                match data {
                    MimeData::Text(text) => add(text),
                    MimeData::Json(json) => add(&json.parse::<Value>().unwrap_or_default().to_string()),
                }
            }
        }
        Output::Error { traceback, .. } => add(&traceback.concat()),
    }
}

/// Hashes the strings and numbers in metadata, each with its key.
fn leaves(value: &Value, key: &str, hashes: &mut Hashes) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !COMMON.contains(&key.as_str())) {
                leaves(value, key, hashes);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| leaves(value, key, hashes)),
        Value::String(text) if text.len() >= LONG_VALUE => {
            hashes.insert(hash(&("metadata", key, text)));
        }
        Value::Number(number) if number.to_string().len() >= LONG_VALUE => {
            hashes.insert(hash(&("metadata", key, number.to_string())));
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use cellist_notebook::Ids;
    use cellist_output::StreamName;
    use serde_json::json;

    use super::*;

    fn notebook() -> Notebook {
        let mut notebook = Notebook::empty(Ids::seeded(0));
        notebook.insert(0, cellist_notebook::CellType::Code, "print(1)");
        notebook
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Notebook), is_evidence: bool) {
        let (before, mut after) = (notebook(), notebook());
        change(&mut after);
        let evidence = Evidence::of(&after, Some(&before));
        assert_eq!(!evidence.fresh.is_empty(), is_evidence);
        assert!(evidence.gone.is_empty());
        assert!(evidence.fresh.is_subset(&values(&after)) && evidence.fresh.is_disjoint(&values(&before)));
        assert_eq!(Evidence::of(&before, Some(&after)).gone, evidence.fresh);
    }

    #[test]
    fn long_outputs_and_unusual_metadata_are_evidence_and_nothing_shorter() {
        let print = |length| [Output::stream(StreamName::Stdout, "x".repeat(length))];
        check(|notebook| notebook.set_outputs(0, &print(65), Some(1)), true);
        check(|notebook| notebook.set_outputs(0, &print(64), Some(1)), false);
        check(|notebook| notebook.set_outputs(0, &[], Some(123_456_789)), false);
        check(|notebook| notebook.set_cell_metadata(0, "note", &json!("only this one")), true);
        check(|notebook| notebook.set_cell_metadata(0, "tags", &json!(["parameters"])), false);
        check(|notebook| notebook.set_cell_metadata(0, "collapsed", &json!(true)), false);
        check(|notebook| notebook.set_metadata("saved", &json!(1_700_000_000.25)), true);
        check(|notebook| notebook.set_metadata("language_info", &json!({"version": "3.12.4 (main)"})), false);
    }

    #[test]
    fn the_layout_of_an_output_does_not_matter() {
        let text = |lines: &str| {
            let cell = format!(
                "{{\"cell_type\": \"code\", \"source\": [], \"metadata\": {{}}, \"execution_count\": 1, \"outputs\": \
                 [{{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": {lines}}}]}}"
            );
            let text = format!(
                "{{\"cells\": [{cell}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 4}}"
            );
            values(&Notebook::parse(text.into_bytes(), Ids::seeded(0)).unwrap())
        };
        let long = "y".repeat(60);
        let one = text(&format!("\"{long}\\n{long}\""));
        assert_eq!(one.len(), 1);
        assert_eq!(text(&format!("[\"{long}\\n\", \"{long}\"]")), one);
    }

    #[test]
    fn evidence_survives_a_round_trip() {
        let list = |numbers: &[u64]| numbers.iter().copied().collect();
        let evidence = Evidence { texts: list(&[1, u64::MAX]), fresh: list(&[]), gone: list(&[3]) };
        assert_eq!(Evidence::from_bytes(&evidence.to_bytes()), Some(evidence.clone()));
        let bytes = evidence.to_bytes();
        (0..bytes.len()).for_each(|cut| assert_eq!(Evidence::from_bytes(&bytes[..cut]), None));
    }
}
