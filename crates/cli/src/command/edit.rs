//! `cellist edit`: replaces one exact piece of a notebook's text, or of its JSON.

use std::ffi::OsString;
use std::path::PathBuf;

use cellist_link::NotebookEdit;
use cellist_notebook::{self as notebook, Ids, Notebook, Revision, Selector, Snapshot, replace_once};
use cellist_session::{Missing, Store};
use clap::Args;

use crate::answer::Answer;
use crate::basis::{Basis, keep, replace_raw};
use crate::error::CliError;
use crate::input::Content;
use crate::owner::{Alone, Owner};
use crate::target::Target;
use crate::{load, report};

/// How often an edit of the JSON is made anew because the file was changed while it was made.
const ATTEMPTS: usize = 10;

/// Replace one exact piece of a notebook's text
///
/// The text is what `cellist read` prints. It must hold the old piece exactly once; if not, the error says
/// where it was found or what comes nearest. An empty old piece fits only a notebook that has no cells or does
/// not exist: the new piece is then its text.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist edit nb.ipynb --old 'x = 1' --new 'x = 2'
  cellist edit nb.ipynb --old-file before.txt --new-file after.txt
  cellist edit nb.ipynb:raw --old '\"python3\"' --new '\"python3.13\"'  # the JSON")]
pub(crate) struct Arguments {
    /// The notebook; with :raw behind it, its JSON
    #[arg(value_name = "NB[:raw]")]
    notebook: OsString,
    /// The piece to replace
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "old_file")]
    old: Option<String>,
    /// What to put there
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "new_file")]
    new: Option<String>,
    /// A file with the piece to replace
    #[arg(long, value_name = "FILE", conflicts_with = "old")]
    old_file: Option<PathBuf>,
    /// A file with what to put there
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    new_file: Option<PathBuf>,
    /// The revision that the edit was made for; a file that changed since is merged with
    #[arg(long, value_name = "REV")]
    base: Option<Revision>,
    #[command(flatten)]
    alone: Alone,
}

pub(crate) fn run(arguments: Arguments) -> Result<Answer, CliError> {
    let target = Target::parse(&arguments.notebook)?;
    let given = |text: Option<String>, file: Option<PathBuf>| match text {
        Some(text) => Ok(text),
        None => Content::of_file(file).text("edit"),
    };
    let edit = Edit {
        old: given(arguments.old, arguments.old_file)?,
        new: given(arguments.new, arguments.new_file)?,
    };
    let store = load::store_in_passing();
    match target.part {
        None => edit_text(&store, &target, &edit, arguments.base, arguments.alone),
        Some(Selector::Raw) => edit_raw(&store, &target, &edit, arguments.base, arguments.alone),
        Some(Selector::Lines(_) | Selector::Cell(_)) => Err(target.not_whole("edit")),
    }
}

struct Edit {
    old: String,
    new: String,
}

fn edit_text(
    store: &Store,
    target: &Target,
    edit: &Edit,
    base: Option<Revision>,
    alone: Alone,
) -> Result<Answer, CliError> {
    let path = &target.path;
    let missing = if edit.old.is_empty() { Missing::StartEmpty } else { Missing::Refuse };
    target.check_name()?;
    let basis = Basis::named(store, path, base);
    let apply = |notebook: &mut Notebook, snapshot: Option<&Snapshot>| {
        let text = snapshot.map_or_else(|| notebook.to_text(), |snapshot| snapshot.to_text());
        let text = if text.is_empty() && edit.old.is_empty() {
            edit.new.clone()
        } else {
            replace_once(&text, &edit.old, &edit.new)?
        };
        notebook.apply_text(&text, snapshot)
    };
    let changed = match Owner::of(path, alone) {
        None => basis.change(store, path, missing, apply),
        Some(owner) => basis
            .change_at(&owner, path, |notebook, snapshot| {
                apply(notebook, snapshot)?;
                Ok(NotebookEdit::Replace { old: edit.old.clone(), new: edit.new.clone() })
            })
            .map(report::applied_there),
    };
    let changed = changed.map_err(explain_empty)?;
    keep(store, path, &changed.notebook);
    Ok(report::applied(path, changed))
}

fn edit_raw(
    store: &Store,
    target: &Target,
    edit: &Edit,
    base: Option<Revision>,
    alone: Alone,
) -> Result<Answer, CliError> {
    let path = &target.path;
    let owner = Owner::of(path, alone);
    for attempt in 1.. {
        let bytes = match &owner {
            Some(owner) => owner.read()?.notebook.to_bytes(),
            None => store.read_file(path)?,
        };
        let revision = Revision::of([bytes.as_slice()]);
        let text = String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1;
            CliError::notebook(path, &notebook::Error::NotUtf8 { line, offset })
        })?;
        let text = replace_once(&text, &edit.old, &edit.new)
            .map_err(|error| explain_empty(CliError::notebook(path, &error)))?;
        let made_for = base.unwrap_or(revision);
        let changed = match &owner {
            Some(owner) => {
                let given = Notebook::parse(text.into_bytes(), Ids::seeded(0));
                let given = given.map_err(|error| CliError::notebook(path, &error))?;
                Basis::named(store, path, Some(made_for)).replace_at(owner, path, &given)
            }
            None => replace_raw(store, path, text.into_bytes(), Some(made_for)).map_err(CliError::from),
        };
        match changed {
            Err(error) if error.kind == "stale" && base.is_none() && attempt < ATTEMPTS => {}
            changed => {
                let changed = changed?;
                keep(store, path, &changed.notebook);
                return Ok(report::replaced(path, changed));
            }
        }
    }
    unreachable!("the last attempt returns")
}

fn explain_empty(error: CliError) -> CliError {
    if error.message.ends_with(&notebook::Error::EmptyOld.to_string()) {
        return error.with_hint("an empty old text fits only a notebook that has no cells");
    }
    error
}
