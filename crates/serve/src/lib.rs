//! Everything that listens: the host's socket, MCP on standard streams and over HTTP, the page, and the way from code to
//! tools. What is asked there is
//! answered by the host service.

pub mod bridge;
mod exchange;
mod first;
mod guard;
mod host;
mod idle;
mod listen;
mod log;
pub mod mcp;
mod page;
mod peer;
mod registered;
mod secret;
mod socket;
mod visitor;

pub use first::say;
pub use host::{CannotServe, Host, Serving, Staying};
pub use log::{note, note_panics};
pub use page::{browsers, revoke, token};
pub use secret::random;
