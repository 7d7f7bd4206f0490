//! `notebook`: changes cells by index, one or several at once, with keys for programs beside the
//! text.

use cellist_notebook::{CellRef, Operation, Outcome};
use serde_json::{Value, json};

use super::{
    CallAccess, CallContext, CellType, PendingWrite, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox,
    WholeNumber, WriteTarget, choice, input,
};
use crate::budget;
use crate::toolbox::changes::PerformedChanges;

input! {
    /// Adds, updates or deletes cells: one action, or `operations`, all or none, with indexes from
    /// before the call.
    struct NotebookInput {
        path | notebook: String,
        action: Option<CellAction>,
        cell_index | cell | index: Option<WholeNumber<0>> = "0-based",
        content: Option<String>,
        cell_type | type: Option<CellType> = "For insert; default code",
        operations: Option<Vec<CellOperation>>,
        revision: Option<String> = "As read",
    }
}

input! {
    /// One of several operations.
    struct CellOperation {
        action: CellAction,
        cell_index | cell | index: WholeNumber<0>,
        content: Option<String>,
        cell_type | type: Option<CellType>,
    }
}

/// An action on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellAction {
    Edit,
    Insert,
    Delete,
}

choice!(CellAction: "edit" => Edit, "insert" => Insert, "delete" => Delete);

impl Tool for NotebookInput {
    const FACTS: ToolFacts = ToolFacts::new(CallAccess::ChangeNotebook);

    fn writing(&self) -> Option<PendingWrite<'_>> {
        let operations = self.operations.iter().flatten().map(|operation| &operation.content);
        let texts = std::iter::once(&self.content).chain(operations).filter_map(Option::as_deref);
        Some(PendingWrite { file: WriteTarget::Path(&self.path), texts: texts.collect() })
    }

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let editor = toolbox.editor();
        let place = toolbox.resolver(&call, &editor).named_notebook(&self.path)?;
        let (is_batch, revision) = (self.operations.is_some(), self.revision.clone());
        let operations = self.operations().map_err(|problem| place.refuse(problem, None))?;
        let open = toolbox.open(&call, place).await?;
        let done = open.perform(&call, revision.as_deref(), move |_| Ok(operations)).await?;
        let keys = keys(&done, is_batch);
        match done.answer() {
            Ok(answer) => Ok(ToolAnswer { keys: Some(keys), ..answer }),
            Err(refusal) => Err(refusal.with_keys(keys)),
        }
    }
}

impl NotebookInput {
    /// Returns the single action, or the list of operations.
    fn operations(self) -> Result<Vec<Operation>, String> {
        match (self.action, self.operations) {
            (Some(action), None) => {
                let cell_index = self
                    .cell_index
                    .ok_or("`cell_index` is missing: it must be a whole number of at least 0")?;
                let NotebookInput { content, cell_type, .. } = self;
                Ok(vec![CellOperation { action, cell_index, content, cell_type }.checked("")?])
            }
            (None, Some(several)) if several.is_empty() => {
                Err("`operations` is empty: nothing to do".to_owned())
            }
            (None, Some(several)) => {
                let each = several.into_iter().enumerate();
                each.map(|(at, one)| one.checked(&format!("operations[{at}]."))).collect()
            }
            (Some(_), Some(_)) => Err("give `action` or `operations`, not both".to_owned()),
            (None, None) => {
                Err("`action` is missing: use edit, insert or delete, or give `operations`".to_owned())
            }
        }
    }
}

impl CellOperation {
    /// Converts to an operation on the notebook. `within` is the path in the arguments.
    fn checked(self, within: &str) -> Result<Operation, String> {
        let CellOperation { action, cell_index: WholeNumber(index), content, cell_type: kind } = self;
        let word = match action {
            CellAction::Edit => "edit",
            CellAction::Insert => "insert",
            CellAction::Delete => "delete",
        };
        let source = || content.ok_or_else(|| format!("`{within}content` is missing: `{word}` needs it"));
        let cell = CellRef::Index(index);
        match (action, kind) {
            (CellAction::Edit | CellAction::Delete, Some(_)) => {
                Err(format!("`{within}cell_type` is only for insert: leave it out of `{word}`"))
            }
            (CellAction::Edit, None) => Ok(Operation::Edit { cell, source: source()? }),
            (CellAction::Delete, None) => Ok(Operation::Delete { cell }),
            (CellAction::Insert, kind) => {
                Ok(Operation::Insert { index, kind: kind.unwrap_or(CellType::Code), source: source()? })
            }
        }
    }
}

/// Returns the outcome as JSON: the keys of one action, or a list.
fn keys(done: &PerformedChanges, is_batch: bool) -> Value {
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
