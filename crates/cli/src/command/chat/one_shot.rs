//! One message and its answer, as plain text or as JSON. Everything but the answer goes to standard error.

use cellist_assistant::StopScope;
use cellist_host::{
    AnswerEnding, Approval, ChatAction, ChatReply, ConversationUpdate, HostClient, Reply, TokenUsage,
    TranscriptEntry,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::setup::ChatSetup;
use super::{chat, open, send, withdraw};
use crate::error::{CliError, Exit, FailureKind};
use crate::host::unexpected;
use crate::output::{CommandOutput, OutputFormat, print, print_to_stderr};
use crate::paint::visible;

pub(super) async fn answer(
    client: &HostClient,
    setup: &ChatSetup,
    message: &str,
    is_new: bool,
    format: OutputFormat,
) -> Result<CommandOutput, CliError> {
    let (name, mut from) = open(client, setup, is_new).await?;
    let ask = setup.message(message.trim_end(), setup.mode);
    let message = send(client, &name, ask).await?;
    let mut interrupts = signal(SignalKind::interrupt()).ok();
    let mut record = AnswerRecord { format, ..AnswerRecord::new() };
    // Another message may be answered before ours.
    let (mut is_ours, mut mark, mut before) = (false, None, 0);
    loop {
        let hearing = chat(client, ChatAction::Hear { chat: name.clone(), from, mark });
        tokio::pin!(hearing);
        let reply = loop {
            let interrupted = async {
                match &mut interrupts {
                    Some(signals) => signals.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                reply = &mut hearing => break reply?,
                _ = interrupted => {
                    if !is_ours && withdraw(client, &name, &message).await? {
                        record.aside("note: the message was withdrawn before it was answered");
                        return record.end(setup, &AnswerEnding::Stopped, TokenUsage::default());
                    }
                    chat(client, ChatAction::Stop { chat: name.clone(), stop: StopScope::Answer }).await?;
                }
            }
        };
        let ChatReply::Heard(ConversationUpdate { told, next, answering, waiting, mark: now, .. }) = reply
        else {
            return Err(unexpected(&Reply::Chat(reply)));
        };
        // Without an answer in progress there is nothing to wait for.
        (from, mark) = (next, answering.as_ref().map(|_| now));
        if told.is_empty() && answering.is_none() {
            record.aside("note: the message was withdrawn by another client before it was answered");
            return record.end(setup, &AnswerEnding::Stopped, TokenUsage::default());
        }
        let place = waiting.iter().position(|waiting| waiting.message == message).map_or(0, |at| at + 1);
        if place != before && place > 0 && format == OutputFormat::Text {
            print_to_stderr(&format!("note: another answer is in progress; position {place} in the queue"));
        }
        before = place;
        for told in told {
            is_ours |= matches!(&told, TranscriptEntry::Asked { message: asked, .. } if *asked == message);
            if !is_ours {
                continue;
            }
            if let TranscriptEntry::Question { id, path } = &told {
                print_to_stderr(&match path {
                    None => {
                        "note: code was not run because it needs approval; pass --yes to allow it".to_owned()
                    }
                    Some(path) => format!(
                        "note: {} was not changed because it needs approval; allow it in tools.allow_writes",
                        visible(path)
                    ),
                });
                let no = ChatAction::Approve { chat: name.clone(), call: id.clone(), verdict: Approval::No };
                chat(client, no).await?;
            }
            if let Some((ending, usage)) = record.take(told) {
                return record.end(setup, &ending, usage);
            }
        }
    }
}

struct AnswerRecord {
    format: OutputFormat,
    text: String,
    calls: Vec<Value>,
    notes: Vec<String>,
    turn: String,
    /// The length of the text that a retry cannot change.
    settled: usize,
}

impl AnswerRecord {
    fn new() -> AnswerRecord {
        AnswerRecord {
            format: OutputFormat::Text,
            text: String::new(),
            calls: Vec::new(),
            notes: Vec::new(),
            turn: String::new(),
            settled: 0,
        }
    }

    /// Records a transcript entry. Returns the ending of the answer, if it is one.
    fn take(&mut self, told: TranscriptEntry) -> Option<(AnswerEnding, TokenUsage)> {
        match told {
            TranscriptEntry::Asked { turn, notes, .. } => {
                notes.iter().for_each(|note| self.aside(&format!("note: {note}")));
                (self.turn, self.notes) = (turn, notes);
            }
            TranscriptEntry::Text(more) => self.text.push_str(&more),
            TranscriptEntry::Call { id, tool, arguments } => {
                self.settle();
                self.aside(&format!("{tool} {}", short(&arguments)));
                self.calls.push(json!({ "id": id, "tool": tool, "arguments": arguments }));
            }
            TranscriptEntry::Result { id, text, images, is_failure, .. } => {
                if is_failure {
                    self.aside(text.lines().next().unwrap_or_default());
                }
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call["id"] == id) {
                    call["result"] = json!(text);
                    call["images"] = json!(images);
                    call["is_failure"] = json!(is_failure);
                }
            }
            TranscriptEntry::Again { message, .. } => {
                self.text.truncate(self.settled);
                self.aside(&format!("note: {message}; retrying"));
            }
            TranscriptEntry::Ended { ending, usage } => {
                self.settle();
                return Some((ending, usage));
            }
            TranscriptEntry::Question { .. }
            | TranscriptEntry::Verdict { .. }
            | TranscriptEntry::Proposal { .. }
            | TranscriptEntry::Undone { .. } => {}
        }
        None
    }

    /// Prints the text so far. A tool call or the end of the answer makes it final.
    fn settle(&mut self) {
        let more = &self.text[self.settled..];
        if self.format == OutputFormat::Text && !more.trim().is_empty() {
            let text: String = more.trim_end().split('\n').map(|line| visible(line) + "\n").collect();
            // A closed pipe is no error.
            let _ = print(text.as_bytes());
        }
        if !more.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.settled = self.text.len();
    }

    fn aside(&self, line: &str) {
        if self.format == OutputFormat::Text {
            print_to_stderr(&visible(line));
        }
    }

    fn end(
        self,
        setup: &ChatSetup,
        ending: &AnswerEnding,
        usage: TokenUsage,
    ) -> Result<CommandOutput, CliError> {
        let exit = match ending {
            AnswerEnding::Done => Exit::Done,
            AnswerEnding::Stopped => Exit::Interrupted,
            AnswerEnding::TooLong | AnswerEnding::TooManySteps | AnswerEnding::Refused => Exit::CodeFailed,
            AnswerEnding::Failed { message, hint } => {
                return Err(
                    CliError::new(FailureKind::Provider, Exit::NoKernel, message.clone()).with_hint(hint)
                );
            }
        };
        let said = match ending {
            AnswerEnding::TooLong => Some("note: the answer reached its maximum length; see chat.max_tokens"),
            AnswerEnding::TooManySteps => {
                Some("note: the answer reached the maximum number of steps; see chat.max_steps")
            }
            AnswerEnding::Refused => Some("note: the provider refused to continue"),
            AnswerEnding::Done | AnswerEnding::Stopped | AnswerEnding::Failed { .. } => None,
        };
        if let Some(said) = said {
            self.aside(said);
        }
        let json = json!({
            "notebook": setup.notebook.to_string_lossy(),
            "mode": setup.mode,
            "model": setup.model_name(),
            "ending": ending,
            "text": self.text.trim_end(),
            "calls": self.calls,
            "notes": self.notes,
            "turn": self.turn,
            "usage": usage,
        });
        Ok(CommandOutput::new("", json).with_exit(exit))
    }
}

fn short(arguments: &Value) -> String {
    const SHOWN: usize = 100;
    let text = arguments.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
