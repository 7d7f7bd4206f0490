//! Kernels: one interface and one stream of events, whatever runs the code.
//!
//! A backend turns its own protocol into [`Event`]s. Nothing above this crate knows how a kernel is reached:
//! words like channel, message or header stop here.

#![doc = include_str!("../README.md")]

mod bars;
pub mod body;
mod comm;
mod current;
pub mod environment;
mod error;
mod event;
pub mod gateway;
pub mod guard;
mod jupyter;
mod kernel;
pub mod kernelspec;
mod late;
mod launch;
pub mod order;
pub mod prelude;
pub mod process;
pub mod python;
pub mod runner;
pub mod scripted;
pub mod shell;
pub mod stream;
mod trace;
mod waiting;
pub mod zmq;

pub use cellist_output::Backend;
pub use comm::{CommKind, CommMessage};
pub use error::{Error, Result};
pub use event::{Death, Event, Outcome, Status};
pub use kernel::{
    Completeness, Completion, Execution, ExecutionId, Future, Identity, Inspection, Kernel, Request, State,
};
pub use launch::{Launch, Module, Started};
pub use order::Order;
pub use trace::Trace;
