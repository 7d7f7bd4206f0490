//! The tools that change cells: one sentence with index, id, number of cells and revision, and what others changed.

use cellist_notebook::{Action, CellType, Effect, Notebook, Operation, Outcome, Revision};
use cellist_session::live::Edited;

use super::open::{Open, Others};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::budget;

/// What became of operations on a notebook.
pub(super) struct Done {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) revision: Revision,
    others: Others,
}

impl Toolbox {
    pub(super) async fn add_notebook_cell(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let open = self.notebook(&call).await?;
        let kind = cell_type(call.arguments.text("type"));
        let source = call.arguments.text("content").unwrap_or_default().to_owned();
        let index = call.arguments.whole("index").filter(|index| *index >= 0);
        let done = open.perform(&call, move |count| {
            let end = i64::try_from(count).unwrap_or(i64::MAX);
            vec![Operation::Insert { index: index.unwrap_or(end), kind, source }]
        });
        let done = done.await?;
        self.then_run(call, &open, done).await
    }

    pub(super) async fn update_notebook_cell(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let open = self.notebook(&call).await?;
        let cell =
            call.arguments.cell("cell").cloned().ok_or_else(|| open.failure("`cell` is missing", None))?;
        let source = call.arguments.text("content").unwrap_or_default().to_owned();
        let done = open.perform(&call, move |_| vec![Operation::Edit { cell, source }]).await?;
        self.then_run(call, &open, done).await
    }

    pub(super) async fn delete_notebook_cells(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let open = self.notebook(&call).await?;
        let cells = call.arguments.cells("cells").unwrap_or_default().to_vec();
        if cells.is_empty() {
            return Err(open.failure("`cells` is empty: name the cells to delete", None));
        }
        let done =
            open.perform(&call, move |_| cells.into_iter().map(|cell| Operation::Delete { cell }).collect());
        Ok(done.await?.answer())
    }

    pub(super) async fn move_notebook_cell(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let open = self.notebook(&call).await?;
        let cell =
            call.arguments.cell("cell").cloned().ok_or_else(|| open.failure("`cell` is missing", None))?;
        let index = call.arguments.whole("index").unwrap_or_default();
        let done = open.perform(&call, move |_| vec![Operation::Move { cell, index }]);
        Ok(done.await?.answer())
    }
}

pub(super) fn cell_type(word: Option<&str>) -> CellType {
    match word {
        Some("markdown") => CellType::Markdown,
        Some("raw") => CellType::Raw,
        Some(_) | None => CellType::Code,
    }
}

impl Open {
    /// Carries operations out as the agent, all or none. They are made for a notebook of so many cells.
    pub(super) async fn perform(
        &self,
        call: &Call<'_>,
        operations: impl FnOnce(usize) -> Vec<Operation> + Send + 'static,
    ) -> Result<Done, Answer> {
        let changed = self.change(call, move |notebook, base| {
            let count = base.map_or(notebook.cells().len(), |base| base.cells.len());
            notebook.perform(&operations(count), base)
        });
        let (Edited { value, notebook, .. }, others) = changed.await?;
        let outcomes = value.into_iter().map(|outcome| with_name(outcome, &notebook)).collect();
        Ok(Done { outcomes, revision: notebook.revision(), others })
    }
}

/// Cells that the file stores no id for have a name while the notebook is open.
fn with_name(mut outcome: Outcome, notebook: &Notebook) -> Outcome {
    let is_there = outcome.action != Action::Delete && outcome.effect != Effect::Gone;
    if outcome.cell_id.is_none() && is_there {
        outcome.cell_id = notebook.cells().get(outcome.cell_index).map(|cell| cell.id().to_string());
    }
    outcome
}

impl Done {
    /// What was done and what others did, where a later revision is told.
    pub(super) fn without_revision(&self) -> String {
        let lines: Vec<String> = std::iter::once(self.sentences()).chain(self.others.sentence()).collect();
        lines.join("\n")
    }

    /// All of it as text; a failure where nothing was done.
    pub(super) fn answer(&self) -> Answer {
        let mut lines = vec![format!("{} Revision {}.", self.sentences(), self.revision)];
        let deleted: Vec<&Outcome> = self.deleted().collect();
        for outcome in &deleted {
            let Outcome { cell_index, cell_id, cell_type, cell_source, .. } = outcome;
            let id = cell_id.as_deref().map(|id| format!(" id={id}")).unwrap_or_default();
            let source = budget::cut(cell_source.trim_end_matches('\n'), budget::USUAL / deleted.len());
            lines.push(format!("[{cell_index}]{id} {cell_type}\n{source}"));
        }
        lines.extend(self.others.sentence());
        let text = lines.join("\n");
        let is_gone = |outcome: &Outcome| outcome.effect == Effect::Gone;
        match self.outcomes.iter().all(is_gone) {
            true => Answer::failure(text),
            false => Answer::text(text),
        }
    }

    fn deleted(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.action == Action::Delete && outcome.effect == Effect::Changed)
    }

    /// What was done.
    fn sentences(&self) -> String {
        let said: Vec<String> = match self.outcomes.as_slice() {
            [only] => vec![only.sentence()],
            several => {
                let last = several.len() - 1;
                let sentence = |(at, outcome): (usize, &Outcome)| {
                    let whole = outcome.sentence();
                    // How many cells there are is said once.
                    let end = whole.rfind("; the notebook has").filter(|_| at < last).unwrap_or(whole.len());
                    let dot = if at < last { "." } else { "" };
                    format!("{}{dot}", &whole[..end])
                };
                several.iter().enumerate().map(sentence).collect()
            }
        };
        said.join(" ")
    }
}
