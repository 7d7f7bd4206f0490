//! `cellist cell batch`.

use std::path::PathBuf;

use cellist_notebook::Operation;
use clap::Args;

use super::{BaseFlags, ResultShape, perform};
use crate::error::{CliError, FailureKind};
use crate::input::InputSource;
use crate::output::CommandOutput;

/// Make several changes as one: all of them, or on an error none
///
/// Takes a JSON array of operations. An operation is an object with `action` (edit, insert, delete, move,
/// retype, clear) and what that needs: `cell` (index or id), `index`, `type`, `source`. Indexes are those
/// before the whole batch; a move names the index afterwards.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  cellist cell batch nb.ipynb operations.json
  echo '[{"action": "edit", "cell": 0, "source": "x = 1"},
         {"action": "insert", "index": 1, "type": "markdown", "source": "y:"},
         {"action": "delete", "cell": "1a2b3c4d"}]' | cellist cell batch nb.ipynb"#)]
pub(super) struct CellBatchArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The operations; without it, or with -, standard input
    file: Option<PathBuf>,
    #[command(flatten)]
    base: BaseFlags,
}

pub(super) fn apply_batch(arguments: CellBatchArgs) -> Result<CommandOutput, CliError> {
    let CellBatchArgs { notebook, file, base } = arguments;
    let content = InputSource::of_file(file);
    let text = content.text("batch")?;
    let operations = Operation::parse_list(&text).map_err(|error| {
        let mut failure = CliError::asked(&error).about(&content.name());
        failure.kind = FailureKind::InvalidOperation;
        failure
    })?;
    let mut answer = perform(notebook, base, ResultShape::List, |_, _| Ok(operations.clone()))?;
    if answer.text.is_empty() {
        answer.text = b"There is nothing to do.\n".to_vec();
    }
    Ok(answer)
}
