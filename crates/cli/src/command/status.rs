//! `cellist status`: prints the state of the host.

pub(crate) mod browsers;

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_host::hello::HostState;
use cellist_serve::token;
use cellist_settings::Home;
use clap::Args;
use serde_json::{Value, json};

use crate::clock::format_duration;
use crate::error::{CliError, FailureKind};
use crate::host::{self, VERSION};
use crate::notebook_access::require_person;
use crate::output::CommandOutput;

/// Show whether the host is running, with its sessions and clients
///
/// The host is one background process that keeps the sessions of all terminals and programs of a user. It starts
/// on demand and exits when it is no longer needed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist status
  cellist status --json
  cellist status --browsers
  printf 'Authorization: Bearer %s' \"$(cellist status --token)\" | curl -H @- http://127.0.0.1:8080/editor")]
pub(crate) struct StatusArgs {
    /// Print only the token that programs send to the host over HTTP
    ///
    /// Other users can see command lines, so pass it on standard input, as in `curl -H @-`.
    #[arg(long)]
    token: bool,
    /// List the browsers that were signed in to the page
    ///
    /// A signed-in browser has a cookie for the running host. A page that was open when the host stopped
    /// reconnects and gets a new cookie; `cellist revoke` prevents that.
    #[arg(long, conflicts_with = "token")]
    browsers: bool,
}

pub(crate) fn show_status(arguments: StatusArgs) -> Result<CommandOutput, CliError> {
    let home = Home::from_env();
    if arguments.browsers {
        return browsers::list(&home);
    }
    let state = host::block_on(async { Ok(host::user_host().state().await?) })?;
    if arguments.token {
        require_person("the token of the host")?;
        let served = state.is_some_and(|state| state.page.is_some());
        let token = token(&home).filter(|_| served).ok_or_else(|| {
            CliError::input(FailureKind::NoPage, "no host is serving HTTP")
                .with_hint("run `cellist serve --port 8080` or `cellist open`")
        })?;
        return Ok(CommandOutput::new(format!("{token}\n"), json!({ "token": token })));
    }
    let text = match &state {
        Some(state) => status_text(state, &home),
        None => "No host is running. One starts on demand, for example with `cellist exec --session NAME`.\n"
            .into(),
    };
    let mut json = state.as_ref().map_or_else(|| json!({}), to_json);
    json["running"] = state.is_some().into();
    json["home"] = home.path().to_string_lossy().into();
    Ok(CommandOutput::new(text, json))
}

pub(crate) fn to_json(state: &HostState) -> Value {
    serde_json::to_value(state).unwrap_or_else(|_| json!({}))
}

fn status_text(state: &HostState, home: &Home) -> String {
    let HostState { version, pid, started, background, sessions, busy, notebooks, chats, clients, log, page } =
        state;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = now.saturating_sub(Duration::from_millis(*started));
    let mut text = format!("The host is running as process {pid}, for {}.\n", format_duration(age));
    let mut row = |label: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "  {label:<10} {value}");
    };
    match version == VERSION {
        true => row("version", version),
        false => row("version", &format!("{version} (this command is {VERSION})")),
    }
    row("home", &home.path().display());
    match busy {
        0 => row("sessions", sessions),
        busy => row("sessions", &format!("{sessions}, {busy} of them busy")),
    }
    row("notebooks", notebooks);
    if *chats > 0 {
        row("chats", chats);
    }
    row("clients", clients);
    if let Some(port) = page {
        row("page", &format_args!("http://127.0.0.1:{port}/"));
        row("mcp", &format_args!("http://127.0.0.1:{port}/mcp, token: `cellist status --token`"));
    }
    if let Some(log) = log {
        row("log", &log.display());
    }
    row("exits", &if *background { "when no longer needed" } else { "when stopped" });
    text
}
