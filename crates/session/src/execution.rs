//! One run of one piece of code: its events, applied to what a reader sees, what a notebook keeps and what goes to
//! disk; its times; and what came of it. Everything that runs code runs it through here.

mod advice;
mod brief;
mod cancel;
mod drive;
mod output_buffer;
mod pace;
mod reading;
mod record;
mod report;
mod run_outputs;
mod timing;
mod widgets;

pub use advice::Surroundings;
pub use cancel::{Cancel, Canceller, Wish};
pub use cellist_output::Status;
pub use cellist_settings::{MAX_OUTPUT, OnStuck};
pub use output_buffer::OutputBuffer;
pub use pace::{Ending, Limit};
pub use reading::{Reader, Reading};
pub use record::Bar;
pub use report::{
    CellReport, KernelReport, KernelState, Picture, Pictures, Raised, Report, RunReport, Unsaved,
    count_failed,
};
pub use run_outputs::{CellOutputs, RunOutputs};
pub use timing::{TIMING, Timing};
pub use widgets::WIDGETS;

pub(crate) use drive::{Moment, Work, drive, now, tell_widgets};
pub(crate) use pace::{Cause, Pace};
pub(crate) use record::{Record, Told};
