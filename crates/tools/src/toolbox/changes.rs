//! Operations on the cells of a notebook, and the answer about them: index, id, number of cells,
//! revision, and changes by others.

use cellist_live::Edited;
use cellist_notebook::{
    self as notebook, Action, CellRef, Effect, Notebook, Operation, Outcome, Revision, Snapshot,
};

use super::CallContext;
use super::opened_notebook::{ChangesByOthers, OpenedNotebook};
use crate::answer::{ToolAnswer, ToolRefusal};
use crate::budget;

/// The result of operations on a notebook.
pub(crate) struct PerformedChanges {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) revision: Revision,
    /// The display name of the notebook.
    name: String,
    /// The requested text of each edit.
    wanted: Vec<Option<String>>,
    others: ChangesByOthers,
}

/// The cells that an operation refers to: those of its base revision, or the current ones.
pub(crate) struct KnownCells<'a> {
    notebook: &'a Notebook,
    base: Option<&'a Snapshot>,
}

impl KnownCells<'_> {
    pub(crate) fn count(&self) -> usize {
        self.base.map_or(self.notebook.cells().len(), |base| base.cells.len())
    }

    pub(crate) fn find(&self, cell: &CellRef) -> notebook::Result<usize> {
        self.base.map_or_else(|| self.notebook.find(cell), |base| base.find(cell))
    }
}

/// The result of replacing a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplaceResult {
    /// The new text is in place, or nothing was to be replaced.
    Whole,
    /// The new text is merged with changes by others.
    Merged,
    /// The new text equals the one that the agent had read. Changes by others stay.
    Not,
}

impl OpenedNotebook {
    /// Performs operations as the agent, all or none. Indexes refer to the cells that the agent has
    /// read.
    pub(crate) async fn perform(
        &self,
        call: &CallContext<'_>,
        revision: Option<&str>,
        operations: impl FnOnce(KnownCells<'_>) -> notebook::Result<Vec<Operation>> + Send + 'static,
    ) -> Result<PerformedChanges, ToolRefusal> {
        let changed = self.change(call, self.place.base(revision)?, move |notebook, base| {
            let operations = operations(KnownCells { notebook, base })?;
            let outcomes = notebook.perform(&operations, base)?;
            Ok((outcomes, operations.into_iter().map(wanted).collect()))
        });
        let (Edited { value: (outcomes, wanted), notebook, .. }, others) = changed.await?;
        let name = self.name().to_owned();
        Ok(PerformedChanges { outcomes, revision: notebook.revision(), name, wanted, others })
    }
}

/// Returns the requested text of an edit.
fn wanted(operation: Operation) -> Option<String> {
    match operation {
        Operation::Edit { source, .. } => Some(source),
        _ => None,
    }
}

impl PerformedChanges {
    /// Describes the changes without the revision, for a reply that ends with a later one.
    pub(crate) fn without_revision(&self) -> String {
        let mut lines = vec![self.sentences()];
        lines.extend(self.other_texts());
        lines.extend(self.others.sentence());
        lines.join("\n")
    }

    /// Describes the changes. Refuses if none took effect.
    pub(crate) fn answer(&self) -> Result<ToolAnswer, ToolRefusal> {
        let mut lines = vec![format!("{} Revision {}.", self.sentences(), self.revision)];
        let deleted: Vec<&Outcome> = self.deleted().collect();
        for outcome in &deleted {
            let Outcome { cell_index, cell_id, cell_type, cell_source, .. } = outcome;
            let id = cell_id.as_deref().map(|id| format!(" id={id}")).unwrap_or_default();
            let source = budget::cut(cell_source.trim_end_matches('\n'), budget::USUAL / deleted.len());
            lines.push(format!("[{cell_index}]{id} {cell_type}\n{source}"));
        }
        lines.extend(self.other_texts());
        lines.extend(self.others.sentence());
        let text = lines.join("\n");
        let is_lost = |at: usize, outcome: &Outcome| {
            outcome.effect == Effect::Gone || self.replaced(at) == ReplaceResult::Not
        };
        match self.outcomes.iter().enumerate().all(|(at, outcome)| is_lost(at, outcome)) {
            true => Err(ToolRefusal::new(format_args!("{}: {text}", self.name))),
            false => Ok(ToolAnswer::text(text)),
        }
    }

    fn replaced(&self, at: usize) -> ReplaceResult {
        let (outcome, wanted) = (&self.outcomes[at], self.wanted.get(at).and_then(Option::as_deref));
        match (wanted.is_none_or(|wanted| wanted == outcome.cell_source), outcome.effect) {
            (true, _) | (_, Effect::Gone) => ReplaceResult::Whole,
            (false, Effect::Changed) => ReplaceResult::Merged,
            (false, Effect::Unchanged) => ReplaceResult::Not,
        }
    }

    /// Shows cells whose text differs from the agent's.
    fn other_texts(&self) -> impl Iterator<Item = String> {
        let merged = self.outcomes.iter().enumerate().filter_map(|(at, outcome)| {
            let Outcome { cell_index: index, cell_source, .. } = outcome;
            let source =
                || budget::cut(cell_source.trim_end_matches('\n'), budget::USUAL / self.outcomes.len());
            match self.replaced(at) {
                ReplaceResult::Whole => None,
                ReplaceResult::Merged => {
                    Some(format!("Merged with changes by others. Cell {index} is now:\n{}", source()))
                }
                ReplaceResult::Not => Some(format!(
                    "Cell {index} is now:\n{}\nUpdate it again to use your text instead.",
                    source()
                )),
            }
        });
        merged.collect::<Vec<_>>().into_iter()
    }

    fn sentence(&self, at: usize) -> String {
        let outcome = &self.outcomes[at];
        match self.replaced(at) {
            ReplaceResult::Whole | ReplaceResult::Merged => outcome.sentence(),
            ReplaceResult::Not => {
                let Outcome { cell_index: index, cell_id, cell_type: kind, total_cells, .. } = outcome;
                let id = cell_id.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
                let cells = if *total_cells == 1 { "cell" } else { "cells" };
                format!(
                    "Changed nothing: others have changed {kind} cell {index}{id} since you read it; the \
                     notebook has {total_cells} {cells}."
                )
            }
        }
    }

    fn deleted(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.action == Action::Delete && outcome.effect == Effect::Changed)
    }

    /// Describes each operation.
    fn sentences(&self) -> String {
        let said: Vec<String> = match self.outcomes.as_slice() {
            [_] => vec![self.sentence(0)],
            several => {
                let last = several.len() - 1;
                let sentence = |at: usize| {
                    let whole = self.sentence(at);
                    // Only the last sentence has the number of cells.
                    let end = whole.rfind("; the notebook has").filter(|_| at < last).unwrap_or(whole.len());
                    let dot = if at < last { "." } else { "" };
                    format!("{}{dot}", &whole[..end])
                };
                (0..several.len()).map(sentence).collect()
            }
        };
        said.join(" ")
    }
}
