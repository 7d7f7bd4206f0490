//! `cellist write`: writes a notebook from cell-marked text or JSON.

use std::ffi::OsString;
use std::path::PathBuf;

use cellist_host::{NotebookEdit, NotebookError};
use cellist_notebook::{self as notebook, Revision, Selector, parse_text};
use cellist_store::{Missing, Problem};
use clap::Args;

use crate::command::read::OUTPUT_MARKER;
use crate::error::CliError;
use crate::input::InputSource;
use crate::notebook_access::{self, PathTarget, StandaloneFlag};
use crate::output::CommandOutput;
use crate::{allocation, edit_report};

/// Write a notebook from cell-marked text
///
/// The text has the format that `cellist read` prints. A marker with a number (`cell:3`) keeps that cell and gives
/// it the source below. A marker without a number adds a cell. Cells without a marker are deleted. The order of
/// the text becomes the order of the cells.
///
/// Unchanged text leaves the file unchanged, byte for byte. A notebook that does not exist is created.
///
/// With --base, text based on an older revision is merged with later changes to the file. Without it, a file that
/// changed since it was last read is not written, and the exit status is 4.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist read nb.ipynb > t && $EDITOR t && cellist write nb.ipynb t
  printf '# %%%% [code]\\nprint(1)\\n' | cellist write new.ipynb
  cellist write nb.ipynb:raw nb.json     # replace the JSON")]
pub(crate) struct WriteArgs {
    /// The notebook; append :raw for its JSON
    #[arg(value_name = "NB[:raw]")]
    notebook: OsString,
    /// A file with the text; by default, or with -, standard input
    file: Option<PathBuf>,
    /// The revision that the text is based on
    #[arg(long, value_name = "REV")]
    base: Option<Revision>,
    #[command(flatten)]
    standalone: StandaloneFlag,
}

pub(crate) fn write_notebook(arguments: WriteArgs) -> Result<CommandOutput, CliError> {
    let target = PathTarget::parse(&arguments.notebook)?;
    let content = InputSource::of_file(arguments.file);
    match target.part {
        None => write_text(&target, &content, arguments.base, arguments.standalone),
        Some(Selector::Raw) => write_raw(&target, &content, arguments.base, arguments.standalone),
        Some(Selector::Lines(_) | Selector::Cell(_)) => Err(target.not_whole("write")),
    }
}

fn write_text(
    target: &PathTarget,
    content: &InputSource,
    base: Option<Revision>,
    standalone: StandaloneFlag,
) -> Result<CommandOutput, CliError> {
    let path = &target.path;
    target.check_name()?;
    let text = content.text("write")?;
    let notebook = notebook_access::notebook(path, standalone);
    let store = notebook.store();
    let base = store.base_of_whole(path, base);
    let edit = NotebookEdit::Text(text.clone());
    let changed = notebook.change(base, Missing::StartEmpty, |_, _| Ok(edit)).map_err(|error| {
        // An invalid text is reported before all other errors.
        match parse_text(&text) {
            Err(error) => refused(&error).about(&content.name()),
            Ok(_) => error.into(),
        }
    })?;
    let snapshot = changed.notebook.snapshot();
    if snapshot.to_text() == text {
        // The text equals the stored notebook, so its markers name the current cells.
        store.remember(path, &snapshot);
    } else {
        store.keep(path, &snapshot);
    }
    allocation::leak(snapshot);
    Ok(edit_report::for_edit(path, changed))
}

fn refused(error: &notebook::Error) -> CliError {
    match error {
        notebook::Error::BadMarker { found, .. } if found.starts_with(OUTPUT_MARKER) => {
            CliError::rejected(error)
                .with_hint("text from `read --outputs` cannot be written; read it without --outputs")
        }
        _ => CliError::rejected(error),
    }
}

fn write_raw(
    target: &PathTarget,
    content: &InputSource,
    base: Option<Revision>,
    standalone: StandaloneFlag,
) -> Result<CommandOutput, CliError> {
    let path = &target.path;
    target.check_name()?;
    let bytes = content.bytes("write")?;
    let notebook = notebook_access::notebook(path, standalone);
    let store = notebook.store();
    let base = store.base_of_whole(path, base).revision();
    let changed = notebook.overwrite(bytes, base).map_err(|error| match &error {
        NotebookError::File(file) => match file.problem() {
            // The given content is not a notebook; the file may be one.
            Problem::Refused(problem) => CliError::rejected(problem).about(&content.name()),
            _ => error.into(),
        },
        NotebookError::Host { .. } => error.into(),
    })?;
    store.remember(path, &changed.notebook.snapshot());
    Ok(edit_report::for_overwrite(path, changed))
}
