//! `cellist merge`: three-way merge by cells, for people and as git's merge driver.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellist_notebook::{CellChange, Merged, Notebook, OnConflict, diff, merge};
use clap::Args;
use serde_json::json;

use crate::error::{CliError, Exit, FailureKind};
use crate::notebook_access::files;
use crate::output::CommandOutput;
use crate::spinner::Spinner;

/// Merge two versions of a notebook (three-way, by cell)
///
/// Changes to different cells, and to different lines of one cell, are both kept. If both sides changed the same
/// lines, both versions are shown, nothing is written, and the exit status is 4. With --mark, the merged notebook
/// contains both versions between conflict markers in the cell's source and remains a valid notebook.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist merge base.ipynb ours.ipynb theirs.ipynb -o merged.ipynb
  cellist merge --mark base.ipynb ours.ipynb theirs.ipynb > merged.ipynb
  cellist git-setup     # and then: git merge, git rebase, git stash pop")]
pub(crate) struct MergeArgs {
    /// The common ancestor
    base: PathBuf,
    /// One version; its outputs and metadata win if both sides changed them
    ours: PathBuf,
    /// The other version
    theirs: PathBuf,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "OUT", conflicts_with = "driver")]
    output: Option<PathBuf>,
    /// On a conflict, write both versions between markers
    #[arg(long, conflicts_with = "driver")]
    mark: bool,
    /// Act as git's merge driver: write to OURS; on a conflict, write markers and exit with 1
    #[arg(long, hide_short_help = true)]
    driver: bool,
    /// Further arguments from git
    #[arg(hide = true)]
    rest: Vec<OsString>,
}

pub(crate) fn merge_notebooks(arguments: MergeArgs) -> Result<CommandOutput, CliError> {
    if arguments.driver {
        return run_merge_driver(&arguments);
    }
    if let Some(extra) = arguments.rest.first() {
        let message = format!("unexpected argument '{}' found", extra.display());
        return Err(CliError::input(FailureKind::Usage, message)
            .with_hint("a merge takes three notebooks: BASE OURS THEIRS"));
    }
    let _waiting = Spinner::new("merging the notebooks");
    let sides = [&arguments.base, &arguments.ours, &arguments.theirs];
    let [base, ours, theirs] = [files::side(sides[0])?, files::side(sides[1])?, files::side(sides[2])?];
    let on_conflict = if arguments.mark { OnConflict::Mark } else { OnConflict::Refuse };
    let merged = merge(&base, &ours, &theirs, on_conflict)
        .map_err(|error| CliError::rejected(&error).with_hint(MARK_HINT))?;
    let bytes = merged.notebook.to_bytes();
    let mut json = json!({
        "revision": merged.notebook.revision().to_string(),
        "total_cells": merged.notebook.cells().len(),
        "conflicts": merged.marked,
    });
    let text = match &arguments.output {
        Some(path) => {
            files::store().replace_raw(path, bytes, None)?;
            json["path"] = path.to_string_lossy().into();
            format!("Wrote {}: {} cells\n", path.display(), merged.notebook.cells().len()).into_bytes()
        }
        None => {
            json["notebook"] = String::from_utf8_lossy(&bytes).into();
            bytes
        }
    };
    let exit = if merged.marked.is_empty() { Exit::Done } else { Exit::NotSaved };
    Ok(CommandOutput::new(text, json).with_notices(merged.remarks()).with_exit(exit))
}

const MARK_HINT: &str = "pass --mark to write both versions between conflict markers";

fn run_merge_driver(arguments: &MergeArgs) -> Result<CommandOutput, CliError> {
    let MergeArgs { base, ours, theirs, .. } = arguments;
    // A refused file must not be taken for one that is not a notebook.
    files::check_look(base)?;
    files::check_look(theirs)?;
    files::check_change(ours)?;
    let (Ok(our_side), Ok(their_side)) = (files::blob(ours), files::blob(theirs)) else {
        return merge_as_text(arguments);
    };
    // Both sides added the file when there is no base.
    let base_side = files::blob(base).unwrap_or_else(|_| common(&our_side, &their_side));
    let merged = merge(&base_side, &our_side, &their_side, OnConflict::Mark)
        .map_err(|error| CliError::rejected(&error))?;
    // A temporary file of git, which no other program uses.
    fs::write(ours, merged.notebook.to_bytes()).map_err(|error| CliError::unwritable(ours, &error))?;
    Ok(driver_output(arguments, &merged))
}

fn driver_output(arguments: &MergeArgs, merged: &Merged) -> CommandOutput {
    let name = arguments
        .rest
        .get(1)
        .map_or_else(|| arguments.ours.display().to_string(), |path| Path::new(path).display().to_string());
    let notices = merged.remarks().iter().map(|remark| format!("{name}: {remark}")).collect();
    let exit = if merged.marked.is_empty() { Exit::Done } else { Exit::Different };
    CommandOutput::new("", json!({ "conflicts": merged.marked })).with_notices(notices).with_exit(exit)
}

/// Merges by line, as git does, if a side is not a notebook.
fn merge_as_text(arguments: &MergeArgs) -> Result<CommandOutput, CliError> {
    let MergeArgs { base, ours, theirs, .. } = arguments;
    let status = Command::new("git")
        .args(["merge-file", "-L", "ours", "-L", "base", "-L", "theirs"])
        .args([ours, base, theirs])
        .status()
        .map_err(|error| CliError::unreadable(Path::new("git"), &error))?;
    let exit = if status.success() { Exit::Done } else { Exit::Different };
    Ok(CommandOutput::new("", json!({})).with_exit(exit))
}

/// A substitute for a missing base: the cells that both sides have, without sources that differ.
fn common(ours: &Notebook, theirs: &Notebook) -> Notebook {
    let mut common = theirs.clone();
    let (changes, _) = diff(ours, theirs);
    for change in changes.iter().rev() {
        match change {
            CellChange::Added(index) => drop(common.remove(*index)),
            CellChange::Changed(change) if !change.source.is_empty() => common.set_source(change.after, ""),
            CellChange::Changed(_) | CellChange::Deleted(_) => {}
        }
    }
    common
}
