//! `notebook`: cells by index, one action or several at once, with keys for programs beside the sentence.

use cellist_notebook::{CellRef, Operation, Outcome};
use serde_json::{Value, json};

use super::changes::{Done, cell_type};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::budget;

impl Toolbox {
    pub(super) async fn edit_notebook(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let editor = self.editor();
        let path = call.arguments.text("path").unwrap_or_default();
        let place = self.sight(&call, &editor).named_notebook(path)?;
        let operations = operations(call.arguments).map_err(|problem| place.failure(problem, None))?;
        let open = self.open(&call, place).await?;
        let done = open.perform(&call, move |_| Ok(operations)).await?;
        let keys = keys(&done, call.arguments.objects("operations").is_some());
        Ok(Answer { keys: Some(keys), ..done.answer() })
    }
}

/// What is asked for: one action, or a list of them.
fn operations(arguments: &Arguments) -> Result<Vec<Operation>, String> {
    match (arguments.text("action"), arguments.objects("operations")) {
        (Some(_), None) => Ok(vec![operation(arguments, "")?]),
        (None, Some([])) => Err("`operations` is empty: there is nothing to do".to_owned()),
        (None, Some(several)) => {
            let each = several.iter().enumerate();
            each.map(|(at, one)| operation(one, &format!("operations[{at}]."))).collect()
        }
        (Some(_), Some(_)) => Err("give `action` or `operations`, not both".to_owned()),
        (None, None) => {
            Err("`action` is missing: it is one of edit, insert, delete; or give `operations`".to_owned())
        }
    }
}

fn operation(arguments: &Arguments, within: &str) -> Result<Operation, String> {
    let action = arguments.text("action").unwrap_or_default();
    let index = arguments.whole("cell_index");
    let index = index
        .ok_or_else(|| format!("`{within}cell_index` is missing: it must be a whole number from 0 on"))?;
    let content = || {
        let content = arguments.text("content").map(str::to_owned);
        content.ok_or_else(|| format!("`{within}content` is missing: `{action}` needs it"))
    };
    let kind = arguments.text("cell_type");
    let cell = CellRef::Index(index);
    match (action, kind) {
        ("edit" | "delete", Some(_)) => {
            Err(format!("`{within}cell_type` is for insert alone: `{action}` leaves the type as it is"))
        }
        ("edit", None) => Ok(Operation::Edit { cell, source: content()? }),
        ("delete", None) => Ok(Operation::Delete { cell }),
        (_, kind) => Ok(Operation::Insert { index, kind: cell_type(kind), source: content()? }),
    }
}

/// The outcome as data: of one action its keys, of several a list.
fn keys(done: &Done, is_batch: bool) -> Value {
    let most = budget::USUAL / done.outcomes.len().max(1);
    let one = |outcome: &Outcome| {
        json!({
            "action": outcome.action,
            "effect": outcome.effect,
            "cell_index": outcome.cell_index,
            "cell_id": outcome.cell_id,
            "cell_type": outcome.cell_type,
            "total_cells": outcome.total_cells,
            "cell_source": budget::cut(&outcome.cell_source, most),
        })
    };
    let mut each = done.outcomes.iter().map(one);
    let mut keys = match (is_batch, each.next()) {
        (false, Some(only)) => only,
        (true, first) => json!({ "operations": first.into_iter().chain(each).collect::<Vec<_>>() }),
        (false, None) => json!({}),
    };
    keys["revision"] = json!(done.revision.to_string());
    keys
}
