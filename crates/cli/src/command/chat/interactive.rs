//! An interactive conversation: sends each message and draws the answer as it arrives.

use cellist_assistant::StopScope;
use cellist_host::{
    Approval, ChatAction, ChatReply, ConversationUpdate, HostClient, MessageId, Reply, TranscriptEntry,
};
use cellist_settings::Home;
use cellist_tools::Mode;
use cellist_tui::{ChatView, Console, PromptOutcome, UserSignal, size};
use serde_json::json;

use super::completion::complete;
use super::setup::ChatSetup;
use super::{chat, open, send, withdraw};
use crate::error::{CliError, Exit, FailureKind};
use crate::host::unexpected;
use crate::line_history::LineHistory;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Ink, Paint, for_pipe, visible};
use crate::spinner;

const HELP: &str = "/mode ask|edit|agent  set the model's mode
/undo                 undo the last answer's changes to notebooks
/stop                 interrupt code that answers left running
/new                  start a new conversation
/quit                 quit, as Ctrl-D does
@other.ipynb          attach a notebook
#runNotebookCells     name a tool
Tab                   complete commands, notebooks and tools
Alt-Enter, Ctrl-J     insert a line break; Up and Down recall messages
Ctrl-C                stop the answer, or withdraw a waiting message";

struct ChatScreen<'a> {
    client: &'a HostClient,
    setup: &'a ChatSetup,
    talk: ChatView,
    paint: Paint,
    console: Console,
    typed: LineHistory,
    name: String,
    /// The number of transcript entries shown.
    from: usize,
    mode: Mode,
    /// The last answer that can be undone.
    turn: Option<String>,
    /// Whether the user quit or the terminal closed.
    is_left: bool,
}

pub(super) async fn talk(
    client: &HostClient,
    setup: &ChatSetup,
    is_new: bool,
) -> Result<CommandOutput, CliError> {
    let (name, told) = open(client, setup, is_new).await?;
    let (paint, typed) = (Paint::for_stdout(ColourMode::Auto), LineHistory::messages(&Home::from_env()));
    let console = Console::take(paint.is_on(), typed.list()).map_err(|error| {
        CliError::new(FailureKind::Terminal, Exit::NoKernel, format!("terminal error: {error}"))
    })?;
    let mut screen = ChatScreen {
        client,
        setup,
        talk: ChatView::new(paint.is_on()),
        paint,
        console,
        typed,
        name,
        from: 0,
        mode: setup.mode,
        turn: None,
        is_left: false,
    };
    let file = setup.notebook.file_name().unwrap_or_default().to_string_lossy().into_owned();
    screen.say(&format!("{file} · {} mode · {} · /help", setup.mode, setup.model()));
    if told > 0 {
        screen.catch_up(told).await?;
    }
    screen.go().await?;
    Ok(CommandOutput::new("", json!({})))
}

