//! `cellist man`: the manual pages, one for each command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use serde_json::json;

use crate::args::Cli;
use crate::error::{CliError, FailureKind, reason};
use crate::notebook_access::files;
use crate::output::CommandOutput;

/// Print a manual page, or write all of them to a folder
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist man | man -l -
  cellist man sessions | man -l -
  cellist man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// A command, as in `cellist man cell`
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Option<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn write_man_pages(arguments: ManArgs) -> Result<CommandOutput, CliError> {
    let all = pages(Cli::command())?;
    if let Some(folder) = arguments.dir {
        return write_all(&all, &folder);
    }
    let name = arguments.command.map_or_else(|| "cellist".to_owned(), |command| format!("cellist-{command}"));
    let page = all.into_iter().find(|page| page.name == name).ok_or_else(|| {
        let command = name.trim_start_matches("cellist-");
        CliError::input(FailureKind::NoSuchCommand, format!("no such command: {command}"))
            .with_hint("run `cellist --help` to list the commands")
    })?;
    let json = json!({ "name": page.name, "page": String::from_utf8_lossy(&page.text) });
    Ok(CommandOutput::new(page.text, json))
}

/// The footer of each page.
const SOURCE: &str = concat!("cellist ", env!("CARGO_PKG_VERSION"));

struct ManPage {
    name: String,
    text: Vec<u8>,
}

/// The page of a program and of each of its commands.
fn pages(mut program: Command) -> Result<Vec<ManPage>, CliError> {
    program.build();
    let commands =
        program.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    std::iter::once(&program).chain(commands).cloned().map(page).collect()
}

fn page(command: Command) -> Result<ManPage, CliError> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut text = Vec::new();
    Man::new(command)
        .source(SOURCE)
        .manual("Notebooks")
        .render(&mut text)
        .map_err(|error| failed(Path::new(&name), &error))?;
    Ok(ManPage { name, text })
}

fn write_all(all: &[ManPage], folder: &Path) -> Result<CommandOutput, CliError> {
    // A folder can be checked only when its parent exists.
    let made = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()).last();
    if let Some(made) = made {
        files::check_change(made)?;
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let files: Vec<PathBuf> = all.iter().map(|page| folder.join(format!("{}.1", page.name))).collect();
    files.iter().try_for_each(|file| files::check_change(file))?;
    for (page, file) in all.iter().zip(&files) {
        fs::write(file, &page.text).map_err(|error| failed(file, &error))?;
    }
    let names: Vec<&str> = all.iter().map(|page| page.name.as_str()).collect();
    let text = format!("Wrote {} pages to {}.\n", all.len(), folder.display());
    Ok(CommandOutput::new(text, json!({ "folder": folder.to_string_lossy(), "pages": names })))
}

fn failed(path: &Path, error: &io::Error) -> CliError {
    CliError::input(
        FailureKind::CannotWrite,
        format!("{} cannot be written: {}", path.display(), reason(error)),
    )
}
