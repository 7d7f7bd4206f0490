//! Where tools, prompts and resources come from, as the server asks for them.

use std::future::Future;

use cellist_tools::CallProgress;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptResponse, JsonObject, Prompt, Resource,
    ResourceContents, ResourceTemplate, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::sync::watch;

/// What a server has to offer.
pub trait Source: Send + Sync + 'static {
    /// What the server says of itself.
    fn config(&self) -> ServerConfig;

    /// A client is there, and may be told things. Must not wait.
    fn met(&self, client: &Client, peer: &Peer<RoleServer>);

    /// The tools, in their order.
    fn tools(&self) -> &[Tool];

    /// Those of them that a client is offered now.
    fn offered(&self, _: &Client) -> impl Future<Output = Vec<Tool>> + Send {
        std::future::ready(self.tools().to_vec())
    }

    /// Whether a client that stays is told when it is offered others.
    fn tells_of_tools(&self) -> bool {
        false
    }

    /// Whether a call of this name can be carried out, or at least be refused with a reason.
    fn knows(&self, tool: &str) -> bool {
        self.tools().iter().any(|known| known.name == tool)
    }

    /// Calls a tool that is known. The token of the context says when the answer is not wanted any more.
    fn call(&self, call: Call) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send;

    /// How much a client wants to be told of what happens inside. Most sources tell nothing of that.
    fn set_level(&self) -> Result<(), ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "logging/setLevel", None))
    }

    /// The prompts.
    fn prompts(&self) -> Vec<Prompt>;

    /// A prompt with its arguments filled in.
    fn prompt(
        &self,
        name: &str,
        arguments: &JsonObject,
        client: &Client,
    ) -> impl Future<Output = Result<GetPromptResponse, ErrorData>> + Send;

    /// The resources that there are now.
    fn resources(&self, client: &Client) -> impl Future<Output = Result<Vec<Resource>, ErrorData>> + Send;

    /// What else can be read.
    fn templates(&self) -> Vec<ResourceTemplate>;

    /// Reads a resource.
    fn read(
        &self,
        uri: &str,
        client: &Client,
    ) -> impl Future<Output = Result<ResourceContents, ErrorData>> + Send;
}

/// A call of a tool.
#[derive(Debug)]
pub struct Call {
    /// What is asked for.
    pub request: CallToolRequestParams,
    /// Who asks.
    pub client: Client,
    /// Who hears how far it is.
    pub news: watch::Sender<Option<CallProgress>>,
    /// What the protocol knows of it.
    pub context: RequestContext<RoleServer>,
}

/// A client, as far as it tells who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// What it calls itself.
    pub name: Option<String>,
    /// Whether each of its requests stands alone.
    pub is_stateless: bool,
}

impl Client {
    /// Whoever sent a request.
    pub fn of(context: &RequestContext<RoleServer>) -> Client {
        Client {
            name: context.client_info().map(|client| client.name).filter(|name| !name.is_empty()),
            is_stateless: context.meta.protocol_version().is_some(),
        }
    }
}
