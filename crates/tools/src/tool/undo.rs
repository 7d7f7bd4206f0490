//! `undo`: reverts changes of a notebook. Later changes by others stay; the answer lists conflicts.

use cellist_live::{Actor, DocumentError, Edited, Entry, PartlyUndone, Unchanged, Undo as Extent};
use cellist_notebook::{Notebook, Revision};

use super::{CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input};
use crate::budget;
use crate::toolbox::opened_notebook::{ChangesByOthers, OpenedNotebook};
use crate::toolbox::runs::given;

/// Turns listed for an agent that gave none.
const MOST_TURNS: usize = 5;
/// Changes listed one by one.
const MOST_DEEDS: usize = 20;

input! {
    /// Reverts your last change; changes by others stay.
    struct UndoInput {
        notebook | path: Option<String>,
        turn: Option<String> = "Or a whole turn",
        since: Option<String> = "Or all since a revision",
    }
}

impl Tool for UndoInput {
    const FACTS: ToolFacts = ToolFacts::of_notebooks(
        CallAccess::ChangeNotebook,
        "reverts your changes; later changes by others stay",
    );

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let open = toolbox.notebook(&call, self.notebook.as_deref()).await?;
        let actor = call.caller().author().actor;
        let wanted = self.wanted(&actor).map_err(|problem| open.refuse(problem, None))?;
        let is_last = matches!(wanted, Extent::LastOf(_));
        let undone = open.document.undo_partly(wanted, call.agent.author()).await;
        let Edited { value: PartlyUndone { entries, kept }, .. } = match undone {
            Ok(edited) => edited,
            Err(error) => return Err(open.nothing_undone(&error, &actor).await),
        };
        let told = open.document.tell(actor.clone()).await.map_err(|error| open.refused(&error))?;
        let notebook = &told.notebook;
        let mut lines = vec![format!(
            "Reverted {}. {} Revision {}.",
            deeds(&entries),
            cell_count(notebook),
            told.revision
        )];
        for (entry, conflict) in &kept {
            let deeds = entry.deeds().join(", ");
            let text = budget::cut(&conflict.to_string(), budget::USUAL / 4 / kept.len());
            lines.push(format!("Not reverted: {deeds}, because others changed the same:\n{text}"));
        }
        if is_last {
            lines.extend(open.rest_of_turn(&entries, &actor).await);
        }
        let touched: Vec<&str> =
            entries.iter().flat_map(Entry::cells).map(cellist_notebook::CellId::as_str).collect();
        let has_outputs =
            notebook.cells().iter().any(|cell| cell.has_outputs() && touched.contains(&cell.id().as_str()));
        if has_outputs || has_kernel(toolbox, &open) {
            lines.push("Outputs and variables stay as they are.".to_owned());
        }
        let others = told.before.map(|before| ChangesByOthers::since(&before, notebook)).unwrap_or_default();
        lines.extend(others.without_cells(&touched).sentence());
        Ok(ToolAnswer::text(budget::cut(&lines.join("\n"), call.usual_bytes())))
    }
}

impl UndoInput {
    fn wanted(&self, actor: &Actor) -> Result<Extent, String> {
        match (given(self.turn.as_deref()), given(self.since.as_deref())) {
            (Some(_), Some(_)) => Err("give `turn` or `since`, not both".to_owned()),
            (Some(turn), None) => Ok(Extent::Turn(turn.to_owned())),
            (None, Some(since)) => {
                let revision = since.parse::<Revision>();
                let revision = revision.map_err(|error| format!("{error}; use one from an earlier reply"))?;
                Ok(Extent::Since { actor: actor.id.clone(), revision })
            }
            (None, None) => Ok(Extent::LastOf(actor.id.clone())),
        }
    }
}

fn has_kernel(toolbox: &Toolbox, open: &OpenedNotebook) -> bool {
    toolbox.sessions.list().iter().any(|session| session.notebook.as_deref() == Some(open.path()))
}

impl OpenedNotebook {
    /// Explains why nothing was undone, and lists the turns that could be.
    async fn nothing_undone(&self, error: &DocumentError, actor: &Actor) -> ToolRefusal {
        let is_nothing =
            matches!(error, DocumentError::Unchanged(why) if matches!(**why, Unchanged::Nothing(_)));
        if !is_nothing {
            return self.refused(error);
        }
        let history = self.document.history().await.unwrap_or_default();
        let mut turns: Vec<(&str, String)> = Vec::new();
        for entry in history.iter().rev().filter(|entry| entry.is_open()) {
            if turns.iter().all(|(turn, _)| *turn != entry.turn) {
                let whose = if entry.actor.id == actor.id { "yours" } else { entry.actor.name.as_str() };
                let deeds = budget::cut(&entry.deeds().join(", "), 120);
                turns.push((&entry.turn, format!("{} ({whose}: {deeds})", entry.turn)));
            }
        }
        turns.truncate(MOST_TURNS);
        let named: Vec<String> = turns.into_iter().map(|(_, words)| words).collect();
        let hint = (!named.is_empty()).then(|| format!("the last turns are {}", named.join(", ")));
        self.refuse(error, hint)
    }

    /// States how many more changes of the turn can be undone.
    async fn rest_of_turn(&self, entries: &[Entry], actor: &Actor) -> Option<String> {
        let turn = &entries.first()?.turn;
        let history = self.document.history().await.ok()?;
        let of_turn = |entry: &&Entry| entry.is_open() && entry.turn == *turn && entry.actor.id == actor.id;
        match history.iter().filter(of_turn).count() {
            0 => None,
            1 => Some(format!("1 more change in turn {turn}.")),
            count => Some(format!("{count} more changes in turn {turn}.")),
        }
    }
}

fn deeds(entries: &[Entry]) -> String {
    let mut deeds: Vec<String> = entries.iter().flat_map(Entry::deeds).collect();
    let left = deeds.len().saturating_sub(MOST_DEEDS);
    deeds.truncate(MOST_DEEDS);
    if left > 0 {
        deeds.push(format!("{left} more"));
    }
    let changes = if entries.len() == 1 { "change" } else { "changes" };
    format!("{} {changes}: {}", entries.len(), deeds.join(", "))
}

fn cell_count(notebook: &Notebook) -> String {
    match notebook.cells().len() {
        1 => "The notebook has 1 cell.".to_owned(),
        count => format!("The notebook has {count} cells."),
    }
}
