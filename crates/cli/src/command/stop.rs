//! `cellist stop`: stops the host and its sessions.

use cellist_host::StopOutcome;
use clap::Args;
use serde_json::json;

use crate::command::status::to_json;
use crate::error::CliError;
use crate::host;
use crate::output::CommandOutput;
use crate::spinner::Spinner;

/// Stop the host and all its sessions
///
/// Returns when the host and its kernels have exited. The state of all sessions is lost. A host that does not
/// respond is killed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist stop")]
pub(crate) struct StopArgs {}

pub(crate) fn stop_host(_: StopArgs) -> Result<CommandOutput, CliError> {
    let waiting = Spinner::new("stopping the host");
    let stopped = host::block_on(async { Ok(host::user_host().stop().await?) })?;
    drop(waiting);
    Ok(match stopped {
        StopOutcome::Nobody => CommandOutput::new("No host is running.\n", json!({ "stopped": false })),
        StopOutcome::Left(state) => {
            let with = match (state.sessions, state.busy) {
                (0, _) => String::new(),
                (1, 0) => ", and its session".into(),
                (1, _) => ", and its session, which was running code".into(),
                (count, 0) => format!(", and its {count} sessions"),
                (count, busy) => format!(", and its {count} sessions, {busy} of which were running code"),
            };
            let mut json = to_json(&state);
            json["stopped"] = true.into();
            CommandOutput::new(format!("Stopped the host (process {}){with}.\n", state.pid), json)
        }
        StopOutcome::Killed { pid } => {
            let text = format!(
                "The host (process {pid}) did not respond; it was killed together with its kernels.\n"
            );
            CommandOutput::new(text, json!({ "stopped": true, "killed": true, "pid": pid }))
        }
    })
}
