//! Files: notebooks are loaded, locked, changed, merged and saved here; artifacts, receipts and conversations are kept beside them.

pub mod artifact;
mod error;
pub mod receipts;
mod store;
mod talks;

pub use error::{Error, ErrorKind, Problem, Result};
pub use store::{Base, Changed, Gate, Looked, Missing, Opened, Put, Seen, Store, Use};
pub use talks::Talks;
