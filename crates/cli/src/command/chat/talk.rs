//! A conversation on a terminal: what is typed is sent, and the answer is drawn as it comes.

use std::io::{self, BufRead};
use std::thread;

use cellist_assistant::Stop;
use cellist_link::{ChatAsk, ChatReply, Heard, Link, Reply, Told, Verdict};
use cellist_tools::Mode;
use cellist_tui::{Talk, size};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::setup::Setup;
use super::{chat, open};
use crate::answer::{Answer, print};
use crate::error::{CliError, Exit};
use crate::host::unexpected;
use crate::paint::{Ink, Paint, When};

const HELP: &str = "/mode ask|edit|agent  how far the model may go
/undo                 takes back what the last answer changed in the notebook
/new                  begins a new conversation
/quit                 leaves; so does Ctrl-D
@other.ipynb          attaches a notebook
#runNotebookCells     names a tool
Ctrl-C                stops an answer; twice, also what it runs";

struct Screen<'a> {
    link: &'a Link,
    setup: &'a Setup,
    talk: Talk,
    paint: Paint,
    lines: mpsc::Receiver<String>,
    interrupts: Signal,
    name: String,
    /// How much was heard.
    from: usize,
    mode: Mode,
    /// The last answer that may be taken back.
    turn: Option<String>,
}

pub(super) async fn talk(link: &Link, setup: &Setup, is_new: bool) -> Result<Answer, CliError> {
    let interrupts = signal(SignalKind::interrupt())
        .map_err(|error| CliError::new("system", Exit::NoKernel, error.to_string()))?;
    let (name, told) = open(link, setup, is_new).await?;
    let paint = Paint::for_stdout(When::Auto);
    let talk = Talk::new(paint.is_on());
    let (mode, lines) = (setup.mode, typed());
    let mut screen = Screen { link, setup, talk, paint, lines, interrupts, name, from: 0, mode, turn: None };
    let file = setup.notebook.file_name().unwrap_or_default().to_string_lossy().into_owned();
    screen.say(&format!("{file} · {mode} mode · {} · /help", setup.model()));
    if told > 0 {
        screen.catch_up(told).await?;
    }
    screen.go().await?;
    Ok(Answer::new("", json!({})))
}

/// What is typed, line by line, until the end of it.
fn typed() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(16);
    // It waits for a key that may never come, and ends with the process.
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Screen<'_> {
    async fn go(&mut self) -> Result<(), CliError> {
        loop {
            self.write(&format!("{} ", self.paint.line(Ink::Position, &format!("{}>", self.mode.as_str()))));
            let Some(line) = self.line().await else {
                self.write("\n");
                return Ok(());
            };
            match line.trim() {
                "" => {}
                "/quit" | "/exit" => return Ok(()),
                "/help" => self.say(HELP),
                "/new" => {
                    (self.name, self.from) = open(self.link, self.setup, true).await?;
                    self.turn = None;
                    self.say("a new conversation");
                }
                "/undo" => self.undo().await?,
                command if command.starts_with("/mode") => {
                    match command.trim_start_matches("/mode").trim().parse::<Mode>() {
                        Ok(mode) => self.mode = mode,
                        Err(error) => self.say(&error.to_string()),
                    }
                }
                command if command.starts_with('/') && !command.contains(' ') => {
                    self.say("there is no such command; /help lists all");
                }
                words => {
                    let ask = self.setup.message(words, self.mode);
                    chat(self.link, ChatAsk::Send { chat: self.name.clone(), ask }).await?;
                    self.follow().await?;
                }
            }
        }
    }

    /// The next line; nothing at the end of all, and when someone wants to leave.
    async fn line(&mut self) -> Option<String> {
        tokio::select! {
            line = self.lines.recv() => line,
            _ = self.interrupts.recv() => None,
        }
    }

    /// Shows what was told before this terminal came, and goes on with an answer that is under way.
    async fn catch_up(&mut self, told: usize) -> Result<(), CliError> {
        while self.from < told {
            let heard = self.heard().await?;
            let mut is_open = false;
            for told in &heard.told {
                self.show(told, true);
                is_open = !matches!(told, Told::Ended { .. } | Told::Undone { .. });
                if let Told::Question { id } = told
                    && heard.is_answering
                {
                    self.decide(id).await?;
                }
            }
            if heard.is_answering && is_open && self.from >= told {
                return self.follow().await;
            }
        }
        Ok(())
    }

    /// Shows an answer up to its end.
    async fn follow(&mut self) -> Result<(), CliError> {
        let mut stops = 0;
        loop {
            let heard = tokio::select! {
                heard = hear(self.link, &self.name, self.from) => heard?,
                _ = self.interrupts.recv() => {
                    stops += 1;
                    let stop = if stops > 1 { Stop::Kernel } else { Stop::Answer };
                    chat(self.link, ChatAsk::Stop { chat: self.name.clone(), stop }).await?;
                    continue;
                }
            };
            self.from = heard.next;
            for told in &heard.told {
                self.show(told, false);
                match told {
                    Told::Question { id } => self.decide(id).await?,
                    Told::Ended { .. } => return Ok(()),
                    _ => {}
                }
            }
        }
    }

    async fn heard(&mut self) -> Result<Heard, CliError> {
        let heard = hear(self.link, &self.name, self.from).await?;
        self.from = heard.next;
        Ok(heard)
    }

    /// Asks whether code may run.
    async fn decide(&mut self, call: &str) -> Result<(), CliError> {
        self.write("Run this? [y] once, [a] always in this conversation, [n] no: ");
        let verdict = match self.line().await.as_deref().map(str::trim) {
            Some("y" | "Y" | "yes") => Verdict::Once,
            Some("a" | "A" | "always") => Verdict::Always,
            Some(_) | None => Verdict::No,
        };
        chat(self.link, ChatAsk::Approve { chat: self.name.clone(), call: call.to_owned(), verdict }).await?;
        Ok(())
    }

    async fn undo(&mut self) -> Result<(), CliError> {
        let Some(turn) = self.turn.take() else {
            self.say("there is no answer to take back");
            return Ok(());
        };
        match chat(self.link, ChatAsk::Undo { chat: self.name.clone(), turn }).await {
            Ok(_) => {
                let heard = self.heard().await?;
                heard.told.iter().for_each(|told| self.show(told, false));
            }
            Err(error) => self.say(&error.to_string()),
        }
        Ok(())
    }

    fn show(&mut self, told: &Told, is_past: bool) {
        if let Told::Asked { turn, notes, .. } = told {
            self.turn = Some(turn.clone());
            // What was just typed stands on the screen already.
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
            self.write(&format!("{}\n", self.paint.line(Ink::Aside, line)));
        }
    }

    fn write(&self, text: &str) {
        // A terminal that went away is noticed when the next line is wanted.
        let _ = print(text.as_bytes());
    }
}

async fn hear(link: &Link, name: &str, from: usize) -> Result<Heard, CliError> {
    match chat(link, ChatAsk::Hear { chat: name.to_owned(), from }).await? {
        ChatReply::Heard(heard) => Ok(heard),
        other => Err(unexpected(&Reply::Chat(other))),
    }
}
