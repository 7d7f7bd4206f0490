//! The prompt for a message. Constant instructions come first, so that providers can cache them. The current state and the
//! user's message come last.

use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use cellist_session::execution::Cancel;
use cellist_settings::Home;
use cellist_tools::{
    Agent, Caller, EditorState, FilePolicy, Mode, ToolAnswer, ToolName, ToolOffer, Toolbox, references,
};
use serde_json::json;
use tokio::sync::watch;

use crate::conversation::ChatRequest;
use crate::proposal::{self, DATA_RULES, SECRETS_RULE};
use crate::provider::ToolSpec;

/// The parts of a prompt.
#[derive(Clone, Debug)]
pub(crate) struct Briefing {
    /// The constant instructions.
    pub(crate) instructions: String,
    /// The message with the state of notebook and attachments.
    pub(crate) message: String,
    pub(crate) tools: Vec<ToolSpec>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// Whether the notebook is part of the prompt.
    pub(crate) notebook_mode: bool,
}

/// The identity for this turn's tool calls, with the notebooks that the message attaches.
pub(crate) fn caller(request: &ChatRequest, home: &Home, notes: &mut Vec<String>) -> Caller {
    let mut caller = Caller { requires_active: true, ..request.caller.clone() };
    if request.about.is_some() {
        // A conversation about one cell only proposes, whatever the mode of the chat.
        caller.mode = Mode::Ask;
    }
    let reach = FilePolicy::of(&caller, home);
    let mut front = caller.front.take().unwrap_or_default();
    front.attached.retain(|path| {
        let is_kept = !reach.may_look(path);
        if is_kept {
            notes.push(format!("not attached: {} is kept from models", path.display()));
        }
        !is_kept
    });
    for named in references(&request.words, ToolOffer::new(caller.mode, true)).attachments {
        let path = caller.cwd.join(&named.path);
        match fs::canonicalize(&path) {
            Ok(_) if !reach.may_look(&path) => {
                notes.push(format!("not attached: {} is kept from models", named.path));
            }
            Ok(real) if !front.attached.contains(&real) => front.attached.push(real),
            Ok(_) => {}
            Err(_) => notes.push(format!("not attached: {} does not exist", named.path)),
        }
    }
    caller.front = Some(front);
    caller
}

/// Builds the prompt for a message. Failures to read the state become notes.
pub(crate) async fn brief(
    toolbox: &Toolbox,
    agent: &Arc<Agent>,
    request: &ChatRequest,
    mut notes: Vec<String>,
) -> Briefing {
    let caller = agent.caller();
    let front = caller.front.clone().unwrap_or_default();
    let context = match toolbox.agent_context(agent, &front).await {
        Ok(context) => context,
        Err(error) => {
            notes.push(error.to_string());
            None
        }
    };
    let offer = ToolOffer { notebook_mode: context.is_some(), ..ToolOffer::of_caller(caller) };
    let mut budget = request.rules.context;
    let mut message = String::new();
    if let Some(context) = &context {
        let text = context.text_within(budget);
        let selected = context.selected_size();
        budget = budget.saturating_sub(text.len().saturating_sub(selected));
        message.push_str(&text);
        if selected > request.rules.context {
            notes.push(format!(
                "the selected cells are sent whole: {selected} characters, more than chat.context allows"
            ));
        }
    }
    for (heading, tool, arguments) in attachments(request, &front) {
        let (news, _receiver) = watch::channel(None);
        let answer = toolbox.call(agent, tool, &arguments, &news, Cancel::never()).await;
        let text = cut(answer.all_text(), budget.max(LEAST));
        budget = budget.saturating_sub(text.len());
        if answer.is_failure {
            notes.push(text.trim_start_matches("Error: ").to_owned());
        }
        let _ = write!(message, "\n# {heading}\n\n{}\n", text.trim_end());
    }
    let named = references(&request.words, offer).tools;
    if !named.is_empty() {
        message.push_str("\n# Tools named in the message\n\n");
        for tool in named {
            let note = tool.note.map(|note| format!(" ({note})")).unwrap_or_default();
            let _ = writeln!(message, "- `{}`{note}", tool.tool);
        }
    }
    let message = match message.is_empty() {
        true => request.words.clone(),
        false => format!("{}\n\n# Message from the user\n\n{}", message.trim(), request.words),
    };
    let mut tools: Vec<ToolSpec> =
        offer.tool_names().into_iter().map(|name| ToolSpec::from(name.in_mode(offer.mode))).collect();
    let instructions = match &request.about {
        Some(cell) => {
            tools.push(proposal::tool());
            proposal::instructions(cell)
        }
        None if context.is_some() && !request.instructions.is_empty() => {
            format!("{}\n\n{}", instructions(caller.mode), request.instructions)
        }
        None => instructions(caller.mode),
    };
    Briefing { instructions, message, tools, notes, notebook_mode: context.is_some() }
}

