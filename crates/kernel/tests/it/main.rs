//! Kernels as their callers see them.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail where tests may")]

mod attacks;
mod contract;
mod gateway;
mod guard;
mod kernelspec;
mod process;
mod runner;
mod traces;
mod zmq;
