//! `cellist prompt`: the instructions that a model gets for a notebook.

use std::path::PathBuf;

use cellist_settings::Home;
use cellist_tools::prompt::{BadPrompt, FOLDER, Prompts};
use cellist_tools::{ToolOffer, references};
use clap::Args;
use serde_json::json;

use crate::command::exec::working_folder;
use crate::editor::{EditorFlags, notebook_mode_off_reason};
use crate::error::{CliError, FailureKind};
use crate::output::CommandOutput;
use crate::settings::settings_in;

/// Show the instructions that a model receives for a notebook
///
/// They come from prompt files whose header names the mode and the order, followed by the state of the notebook.
/// Files in ~/.cellist/prompts, and in .cellist/prompts of a trusted project, add to the built-in files; a file
/// of the same name replaces the built-in one. Credentials are shown redacted, as models see them.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist prompt --attach nb.ipynb --active nb.ipynb --mode ask
  cellist prompt --active nb.ipynb --request 'what does @nb.ipynb do? #getCellOutputs' --json")]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    flags: EditorFlags,
    /// The user's request; `@nb.ipynb` attaches a notebook, `#getCellOutputs` names a tool
    #[arg(long, value_name = "TEXT")]
    request: Option<String>,
}

pub(crate) fn show_prompt(arguments: PromptArgs) -> Result<CommandOutput, CliError> {
    let mode = arguments.flags.mode;
    let request = arguments.request.as_deref().unwrap_or_default();
    let named = references(request, ToolOffer::new(mode, true));
    let also: Vec<PathBuf> = named.attachments.iter().map(|file| PathBuf::from(&file.path)).collect();
    let editor = arguments.flags.editor(&also)?;
    let context = arguments.flags.context(&editor)?;
    let offer = ToolOffer::new(mode, context.is_some());
    let named = references(request, offer);
    let mut json = json!({
        "notebookMode": offer.notebook_mode,
        "mode": mode,
        "tools": offer.notebook_tools().iter().map(|tool| tool.as_str()).collect::<Vec<_>>(),
        "references": named.tools,
        "attachments": editor.attached,
        "files": [],
        "prompt": null,
    });
    let Some(context) = context else {
        return Ok(CommandOutput::new(format!("{}\n", notebook_mode_off_reason(&editor)), json));
    };
    let settings = settings_in(&working_folder(None)?, &[])?;
    let prompts = Prompts::with_folder(&Home::from_env().path().join(FOLDER));
    let prompts = prompts.and_then(|own| own.with_files(&settings.prompts)).map_err(|error| bad(&error))?;
    let (instructions, used) = prompts.for_mode(mode);
    let mut text = format!("{instructions}\n\n{}", context.text);
    if !named.tools.is_empty() {
        text.push_str("\n# Tools named in the message\n\n");
        for tool in &named.tools {
            let note = tool.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            text.push_str(&format!("- `{}`{note}\n", tool.tool));
        }
    }
    json["files"] = json!(used);
    json["prompt"] = json!(text);
    Ok(CommandOutput::new(text, json).with_notices(settings.notices))
}

fn bad(error: &BadPrompt) -> CliError {
    CliError::input(FailureKind::BadPromptFile, error.to_string()).with_hint(error.hint())
}
