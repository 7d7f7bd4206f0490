//! `read`: returns a notebook as cell-marked text, a part of it, its JSON, an artifact, or a file.

use cellist_notebook::{CellRef, Selector};

use super::{AnswerBlock, CallAccess, CallContext, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, input};
use crate::toolbox::excerpt::Excerpt;
use crate::toolbox::file_resolver::{FileSelection, SCHEME};
use crate::toolbox::opened_notebook::CurrentNotebook;

input! {
    /// A notebook as text, `# %% [type] cell:N` before each cell. `nb.ipynb:12-40`: lines, `…#ID`: a
    /// cell, `…:raw`: JSON.
    struct ReadInput {
        path | notebook: String,
    }
}

impl Tool for ReadInput {
    const FACTS: ToolFacts = ToolFacts::new(CallAccess::Look);

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let path = self.path.trim();
        if let Some(address) = path.strip_prefix(SCHEME) {
            let (id, lines) =
                address.split_once(':').map_or((address, None), |(id, lines)| (id, Some(lines)));
            return toolbox.artifact_lines(id, lines, call.usual_bytes()).await;
        }
        let editor = toolbox.editor();
        let target = toolbox.resolver(&call, &editor).target(path)?;
        match target.place.is_notebook() {
            true => toolbox.read_notebook(&call, target).await,
            false => toolbox.read_file(target, call.usual_bytes()).await,
        }
    }
}

impl Toolbox {
    async fn read_notebook(
        &self,
        call: &CallContext<'_>,
        target: FileSelection,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let FileSelection { place, part } = target;
        let most = call.usual_bytes();
        let open = match (self.open(call, place.clone()).await, &part) {
            (Ok(open), _) => open,
            // An agent can repair a broken file only if it sees the raw text.
            (Err(refusal), Some(Selector::Raw)) if place.real.is_file() => {
                let text = self.text_of(&place).await?;
                let excerpt = Excerpt::whole(&text, &format!("{}:raw", place.name), most);
                return Ok(shown(excerpt.text, format!("{}; {}", refusal.text(), excerpt.about)));
            }
            (Err(refusal), _) => return Err(refusal),
        };
        let CurrentNotebook { notebook, revision, others } = open.read(call).await?;
        let name = open.name();
        let (text, is_all) = match &part {
            None | Some(Selector::Lines(_)) => (notebook.to_text(), true),
            Some(Selector::Raw) => (String::from_utf8_lossy(&notebook.to_bytes()).into_owned(), false),
            Some(Selector::Cell(cell)) => {
                let at = open.find(&notebook, &CellRef::Name(cell.clone()))?;
                self.announce_read(call, &open, &notebook, &[at]);
                let heading = format!("cell {at} of {}", notebook.cells().len());
                let excerpt = Excerpt::whole(&notebook.cell_text(at), &heading, most);
                return Ok(shown(excerpt.text, format!("{name}: {}; revision {revision}", excerpt.about)));
            }
        };
        let excerpt = match &part {
            Some(Selector::Lines(ranges)) => Excerpt::lines(&text, ranges, name, most)
                .map_err(|error| open.refuse(&error, error.hint()))?,
            Some(Selector::Raw) => Excerpt::whole(&text, &format!("{name}:raw"), most),
            Some(Selector::Cell(_)) | None => Excerpt::whole(&text, name, most),
        };
        if is_all && excerpt.is_complete {
            let all: Vec<usize> = (0..notebook.cells().len()).collect();
            self.announce_read(call, &open, &notebook, &all);
            call.agent.knows_text(open.path(), revision);
        }
        let others = match excerpt.is_complete {
            true => None,
            false => others.sentence(),
        };
        let about = format!("{} · {} · revision {revision}", self.heading(&open, &notebook), excerpt.about);
        Ok(shown(excerpt.text, [Some(about), others].into_iter().flatten().collect::<Vec<_>>().join("\n")))
    }

    async fn read_file(&self, target: FileSelection, most: usize) -> Result<ToolAnswer, ToolRefusal> {
        let FileSelection { place, part } = target;
        let text = self.text_of(&place).await?;
        let excerpt = match &part {
            None | Some(Selector::Raw) => Excerpt::whole(&text, &place.name, most),
            Some(Selector::Lines(ranges)) => Excerpt::lines(&text, ranges, &place.name, most)
                .map_err(|error| place.refuse(&error, error.hint()))?,
            Some(Selector::Cell(cell)) => {
                return Err(place.refuse(format_args!("has no cells, so there is no #{cell}"), None));
            }
        };
        let about = format!("{} · {}", place.name, excerpt.about);
        Ok(shown(excerpt.text, about))
    }
}

/// Returns the text in its own block, so that an agent can write it back unchanged, then the
/// remark.
pub(super) fn shown(text: String, about: String) -> ToolAnswer {
    let blocks = [text, about].into_iter().filter(|text| !text.is_empty()).map(AnswerBlock::Text);
    ToolAnswer { blocks: blocks.collect(), ..ToolAnswer::default() }
}
