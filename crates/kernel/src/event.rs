//! The events of running code, as one ordered stream.

use std::sync::Arc;

use bytes::Bytes;
use cellist_output::{MimeBundle, MimeData, RawJson, StreamName};

use crate::comm::CommMessage;

pub use cellist_output::notices::Death;

/// One thing that happened. An execution's events end with `Done` or `Died`.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The code began to run, under this number; hidden code has none.
    Started {
        /// The number.
        execution_count: Option<u64>,
    },
    /// Bytes written to a stream, as written. A character may be cut in two.
    Stream {
        /// The stream.
        name: StreamName,
        /// The bytes.
        bytes: Bytes,
        /// Whether they came after the end of an earlier cell, which may have written them.
        late: bool,
    },
    /// Output of an earlier execution, whose request had this tag: of a thread or a task that goes on.
    Late {
        /// The tag.
        owner: Arc<str>,
        /// The output.
        event: Box<Event>,
    },
    /// Something displayed.
    Display {
        /// Its representations.
        data: MimeBundle,
        /// A JSON object.
        metadata: RawJson,
        /// The name by which a later update finds it.
        display_id: Option<String>,
    },
    /// Displays with this id change, in whichever cell they stand.
    UpdateDisplay {
        /// The name.
        display_id: String,
        /// Its representations.
        data: MimeBundle,
        /// A JSON object.
        metadata: RawJson,
    },
    /// The value of the last expression.
    Result {
        /// The number of the execution.
        execution_count: Option<u64>,
        /// Its representations.
        data: MimeBundle,
        /// A JSON object.
        metadata: RawJson,
        /// The name by which a later update finds it.
        display_id: Option<String>,
    },
    /// The cell's outputs are cleared, at once or when the next output comes.
    ClearOutput {
        /// Whether to wait for the next output.
        wait: bool,
    },
    /// Something was raised.
    Error {
        /// The exception's type.
        name: String,
        /// The exception's message.
        message: String,
        /// The traceback's lines.
        traceback: Vec<String>,
    },
    /// The code failed with this exception, which the kernel has not shown: it is no output of the cell.
    Failure {
        /// The exception's type.
        name: String,
        /// The exception's message.
        message: String,
        /// The traceback's lines.
        traceback: Vec<String>,
    },
    /// The code asked for input, which it does not get.
    InputRequested,
    /// How far a progress bar is.
    Progress {
        /// The label of the bar, in the program's words.
        label: String,
        /// Steps done.
        done: f64,
        /// Steps in all, where known.
        total: Option<f64>,
    },
    /// The text of a progress bar that is a widget, which takes the place of the text that it was displayed with.
    WidgetText {
        /// The widget's model, as its display names it.
        model: String,
        /// The text.
        text: String,
    },
    /// A message of the program to a widget, of this execution or of an earlier one.
    Comm(Box<CommMessage>),
    /// Output was lost on the way; before `Died`, it may have been.
    OutputLost,
    /// Output was not taken, since it was larger than its wire allows.
    OutputRefused {
        /// The kind of output, with its size and the limit.
        what: String,
    },
    /// The code ended and all its output was seen.
    Done(Outcome),
    /// The kernel died while the code ran.
    Died(Death),
}

impl Event {
    /// About how many bytes of memory it takes.
    pub fn size(&self) -> usize {
        match self {
            Event::Display { data, .. } | Event::UpdateDisplay { data, .. } | Event::Result { data, .. } => {
                data.iter()
                    .map(|(_, data)| match data {
                        MimeData::Text(text) => text.len(),
                        MimeData::Json(json) => json.get().len(),
                    })
                    .sum()
            }
            Event::Error { message, traceback, .. } | Event::Failure { message, traceback, .. } => {
                message.len() + traceback.iter().map(String::len).sum::<usize>()
            }
            Event::Stream { bytes, .. } => bytes.len(),
            Event::Late { event, .. } => event.size(),
            Event::Comm(message) => message.size(),
            Event::Started { .. }
            | Event::ClearOutput { .. }
            | Event::InputRequested
            | Event::Progress { .. }
            | Event::WidgetText { .. }
            | Event::OutputLost
            | Event::OutputRefused { .. }
            | Event::Done(_)
            | Event::Died(_) => 0,
        }
    }
}

/// How a piece of code ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it succeeded.
    pub status: Status,
    /// Its number; hidden code has none.
    pub execution_count: Option<u64>,
    /// Whether an interrupt ended it.
    pub cancelled: bool,
}

/// Whether a piece of code succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It ran to its end.
    Ok,
    /// It raised something.
    Error,
    /// It was never run.
    Aborted,
}
