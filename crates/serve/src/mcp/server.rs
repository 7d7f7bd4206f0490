//! An MCP server over any source of tools: routes requests, checks limits and reports progress.

use cellist_platform::contained::contained;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;

use super::progress::send_progress;
use super::source::{McpCall, McpClient, McpSource};
use super::tool_result::refusal;

/// Limit on the arguments of a call: larger than any cell, small enough not to block other calls.
const MOST_ARGUMENTS: usize = 4 << 20;

/// Methods with required parameters. For these, bad parameters are reported as such, not as an
/// unknown method.
const KNOWN: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// Answers the requests of one client, or of all stateless ones.
#[derive(Clone, Debug)]
pub struct McpServer<S>(pub S);

impl<S: McpSource> ServerHandler for McpServer<S> {
    fn get_info(&self) -> ServerConfig {
        self.0.config()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        self.0.connected(&McpClient::of(&context), &context.peer);
        let mut agreed = self.negotiate_initialize(&request)?;
        // Stateless clients cannot be notified.
        if let Some(tools) = agreed.capabilities.tools.as_mut().filter(|_| self.0.notifies_of_tools()) {
            tools.list_changed = Some(true);
        }
        Ok(agreed)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.0.connected(&McpClient::of(&context), &context.peer);
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.offered(&McpClient::of(&context)).await))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.0.knows(&request.name) {
            return Err(unknown_tool(&request.name, self.0.tools()));
        }
        let size = request.arguments.as_ref().map_or(0, |arguments| arguments.values().map(weight).sum());
        if size > MOST_ARGUMENTS {
            return Ok(refusal(format_args!(
                "the arguments of {} are {} MB; the limit is {} MB. Write less at once, or save the text to a \
                 file and pass its path",
                request.name,
                size >> 20,
                MOST_ARGUMENTS >> 20
            ))
            .into());
        }
        let (news, heard) = watch::channel(None);
        let telling = send_progress(heard, context.meta.get_progress_token(), context.peer.clone());
        let client = McpClient::of(&context);
        let calling = contained(self.0.call(McpCall { request, client, news, context }));
        tokio::select! {
            biased;
            response = calling => response.unwrap_or_else(|panicked| Ok(refusal(panicked).into())),
            () = telling => Err(ErrorData::internal_error("the call was lost", None)),
        }
    }

    #[expect(deprecated, reason = "older clients still ask for it")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.set_level()
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.0.prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        self.0.prompt(&request.name, &arguments, &McpClient::of(&context)).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.0.resources(&McpClient::of(&context)).await?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(self.0.templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = self.0.read(&request.uri, &McpClient::of(&context)).await?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if KNOWN.contains(&request.method.as_str()) {
            let message = format!(
                "invalid parameters of {}: `name` or `uri` must be text, `arguments` an object",
                request.method
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }
}

fn unknown_tool(name: &str, tools: &[Tool]) -> ErrorData {
    let shown: String = name.chars().take(100).collect();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    ErrorData::invalid_params(format!("there is no tool `{shown}`; there are {}", names.join(", ")), None)
}

/// Approximate size of a value in bytes.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 2,
        Value::Object(items) => items.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum(),
    }
}
