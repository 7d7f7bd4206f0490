//! `cellist editor`: what an editor has in front of a person, reported to the host for agents.

use std::path::PathBuf;

use cellist_host::{Reply, Request};
use cellist_tools::{EditorReport, EditorSelection, EditorState};
use clap::Args;
use serde_json::json;

use crate::editor::{notebook_mode_off_reason, real};
use crate::error::CliError;
use crate::host::{self, unexpected};
use crate::output::CommandOutput;

/// Report what is in front of a person, for agents to work on
///
/// An editor calls this when another notebook comes to the front, or another cell is selected. An agent that was
/// started with --require-active works on a notebook only while it is in the active editor and attached; others take it
/// for the one that is meant where they name none. The host keeps the report, and is started if need be. Without
/// arguments, shows what was reported last.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist editor nb.ipynb --attach --select 3 --editing 3
  cellist editor nb.ipynb --detach
  cellist editor --none
  cellist editor")]
pub(crate) struct EditorArgs {
    /// The notebook in the active editor
    #[arg(value_name = "NB")]
    notebook: Option<PathBuf>,
    /// A cell that is selected in it, by index or id; may be given again
    #[arg(long, value_name = "CELL", num_args = 1.., allow_negative_numbers = true, requires = "notebook")]
    select: Vec<String>,
    /// The cell that is being edited
    #[arg(long, value_name = "CELL", allow_negative_numbers = true, requires = "notebook")]
    editing: Option<String>,
    /// Attach it to the conversation, until it is detached
    #[arg(long, requires = "notebook", conflicts_with = "detach")]
    attach: bool,
    /// Attach it no longer
    #[arg(long, requires = "notebook")]
    detach: bool,
    /// No notebook is in the active editor
    #[arg(long, conflicts_with = "notebook")]
    none: bool,
}

pub(crate) fn report_editor(arguments: EditorArgs) -> Result<CommandOutput, CliError> {
    let report = arguments.report()?;
    let editor = host::block_on(async {
        let client = host::attach_or_start().await?;
        match client.ask(Request::Editor(report.map(Box::new))).await? {
            Reply::Editor(editor) => Ok(*editor),
            other => Err(unexpected(&other)),
        }
    })?;
    Ok(CommandOutput::new(
        for_people(&editor),
        json!({ "editor": editor, "notebookMode": editor.notebook().is_some() }),
    ))
}

impl EditorArgs {
    fn report(&self) -> Result<Option<EditorReport>, CliError> {
        let Some(notebook) = &self.notebook else {
            return Ok(self.none.then(EditorReport::default));
        };
        let path = real(notebook)?;
        let only = |wanted: bool| if wanted { vec![path.clone()] } else { Vec::new() };
        Ok(Some(EditorReport {
            attach: only(self.attach),
            detach: only(self.detach),
            selection: EditorSelection { cells: self.select.clone(), editing: self.editing.clone() },
            active: Some(path),
        }))
    }
}

fn for_people(editor: &EditorState) -> String {
    match editor.notebook() {
        Some(path) => format!("Notebook mode is on: {} is attached and active.\n", path.display()),
        None => format!("{}\n", notebook_mode_off_reason(editor)),
    }
}
