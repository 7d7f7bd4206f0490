//! Kernels behind real gateways and servers, as their callers see them.

mod addresses;
mod asking;
pub(crate) mod bed;
mod breaking;
mod faults;
mod interrupts;
pub(crate) mod proxy;
mod running;
mod scripted;
mod shared;
