//! Jupyter's protocol on any transport: the meaning of its messages, pending requests, and requests to a kernel.
//! How they get to a kernel and back is up to a backend.

pub(crate) mod client;
mod delivery;
pub(crate) mod kernel;
pub(crate) mod lane;
pub(crate) mod listener;
pub(crate) mod message;
pub(crate) mod opening;
pub(crate) mod pending;
mod reading;
pub(crate) mod setup;
mod text;
pub(crate) mod trace;
