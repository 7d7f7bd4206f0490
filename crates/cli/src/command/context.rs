//! `cellist context`: prints the notebook context that agents receive.

use cellist_tools::context::off;
use clap::Args;

use crate::editor::{EditorFlags, notebook_mode_off_reason};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Show the notebook context that agents receive
///
/// Notebook mode is on when the active notebook is also attached to the conversation. Without --attach and
/// --active, the editor's last report to the host is used. Notebooks of 20 cells or more are outlined, with the
/// full text of selected cells. Credentials are shown redacted, as agents see them.
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
