//! A terminal whose lines scroll as ever while its keys are ours: words are asked for, and keys are heard while something
//! else is written.

use std::collections::VecDeque;
use std::io::{self, Write};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::Receiver;

use crate::motion::Ending;
use crate::prompt::{Entry, Prompt};
use crate::screen::{Taken, events};
use crate::terminal::size;

/// What is kept of what is typed while nobody asks for it.
const AHEAD: usize = 4096;

/// A terminal that is ours until this is dropped.
pub struct Console {
    keys: Receiver<Event>,
    /// What was typed before it was asked for.
    ahead: VecDeque<Event>,
    prompt: Prompt,
    has_colour: bool,
    interrupts: Signal,
    ending: Ending,
    /// The last, so that it is given back when nobody reads keys any more.
    _taken: Taken,
}

/// What came of asking for words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entered {
    /// These.
    Words(String),
    /// None: the user does not want to say anything.
    Dropped,
    /// The user wants to leave, or the terminal is gone.
    Leave,
}

/// What the user wants while something goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// That it stops.
    Stop,
    /// To leave.
    Leave,
}

/// How words could go on: each match in place of the characters `start..end`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// What could stand there.
    pub matches: Vec<String>,
    /// The first character that is replaced.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
}

impl Console {
    /// Takes the terminal. What was said at it before can be recalled, oldest first.
    pub fn take(has_colour: bool, history: Vec<String>) -> io::Result<Console> {
        let (interrupts, ending) = (signal(SignalKind::interrupt())?, Ending::new()?);
        let taken = Taken::keys()?;
        let prompt = Prompt::new(has_colour, history);
        Ok(Console {
            keys: events(),
            ahead: VecDeque::new(),
            prompt,
            has_colour,
            interrupts,
            ending,
            _taken: taken,
        })
    }

    /// Writes text, wherever the cursor is.
    pub fn write(&self, text: &str) {
        let mut out = io::stdout().lock();
        // A terminal that went away is noticed when the next words are wanted.
        let _ = out.write_all(text.replace('\n', "\r\n").as_bytes()).and_then(|()| out.flush());
    }

    /// Asks for words. What was typed before counts.
    pub async fn ask(&mut self, label: &str, complete: impl Fn(&str, usize) -> Matches) -> Entered {
        self.prompt.ask(label);
        loop {
            let event = match self.ahead.pop_front() {
                Some(event) => event,
                None => {
                    let shown = self.prompt.draw(size());
                    self.write(&shown);
                    match self.event().await {
                        Some(event) => event,
                        None => return self.entered(Entered::Leave),
                    }
                }
            };
            match self.prompt.take(&event) {
                Entry::Nothing => {}
                Entry::Complete(text, cursor) => {
                    let Matches { matches, start, end } = complete(&text, cursor);
                    self.prompt.offer(matches, start, end, cursor);
                }
                Entry::Written(words) => return self.entered(Entered::Words(words)),
                Entry::Dropped => return self.entered(Entered::Dropped),
                Entry::Leave => return self.entered(Entered::Leave),
            }
        }
    }

    /// Asks something that only what is typed from now on can answer; it is not kept.
    pub async fn decide(&mut self, question: &str) -> Entered {
        while let Ok(event) = self.keys.try_recv() {
            self.keep(event);
        }
        let ahead = std::mem::take(&mut self.ahead);
        let prompt = std::mem::replace(&mut self.prompt, Prompt::new(self.has_colour, Vec::new()));
        let entered = self.ask(question, |_, _| Matches::default()).await;
        (self.ahead, self.prompt) = (ahead, prompt);
        entered
    }

    /// Until the user wants what goes on to end. What else is typed is kept for the next time that words are asked for.
    pub async fn wanted(&mut self) -> Wanted {
        loop {
            match self.event().await {
                None => return Wanted::Leave,
                Some(event) if is_interrupt(&event) => return Wanted::Stop,
                Some(event) => self.keep(event),
            }
        }
    }

    /// The next thing that happens; nothing when it is time to leave.
    async fn event(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            () = self.ending.asked() => None,
            _ = self.interrupts.recv() => Some(INTERRUPT),
            event = self.keys.recv() => event,
        }
    }

    fn keep(&mut self, event: Event) {
        if self.ahead.len() < AHEAD && matches!(event, Event::Key(_) | Event::Paste(_)) {
            self.ahead.push_back(event);
        }
    }

    fn entered(&mut self, entered: Entered) -> Entered {
        let shown = self.prompt.settle(size());
        self.write(&shown);
        entered
    }
}

const INTERRUPT: Event = Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));

fn is_interrupt(event: &Event) -> bool {
    let control = |key: &KeyEvent| key.modifiers.contains(KeyModifiers::CONTROL);
    matches!(event, Event::Key(key)
        if key.kind != KeyEventKind::Release && key.code == KeyCode::Char('c') && control(key))
}
