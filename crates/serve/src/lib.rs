//! Everything that listens: the host's socket, MCP on standard streams and over HTTP, the page, and
//! the bridge from code to tools. The host service answers the requests.

#![doc = include_str!("../README.md")]

pub mod bridge;
mod exchange;
mod guard;
mod host;
mod idle;
mod listen;
mod log;
pub mod mcp;
mod page;
mod peer;
mod registration;
mod secret;
mod socket;
mod startup;
mod unix_client;

pub use host::{CannotServe, HostServer, IdlePolicy, ServeOptions};
pub use log::{note, note_panics};
pub use page::{browsers, revoke, token};
pub use secret::random;
pub use startup::report_startup;
