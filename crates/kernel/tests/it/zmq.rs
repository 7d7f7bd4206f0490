//! Real Jupyter kernels over ZeroMQ.

mod asking;
mod bed;
mod ending;
mod flood;
mod others;
mod running;
mod starting;
