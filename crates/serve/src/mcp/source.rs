//! The source of tools, prompts and resources behind an MCP server.

use std::future::Future;

use cellist_tools::CallProgress;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptResponse, JsonObject, Prompt, Resource,
    ResourceContents, ResourceTemplate, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::sync::watch;

/// Tools, prompts and resources for one client.
///
/// The server calls it from concurrent tasks, one per request. A client cancels a
/// call by the token in its context; the source then stops the run and returns.
pub trait McpSource: Send + Sync + 'static {
    /// Name, version and capabilities of the server.
    fn config(&self) -> ServerConfig;

    /// Called when a client connects; it may be notified from now on. Must not block.
    fn connected(&self, client: &McpClient, peer: &Peer<RoleServer>);

    /// All tools, in a fixed order.
    fn tools(&self) -> &[Tool];

    /// The tools that a client may use now.
    fn offered(&self, _: &McpClient) -> impl Future<Output = Vec<Tool>> + Send {
        std::future::ready(self.tools().to_vec())
    }

    /// Whether connected clients are notified when their tools change.
    fn notifies_of_tools(&self) -> bool {
        false
    }

    /// Whether a tool exists, or can at least be refused with a reason.
    fn knows(&self, tool: &str) -> bool {
        self.tools().iter().any(|known| known.name == tool)
    }

    /// Calls a known tool. The token in the context is cancelled when the answer is no longer
    /// wanted.
    fn call(&self, call: McpCall) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send;

    /// Sets the log level of a client. Most sources do not log to clients.
    fn set_level(&self) -> Result<(), ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "logging/setLevel", None))
    }

    /// The list of prompts.
    fn prompts(&self) -> Vec<Prompt>;

    /// Fills in a prompt.
    fn prompt(
        &self,
        name: &str,
        arguments: &JsonObject,
        client: &McpClient,
    ) -> impl Future<Output = Result<GetPromptResponse, ErrorData>> + Send;

    /// The current resources.
    fn resources(&self, client: &McpClient) -> impl Future<Output = Result<Vec<Resource>, ErrorData>> + Send;

    /// The templates of further resources.
    fn templates(&self) -> Vec<ResourceTemplate>;

    /// Reads a resource.
    fn read(
        &self,
        uri: &str,
        client: &McpClient,
    ) -> impl Future<Output = Result<ResourceContents, ErrorData>> + Send;
}

/// A tool call.
#[derive(Debug)]
pub struct McpCall {
    /// Name and arguments.
    pub request: CallToolRequestParams,
    /// The calling client.
    pub client: McpClient,
    /// Receives the progress of the call.
    pub news: watch::Sender<Option<CallProgress>>,
    /// The context of the request, with its cancellation token.
    pub context: RequestContext<RoleServer>,
}

/// A client, as far as it identifies itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpClient {
    /// The name of the client program.
    pub name: Option<String>,
    /// Whether its requests are independent, without a session.
    pub is_stateless: bool,
}

impl McpClient {
    /// The client of a request.
    pub fn of(context: &RequestContext<RoleServer>) -> McpClient {
        McpClient {
            name: context.client_info().map(|client| client.name).filter(|name| !name.is_empty()),
            is_stateless: context.meta.protocol_version().is_some(),
        }
    }
}
