//! Kernels behind real gateways and servers, as their callers see them.

mod asking;
mod bed;
mod breaking;
mod faults;
mod proxy;
mod running;
mod scripted;
mod shared;
