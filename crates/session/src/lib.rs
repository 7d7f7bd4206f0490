//! Kernel sessions: one task each that owns a kernel and its queue; runs, limits and events; the orders that kernels are started by.

#![doc = include_str!("../README.md")]

pub mod cells;
pub mod execution;
pub mod orders;
pub mod parameters;
pub mod sessions;
#[cfg(test)]
mod told;
