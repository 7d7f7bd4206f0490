//! A cell as a block of lines: heading, source, progress and output. A block is a plain value; screens build it and render
//! it.

mod output_piece;
mod render;

use std::time::Duration;

use cellist_host::{Bar, Status};

pub use output_piece::{OutputPiece, output_pieces, report_pieces};
pub use render::{BlockDetail, ImagePlacement, RenderOptions, RenderedLines};

/// The run state of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockState {
    /// No run is known.
    #[default]
    Resting,
    /// The run has not started yet.
    Pending,
    /// The cell runs. The number is the animation frame.
    Running(usize),
    /// The cell succeeded.
    Complete,
    /// The cell raised an error.
    Failed,
    /// The cell raised an error that its metadata or a flag allows.
    FailedAllowed,
    /// The run was interrupted.
    Cancelled,
    /// The run reached its time limit.
    TimedOut,
}

/// The source of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSource {
    /// Code.
    Code {
        /// The code.
        text: String,
        /// The name of the language.
        language: String,
    },
    /// Markdown.
    Markdown(String),
    /// Text without a language.
    Raw(String),
    /// The block shows no source.
    Hidden,
}

/// A cell on a terminal. Equal blocks look equal, so [`CachedBlock`](crate::CachedBlock) can compare them.
#[derive(Clone, Debug, PartialEq)]
pub struct CellBlock {
    /// The run state.
    pub state: BlockState,
    /// The cell's index or execution count.
    pub label: String,
    /// The title in the heading.
    pub title: String,
    /// The duration of the run so far.
    pub time: Option<Duration>,
    /// Short facts at the end of the heading.
    pub remarks: Vec<String>,
    /// The source.
    pub source: BlockSource,
    /// The output.
    pub pieces: Vec<OutputPiece>,
    /// The progress: a share between 0 and 1, if known, and a text.
    pub progress: Option<(Option<f64>, String)>,
}

impl BlockState {
    /// The symbol at the start of the heading.
    pub fn mark(self) -> &'static str {
        const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
        match self {
            BlockState::Resting => "·",
            BlockState::Pending => "○",
            BlockState::Running(frame) => SPINNER[frame % SPINNER.len()],
            BlockState::Complete => "✓",
            BlockState::Failed | BlockState::FailedAllowed | BlockState::TimedOut => "✗",
            BlockState::Cancelled => "⊘",
        }
    }

    /// A word for the heading, if the symbol is not enough.
    pub fn word(self) -> Option<&'static str> {
        match self {
            BlockState::Resting | BlockState::Running(_) | BlockState::Complete => None,
            BlockState::Pending => Some("pending"),
            BlockState::Failed => Some("failed"),
            BlockState::FailedAllowed => Some("failed (allowed)"),
            BlockState::Cancelled => Some("interrupted"),
            BlockState::TimedOut => Some("timed out"),
        }
    }
}

impl From<Status> for BlockState {
    fn from(status: Status) -> BlockState {
        match status {
            Status::Ok => BlockState::Complete,
            Status::Error => BlockState::Failed,
            Status::Timeout => BlockState::TimedOut,
            Status::Cancelled => BlockState::Cancelled,
        }
    }
}

impl Default for CellBlock {
    fn default() -> CellBlock {
        CellBlock {
            state: BlockState::Resting,
            label: String::new(),
            title: String::new(),
            time: None,
            remarks: Vec::new(),
            source: BlockSource::Hidden,
            pieces: Vec::new(),
            progress: None,
        }
    }
}

/// The share and the text of a progress bar.
pub fn format_progress(bar: &Bar) -> (Option<f64>, String) {
    let text = match bar.total {
        Some(total) => format!("{}/{} {}", bar.done, total, bar.label),
        None => format!("{} {}", bar.done, bar.label),
    };
    (bar.total.filter(|total| *total > 0.0).map(|total| bar.done / total), text.trim_end().to_owned())
}

/// Formats a duration: `3 ms`, `0.42 s`, `12.3 s`, `2 min 05 s`.
pub fn format_duration(time: Duration) -> String {
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
