//! Tools, prompts and resources of cellist for MCP clients.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use cellist_host::{Reply, Request};
use cellist_settings::Home;
use cellist_tools::context::file_uri;
use cellist_tools::prompt::Prompts;
use cellist_tools::{Caller, EditorState, Mode, ToolAnswer, ToolName, ToolOffer};
use rmcp::model::{
    CallToolResponse, GetPromptResponse, GetPromptResult, Implementation, JsonObject, Prompt, PromptArgument,
    PromptMessage, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::agent::{McpAgent, PendingCall, ServiceLocation};
use super::consent::consents;
use super::source::{McpCall, McpClient, McpSource};
use super::tool_list::{is_in, tools};
use super::tool_result::{refusal, result};

/// The prompt that explains work on a notebook.
const PROMPT: &str = "notebook";
/// The MIME type of notebooks and artifacts.
const TEXT: &str = "text/plain";
/// Limit on consents for one call: a file and its other names.
const MOST_CONSENTS: usize = 4;
/// Limit on stateless clients that are distinguished by name.
const MOST_CLIENTS: usize = 64;

/// The tools, prompts and resources of cellist. [`CellistSource::another`] serves the next client.
pub struct CellistSource {
    shared: Arc<SourceShared>,
    /// The agent of a client with a connection.
    own: OnceLock<Arc<McpAgent>>,
    /// The last list of tools that was sent.
    offered: Arc<Mutex<Option<ToolOffer>>>,
}

struct SourceShared {
    setup: Caller,
    location: ServiceLocation,
    tools: Vec<Tool>,
    instructions: String,
    prompt: String,
    gone: Arc<AtomicBool>,
    /// Agents of stateless clients, by client name.
    stateless: Option<Mutex<HashMap<String, Arc<McpAgent>>>>,
}

impl CellistSource {
    /// For the single client on standard streams. `gone` is set when it disconnects.
    pub fn for_one(
        setup: Caller,
        location: ServiceLocation,
        prompts: &Prompts,
        gone: Arc<AtomicBool>,
    ) -> CellistSource {
        CellistSource::new(setup, location, prompts, gone, None)
    }

    /// For many clients over HTTP.
    pub fn for_many(setup: Caller, location: ServiceLocation, prompts: &Prompts) -> CellistSource {
        CellistSource::new(setup, location, prompts, Arc::default(), Some(Mutex::default()))
    }

    fn new(
        setup: Caller,
        location: ServiceLocation,
        prompts: &Prompts,
        gone: Arc<AtomicBool>,
        stateless: Option<Mutex<HashMap<String, Arc<McpAgent>>>>,
    ) -> CellistSource {
        let mut tools = tools(setup.mode, setup.tools);
        let offer = ToolOffer::of_caller(&setup);
        tools.retain(|tool| ToolName::from_name(&tool.name).is_some_and(|name| offer.has(name)));
        let (prompt, _) = prompts.for_mode(setup.mode);
        let instructions = instructions(setup.mode);
        let shared = SourceShared { setup, location, tools, instructions, prompt, gone, stateless };
        CellistSource { shared: Arc::new(shared), own: OnceLock::new(), offered: Arc::default() }
    }

    /// A source for another client, with the same setup.
    pub fn another(&self) -> CellistSource {
        CellistSource { shared: self.shared.clone(), own: OnceLock::new(), offered: Arc::default() }
    }

    /// The agent of a client with a connection.
    fn own(&self) -> &Arc<McpAgent> {
        self.own.get_or_init(|| Arc::new(self.shared.agent(false)))
    }

    /// Calls `work` with the agent of a client.
    async fn with<T>(&self, client: &McpClient, work: impl AsyncFnOnce(&McpAgent, Option<&str>) -> T) -> T {
        let name = client.name.as_deref();
        match &self.shared.stateless {
            Some(stateless) if client.is_stateless => {
                let agent = self.shared.stateless_agent(stateless, name.unwrap_or_default());
                work(&agent, name).await
            }
            Some(_) | None => work(self.own(), name).await,
        }
    }

    async fn call_tool(&self, client: &McpClient, tool: ToolName, arguments: Value) -> ToolAnswer {
        let (news, unwanted) = (watch::Sender::new(None), CancellationToken::new());
        let call = PendingCall { tool, arguments, news: &news, unwanted: &unwanted };
        self.with(client, async |agent, name| agent.call(&call, name).await).await
    }

    /// Whether the agent may see a file.
    fn is_within(&self, path: &Path) -> bool {
        let setup = &self.shared.setup;
        let mut folders = std::iter::once(&setup.cwd).chain(&setup.roots);
        folders.any(|folder| path.starts_with(folder.canonicalize().as_ref().unwrap_or(folder)))
            && cellist_tools::FilePolicy::of(setup, &Home::from_env()).may_look(path)
    }
}

impl SourceShared {
    fn agent(&self, is_shared: bool) -> McpAgent {
        let caller = Caller { session: session(), is_shared, ..self.setup.clone() };
        McpAgent::new(self.location.clone(), caller, self.gone.clone())
    }

    fn stateless_agent(
        &self,
        stateless: &Mutex<HashMap<String, Arc<McpAgent>>>,
        name: &str,
    ) -> Arc<McpAgent> {
        let mut stateless = stateless.lock().unwrap_or_else(PoisonError::into_inner);
        // Beyond the limit, all new names share one agent.
        let is_full = stateless.len() >= MOST_CLIENTS && !stateless.contains_key(name);
        let name = if is_full { "" } else { name };
        stateless.entry(name.to_owned()).or_insert_with(|| Arc::new(self.agent(true))).clone()
    }
}

impl McpSource for CellistSource {
    fn config(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cellist", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.shared.instructions.clone())
    }

    fn connected(&self, client: &McpClient, peer: &Peer<RoleServer>) {
        // Starts the host early, so that the first call finds it running.
        if !client.is_stateless || self.shared.stateless.is_none() {
            drop(self.own().attach(client.name.as_deref()));
        }
        if !client.is_stateless && self.notifies_of_tools() {
            let (agent, offered) = (Arc::downgrade(self.own()), self.offered.clone());
            tokio::spawn(notify_tool_changes(
                agent,
                client.name.clone(),
                self.shared.clone(),
                offered,
                peer.clone(),
            ));
        }
    }

    fn notifies_of_tools(&self) -> bool {
        self.shared.setup.requires_active
    }

    async fn offered(&self, client: &McpClient) -> Vec<Tool> {
        let mut tools = self.shared.tools.clone();
        if self.shared.setup.requires_active {
            let asked = async |agent: &McpAgent, name: Option<&str>| agent.editor(None, name).await;
            let editor = self.with(client, asked).await.unwrap_or_default();
            let offer = ToolOffer::for_caller(&self.shared.setup, &editor);
            *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some(offer);
            tools.retain(|tool| ToolName::from_name(&tool.name).is_some_and(|name| offer.has(name)));
        }
        tools
    }

    fn tools(&self) -> &[Tool] {
        &self.shared.tools
    }

    fn knows(&self, tool: &str) -> bool {
        // A tool of another mode is known too: its refusal names the mode.
        ToolName::from_name(tool).is_some_and(|tool| is_in(tool, self.shared.setup.tools))
    }

    async fn call(&self, call: McpCall) -> Result<CallToolResponse, ErrorData> {
        let McpCall { request, client, news, context } = call;
        let Some(tool) = ToolName::from_name(&request.name) else {
            return Ok(refusal(format_args!("there is no tool `{}`", request.name)).into());
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = async |agent: &McpAgent, name: Option<&str>| {
            let call = PendingCall { tool, arguments, news: &news, unwanted: &context.ct };
            let mut answer = agent.call(&call, name).await;
            for _ in 0..MOST_CONSENTS {
                let Some(path) = answer.needs_consent.as_deref().map(str::to_owned) else { break };
                // A stateless request has no user to ask.
                if client.is_stateless || !consents(&context, tool, &path).await {
                    break;
                }
                let consent = Request::Consent { path: path.into() };
                if agent.ask(consent, name).await.is_err() {
                    break;
                }
                answer = agent.call(&call, name).await;
            }
            answer
        };
        Ok(result(self.with(&client, call).await).into())
    }

    fn prompts(&self) -> Vec<Prompt> {
        let notebook = PromptArgument::new("notebook")
            .with_description("Path of a notebook to include")
            .with_required(false);
        vec![Prompt::new(PROMPT, Some("How to work on a notebook"), Some(vec![notebook]))]
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &JsonObject,
        client: &McpClient,
    ) -> Result<GetPromptResponse, ErrorData> {
        if name != PROMPT {
            let message = format!("there is no prompt `{name}`; use `{PROMPT}`");
            return Err(ErrorData::invalid_params(message, None));
        }
        let mut text = self.shared.prompt.clone();
        if let Some(notebook) = arguments.get("notebook").and_then(Value::as_str).filter(|it| !it.is_empty())
        {
            let arguments = json!({ "notebook": notebook });
            let answer = self.call_tool(client, ToolName::GetNotebookCells, arguments).await;
            if answer.is_failure {
                return Err(ErrorData::invalid_params(answer.all_text(), None));
            }
            text.push_str(&format!("\n\n# The notebook {notebook}\n\n{}", answer.all_text()));
        }
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }

    async fn resources(&self, client: &McpClient) -> Result<Vec<Resource>, ErrorData> {
        let asked = async |agent: &McpAgent, name: Option<&str>| agent.ask(Request::Notebooks, name).await;
        let reply = self.with(client, asked).await;
        let open = match reply {
            Ok(Reply::Notebooks(paths)) => paths,
            Ok(_) => Vec::new(),
            Err(error) => return Err(ErrorData::internal_error(error.to_string(), None)),
        };
        let listed = open.iter().filter(|path| self.is_within(path)).map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Resource::new(file_uri(path), name).with_mime_type(TEXT)
        });
        Ok(listed.collect())
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![
            ResourceTemplate::new("file://{+path}", "notebook")
                .with_description("A notebook as text, with a header line above each cell")
                .with_mime_type(TEXT),
            ResourceTemplate::new("artifact://{id}", "artifact")
                .with_description("The complete output of a run")
                .with_mime_type(TEXT),
        ]
    }

    async fn read(&self, uri: &str, client: &McpClient) -> Result<ResourceContents, ErrorData> {
        let (tool, arguments) = match (uri.strip_prefix("artifact://"), path_of(uri)) {
            (Some(id), _) => (ToolName::ReadArtifact, json!({ "id": id })),
            (None, Some(path)) => (ToolName::Read, json!({ "path": path })),
            (None, None) => {
                let message =
                    format!("{uri} cannot be read: resources are file:///… of a notebook and artifact://…");
                return Err(ErrorData::resource_not_found(message, None));
            }
        };
        let answer = self.call_tool(client, tool, arguments).await;
        if answer.is_failure {
            return Err(ErrorData::resource_not_found(answer.all_text(), Some(json!({ "uri": uri }))));
        }
        Ok(ResourceContents::text(answer.all_text(), uri))
    }
}

