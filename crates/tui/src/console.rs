//! A scrolling terminal in raw mode: a prompt for text, and keys that are read while output is written.

use std::collections::VecDeque;
use std::io::{self, Write};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::Receiver;

use crate::prompt::{LinePrompt, PromptEvent};
use crate::screen::{TerminalGuard, events};
use crate::screen_loop::ExitSignals;
use crate::terminal::size;

/// Maximum events that are kept until the next prompt.
const AHEAD: usize = 4096;

/// A scrolling terminal in raw mode, restored on drop.
///
/// Keys that arrive outside of a prompt are queued for the next [`ask`](Console::ask). SIGINT counts as Ctrl-C, and SIGTERM
/// or SIGHUP as leaving.
pub struct Console {
    keys: Receiver<Event>,
    /// The keys that were typed before the prompt.
    ahead: VecDeque<Event>,
    prompt: LinePrompt,
    has_colour: bool,
    interrupts: Signal,
    exit: ExitSignals,
    /// Dropped last, after the receiver of keys.
    _guard: TerminalGuard,
}

/// The outcome of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptOutcome {
    /// The user entered this text.
    Words(String),
    /// The user discarded the prompt.
    Dropped,
    /// The user left, or the terminal is gone.
    Leave,
}

/// A decision of the user while something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSignal {
    /// Stop it.
    Stop,
    /// Leave the program.
    Leave,
}

/// Completions that replace the characters `start..end` of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The completions.
    pub matches: Vec<String>,
    /// The first replaced character.
    pub start: usize,
    /// The end of the replaced characters, exclusive.
    pub end: usize,
}

impl Console {
    /// Takes over the terminal. `history` has earlier texts, oldest first.
    pub fn take(has_colour: bool, history: Vec<String>) -> io::Result<Console> {
        let (interrupts, exit) = (signal(SignalKind::interrupt())?, ExitSignals::new()?);
        let guard = TerminalGuard::raw_mode()?;
        let prompt = LinePrompt::new(has_colour, history);
        Ok(Console {
            keys: events(),
            ahead: VecDeque::new(),
            prompt,
            has_colour,
            interrupts,
            exit,
            _guard: guard,
        })
    }

    /// Writes text at the cursor.
    pub fn write(&self, text: &str) {
        let mut out = io::stdout().lock();
        // A lost terminal is noticed at the next prompt.
        let _ = out.write_all(text.replace('\n', "\r\n").as_bytes()).and_then(|()| out.flush());
    }

    /// Prompts for text. Keys that were typed before are part of it.
    pub async fn ask(&mut self, label: &str, complete: impl Fn(&str, usize) -> Completions) -> PromptOutcome {
        self.prompt.set_label(label);
        loop {
            let event = match self.ahead.pop_front() {
                Some(event) => event,
                None => {
                    let shown = self.prompt.draw(size());
                    self.write(&shown);
                    match self.event().await {
                        Some(event) => event,
                        None => return self.finish(PromptOutcome::Leave),
                    }
                }
            };
            match self.prompt.handle(&event) {
                PromptEvent::Changed => {}
                PromptEvent::Complete(text, cursor) => {
                    let Completions { matches, start, end } = complete(&text, cursor);
                    self.prompt.offer(matches, start, end, cursor);
                }
                PromptEvent::Entered(words) => return self.finish(PromptOutcome::Words(words)),
                PromptEvent::Dropped => return self.finish(PromptOutcome::Dropped),
                PromptEvent::Leave => return self.finish(PromptOutcome::Leave),
            }
        }
    }

    /// Prompts for a decision. Only keys from now on count, and the text is not added to the history.
    pub async fn decide(&mut self, question: &str) -> PromptOutcome {
        while let Ok(event) = self.keys.try_recv() {
            self.queue(event);
        }
        let ahead = std::mem::take(&mut self.ahead);
        let prompt = std::mem::replace(&mut self.prompt, LinePrompt::new(self.has_colour, Vec::new()));
        let outcome = self.ask(question, |_, _| Completions::default()).await;
        (self.ahead, self.prompt) = (ahead, prompt);
        outcome
    }

    /// Waits until the user stops the running work or leaves. Other keys are queued for the next prompt.
    pub async fn stop_requested(&mut self) -> UserSignal {
        loop {
            match self.event().await {
                None => return UserSignal::Leave,
                Some(event) if is_interrupt(&event) => return UserSignal::Stop,
                Some(event) => self.queue(event),
            }
        }
    }

    /// The next event, or nothing when the program must end.
    async fn event(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            () = self.exit.received() => None,
            _ = self.interrupts.recv() => Some(INTERRUPT),
            event = self.keys.recv() => event,
        }
    }

    fn queue(&mut self, event: Event) {
        if self.ahead.len() < AHEAD && matches!(event, Event::Key(_) | Event::Paste(_)) {
            self.ahead.push_back(event);
        }
    }

    fn finish(&mut self, outcome: PromptOutcome) -> PromptOutcome {
        let shown = self.prompt.finish(size());
        self.write(&shown);
        outcome
    }
}

const INTERRUPT: Event = Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));

fn is_interrupt(event: &Event) -> bool {
    let control = |key: &KeyEvent| key.modifiers.contains(KeyModifiers::CONTROL);
    matches!(event, Event::Key(key)
        if key.kind != KeyEventKind::Release && key.code == KeyCode::Char('c') && control(key))
}
