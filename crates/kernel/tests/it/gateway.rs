//! Kernels behind real gateways and servers, as their callers see them.

mod addresses;
mod asking;
mod bed;
mod breaking;
mod faults;
mod interrupts;
mod proxy;
mod running;
mod scripted;
mod shared;