/// Minimum bytes of an attachment, even when the budget is used up.
const LEAST: usize = 1024;

/// Cuts a text to so many bytes. A last line states how much is missing.
fn cut(text: String, most: usize) -> String {
    let shown = &text[..text.floor_char_boundary(most)];
    match text.len() - shown.len() {
        0 => text,
        left => format!("{shown}\n[{left} more bytes are not shown]"),
    }
}

/// The attachments and outputs of a message: a heading, and the tool call that reads each.
fn attachments(request: &ChatRequest, front: &EditorState) -> Vec<(String, ToolName, serde_json::Value)> {
    let active = front.notebook();
    let others = front.attached.iter().filter(|path| Some(path.as_path()) != active);
    let mut found: Vec<_> = others
        .map(|path| {
            let heading = format!("Attached: {}", path.display());
            (heading, ToolName::Read, json!({ "path": path.to_string_lossy() }))
        })
        .collect();
    if active.is_some() {
        found.extend(request.outputs.iter().map(|cell| {
            (format!("Output of cell {cell}"), ToolName::GetCellOutputs, json!({ "cell": cell }))
        }));
    }
    found
}

/// The constant instructions of a mode.
fn instructions(mode: Mode) -> String {
    let limits = match mode {
        Mode::Ask => "You may read. You change and run nothing.",
        Mode::Edit => {
            "You may read, and change files that are not notebooks. You change no notebook and run nothing."
        }
        Mode::Agent => "You may read, change notebooks and files, and run code. The user may be asked first.",
    };
    format!(
        "You are the assistant of cellist. You help a user with notebooks. Answer in Markdown and in the user's language. Be \
         brief, and admit when you do not know something.\n\n\
         You are in {mode} mode. {limits} Only the user can switch the mode: suggest it if needed, and do not look for ways \
         around it.\n\n\
         {DATA_RULES} Report the results of tools, not your intentions; a failed call had no effect. {SECRETS_RULE}"
    )
}

/// The text of a tool's answer for a model. Providers separate images from text, so each of several images leaves a mark at
/// its place.
pub(crate) fn readable(answer: &ToolAnswer) -> String {
    use cellist_tools::AnswerBlock;
    let is_image = |block: &&AnswerBlock| matches!(block, AnswerBlock::Image { .. });
    let several = answer.blocks.iter().filter(is_image).count() > 1;
    let mut images = 0;
    let blocks = answer.blocks.iter().filter_map(|block| match block {
        AnswerBlock::Text(text) => Some(text.clone()),
        AnswerBlock::Link { uri, name, .. } => Some(format!("{name}: {uri}")),
        AnswerBlock::Image { .. } => {
            images += 1;
            several.then(|| format!("[image {images}]"))
        }
    });
    blocks.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use cellist_tools::AnswerBlock;

    use super::*;

    #[test]
    fn each_of_several_images_leaves_a_mark_in_the_text() {
        let text = |text: &str| AnswerBlock::Text(text.to_owned());
        let image = || AnswerBlock::Image { mime: "image/png".to_owned(), data: "A".to_owned() };
        let told = |blocks| readable(&ToolAnswer { blocks, ..ToolAnswer::default() });
        assert_eq!(told(vec![text("[0]"), image(), text("[1]"), image()]), "[0]\n[image 1]\n[1]\n[image 2]");
        assert_eq!(told(vec![text("[0]"), image(), text("1 ok")]), "[0]\n1 ok");
    }
}
