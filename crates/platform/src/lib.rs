//! The operating system behind one set of functions: threads, processes, files, locks, environment variables, clock.
//! Each resource that can run out is asked for here, so that its absence is one error and tests can cause it.

pub mod aside;
pub mod clock;
pub mod contained;
pub mod detached;
mod failure_kind;
pub mod fault;
pub mod file_lock;
pub mod files;
mod heaps;
mod io_words;
pub mod names;
pub mod portable_path;
mod project_folders;
pub mod registration;
mod variables;

pub use failure_kind::FailureKind;
pub use heaps::keep_memory_small;
pub use io_words::{in_words, without_number};
pub use project_folders::project_folders;
pub use variables::Variables;
