//! `cellist diff`: two notebooks cell by cell, for people, for programs and for git.

mod json;
mod plain;
mod summary;
mod text;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cellist_notebook::{CellChange, Notebook, diff, hunks};
use clap::Args;
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::notebook_access::files;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Paint};
use crate::spinner::Spinner;
use crate::unified_diff;

/// Show the differences between two notebooks, cell by cell
///
/// Cells are matched by id and by content, so a moved cell is shown as moved. Sources are compared line by line;
/// outputs and metadata are summarised in one line each.
///
/// Exit status: 0 no differences, 1 differences, 2 a notebook cannot be read.
#[derive(Args, Debug)]
#[command(
    override_usage = "cellist diff [OPTIONS] <A> <B>",
    after_help = "Examples:
  cellist diff before.ipynb after.ipynb
  cellist diff --json before.ipynb after.ipynb
  cellist git-setup     # and then: git diff, git log -p, git show"
)]
pub(crate) struct DiffArgs {
    /// The older notebook; /dev/null for an empty one
    #[arg(required_unless_present_any = ["driver", "textconv"], value_name = "A")]
    before: Option<PathBuf>,
    /// The newer notebook; /dev/null for an empty one
    #[arg(required_unless_present_any = ["driver", "textconv"], value_name = "B")]
    after: Option<PathBuf>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    color: ColourMode,
    /// Act as git's external diff: take git's arguments and always exit with 0
    #[arg(long, num_args = 1..=9, value_name = "GIT", allow_hyphen_values = true, hide_short_help = true)]
    #[arg(conflicts_with_all = ["before", "after", "textconv"])]
    driver: Vec<OsString>,
    /// Act as git's text conversion: print a notebook as text for git to diff
    #[arg(long, value_name = "FILE", conflicts_with_all = ["before", "after"], hide_short_help = true)]
    textconv: Option<PathBuf>,
}

pub(crate) fn diff_notebooks(arguments: DiffArgs) -> Result<CommandOutput, CliError> {
    if let Some(path) = &arguments.textconv {
        return convert(path);
    }
    let paint = Paint::for_stdout(arguments.color);
    if !arguments.driver.is_empty() {
        return run_diff_driver(&arguments.driver, paint);
    }
    let (Some(before), Some(after)) = (arguments.before, arguments.after) else {
        unreachable!("clap asks for both");
    };
    let _waiting = Spinner::new("comparing the notebooks");
    let sides = DiffSides {
        names: [before.display().to_string(), after.display().to_string()],
        notebooks: [files::side(&before)?, files::side(&after)?],
    };
    let changes = sides.changes();
    let exit = if changes.is_empty() { Exit::Done } else { Exit::Different };
    let text = if changes.is_empty() { String::new() } else { text::view(&sides, &changes, paint) };
    Ok(CommandOutput::new(text, json::view(&sides, &changes)).with_exit(exit))
}

/// Two notebooks and their names in the output.
struct DiffSides {
    names: [String; 2],
    notebooks: [Notebook; 2],
}

/// The differences between two notebooks.
struct NotebookChanges {
    cells: Vec<CellChange>,
    /// Keys of the notebook itself.
    keys: Vec<String>,
}

impl DiffSides {
    fn changes(&self) -> NotebookChanges {
        let (cells, keys) = diff(&self.notebooks[0], &self.notebooks[1]);
        NotebookChanges { cells, keys }
    }
}

impl NotebookChanges {
    fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.keys.is_empty()
    }
}

/// git gives the path, then file, object name and mode of both sides, and for a renamed file the new path
/// and a header besides; for a file that is not merged yet it gives the path alone.
fn run_diff_driver(given: &[OsString], paint: Paint) -> Result<CommandOutput, CliError> {
    let path = Path::new(&given[0]).display();
    let (Some(before), Some(after)) = (given.get(1), given.get(4)) else {
        return Ok(CommandOutput::new(
            format!("* Unmerged path {path}\n"),
            json!({ "unmerged": path.to_string() }),
        ));
    };
    let new_path = given.get(7).map_or_else(|| path.to_string(), |new| Path::new(new).display().to_string());
    let name = |side: &str, file: &OsString, path: &str| {
        if file == "/dev/null" { "/dev/null".to_owned() } else { format!("{side}/{path}") }
    };
    let names = [name("a", before, &path.to_string()), name("b", after, &new_path)];
    let headline = text::headline(&path.to_string(), &new_path, paint);
    let (before, after) = (Path::new(before), Path::new(after));
    // A side that is not a notebook, such as one with conflict markers, is compared by line: an error here
    // would end git's whole output.
    let (Ok(old), Ok(new)) = (files::blob(before), files::blob(after)) else {
        return Ok(CommandOutput::new(headline + &by_line(&names, before, after, paint)?, json!({})));
    };
    let sides = DiffSides { names, notebooks: [old, new] };
    let changes = sides.changes();
    let mut text = headline + &text::view(&sides, &changes, paint);
    if changes.is_empty() {
        text.push_str("only the formatting of the file differs\n");
    }
    Ok(CommandOutput::new(text, json::view(&sides, &changes)))
}

/// Two files by line, whatever they hold.
fn by_line(names: &[String; 2], before: &Path, after: &Path, paint: Paint) -> Result<String, CliError> {
    files::check_look(before)?;
    files::check_look(after)?;
    let read = |path: &Path| match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(CliError::unreadable(path, &error)),
    };
    let (before, after) = (read(before)?, read(after)?);
    let mut text = text::title(names, paint);
    unified_diff::write_hunks(&before, &after, &hunks(&before, &after), paint, &mut text);
    Ok(text)
}

/// Text for git to compare by line. A file that is not a notebook passes unchanged.
fn convert(path: &Path) -> Result<CommandOutput, CliError> {
    files::check_look(path)?;
    let text = match files::blob(path) {
        Ok(notebook) => plain::text(&notebook).into_bytes(),
        Err(_) => fs::read(path).map_err(|error| CliError::unreadable(path, &error))?,
    };
    let json = json!({ "text": String::from_utf8_lossy(&text) });
    Ok(CommandOutput::new(text, json))
}