/// Notifies a client when its list of tools changes, while it is connected.
async fn notify_tool_changes(
    agent: Weak<McpAgent>,
    name: Option<String>,
    shared: Arc<SourceShared>,
    offered: Arc<Mutex<Option<ToolOffer>>>,
    peer: Peer<RoleServer>,
) {
    let mut known: Option<EditorState> = None;
    while let Some(agent) = agent.upgrade().filter(|_| !peer.is_transport_closed()) {
        let Some(editor) = agent.editor(known.as_ref(), name.as_deref()).await else { return };
        let offer = ToolOffer::for_caller(&shared.setup, &editor);
        let is_other = {
            let mut offered = offered.lock().unwrap_or_else(PoisonError::into_inner);
            offered.as_mut().is_some_and(|told| std::mem::replace(told, offer) != offer)
        };
        if is_other && peer.notify_tool_list_changed().await.is_err() {
            return;
        }
        known = Some(editor);
    }
}

/// The instructions for a model, shown before the tools.
fn instructions(mode: Mode) -> String {
    let common = "Notebooks (.ipynb) and Python with persistent state. Name a notebook by its path and a cell by its id \
                  (ids are stable, indexes shift). Use these tools for notebooks, never their JSON files.";
    let more = match mode {
        Mode::Agent => {
            " `run: true` on a change also runs it. A long run returns an execution: `wait` for it. Truncated output is \
             in an artifact: `read_artifact`."
        }
        Mode::Ask | Mode::Edit => {
            " In this mode they only read notebooks. If the user asks to change or run one, suggest Agent mode."
        }
    };
    format!("{common}{more}")
}

