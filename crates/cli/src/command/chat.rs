//! `cellist chat`: a conversation with a model about a notebook, on the terminal or through a pipe.

mod completion;
mod interactive;
mod one_shot;
mod setup;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use cellist_assistant::ChatRequest;
use cellist_host::{ChatAction, ChatReply, HostClient, MessageId, Reply, Request};
use cellist_tools::Mode;
use clap::Args;

use crate::editor::mode;
use crate::error::{CliError, FailureKind};
use crate::host::{self, HostAccess, unexpected};
use crate::input::InputSource;
use crate::kernel::KernelFlags;
use crate::output::{CommandOutput, OutputFormat};
use setup::ChatSetup;

/// Chat with a model about a notebook
///
/// The model has the same tools and modes as any agent. In ask mode it only reads. In edit mode it also changes
/// files other than notebooks. In agent mode it changes and runs notebooks, and asks before it runs code.
///
/// The host keeps the conversation, so you can leave and come back. In a message, `@other.ipynb` attaches a
/// notebook and `#runNotebookCells` names a tool.
///
/// Set the model in ~/.cellist/config.toml: chat.model, and chat.provider or chat.base_url if needed. The key
/// comes from OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or chat.api_key. See docs/assistant.md.
///
/// Enter sends, Alt-Enter inserts a line break, Tab completes commands, notebooks and tools, Up recalls earlier
/// messages. Ctrl-C stops the answer, or withdraws your message if it is still waiting behind another answer.
/// /stop interrupts code that an answer left running. Ctrl-D quits; /help lists all commands.
///
/// With a message, or with piped input, prints one answer. Exit status: 0 success, 1 incomplete answer, 2 no such
/// notebook or no model configured, 3 the provider failed, 130 stopped.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist chat nb.ipynb
  cellist chat nb.ipynb --mode ask 'What does the last cell do?'
  echo 'Plot the result.' | cellist chat nb.ipynb --yes")]
pub(crate) struct ChatArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The message; by default, standard input unless it is a terminal
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
    /// The model's mode: ask, edit or agent
    #[arg(long, value_name = "MODE", default_value = "agent", value_parser = mode)]
    mode: Mode,
    /// Use this model instead of chat.model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Send this cell's full source, by index or id; may be repeated
    #[arg(long, value_name = "CELL")]
    select: Vec<String>,
    /// Send this cell's outputs, by index or id; may be repeated
    #[arg(long, value_name = "CELL")]
    output: Vec<String>,
    /// Start a new conversation
    #[arg(long)]
    new: bool,
    /// Run code without asking
    #[arg(long, short)]
    yes: bool,
    /// Do not use the host: the conversation and its kernels end with the command
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn chat_about_notebook(
    arguments: ChatArgs,
    format: OutputFormat,
) -> Result<CommandOutput, CliError> {
    let setup = ChatSetup::of(&arguments)?;
    let is_seen = io::stdin().is_terminal() && io::stdout().is_terminal();
    let message = match &arguments.message {
        Some(message) => Some(message.clone()),
        None if is_seen && format == OutputFormat::Text => None,
        None => Some(InputSource::Stdin.text("chat")?),
    };
    if message.as_ref().is_some_and(|message| message.trim().is_empty()) {
        return Err(CliError::input(FailureKind::NoMessage, "no message")
            .with_hint("pass a message after the notebook, or pipe one in"));
    }
    host::block_on(async {
        let reach = HostAccess::open(arguments.standalone, &setup.settings, &arguments.flags).await?;
        let told = match message {
            Some(message) => one_shot::answer(reach.client(), &setup, &message, arguments.new, format).await,
            None => interactive::talk(reach.client(), &setup, arguments.new).await,
        };
        reach.close().await;
        told
    })
}

/// Sends a request about a conversation.
async fn chat(client: &HostClient, ask: ChatAction) -> Result<ChatReply, CliError> {
    match client.ask(Request::Chat(Box::new(ask))).await? {
        Reply::Chat(reply) => Ok(reply),
        other => Err(unexpected(&other)),
    }
}

/// Opens the conversation about the notebook. Returns its name and its number of entries.
async fn open(client: &HostClient, setup: &ChatSetup, is_new: bool) -> Result<(String, usize), CliError> {
    match chat(client, ChatAction::Open { notebook: setup.notebook.clone(), cell: None, is_new }).await? {
        ChatReply::Open { chat, told } => Ok((chat, told)),
        other => Err(unexpected(&Reply::Chat(other))),
    }
}

/// Sends a message and returns its id.
async fn send(client: &HostClient, name: &str, ask: Box<ChatRequest>) -> Result<MessageId, CliError> {
    let message = ask.id.clone();
    chat(client, ChatAction::Send { chat: name.to_owned(), ask }).await?;
    Ok(message)
}

/// Withdraws a queued message. Returns whether it was still queued.
async fn withdraw(client: &HostClient, name: &str, message: &MessageId) -> Result<bool, CliError> {
    let reply =
        chat(client, ChatAction::Withdraw { chat: name.to_owned(), message: message.clone() }).await?;
    Ok(matches!(reply, ChatReply::Done(true)))
}
