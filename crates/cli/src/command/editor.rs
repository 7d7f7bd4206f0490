//! `cellist editor`: reports the editor's active notebook to the host.

use std::path::PathBuf;

use cellist_host::{Reply, Request};
use cellist_tools::{EditorReport, EditorSelection, EditorState};
use clap::Args;
use serde_json::json;

use crate::editor::{notebook_mode_off_reason, real};
use crate::error::CliError;
use crate::host::{self, unexpected};
use crate::output::CommandOutput;

/// Tell agents which notebook is active in your editor
///
/// Editors call this when the active notebook or the selected cell changes. An agent started with
/// --require-active works on a notebook only while it is active and attached. Other agents use it as the default
/// when they name no notebook.
///
/// The host stores the report, and is started if necessary. Without arguments, shows the last report.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist editor nb.ipynb --attach --select 3 --editing 3
  cellist editor nb.ipynb --detach
  cellist editor --none
  cellist editor")]
pub(crate) struct EditorArgs {
    /// The notebook that is active in the editor
    #[arg(value_name = "NB")]
    notebook: Option<PathBuf>,
    /// A selected cell, by index or id; may be repeated
    #[arg(long, value_name = "CELL", num_args = 1.., allow_negative_numbers = true, requires = "notebook")]
    select: Vec<String>,
    /// The cell being edited
    #[arg(long, value_name = "CELL", allow_negative_numbers = true, requires = "notebook")]
    editing: Option<String>,
    /// Attach the notebook to the conversation
    #[arg(long, requires = "notebook", conflicts_with = "detach")]
    attach: bool,
    /// Detach the notebook from the conversation
    #[arg(long, requires = "notebook")]
    detach: bool,
    /// Report that no notebook is active
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
        editor_text(&editor),
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

fn editor_text(editor: &EditorState) -> String {
    match editor.notebook() {
        Some(path) => format!("Notebook mode is on: {} is attached and active.\n", path.display()),
        None => format!("{}\n", notebook_mode_off_reason(editor)),
    }
}
