//! Owns all change: notebooks are loaded, locked, changed, merged and saved here, and nowhere else.

pub mod artifact;
pub mod clock;
mod error;
pub mod execution;
mod home;
pub mod live;
mod names;
pub mod orders;
mod platform;
pub mod receipts;
pub mod redaction;
pub mod run;
pub mod sessions;
pub mod settings;
mod store;
mod talks;
#[cfg(test)]
mod told;
pub mod trust;
mod typed;

pub use error::{Error, ErrorKind, Problem, Result, in_words};
pub use home::{Exposure, Home};
pub use platform::keep_memory_small;
pub use store::{Changed, Gate, Missing, Opened, Store, Use};
pub use talks::Talks;
pub use typed::Typed;

/// What a kernel is started by and guarded by, what is started detached, and how one of many processes becomes the owner: for those who
/// may not know kernels.
pub use cellist_kernel::{aside, contained, detached, fault, guard, order, registration};