/// The path in a file URL.
pub(crate) fn path_of(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let encoded = rest.strip_prefix("localhost").unwrap_or(rest);
    if !encoded.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// A session id for an agent that names none.
fn session() -> String {
    let number = getrandom::u32().unwrap_or_else(|_| std::process::id());
    format!("mcp-{number:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_url_is_converted_to_its_path() {
        let check =
            |uri: &str, expected: Option<&str>| assert_eq!(path_of(uri).as_deref(), expected, "{uri}");
        check("file:///a%20b/%C3%A9.ipynb", Some("/a b/é.ipynb"));
        check("file://localhost/n.ipynb", Some("/n.ipynb"));
        check("file://elsewhere/n.ipynb", None);
        check("file:///bad%2", None);
        check("file:///bad%zz", None);
        check("http://a/b", None);
        let path = "/tmp/ü 100% #1?.ipynb";
        check(&file_uri(Path::new(path)), Some(path));
    }

    #[test]
    fn the_instructions_are_short_and_name_only_tools_of_the_mode() {
        for mode in Mode::ALL {
            let text = instructions(mode);
            assert!(text.len() <= 420, "{}", text.len());
            let named = text.split('`').filter_map(ToolName::from_name);
            let offer = cellist_tools::ToolOffer::new(mode, true);
            named.for_each(|tool| assert!(offer.has(tool), "{mode}: {tool}"));
        }
    }
}
