//! One cell as people see it: what it is, its code, what it showed, how it ended. A value that is drawn; whoever has it
//! changes it.

mod draw;
mod piece;

use std::time::Duration;

use cellist_host::{Bar, Status};

pub use draw::{Drawn, Frame, Placed, Shown};
pub use piece::{Piece, pieces, report_pieces};

/// How a cell stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It did not run, as far as is known.
    #[default]
    Resting,
    /// It waits for its turn.
    Pending,
    /// It runs; the number moves with each frame.
    Running(usize),
    /// It ran to its end.
    Complete,
    /// It failed.
    Failed,
    /// It failed, which was allowed.
    FailedAsItMay,
    /// It was stopped by somebody.
    Cancelled,
    /// It was stopped by its time limit.
    TimedOut,
}

/// What a cell's source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Code in a language.
    Code {
        /// The code.
        text: String,
        /// The language's name.
        language: String,
    },
    /// Prose.
    Markdown(String),
    /// Anything else.
    Raw(String),
    /// It is not shown.
    Hidden,
}

/// A cell to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// How it stands.
    pub state: State,
    /// Where it stands, or the number of its execution.
    pub label: String,
    /// What it is called.
    pub title: String,
    /// How long it took, or has been running.
    pub time: Option<Duration>,
    /// What else is to be known of it in a few words.
    pub remarks: Vec<String>,
    /// Its source.
    pub source: Source,
    /// What it showed.
    pub pieces: Vec<Piece>,
    /// How far it is, between 0 and 1 where that is known, with what is counted.
    pub progress: Option<(Option<f64>, String)>,
}

impl State {
    /// One letter for it.
    pub fn mark(self) -> &'static str {
        const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
        match self {
            State::Resting => "·",
            State::Pending => "○",
            State::Running(frame) => SPINNER[frame % SPINNER.len()],
            State::Complete => "✓",
            State::Failed | State::FailedAsItMay | State::TimedOut => "✗",
            State::Cancelled => "⊘",
        }
    }

    /// A word for it, where its mark does not say everything.
    pub fn word(self) -> Option<&'static str> {
        match self {
            State::Resting | State::Running(_) | State::Complete => None,
            State::Pending => Some("waits"),
            State::Failed => Some("failed"),
            State::FailedAsItMay => Some("failed, as it may"),
            State::Cancelled => Some("interrupted"),
            State::TimedOut => Some("timed out"),
        }
    }
}

impl From<Status> for State {
    fn from(status: Status) -> State {
        match status {
            Status::Ok => State::Complete,
            Status::Error => State::Failed,
            Status::Timeout => State::TimedOut,
            Status::Cancelled => State::Cancelled,
        }
    }
}

impl Default for Block {
    fn default() -> Block {
        Block {
            state: State::Resting,
            label: String::new(),
            title: String::new(),
            time: None,
            remarks: Vec::new(),
            source: Source::Hidden,
            pieces: Vec::new(),
            progress: None,
        }
    }
}

/// How far a progress bar is, and what it counts.
pub fn counted(bar: &Bar) -> (Option<f64>, String) {
    let counted = match bar.total {
        Some(total) => format!("{}/{} {}", bar.done, total, bar.label),
        None => format!("{} {}", bar.done, bar.label),
    };
    (bar.total.filter(|total| *total > 0.0).map(|total| bar.done / total), counted.trim_end().to_owned())
}

/// `3 ms`, `0.42 s`, `12.3 s`, `2 min 05 s`.
pub fn spoken(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_millis() {
        0..100 => format!("{} ms", time.as_millis()),
        100..10_000 => format!("{seconds:.2} s"),
        10_000..100_000 => format!("{seconds:.1} s"),
        _ => format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

#[cfg(test)]
mod tests;
