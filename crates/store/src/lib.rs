//! Files of a notebook. Loads, locks, changes, merges and saves notebooks. Keeps artifacts,
//! receipts and conversations in the state folder.

#![doc = include_str!("../README.md")]

pub mod artifact;
mod conversations;
mod error;
pub mod receipts;
mod store;

pub use conversations::ConversationFiles;
pub use error::{Error, ErrorKind, Problem, Result};
pub use store::{
    ChangeBase, Changed, FileCheck, FileGate, ForeignVersion, LoadedNotebook, Missing, SaveRequest, Store,
    Use,
};
