//! What a person has in front of them, as flags say it.

use std::fs;
use std::path::{Path, PathBuf};

use cellist_tools::context::NotebookContext;
use cellist_tools::{Editor, Mode, Selection, UnknownMode};
use clap::Args;

use crate::error::CliError;
use crate::load;

/// What is open, attached and selected.
#[derive(Args, Debug)]
pub(crate) struct EditorFlags {
    /// A notebook that is attached to the conversation; may be given again
    #[arg(long, value_name = "NB", num_args = 1..)]
    attach: Vec<PathBuf>,
    /// The file in the active editor
    #[arg(long, value_name = "NB")]
    active: Option<PathBuf>,
    /// A cell that is selected in it, by index or id; may be given again
    #[arg(long, value_name = "CELL", num_args = 1.., allow_negative_numbers = true)]
    select: Vec<String>,
    /// The cell that is being edited
    #[arg(long, value_name = "CELL", allow_negative_numbers = true)]
    editing: Option<String>,
    /// How far the agent may go: ask, edit or agent
    #[arg(long, value_name = "MODE", default_value = "agent", value_parser = mode)]
    pub(crate) mode: Mode,
}

/// How far an agent may go.
pub(crate) fn mode(word: &str) -> Result<Mode, UnknownMode> {
    word.parse()
}

impl EditorFlags {
    /// What they say. `also` are notebooks that were attached some other way.
    pub(crate) fn editor(&self, also: &[PathBuf]) -> Result<Editor, CliError> {
        let attached =
            self.attach.iter().chain(also).map(|path| real(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Editor {
            active: self.active.as_deref().map(real).transpose()?,
            attached,
            selection: Selection { cells: self.select.clone(), editing: self.editing.clone() },
        })
    }
}

/// The state of the notebook that is worked on, if one is.
pub(crate) fn context(editor: &Editor) -> Result<Option<NotebookContext>, CliError> {
    let Some(path) = editor.notebook() else { return Ok(None) };
    let notebook = load::store().open(path)?.notebook;
    let context = NotebookContext::of(&notebook, path, None, &editor.selection, |_| None);
    Ok(Some(context.map_err(|error| CliError::notebook(path, &error))?))
}

/// Why no notebook is worked on, for people.
pub(crate) fn why_off(editor: &Editor) -> &'static str {
    match (editor.attached.is_empty(), &editor.active) {
        (true, None) => "Notebook mode is off: no notebook is attached, and none is active.",
        (true, Some(_)) => "Notebook mode is off: the active notebook is not attached.",
        (false, None) => "Notebook mode is off: no attached notebook is in the active editor.",
        (false, Some(_)) => "Notebook mode is off: what is in the active editor is not an attached notebook.",
    }
}

fn real(path: &Path) -> Result<PathBuf, CliError> {
    fs::canonicalize(path).map_err(|error| CliError::unreadable(path, &error))
}
