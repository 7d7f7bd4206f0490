//! What was run, as a notebook.

use cellist_output::Output;
use serde_json::{Value, json};

/// A piece of code that ran, with what it showed.
#[derive(Clone, Debug, Default)]
pub(super) struct Ran {
    pub(super) code: String,
    pub(super) outputs: Vec<Output>,
    pub(super) count: Option<u64>,
}

/// The file of a notebook with these cells.
pub(super) fn notebook(ran: &[Ran], language_info: Option<&Value>) -> Vec<u8> {
    let cells: Vec<Value> = ran.iter().enumerate().map(|(at, ran)| cell(at, ran)).collect();
    let metadata = language_info.map_or_else(|| json!({}), |info| json!({ "language_info": info }));
    let all = json!({ "cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5 });
    let mut text = Vec::new();
    let layout = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, layout);
    // Values in memory can always be written to memory.
    let _ = serde::Serialize::serialize(&all, &mut writer);
    text.push(b'\n');
    text
}

fn cell(at: usize, ran: &Ran) -> Value {
    let outputs: Vec<Value> =
        ran.outputs.iter().filter_map(|output| serde_json::to_value(output).ok()).collect();
    let source: Vec<&str> = ran.code.split_inclusive('\n').collect();
    json!({
        "cell_type": "code",
        "execution_count": ran.count,
        "id": format!("repl-{}", at + 1),
        "metadata": {},
        "outputs": outputs,
        "source": source,
    })
}
