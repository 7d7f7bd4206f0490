//! Attacks on whoever talks to kernels: what comes over the wire is hostile.

mod gateway;
mod zmq;
