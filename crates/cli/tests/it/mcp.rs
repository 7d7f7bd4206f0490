//! `cellist mcp` from outside, as clients of the protocol see it.

pub(crate) mod client;
mod day;
mod docs;
mod http;
mod inspector;
mod modes;
mod official;
mod redaction;
mod robust;
mod running;
mod scenarios;
mod streams;
mod wheel;
mod without_python;
