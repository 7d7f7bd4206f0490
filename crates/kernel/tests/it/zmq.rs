//! Real Jupyter kernels over ZeroMQ.

mod asking;
pub(crate) mod bed;
mod ending;
mod flood;
mod others;
mod running;
mod starting;
