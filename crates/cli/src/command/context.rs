//! `cellist context`: what an agent is told about the notebook that is worked on.

use cellist_tools::context::off;
use clap::Args;

use crate::editor::{EditorFlags, notebook_mode_off_reason};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Show what an agent is told about a notebook
///
/// A notebook is worked on when it is attached to the conversation and is in the active editor; either alone is
/// not enough. Without --attach and --active, what an editor has reported to the host counts. A notebook of 20 cells or more is told as an outline, with the text of the selected cells.
/// In place of credentials stand the marks that an agent reads.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist context --attach nb.ipynb --active nb.ipynb
  cellist context --attach nb.ipynb --active nb.ipynb --select 3 --editing 4 --json")]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    flags: EditorFlags,
}

pub(crate) fn show_context(arguments: ContextArgs) -> Result<CommandOutput, CliError> {
    let editor = arguments.flags.editor(&[])?;
    Ok(match arguments.flags.context(&editor)? {
        Some(context) => CommandOutput::new(context.text, context.json),
        None => CommandOutput::new(format!("{}\n", notebook_mode_off_reason(&editor)), off()),
    })
}
