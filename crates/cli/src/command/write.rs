//! `cellist write`: takes cell-marked text, or the JSON itself.

use std::ffi::OsString;
use std::path::PathBuf;

use cellist_link::NotebookEdit;
use cellist_notebook::{self as notebook, Ids, Notebook, Revision, Selector, parse_text};
use cellist_session::{Missing, Problem, Store};
use clap::Args;

use crate::answer::Answer;
use crate::basis::{Basis, replace_raw};
use crate::command::read::OUTPUT_MARKER;
use crate::error::CliError;
use crate::input::Content;
use crate::owner::{Alone, Owner};
use crate::target::Target;
use crate::{load, memory, report};

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
pub(crate) struct Arguments {
    /// The notebook; with :raw behind it, its JSON
    #[arg(value_name = "NB[:raw]")]
    notebook: OsString,
    /// The text; without it, or with -, standard input
    file: Option<PathBuf>,
    /// The revision that the text was made from
    #[arg(long, value_name = "REV")]
    base: Option<Revision>,
    #[command(flatten)]
    alone: Alone,
}

pub(crate) fn run(arguments: Arguments) -> Result<Answer, CliError> {
    let target = Target::parse(&arguments.notebook)?;
    let content = Content::of_file(arguments.file);
    let store = load::store_in_passing();
    match target.part {
        None => write_text(&store, &target, &content, arguments.base, arguments.alone),
        Some(Selector::Raw) => write_raw(&store, &target, &content, arguments.base, arguments.alone),
        Some(Selector::Lines(_) | Selector::Cell(_)) => Err(target.not_whole("write")),
    }
}

fn write_text(
    store: &Store,
    target: &Target,
    content: &Content,
    base: Option<Revision>,
    alone: Alone,
) -> Result<Answer, CliError> {
    let path = &target.path;
    target.check_name()?;
    let text = content.text("write")?;
    let parsed = parse_text(&text).map_err(|error| refused(&error).about(&content.name()))?;
    let basis = Basis::of_whole(store, path, base);
    let changed = match Owner::of(path, alone) {
        None => basis.change(store, path, Missing::StartEmpty, |notebook, snapshot| {
            notebook.apply_parsed(&parsed, snapshot)
        })?,
        Some(owner) => report::applied_there(basis.change_at(&owner, path, |notebook, snapshot| {
            notebook.apply_parsed(&parsed, snapshot)?;
            Ok(NotebookEdit::Text(text.clone()))
        })?),
    };
    let snapshot = changed.notebook.snapshot();
    if snapshot.to_text() == text {
        // The text is what reading the file would give, so its markers name the cells as they are now.
        store.remember(path, &snapshot);
    } else {
        store.keep(path, &snapshot);
    }
    memory::leave((snapshot, parsed));
    Ok(report::applied(path, changed))
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
    store: &Store,
    target: &Target,
    content: &Content,
    base: Option<Revision>,
    alone: Alone,
) -> Result<Answer, CliError> {
    let path = &target.path;
    target.check_name()?;
    let bytes = content.bytes("write")?;
    let basis = Basis::of_whole(store, path, base);
    let changed = match Owner::of(path, alone) {
        Some(owner) => {
            let given = Notebook::parse(bytes, Ids::seeded(0));
            let given = given.map_err(|error| CliError::asked(&error).about(&content.name()))?;
            basis.replace_at(&owner, path, &given)?
        }
        None => replace_raw(store, path, bytes, basis.revision()).map_err(|error| match error.problem() {
            // It is what was given that is no notebook, not the file.
            Problem::Refused(problem) => CliError::asked(problem).about(&content.name()),
            _ => error.into(),
        })?,
    };
    store.remember(path, &changed.notebook.snapshot());
    Ok(report::replaced(path, changed))
}
