//! MCP: agents call tools of the host service over standard streams or HTTP. Types of the protocol
//! stay in this module.

mod agent;
mod cellist_source;
mod consent;
mod http;
mod progress;
mod server;
mod setup;
mod source;
mod stdio;
mod tool_list;
mod tool_result;

pub use agent::ServiceLocation;
pub use cellist_source::CellistSource;
pub(crate) use cellist_source::path_of;
pub(crate) use http::router;
pub use http::{HttpAccess, McpHttpServer, listen};
pub use server::McpServer;
pub(crate) use setup::at_host;
pub use setup::prompts;
pub use source::{McpCall, McpClient, McpSource};
pub use stdio::serve_stdio;
pub use tool_list::tools;

/// Types of the protocol, for other sources of tools.
pub use rmcp;
