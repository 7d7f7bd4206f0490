//! Real Jupyter kernels over ZeroMQ.

pub(crate) mod alike;
mod asking;
pub(crate) mod bed;
mod ending;
mod flood;
mod others;
mod running;
mod starting;
