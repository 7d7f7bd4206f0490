//! Real Jupyter kernels over ZeroMQ.

mod bed;
mod running;
