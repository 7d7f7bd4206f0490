//! `cellist git-setup`: lets git compare and merge notebooks by cells.

mod attributes;
mod config;

use std::env;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::error::CliError;
use crate::notebook_access::require_person;
use crate::output::CommandOutput;
use config::{ConfigScope, GitConfig};

/// Make git diff and merge notebooks by cell
///
/// Afterwards `git diff` shows notebooks like `cellist diff`, `git log -p` and `git show` show their text, and
/// `git merge` merges them like `cellist merge`. A conflict leaves markers in the source of the cell, and the
/// notebook still opens.
///
/// Sets diff.cellist and merge.cellist in git's configuration and adds a line to .gitattributes. The line has no
/// effect for collaborators without cellist. Running the command again changes nothing.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist git-setup                              # in this repository
  cellist git-setup --global                     # in all your repositories
  cellist git-setup --remove")]
pub(crate) struct GitSetupArgs {
    /// Apply to all your repositories
    #[arg(long)]
    global: bool,
    /// Remove the configuration
    #[arg(long)]
    remove: bool,
}

pub(crate) fn set_up_git(arguments: GitSetupArgs) -> Result<CommandOutput, CliError> {
    require_person("the configuration of git")?;
    let git = GitConfig { scope: if arguments.global { ConfigScope::Global } else { ConfigScope::Local } };
    let file = git.attributes_file()?;
    let mut done = Vec::new();
    let mut notices = Vec::new();
    if arguments.remove {
        done.extend(git.unset()?);
        done.extend(attributes::remove(&file)?);
    } else {
        done.extend(git.set(&program())?);
        done.extend(attributes::add(&file)?);
        notices.extend(attributes::rivals(&file)?);
    }
    let mut text: String = done.iter().map(|step| format!("{step}\n")).collect();
    if done.is_empty() {
        let state = if arguments.remove { "does not use" } else { "already uses" };
        text = format!("Nothing to do: git {state} cellist {}.\n", git.scope.in_words());
    }
    Ok(CommandOutput::new(text, json!({ "done": done })).with_notices(notices))
}

/// How git should call this program: by name if it is on the PATH, else by path.
fn program() -> String {
    let this = env::current_exe().and_then(|path| path.canonicalize());
    let Ok(this) = this else { return "cellist".into() };
    let found = env::var_os("PATH").and_then(|path| {
        let places: Vec<PathBuf> = env::split_paths(&path).map(|folder| folder.join("cellist")).collect();
        places.into_iter().find_map(|place| place.canonicalize().ok())
    });
    if found.as_deref() == Some(&this) { "cellist".into() } else { quoted(&this) }
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    if path.chars().all(plain) { path.into_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::quoted;

    #[test]
    fn a_path_is_quoted_for_the_shell_where_it_must_be() {
        assert_eq!(quoted(Path::new("/usr/bin/cellist")), "/usr/bin/cellist");
        assert_eq!(quoted(Path::new("/my tools/it's/cellist")), r"'/my tools/it'\''s/cellist'");
    }
}
