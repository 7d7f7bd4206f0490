//! Attacks on clients of kernels: the messages on the wire are hostile.

mod gateway;
mod zmq;
