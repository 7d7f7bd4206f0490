//! One run of one piece of code: its events, applied to what a reader sees, what a notebook keeps and what goes to
//! disk; its times; and what came of it. Everything that runs code runs it through here.

mod advice;
mod brief;
mod cancel;
mod drive;
mod kept;
mod pace;
mod reading;
mod record;
mod report;

pub use advice::Surroundings;
pub use cancel::{Cancel, Canceller, Wish};
pub use kept::MAX_OUTPUT;
pub use pace::{Ending, Limit, OnStuck};
pub use reading::{Reader, Reading};
pub use record::Bar;
pub(crate) use report::count_failed;
pub use report::{
    CellReport, KernelReport, KernelState, Picture, Pictures, Raised, Report, RunReport, Status,
};

pub(crate) use drive::{Moment, Work, drive, now};
pub(crate) use kept::Kept;
pub(crate) use pace::{Cause, Pace};
pub(crate) use record::{Record, Told};
