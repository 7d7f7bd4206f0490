//! The code of a REPL as a notebook file.

use cellist_output::Output;
use serde_json::{Value, json};

/// A piece of code that ran, with its outputs.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplCell {
    pub(super) code: String,
    pub(super) outputs: Vec<Output>,
    pub(super) count: Option<u64>,
}

/// Everything that ran in a REPL.
#[derive(Debug, Default)]
pub(super) struct ReplRecord {
    pub(super) cells: Vec<ReplCell>,
    /// The kernel's description of its language.
    pub(super) language_info: Option<Value>,
}

impl ReplRecord {
    /// The bytes of a notebook file.
    pub(super) fn to_notebook(&self) -> Vec<u8> {
        let cells: Vec<Value> = self.cells.iter().enumerate().map(|(at, cell)| cell.to_json(at)).collect();
        let info = self.language_info.as_ref();
        let metadata = info.map_or_else(|| json!({}), |info| json!({ "language_info": info }));
        let all = json!({ "cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5 });
        let mut text = Vec::new();
        let layout = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut writer = serde_json::Serializer::with_formatter(&mut text, layout);
        // A value cannot fail to be written to memory.
        let _ = serde::Serialize::serialize(&all, &mut writer);
        text.push(b'\n');
        text
    }
}

impl ReplCell {
    fn to_json(&self, at: usize) -> Value {
        let outputs: Vec<Value> =
            self.outputs.iter().filter_map(|output| serde_json::to_value(output).ok()).collect();
        let source: Vec<&str> = self.code.split_inclusive('\n').collect();
        json!({
            "cell_type": "code",
            "execution_count": self.count,
            "id": format!("repl-{}", at + 1),
            "metadata": {},
            "outputs": outputs,
            "source": source,
        })
    }
}
