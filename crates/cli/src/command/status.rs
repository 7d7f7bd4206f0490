//! `cellist status`: whether a host is running, and what it keeps.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_link::hello::HostState;
use cellist_session::Home;
use clap::Args;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::clock::spoken;
use crate::error::CliError;
use crate::host::{self, VERSION};

/// Tell whether the host is running, and what it keeps
///
/// The host is one process in the background that keeps sessions for all terminals and programs of a user. It starts
/// when the first of them needs it and leaves when nobody does.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist status
  cellist status --json")]
pub(crate) struct Arguments {}

pub(crate) fn run(_: Arguments) -> Result<Answer, CliError> {
    let home = Home::from_env();
    let state = host::wait(async { Ok(host::ours().state().await?) })?;
    let text = match &state {
        Some(state) => for_people(state, &home),
        None => "No host is running. One starts when it is needed, as with `cellist exec --session NAME`.\n"
            .into(),
    };
    let mut json = state.as_ref().map_or_else(|| json!({}), to_json);
    json["running"] = state.is_some().into();
    json["home"] = home.path().to_string_lossy().into();
    Ok(Answer::new(text, json))
}

/// What a host is, for programs.
pub(crate) fn to_json(state: &HostState) -> Value {
    serde_json::to_value(state).unwrap_or_else(|_| json!({}))
}

fn for_people(state: &HostState, home: &Home) -> String {
    let HostState { version, pid, started, background, sessions, busy, notebooks, clients, log } = state;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = now.saturating_sub(Duration::from_millis(*started));
    let mut text = format!("The host is running as process {pid}, for {}.\n", spoken(age));
    let mut row = |label: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "  {label:<10} {value}");
    };
    match version == VERSION {
        true => row("version", version),
        false => row("version", &format!("{version}, where this command is {VERSION}")),
    }
    row("home", &home.path().display());
    match busy {
        0 => row("sessions", sessions),
        busy => row("sessions", &format!("{sessions}, {busy} of them busy")),
    }
    row("notebooks", notebooks);
    row("clients", clients);
    if let Some(log) = log {
        row("log", &log.display());
    }
    row("leaves", &if *background { "when nobody needs it" } else { "when it is stopped" });
    text
}
