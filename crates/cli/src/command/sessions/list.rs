//! `cellist sessions list`: prints all sessions, oldest first.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_host::{Reply, Request};
use cellist_session::sessions::{SessionState, SessionView};
use clap::Args;
use serde_json::{Value, json};

use super::ask;
use crate::clock::ago;
use crate::error::CliError;
use crate::host;
use crate::listing::table;
use crate::output::CommandOutput;

/// List sessions, oldest first
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions list
  cellist sessions list --json")]
pub(super) struct SessionsListArgs {}

pub(super) fn list_sessions(_: SessionsListArgs) -> Result<CommandOutput, CliError> {
    let sessions = match ask(Request::Sessions)? {
        None => Vec::new(),
        Some(Reply::Sessions(sessions)) => sessions,
        Some(other) => return Err(host::unexpected(&other)),
    };
    let text = match sessions.is_empty() {
        true => String::new(),
        false => table(&COLUMNS, sessions.iter().map(row)),
    };
    let rows: Vec<Value> = sessions.iter().map(to_json).collect();
    let answer = CommandOutput::new(text, json!({ "sessions": rows }));
    Ok(match sessions.is_empty() {
        true => answer.with_notices(vec!["no sessions".into()]),
        false => answer,
    })
}

const COLUMNS: [&str; 7] =
    ["session", "state", "runs on", "process", "used", "ends in", "folder or notebook"];

fn row(session: &SessionView) -> Vec<String> {
    let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_millis(session.last_used_ms));
    let state = match session.state {
        SessionState::Starting => "starting",
        SessionState::Idle => "idle",
        SessionState::Busy if session.is_stuck => "busy, not stopping",
        SessionState::Busy => "busy",
        SessionState::Silent => "not responding",
        SessionState::Dead => "no kernel",
    };
    let state = match session.queued {
        0 => state.to_owned(),
        waiting => format!("{state}, {waiting} waiting"),
    };
    let place = session.notebook.as_ref().unwrap_or(&session.cwd).to_string_lossy().into_owned();
    vec![
        session.id.clone(),
        state,
        session.backend.to_string(),
        session.pid.map(|pid| pid.to_string()).unwrap_or_default(),
        ago(age.unwrap_or_default()),
        session.ends_ms.map(ends_in).unwrap_or_default(),
        place,
    ]
}

/// The time until an unused session ends.
fn ends_in(ends_ms: u64) -> String {
    let left = (UNIX_EPOCH + Duration::from_millis(ends_ms)).duration_since(SystemTime::now());
    match left.unwrap_or_default().as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

fn to_json(session: &SessionView) -> Value {
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    json!({
        "id": session.id,
        "cwd": path(&session.cwd),
        "notebook": session.notebook.as_deref().map(path),
        "backend": session.backend,
        "python": session.python.as_deref().map(path),
        "kernel_id": session.kernel_id,
        "pid": session.pid,
        "state": session.state,
        "execution": session.execution,
        "stuck": session.is_stuck,
        "queued": session.queued,
        "owners": session.owners,
        "restarts": session.restarts,
        "created": session.created_ms,
        "last_used": session.last_used_ms,
        "ends": session.ends_ms,
    })
}