impl ChatScreen<'_> {
    async fn go(&mut self) -> Result<(), CliError> {
        while !self.is_left {
            let (mode, setup) = (self.mode, self.setup);
            let label = format!("{}> ", mode.as_str());
            let ways = |text: &str, cursor| complete(text, cursor, mode, || setup.notebooks());
            let line = match self.console.ask(&label, ways).await {
                PromptOutcome::Words(line) => line,
                PromptOutcome::Dropped => {
                    self.say("press Ctrl-D to quit");
                    continue;
                }
                PromptOutcome::Leave => return Ok(()),
            };
            match line.trim() {
                "" => {}
                "/quit" | "/exit" => return Ok(()),
                "/help" => self.say(HELP),
                "/new" => {
                    (self.name, self.from) = open(self.client, self.setup, true).await?;
                    self.turn = None;
                    self.say("started a new conversation");
                }
                "/undo" => self.undo().await?,
                "/stop" => self.interrupt().await?,
                command if command.starts_with("/mode") => {
                    match command.trim_start_matches("/mode").trim().parse::<Mode>() {
                        Ok(mode) => self.mode = mode,
                        Err(error) => self.say(&error.to_string()),
                    }
                }
                command if command.starts_with('/') && !command.contains(' ') => {
                    self.say("unknown command; /help lists all");
                }
                words => {
                    // A failure to store the message must not prevent sending it.
                    let _ = self.typed.add(words);
                    let ask = self.setup.message(words, self.mode);
                    let message = send(self.client, &self.name, ask).await?;
                    self.follow(Some(message)).await?;
                }
            }
        }
        Ok(())
    }

    /// Shows the earlier transcript, and follows an answer that is in progress.
    async fn catch_up(&mut self, told: usize) -> Result<(), CliError> {
        while self.from < told {
            let heard = self.heard().await?;
            heard.told.iter().for_each(|told| self.show(told, true));
            let is_open = !matches!(
                heard.told.last(),
                Some(TranscriptEntry::Ended { .. } | TranscriptEntry::Undone { .. })
            );
            if heard.answering.is_some() && is_open && self.from >= told {
                for (id, is_file) in open_questions(&heard.told) {
                    self.decide(&id, is_file).await?;
                }
                return self.follow(None).await;
            }
        }
        Ok(())
    }

    /// Shows the transcript up to the end of the answer to `message`, or of the answer in progress.
    async fn follow(&mut self, message: Option<MessageId>) -> Result<(), CliError> {
        let (mut stops, mut is_ours, mut mark) = (0, message.is_none(), None);
        loop {
            let heard = tokio::select! {
                heard = hear(self.client, &self.name, self.from, mark) => heard?,
                wanted = self.console.stop_requested() => {
                    if wanted == UserSignal::Leave {
                        self.is_left = true;
                        return Ok(());
                    }
                    if let Some(message) = message.as_ref().filter(|_| !is_ours)
                        && withdraw(self.client, &self.name, message).await?
                    {
                        self.say_below("your message was withdrawn; the other answer continues");
                        return Ok(());
                    }
                    stops += 1;
                    let stop = if stops > 1 { StopScope::Kernel } else { StopScope::Answer };
                    chat(self.client, ChatAction::Stop { chat: self.name.clone(), stop }).await?;
                    continue;
                }
            };
            self.from = heard.next;
            if mark.is_none()
                && heard.waiting.iter().any(|waiting| Some(&waiting.message) == message.as_ref())
            {
                self.say("another answer is in progress; yours is next, and Ctrl-C withdraws your message");
            }
            // Without an answer in progress there is nothing to wait for.
            mark = heard.answering.as_ref().map(|_| heard.mark);
            if heard.told.is_empty() && heard.answering.is_none() {
                if message.is_some() {
                    self.say_below("your message was withdrawn by another client");
                }
                return Ok(());
            }
            let open = open_questions(&heard.told);
            for told in &heard.told {
                if let (TranscriptEntry::Asked { message, .. }, Some(ours)) = (told, &message) {
                    is_ours |= message == ours;
                }
                self.show(told, !is_ours);
                match told {
                    TranscriptEntry::Question { id, path }
                        if open.contains(&(id.clone(), path.is_some())) =>
                    {
                        self.decide(id, path.is_some()).await?;
                    }
                    TranscriptEntry::Ended { .. } if is_ours => {
                        if heard.runs_on {
                            self.say("code from this answer is still running; /stop interrupts it");
                        }
                        return Ok(());
                    }
                    _ => {}
                }
            }
        }
    }

    async fn heard(&mut self) -> Result<ConversationUpdate, CliError> {
        let heard = hear(self.client, &self.name, self.from, Some(u64::MAX)).await?;
        self.from = heard.next;
        Ok(heard)
    }

    /// Asks for approval to run code or change a file.
    async fn decide(&mut self, call: &str, is_file: bool) -> Result<(), CliError> {
        let question = match is_file {
            true => "Change this file? [y] yes, for this conversation, [n] no: ",
            false => "Run this? [y] once, [a] always for this notebook, [n] no: ",
        };
        let entered = self.console.decide(question).await;
        let words = match &entered {
            PromptOutcome::Words(words) => words.trim(),
            PromptOutcome::Dropped | PromptOutcome::Leave => "n",
        };
        let verdict = match words {
            "y" | "Y" | "yes" => Approval::Once,
            "a" | "A" | "always" => Approval::Always,
            _ => Approval::No,
        };
        chat(self.client, ChatAction::Approve { chat: self.name.clone(), call: call.to_owned(), verdict })
            .await?;
        Ok(())
    }

    /// Interrupts code that an answer left running.
    async fn interrupt(&mut self) -> Result<(), CliError> {
        let stop = ChatAction::Stop { chat: self.name.clone(), stop: StopScope::Kernel };
        let said = match chat(self.client, stop).await? {
            ChatReply::Done(true) => "interrupted",
            _ => "no code from an answer is running",
        };
        self.say(said);
        Ok(())
    }

    async fn undo(&mut self) -> Result<(), CliError> {
        let Some(turn) = self.turn.take() else {
            self.say("no answer to undo");
            return Ok(());
        };
        match chat(self.client, ChatAction::Undo { chat: self.name.clone(), turn: turn.clone() }).await {
            Ok(ChatReply::Restored { summary, is_any }) => {
                self.say(&summary);
                if is_any {
                    let heard = self.heard().await?;
                    let is_said = |told: &&TranscriptEntry| matches!(told, TranscriptEntry::Undone { turn: said } if *said == turn);
                    heard.told.iter().filter(|told| !is_said(told)).for_each(|told| self.show(told, true));
                }
            }
            Ok(other) => return Err(unexpected(&Reply::Chat(other))),
            Err(error) => self.say(&error.to_string()),
        }
        Ok(())
    }

    fn show(&mut self, told: &TranscriptEntry, is_past: bool) {
        if let TranscriptEntry::Asked { turn, notes, .. } = told {
            self.turn = Some(turn.clone());
            // The user's own message is already on the screen.
            if !is_past {
                notes.iter().for_each(|note| self.say(&format!("note: {note}")));
                return;
            }
        }
        let shown = self.talk.show(told, size());
        self.write(&shown);
    }

    fn say(&self, text: &str) {
        for line in text.lines() {
            self.write(&format!("{}\n", self.paint.line(Ink::Aside, &visible(line))));
        }
    }

    /// Prints a line in the middle of an answer.
    fn say_below(&mut self, text: &str) {
        let ended = self.talk.end_text();
        self.write(&ended);
        self.say(text);
    }

    fn write(&self, text: &str) {
        spinner::clear();
        self.console.write(&String::from_utf8_lossy(&for_pipe(text.as_bytes())));
    }
}

/// Tool calls that still need approval, and whether each changes a file.
fn open_questions(told: &[TranscriptEntry]) -> Vec<(String, bool)> {
    let mut open: Vec<(String, bool)> = Vec::new();
    for told in told {
        match told {
            TranscriptEntry::Question { id, path } => open.push((id.clone(), path.is_some())),
            TranscriptEntry::Verdict { id, .. } | TranscriptEntry::Result { id, .. } => {
                open.retain(|(known, _)| known != id)
            }
            TranscriptEntry::Ended { .. } => open.clear(),
            _ => {}
        }
    }
    open
}

async fn hear(
    client: &HostClient,
    name: &str,
    from: usize,
    mark: Option<u64>,
) -> Result<ConversationUpdate, CliError> {
    match chat(client, ChatAction::Hear { chat: name.to_owned(), from, mark }).await? {
        ChatReply::Heard(heard) => Ok(heard),
        other => Err(unexpected(&Reply::Chat(other))),
    }
}
