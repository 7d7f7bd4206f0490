//! `cellist new`: an empty notebook.

use std::path::PathBuf;

use cellist_notebook::{Ids, Notebook};
use clap::Args;
use serde_json::json;

use crate::error::CliError;
use crate::notebook_access::PathTarget;
use crate::notebook_access::files;
use crate::output::CommandOutput;

/// Create an empty notebook
///
/// The notebook has format 4.5 and no cells. An existing file is not overwritten.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist new nb.ipynb
  cellist new nb.ipynb && cellist cell insert nb.ipynb 0 --source 'print(1)'")]
pub(crate) struct NewArgs {
    /// The notebook to create
    #[arg(value_name = "NB")]
    notebook: PathBuf,
}

pub(crate) fn create_notebook(arguments: NewArgs) -> Result<CommandOutput, CliError> {
    let target = PathTarget { path: arguments.notebook, part: None };
    target.check_name()?;
    let path = &target.path;
    let changed = files::store().create(path, &Notebook::empty(Ids::seeded(0)))?;
    let json = json!({
        "path": path.to_string_lossy(),
        "revision": changed.revision.to_string(),
        "written": true,
        "total_cells": 0,
    });
    let text = format!("Created {}: an empty notebook of format 4.5\n", path.display());
    Ok(CommandOutput::new(text, json).with_notices(changed.notices))
}
