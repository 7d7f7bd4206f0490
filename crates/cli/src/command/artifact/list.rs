//! `cellist artifact list`: prints the kept artifacts, newest first.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_store::artifact::ArtifactRow;
use clap::Args;
use serde_json::json;

use crate::clock::ago;
use crate::error::CliError;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Ink, Paint, visible};

/// List artifacts, newest first
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist artifact list
  cellist artifact list --json")]
pub(super) struct ArtifactListArgs {}

pub(super) fn list_artifacts(_: ArtifactListArgs) -> Result<CommandOutput, CliError> {
    let artifacts = super::artifacts();
    let rows = artifacts.list()?;
    let paint = Paint::for_stdout(ColourMode::Auto);
    let text: String = rows.iter().map(|row| line(row, paint)).collect();
    let answer = CommandOutput::new(
        text,
        json!({ "folder": artifacts.folder().to_string_lossy(), "artifacts": rows }),
    );
    Ok(match rows.is_empty() {
        true => answer.with_notices(vec!["no artifacts".into()]),
        false => answer,
    })
}

fn line(row: &ArtifactRow, paint: Paint) -> String {
    let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_millis(row.modified_ms));
    let state = match (row.is_being_written, row.is_whole) {
        (true, _) => "being written".to_owned(),
        (false, true) => ago(age.unwrap_or_default()),
        (false, false) => format!("{}, incomplete", ago(age.unwrap_or_default())),
    };
    let lines = row.lines.map(|lines| format!(" · {}", counted(lines, "line"))).unwrap_or_default();
    let place = match (&row.origin.notebook, &row.origin.session) {
        (Some(notebook), _) => format!(" · {}", visible(&notebook.to_string_lossy())),
        (None, Some(session)) => format!(" · session {}", visible(session)),
        (None, None) => String::new(),
    };
    let aside = format!("{}{lines} · {state}{place}", size(row.bytes));
    format!("{}  {}  {}\n", row.id, visible(&row.origin.what), paint.line(Ink::Aside, &aside))
}

fn counted(count: u64, unit: &str) -> String {
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

/// A size as people read it.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => counted(bytes, "byte"),
    }
}
