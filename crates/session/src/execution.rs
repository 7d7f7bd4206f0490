//! Runs one piece of code: applies its events to outputs and artifacts, enforces time limits, and builds the
//! report. Every front end runs code through this module.

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
pub use cancel::{Cancel, CancelRequest, Canceller};
pub use cellist_output::Status;
pub use cellist_settings::{MAX_OUTPUT, OnStuck};
pub use output_buffer::OutputBuffer;
pub use pace::{KernelEnding, Limit};
pub use reading::{Reader, Reading};
pub use record::Bar;
pub use report::{
    CellReport, KernelReport, KernelState, Picture, Pictures, Raised, Report, RunReport, Unsaved,
    count_failed,
};
pub use run_outputs::{CellOutputs, RunOutputs};
pub use timing::{TIMING, Timing};
pub use widgets::WIDGETS;

pub(crate) use drive::{DriveEvent, DriveInput, drive, now, send_captured_outputs};
pub(crate) use pace::{Cause, Pace};
pub(crate) use record::{Record, RunFacts};
