//! `cellist cell batch`: applies a list of operations.

use std::path::PathBuf;

use cellist_notebook::Operation;
use clap::Args;

use super::{BaseFlags, ResultShape, perform};
use crate::error::{CliError, FailureKind};
use crate::input::InputSource;
use crate::output::CommandOutput;

/// Apply several operations at once; if one fails, none is applied
///
/// Takes a JSON array of operations. An operation is an object with `action` (edit, insert, delete, move, retype,
/// clear) and the fields of that action: `cell` (index or id), `index`, `type`, `source`. Indexes refer to the
/// notebook before the batch; the target index of a move refers to the notebook after it.
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
    /// A file with the operations; by default, or with -, standard input
    file: Option<PathBuf>,
    #[command(flatten)]
    base: BaseFlags,
}

pub(super) fn apply_batch(arguments: CellBatchArgs) -> Result<CommandOutput, CliError> {
    let CellBatchArgs { notebook, file, base } = arguments;
    let content = InputSource::of_file(file);
    let text = content.text("batch")?;
    let operations = Operation::parse_list(&text).map_err(|error| {
        let mut failure = CliError::rejected(&error).about(&content.name());
        failure.kind = FailureKind::InvalidOperation;
        failure
    })?;
    let mut answer = perform(notebook, base, ResultShape::List, |_, _| Ok(operations.clone()))?;
    if answer.text.is_empty() {
        answer.text = b"Nothing to do.\n".to_vec();
    }
    Ok(answer)
}
