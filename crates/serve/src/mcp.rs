//! MCP: what an agent asks over standard streams or HTTP becomes calls of tools at the host service. The protocol's words stay here.

mod agent;
mod answer;
mod consent;
mod http;
mod offer;
mod pace;
mod product;
mod server;
mod setup;
mod source;
mod stdio;

pub use agent::Reach;
pub(crate) use http::router;
pub use http::{Door, Listening, listen};
pub use offer::tools;
pub use product::Product;
pub(crate) use product::path_of;
pub use server::Server;
pub(crate) use setup::at_host;
pub use setup::prompts;
pub use source::{Call, Client, Source};
pub use stdio::serve_stdio;

/// The protocol's own types, for other sources of tools.
pub use rmcp;
