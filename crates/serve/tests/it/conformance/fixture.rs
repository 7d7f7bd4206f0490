//! The tools, prompts and resources that the conformance suite expects, behind our server.

use std::sync::Arc;
use std::time::Duration;

use cellist_serve::mcp::rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, CustomNotification, CustomRequest,
    GetPromptResponse, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Resource,
    ResourceContents, ResourceTemplate, Role, ServerCapabilities, ServerConfig, ServerNotification,
    ServerRequest, Tool,
};
use cellist_serve::mcp::rmcp::{ErrorData, Peer, RoleServer};
use cellist_serve::mcp::{McpCall, McpClient, McpSource};
use cellist_tools::CallProgress;
use serde_json::{Value, json};

/// One red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A sound of zero length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

#[derive(Clone)]
pub(super) struct Fixture(Arc<Vec<Tool>>);

impl Fixture {
    pub(super) fn new() -> Fixture {
        Fixture(Arc::new(tools()))
    }
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        other => panic!("{other} is no object"),
    }
}

fn tools() -> Vec<Tool> {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_logging_tool",
        "test_streaming_elicitation",
    ];
    let none = || object(json!({ "type": "object", "properties": {} }));
    let mut tools: Vec<Tool> = plain.map(|name| Tool::new(name, "A tool of the suite", none())).into();
    let text = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    tools.push(Tool::new("test_sampling", "Asks the client's model", object(text("prompt"))));
    tools.push(Tool::new("test_elicitation", "Asks the client's user", object(text("message"))));
    tools.push(Tool::new("json_schema_2020_12_tool", "Has a rich schema", object(rich_schema())));
    let header = json!({
        "type": "object", "required": ["region"],
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" }, "query": { "type": "string" } },
    });
    tools.push(Tool::new("test_custom_header", "Has an argument that is a header, too", object(header)));
    tools
}

fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef", "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

