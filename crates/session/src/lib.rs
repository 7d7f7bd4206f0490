//! Kernel sessions: one task each owns a kernel and its queue. Also runs, limits, events, and kernel launch orders.

#![doc = include_str!("../README.md")]

pub mod cells;
pub mod execution;
pub mod orders;
pub mod parameters;
#[cfg(test)]
mod scripted_kernel;
pub mod sessions;
