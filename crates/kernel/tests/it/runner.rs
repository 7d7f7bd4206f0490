//! The embedded runner, on real interpreters.

mod bed;
mod compatible;
mod displays;
mod interrupts;
mod ipython;
mod libraries;
mod looks;
mod magics;
mod processes;
mod protocol;
mod questions;
mod starting;
mod streams;
mod tasks;
mod values;
