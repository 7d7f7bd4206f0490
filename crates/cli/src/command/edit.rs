//! `cellist edit`: replaces one exact piece of a notebook's text or JSON.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cellist_host::{NotebookEdit, NotebookError, NotebookHandle};
use cellist_notebook::{self as notebook, Revision, Selector, replace_once, utf8};
use cellist_store::{Missing, Problem};
use clap::Args;

use crate::edit_report;
use crate::error::CliError;
use crate::input::InputSource;
use crate::notebook_access::{self, PathTarget, StandaloneFlag};
use crate::output::CommandOutput;

/// Attempts to edit the JSON while other programs change the file.
const ATTEMPTS: usize = 10;

/// Replace one exact piece of a notebook's text
///
/// Operates on the text that `cellist read` prints. The old piece must occur exactly once; otherwise the error
/// lists its occurrences, or the closest match. An empty old piece matches only an empty or missing notebook; the
/// new piece then becomes its text.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist edit nb.ipynb --old 'x = 1' --new 'x = 2'
  cellist edit nb.ipynb --old-file before.txt --new-file after.txt
  cellist edit nb.ipynb:raw --old '\"python3\"' --new '\"python3.13\"'  # the JSON")]
pub(crate) struct EditArgs {
    /// The notebook; append :raw for its JSON
    #[arg(value_name = "NB[:raw]")]
    notebook: OsString,
    /// The piece to replace
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "old_file")]
    old: Option<String>,
    /// The replacement
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "new_file")]
    new: Option<String>,
    /// Read the piece to replace from a file
    #[arg(long, value_name = "FILE", conflicts_with = "old")]
    old_file: Option<PathBuf>,
    /// Read the replacement from a file
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    new_file: Option<PathBuf>,
    /// The revision that the edit is based on; later changes are merged
    #[arg(long, value_name = "REV")]
    base: Option<Revision>,
    #[command(flatten)]
    standalone: StandaloneFlag,
}

pub(crate) fn edit_notebook(arguments: EditArgs) -> Result<CommandOutput, CliError> {
    let target = PathTarget::parse(&arguments.notebook)?;
    let given = |text: Option<String>, file: Option<PathBuf>| match text {
        Some(text) => Ok(text),
        None => InputSource::of_file(file).text("edit"),
    };
    let old = given(arguments.old, arguments.old_file)?;
    let new = given(arguments.new, arguments.new_file)?;
    let notebook = notebook_access::notebook(&target.path, arguments.standalone);
    match target.part {
        None => edit_text(&notebook, &target, old, new, arguments.base),
        Some(Selector::Raw) => edit_raw(&notebook, &target.path, &old, &new, arguments.base),
        Some(Selector::Lines(_) | Selector::Cell(_)) => Err(target.not_whole("edit")),
    }
}

fn edit_text(
    notebook: &NotebookHandle,
    target: &PathTarget,
    old: String,
    new: String,
    base: Option<Revision>,
) -> Result<CommandOutput, CliError> {
    target.check_name()?;
    let missing = if old.is_empty() { Missing::StartEmpty } else { Missing::Refuse };
    let changed = notebook
        .change(base.into(), missing, |_, _| Ok(NotebookEdit::Replace { old, new }))
        .map_err(explain_empty)?;
    notebook.keep(&changed.notebook);
    Ok(edit_report::for_edit(&target.path, changed))
}

fn edit_raw(
    notebook: &NotebookHandle,
    path: &Path,
    old: &str,
    new: &str,
    base: Option<Revision>,
) -> Result<CommandOutput, CliError> {
    let refused = |error: notebook::Error| cellist_store::Error::new(path, error);
    for attempt in 1.. {
        let bytes = notebook.read_bytes()?;
        let revision = Revision::of([bytes.as_slice()]);
        let text = utf8(bytes).map_err(refused)?;
        let text = replace_once(&text, old, new).map_err(|error| explain_empty(refused(error).into()))?;
        match notebook.overwrite(text.into_bytes(), Some(base.unwrap_or(revision))) {
            Err(error) if error.is_stale() && base.is_none() && attempt < ATTEMPTS => {}
            changed => {
                let changed = changed?;
                notebook.keep(&changed.notebook);
                return Ok(edit_report::for_overwrite(path, changed));
            }
        }
    }
    unreachable!("the last attempt returns")
}

fn explain_empty(error: NotebookError) -> CliError {
    let is_empty = matches!(&error, NotebookError::File(error)
        if matches!(error.problem(), Problem::Refused(notebook::Error::EmptyOld)));
    let error = CliError::from(error);
    if is_empty {
        error.with_hint("an empty old piece matches only an empty or missing notebook")
    } else {
        error
    }
}
