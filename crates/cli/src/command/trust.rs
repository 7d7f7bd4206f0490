//! `cellist trust`: grants and removes trust in a project's `.cellist` folder.

use std::path::{Path, PathBuf};

use cellist_platform::Variables;
use cellist_settings::trust::{Item, Ledger, TrustError, items};
use cellist_settings::{Home, Project};
use clap::Args;
use serde_json::{Value, json};

use crate::command::exec::working_folder;
use crate::error::{CliError, Exit, FailureKind};
use crate::notebook_access::require_person;
use crate::output::CommandOutput;

/// Trust the .cellist folder of a project
///
/// Settings, modules and prompts of a project that reach beyond its folder take effect only when you trust them.
/// Trust covers their current content: anything added or changed later must be trusted again. Only this command
/// grants trust.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist trust                trust the current project
  cellist trust --list         list trusted folders and later changes
  cellist trust --remove ~/src/old")]
pub(crate) struct TrustArgs {
    /// The project folder [default: the current folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Remove trust
    #[arg(long, conflicts_with = "list")]
    remove: bool,
    /// List all trusted folders
    #[arg(long, conflicts_with = "folder")]
    list: bool,
}

pub(crate) fn change_trust(arguments: TrustArgs) -> Result<CommandOutput, CliError> {
    let home = Home::from_env();
    let ledger = Ledger::new(&home);
    let folder = arguments.folder.as_deref();
    match arguments.list {
        true => Ok(list(&ledger, &home)),
        false => {
            require_person("trust")?;
            match arguments.remove {
                true => remove(&ledger, &home, folder),
                false => trust(&ledger, &home, folder),
            }
        }
    }
}

fn trust(ledger: &Ledger, home: &Home, named: Option<&Path>) -> Result<CommandOutput, CliError> {
    let folder = match named {
        Some(_) => working_folder(named).map_err(|error| error.with_hint("pass an existing folder"))?,
        None => working_folder(None)?,
    };
    let project = Project::find(&folder, &Variables::of_process(), home).ok_or_else(|| {
        let message = format!("{}: nothing to trust: no .cellist folder here or above", folder.display());
        CliError::input(FailureKind::NothingToTrust, message).with_hint("pass a project folder")
    })?;
    let items = items(&project)?;
    let own = project.own();
    let text = if items.is_empty() {
        ledger.remove(project.folder())?;
        format!("Nothing in {} needs trust.\n", own.display())
    } else {
        ledger.trust(&project, &items)?;
        let lines: Vec<String> = items.iter().map(|item| format!("  {}\n", item_line(item))).collect();
        format!("Trusted in {}, as it is now:\n{}", own.display(), lines.concat())
    };
    let names: Vec<Value> =
        items.iter().map(|item| json!({ "name": item.name, "value": item.value })).collect();
    Ok(CommandOutput::new(text, json!({ "folder": project.folder().to_string_lossy(), "trusted": names })))
}

fn item_line(item: &Item) -> String {
    match &item.value {
        Some(value) => format!("{} = {value}", item.name),
        None => item.name.clone(),
    }
}

fn remove(ledger: &Ledger, home: &Home, named: Option<&Path>) -> Result<CommandOutput, CliError> {
    let whole = match named {
        Some(named) => std::path::absolute(named).map_err(|error| CliError::unreadable(named, &error))?,
        None => working_folder(None)?,
    };
    // A folder that no longer exists, or has no `.cellist`, is removed by its path.
    let project = Project::find(&whole, &Variables::of_process(), home);
    let real = whole.canonicalize().unwrap_or_else(|_| whole.clone());
    let folder = project.as_ref().map_or(real.as_path(), Project::folder);
    let was = ledger.remove(folder)?;
    let what = if was { "is no longer trusted" } else { "was not trusted" };
    let text = format!("{} {what}.\n", folder.display());
    Ok(CommandOutput::new(text, json!({ "folder": folder.to_string_lossy(), "removed": was })))
}

fn list(ledger: &Ledger, home: &Home) -> CommandOutput {
    let (mut text, mut rows) = (String::new(), Vec::new());
    for page in ledger.pages() {
        let folder = Path::new(&page.folder);
        let found = Project::find(folder, &Variables::of_process(), home);
        let here = found.filter(|project| project.folder() == folder);
        let now = here.as_ref().map(|project| items(project).unwrap_or_default()).unwrap_or_default();
        text.push_str(&format!(
            "{}{}\n",
            page.folder,
            if here.is_none() { " (no longer exists)" } else { "" }
        ));
        let mut states = Vec::new();
        for name in page.names() {
            let state = match now.iter().find(|item| item.name == name) {
                Some(item) if page.holds(item) => "trusted",
                Some(_) => "changed",
                None => "gone",
            };
            text.push_str(&format!(
                "  {name}{}\n",
                if state == "trusted" { String::new() } else { format!(" ({state})") }
            ));
            states.push(json!({ "name": name, "state": state }));
        }
        let is_new = |item: &&Item| !page.names().any(|name| name == item.name);
        for item in now.iter().filter(is_new) {
            text.push_str(&format!("  {} (new, not trusted)\n", item.name));
            states.push(json!({ "name": item.name, "state": "new" }));
        }
        rows.push(json!({ "folder": page.folder, "exists": here.is_some(), "items": states }));
    }
    if rows.is_empty() {
        text.push_str("No folder is trusted.\n");
    }
    CommandOutput::new(text, json!({ "folders": rows }))
}

impl From<TrustError> for CliError {
    fn from(error: TrustError) -> CliError {
        CliError::new(FailureKind::CannotSave, Exit::NotSaved, error.to_string())
            .with_hint("set CELLIST_HOME to a writable folder")
    }
}
