//! `cellist write`: takes cell-marked text, or the JSON itself.

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

/// Make a notebook as a cell-marked text says
///
/// The text is what `cellist read` prints. A marker that names a cell (`cell:3`) keeps that cell with all it
/// has, and gives it the source below; a marker without a number makes a new cell; cells that are not named are
/// deleted; the order is that of the text. Text that was not changed leaves the file as it is, byte for byte.
/// A notebook that does not exist is made.
///
/// With --base, text that was made from an older revision is merged with what happened to the file since.
/// Without it, a file that changed since it was last read is left alone and the exit status is 4.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist read nb.ipynb > t && $EDITOR t && cellist write nb.ipynb t
  printf '# %%%% [code]\\nprint(1)\\n' | cellist write new.ipynb
  cellist write nb.ipynb:raw nb.json     # the JSON, which must be a notebook")]
pub(crate) struct WriteArgs {
    /// The notebook; with :raw behind it, its JSON
    #[arg(value_name = "NB[:raw]")]
    notebook: OsString,
    /// The text; without it, or with -, standard input
    file: Option<PathBuf>,
    /// The revision that the text was made from
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
        // A text that nothing can be made of is named before all else that is wrong.
        match parse_text(&text) {
            Err(error) => refused(&error).about(&content.name()),
            Ok(_) => error.into(),
        }
    })?;
    let snapshot = changed.notebook.snapshot();
    if snapshot.to_text() == text {
        // The text is what reading the file would give, so its markers name the cells as they are now.
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
            CliError::asked(error).with_hint("this is what `read --outputs` prints: read it without")
        }
        _ => CliError::asked(error),
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
            // The given content is no notebook, not the file.
            Problem::Refused(problem) => CliError::asked(problem).about(&content.name()),
            _ => error.into(),
        },
        NotebookError::Host { .. } => error.into(),
    })?;
    store.remember(path, &changed.notebook.snapshot());
    Ok(edit_report::for_overwrite(path, changed))
}
