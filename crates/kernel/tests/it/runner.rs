//! The embedded runner, on real interpreters.

mod bed;
mod comms;
mod compatible;
mod displays;
mod history;
mod interrupts;
mod ipython;
mod libraries;
mod looks;
mod magics;
mod processes;
mod protocol;
mod questions;
mod shell;
mod starting;
mod streams;
mod tasks;
mod values;
