//! `cellist settings`: prints every setting with its value and source.

use cellist_settings::{Access, Origin, Resolved, Row};
use clap::Args;
use serde_json::{Value, json};

use crate::command::exec::working_folder;
use crate::error::CliError;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Ink, Paint};
use crate::settings::settings_in;

/// List all settings, their values and their sources
///
/// Precedence: flag, environment variable, project file, user file.
///
/// The user file is ~/.cellist/config.toml. The project file is .cellist/config.toml in the current folder or the
/// nearest parent, up to the root of the repository. The environment variable for a.b is CELLIST_A_B.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist settings
  cellist settings --json
  cellist settings --set python.backend=runner")]
pub(crate) struct SettingsArgs {
    /// Set a setting for this command only
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

pub(crate) fn show_settings(arguments: SettingsArgs) -> Result<CommandOutput, CliError> {
    let resolved = settings_in(&working_folder(None)?, &arguments.set)?;
    let json = to_json(&resolved);
    let text = settings_text(&resolved, Paint::for_stdout(ColourMode::Auto));
    Ok(CommandOutput::new(text, json).with_notices(resolved.notices))
}

fn to_json(resolved: &Resolved) -> Value {
    let defaults = Default::default();
    let row = |(row, origin): (&Row, &Origin)| {
        json!({
            "name": row.name,
            "value": row.json_of(&resolved.settings),
            "origin": origin.word(),
            "from": origin.to_string(),
            "path": origin.line().map(|line| line.path.to_string_lossy()),
            "line": origin.line().map(|line| line.line),
            "default": row.json_of(&defaults),
            "valid": row.valid(),
            "meaning": row.meaning(),
            "needs_trust": row.access == Access::Trusted,
            "user_only": !row.access.is_for_projects(),
        })
    };
    let files = resolved.files.iter();
    json!({
        "settings": resolved.rows().map(row).collect::<Vec<_>>(),
        "files": files.map(|(path, there)| json!({ "path": path.to_string_lossy(), "exists": there })).collect::<Vec<_>>(),
        "project": resolved.project.as_ref().map(|project| project.folder().to_string_lossy()),
    })
}

fn settings_text(resolved: &Resolved, paint: Paint) -> String {
    let rows: Vec<(&str, String, &Origin)> =
        resolved.rows().map(|(row, origin)| (row.name, row.text_of(&resolved.settings), origin)).collect();
    let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or_default();
    let names = widest(&mut rows.iter().map(|(name, ..)| name.len()));
    // One long value must not widen the column.
    let values = widest(&mut rows.iter().map(|(_, value, _)| value.chars().count().min(16)));
    let mut lines: Vec<String> = Vec::new();
    for (name, value, origin) in rows {
        let line = format!("{name:<names$}  {value:<values$}");
        let ink = if *origin == Origin::Default { Ink::Aside } else { Ink::Added };
        lines.push(format!("{line}  {}", paint.line(ink, &origin.to_string())));
    }
    lines.push(String::new());
    for (path, there) in &resolved.files {
        let what = if *there { "was read" } else { "does not exist" };
        lines.push(paint.line(Ink::Aside, &format!("{} {what}", path.display())));
    }
    lines.join("\n") + "\n"
}