impl McpSource for Fixture {
    #[expect(deprecated, reason = "the suite tries what older clients still ask for")]
    fn config(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities)
    }

    fn connected(&self, _: &McpClient, _: &Peer<RoleServer>) {}

    fn tools(&self) -> &[Tool] {
        &self.0
    }

    #[expect(deprecated, reason = "the suite tries what older clients still offer")]
    async fn call(&self, call: McpCall) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.request.arguments.clone().unwrap_or_default();
        let argument = |name: &str| arguments.get(name).cloned().unwrap_or_default();
        let peer = &call.context.peer;
        let blocks = match &*call.request.name {
            "test_simple_text" => vec![ContentBlock::text("This is a simple text response for testing.")],
            "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
            "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
            "test_embedded_resource" => {
                vec![ContentBlock::embedded_text(
                    "test://embedded-resource",
                    "This is an embedded resource content.",
                )]
            }
            "test_multiple_content_types" => vec![
                ContentBlock::text("Multiple content types test:"),
                ContentBlock::image(PNG, "image/png"),
                ContentBlock::resource(json_resource(
                    "test://mixed-content-resource",
                    &json!({ "test": "data", "value": 123 }),
                )),
            ],
            "test_tool_with_logging" => {
                for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    log(peer, said).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                vec![ContentBlock::text("Logged three times.")]
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    let progress =
                        CallProgress { message: String::new(), done: Some(done), total: Some(100.0) };
                    call.news.send_replace(Some(progress));
                    // Only the newest progress is sent, at intervals.
                    tokio::time::sleep(Duration::from_millis(600)).await;
                }
                vec![ContentBlock::text("Done with progress.")]
            }
            "test_error_handling" => {
                let said = ContentBlock::text("This tool intentionally returns an error for testing");
                return Ok(CallToolResult::error(vec![said]).into());
            }
            // A client opts into log messages with each request.
            "test_logging_tool" => {
                if call.context.meta.contains_key("io.modelcontextprotocol/logLevel") {
                    log(peer, "called").await;
                }
                vec![ContentBlock::text("Logged where that was wanted.")]
            }
            "test_missing_capability" => {
                let has = call.context.client_capabilities().is_some_and(|has| has.sampling.is_some());
                if !has {
                    let wanted = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(wanted));
                }
                vec![ContentBlock::text("The client can be asked.")]
            }
            "test_sampling" => {
                let message =
                    json!({ "role": "user", "content": { "type": "text", "text": argument("prompt") } });
                let params = json!({ "messages": [message], "maxTokens": 100 });
                let said = ask(peer, "sampling/createMessage", params).await?;
                vec![ContentBlock::text(format!("LLM response: {}", said["content"]["text"]))]
            }
            "test_elicitation" => {
                let schema = json!({
                    "type": "object", "required": ["username", "email"],
                    "properties": {
                        "username": { "type": "string", "description": "User's response" },
                        "email": { "type": "string", "description": "User's email address" },
                    },
                });
                let message = argument("message");
                let params = json!({ "message": message, "requestedSchema": schema });
                let said = ask(peer, "elicitation/create", params).await?;
                vec![ContentBlock::text(format!("User response: {said}"))]
            }
            "test_elicitation_sep1034_defaults" => elicited(peer, defaults()).await?,
            "test_elicitation_sep1330_enums" => elicited(peer, choices()).await?,
            other => vec![ContentBlock::text(format!("{other} was called"))],
        };
        Ok(CallToolResult::success(blocks).into())
    }

    fn set_level(&self) -> Result<(), ErrorData> {
        Ok(())
    }

    fn prompts(&self) -> Vec<Prompt> {
        let argument =
            |name: &str| PromptArgument::new(name).with_description("An argument").with_required(true);
        let prompt = |name: &str, arguments| Prompt::new(name, Some("A prompt of the suite"), arguments);
        vec![
            prompt("test_simple_prompt", None),
            prompt("test_prompt_with_arguments", Some(vec![argument("arg1"), argument("arg2")])),
            prompt("test_prompt_with_embedded_resource", Some(vec![argument("resourceUri")])),
            prompt("test_prompt_with_image", None),
        ]
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &JsonObject,
        _: &McpClient,
    ) -> Result<GetPromptResponse, ErrorData> {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = |text: String| PromptMessage::new_text(Role::User, text);
        let messages = match name {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.".into())],
            "test_prompt_with_arguments" => vec![text(format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            ))],
            "test_prompt_with_embedded_resource" => vec![
                PromptMessage::new(
                    Role::User,
                    ContentBlock::embedded_text(
                        argument("resourceUri"),
                        "Embedded resource content for testing.",
                    ),
                ),
                text("Please process the embedded resource above.".into()),
            ],
            "test_prompt_with_image" => vec![
                PromptMessage::new(Role::User, ContentBlock::image(PNG, "image/png")),
                text("Please analyze the image above.".into()),
            ],
            other => return Err(ErrorData::invalid_params(format!("there is no prompt {other}"), None)),
        };
        Ok(GetPromptResult::new(messages).into())
    }

    async fn resources(&self, _: &McpClient) -> Result<Vec<Resource>, ErrorData> {
        let resource = |uri: &str, mime: &str| {
            Resource::new(uri, uri).with_description("A resource of the suite").with_mime_type(mime)
        };
        Ok(vec![resource("test://static-text", "text/plain"), resource("test://static-binary", "image/png")])
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![
            ResourceTemplate::new("test://template/{id}/data", "template").with_mime_type("application/json"),
        ]
    }

    async fn read(&self, uri: &str, _: &McpClient) -> Result<ResourceContents, ErrorData> {
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        Ok(match (uri, id) {
            ("test://static-text", _) => {
                ResourceContents::text("This is the content of the static text resource.", uri)
            }
            ("test://static-binary", _) => ResourceContents::BlobResourceContents {
                uri: uri.into(),
                mime_type: Some("image/png".into()),
                blob: PNG.into(),
                meta: None,
            },
            (_, Some(id)) => {
                let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                json_resource(uri, &data)
            }
            _ => {
                return Err(ErrorData::resource_not_found(
                    format!("there is no {uri}"),
                    Some(json!({ "uri": uri })),
                ));
            }
        })
    }
}

fn json_resource(uri: &str, data: &Value) -> ResourceContents {
    ResourceContents::TextResourceContents {
        uri: uri.into(),
        mime_type: Some("application/json".into()),
        text: data.to_string(),
        meta: None,
    }
}

async fn log(peer: &Peer<RoleServer>, what: &str) {
    let params = json!({ "level": "info", "data": what });
    let notification = CustomNotification::new("notifications/message", Some(params));
    let _ = peer.send_notification(ServerNotification::CustomNotification(notification)).await;
}

async fn ask(peer: &Peer<RoleServer>, method: &str, params: Value) -> Result<Value, ErrorData> {
    let request = ServerRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    let answer = peer.send_request(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(serde_json::to_value(answer).unwrap_or_default())
}

async fn elicited(peer: &Peer<RoleServer>, properties: Value) -> Result<Vec<ContentBlock>, ErrorData> {
    let schema = json!({ "type": "object", "properties": properties, "required": [] });
    let params = json!({ "message": "Please choose", "requestedSchema": schema });
    let said = ask(peer, "elicitation/create", params).await?;
    let text = format!("Elicitation completed: action={}, content={}", said["action"], said["content"]);
    Ok(vec![ContentBlock::text(text)])
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ]);
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    })
}
