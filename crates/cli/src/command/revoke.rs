//! `cellist revoke`: signs browsers out of the page.

use cellist_host::Request;
use cellist_settings::Home;
use clap::Args;
use serde_json::json;

use crate::command::status::browsers::{ask, to_json};
use crate::error::{CliError, Exit, FailureKind};
use crate::notebook_access::require_person;
use crate::output::CommandOutput;

/// Sign a browser out of the page
///
/// Its open pages close at once, and its cookie and keys become invalid. `cellist open` signs it in again.
///
/// Exit status: 0 success, 2 no such browser, 4 the state folder is unusable.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist status --browsers
  cellist revoke 3f9a01c2
  cellist revoke --all")]
pub(crate) struct RevokeArgs {
    /// A browser id from `cellist status --browsers`
    #[arg(value_name = "BROWSER", required_unless_present = "all")]
    browser: Option<String>,
    /// Sign out all browsers
    #[arg(long, conflicts_with = "browser")]
    all: bool,
}

pub(crate) fn revoke_browsers(arguments: RevokeArgs) -> Result<CommandOutput, CliError> {
    require_person("the list of browsers")?;
    let wanted = arguments.browser;
    let gone = match ask(Request::Revoke(wanted.clone()))? {
        Some(gone) => gone,
        None => cellist_serve::revoke(&Home::from_env(), wanted.as_deref()).map_err(|error| {
            let why = cellist_platform::in_words(&error);
            CliError::new(
                FailureKind::NotKept,
                Exit::NotSaved,
                format!("cannot write the list of browsers: {why}"),
            )
        })?,
    };
    if let (true, Some(browser)) = (gone.is_empty(), wanted) {
        return Err(CliError::input(FailureKind::NoBrowser, format!("no such browser: {browser}"))
            .with_hint("run `cellist status --browsers` to list them"));
    }
    let text = match gone.is_empty() {
        true => "No browser is signed in.\n".to_owned(),
        false => {
            gone.iter().map(|browser| format!("Signed out {} ({})\n", browser.id, browser.name)).collect()
        }
    };
    Ok(CommandOutput::new(text, json!({ "revoked": gone.iter().map(to_json).collect::<Vec<_>>() })))
}
