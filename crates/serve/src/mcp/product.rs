//! Our own tools, prompts and resources, for the agents that come.

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

use super::agent::{Agent, Errand, Reach};
use super::answer::{refusal, result};
use super::consent::consents;
use super::offer::{is_in, tools};
use super::source::{Call, Client, Source};

/// The prompt that explains work on a notebook.
const PROMPT: &str = "notebook";
/// What notebooks and artifacts are read as.
const TEXT: &str = "text/plain";
/// How many files one call may need consent for: a file and its other names.
const MOST_CONSENTS: usize = 4;
/// How many clients whose requests stand alone are told apart.
const MOST_CLIENTS: usize = 64;

/// What an agent is offered. A clone serves another client.
pub struct Product {
    shared: Arc<Shared>,
    /// The agent of a client that stays.
    own: OnceLock<Arc<Agent>>,
    /// What it was offered last.
    offered: Arc<Mutex<Option<ToolOffer>>>,
}

struct Shared {
    setup: Caller,
    reach: Reach,
    tools: Vec<Tool>,
    instructions: String,
    prompt: String,
    gone: Arc<AtomicBool>,
    /// Agents of clients whose requests stand alone, by what they call themselves.
    passing: Option<Mutex<HashMap<String, Arc<Agent>>>>,
}

impl Product {
    /// For the one client on standard streams; `gone` says when it went away.
    pub fn for_one(setup: Caller, reach: Reach, prompts: &Prompts, gone: Arc<AtomicBool>) -> Product {
        Product::new(setup, reach, prompts, gone, None)
    }

    /// For many clients over a network.
    pub fn for_many(setup: Caller, reach: Reach, prompts: &Prompts) -> Product {
        Product::new(setup, reach, prompts, Arc::default(), Some(Mutex::default()))
    }

    fn new(
        setup: Caller,
        reach: Reach,
        prompts: &Prompts,
        gone: Arc<AtomicBool>,
        passing: Option<Mutex<HashMap<String, Arc<Agent>>>>,
    ) -> Product {
        let mut tools = tools(setup.mode, setup.tools);
        let offer = ToolOffer::of_caller(&setup);
        tools.retain(|tool| ToolName::from_name(&tool.name).is_some_and(|name| offer.has(name)));
        let (prompt, _) = prompts.for_mode(setup.mode);
        let instructions = instructions(setup.mode);
        let shared = Shared { setup, reach, tools, instructions, prompt, gone, passing };
        Product { shared: Arc::new(shared), own: OnceLock::new(), offered: Arc::default() }
    }

    /// For another client.
    pub fn another(&self) -> Product {
        Product { shared: self.shared.clone(), own: OnceLock::new(), offered: Arc::default() }
    }

    /// The agent of a client that stays.
    fn own(&self) -> &Arc<Agent> {
        self.own.get_or_init(|| Arc::new(self.shared.agent(false)))
    }

    /// Does something with the agent that a client is.
    async fn with<T>(&self, client: &Client, work: impl AsyncFnOnce(&Agent, Option<&str>) -> T) -> T {
        let name = client.name.as_deref();
        match &self.shared.passing {
            Some(passing) if client.is_stateless => {
                let agent = self.shared.passing_by(passing, name.unwrap_or_default());
                work(&agent, name).await
            }
            Some(_) | None => work(self.own(), name).await,
        }
    }

    async fn call_tool(&self, client: &Client, tool: ToolName, arguments: Value) -> ToolAnswer {
        let (news, unwanted) = (watch::Sender::new(None), CancellationToken::new());
        let errand = Errand { tool, arguments, news: &news, unwanted: &unwanted };
        self.with(client, async |agent, name| agent.call(&errand, name).await).await
    }

    /// Whether the agent may see a file.
    fn is_within(&self, path: &Path) -> bool {
        let setup = &self.shared.setup;
        let mut folders = std::iter::once(&setup.cwd).chain(&setup.roots);
        folders.any(|folder| path.starts_with(folder.canonicalize().as_ref().unwrap_or(folder)))
            && cellist_tools::FilePolicy::of(setup, &Home::from_env()).may_look(path)
    }
}

impl Shared {
    fn agent(&self, is_shared: bool) -> Agent {
        let caller = Caller { session: session(), is_shared, ..self.setup.clone() };
        Agent::new(self.reach.clone(), caller, self.gone.clone())
    }

    fn passing_by(&self, passing: &Mutex<HashMap<String, Arc<Agent>>>, name: &str) -> Arc<Agent> {
        let mut passing = passing.lock().unwrap_or_else(PoisonError::into_inner);
        // Names that nobody can tell apart any more are one.
        let is_full = passing.len() >= MOST_CLIENTS && !passing.contains_key(name);
        let name = if is_full { "" } else { name };
        passing.entry(name.to_owned()).or_insert_with(|| Arc::new(self.agent(true))).clone()
    }
}

impl Source for Product {
    fn config(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cellist", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.shared.instructions.clone())
    }

    fn met(&self, client: &Client, peer: &Peer<RoleServer>) {
        // A first call then finds the host running.
        if !client.is_stateless || self.shared.passing.is_none() {
            drop(self.own().attach(client.name.as_deref()));
        }
        if !client.is_stateless && self.tells_of_tools() {
            let (agent, offered) = (Arc::downgrade(self.own()), self.offered.clone());
            tokio::spawn(tell(agent, client.name.clone(), self.shared.clone(), offered, peer.clone()));
        }
    }

    fn tells_of_tools(&self) -> bool {
        self.shared.setup.requires_active
    }

    async fn offered(&self, client: &Client) -> Vec<Tool> {
        let mut tools = self.shared.tools.clone();
        if self.shared.setup.requires_active {
            let asked = async |agent: &Agent, name: Option<&str>| agent.editor(None, name).await;
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
        // One of another mode is refused with the mode that has it.
        ToolName::from_name(tool).is_some_and(|tool| is_in(tool, self.shared.setup.tools))
    }

    async fn call(&self, call: Call) -> Result<CallToolResponse, ErrorData> {
        let Call { request, client, news, context } = call;
        let Some(tool) = ToolName::from_name(&request.name) else {
            return Ok(refusal(format_args!("there is no tool `{}`", request.name)).into());
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = async |agent: &Agent, name: Option<&str>| {
            let errand = Errand { tool, arguments, news: &news, unwanted: &context.ct };
            let mut answer = agent.call(&errand, name).await;
            for _ in 0..MOST_CONSENTS {
                let Some(path) = answer.needs_consent.as_deref().map(str::to_owned) else { break };
                // Requests that stand alone have nobody behind them who could be asked.
                if client.is_stateless || !consents(&context, tool, &path).await {
                    break;
                }
                let consent = Request::Consent { path: path.into() };
                if agent.ask(consent, name).await.is_err() {
                    break;
                }
                answer = agent.call(&errand, name).await;
            }
            answer
        };
        Ok(result(self.with(&client, call).await).into())
    }

    fn prompts(&self) -> Vec<Prompt> {
        let notebook = PromptArgument::new("notebook")
            .with_description("Path of a notebook, whose cells are added")
            .with_required(false);
        vec![Prompt::new(PROMPT, Some("How to work on a notebook"), Some(vec![notebook]))]
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &JsonObject,
        client: &Client,
    ) -> Result<GetPromptResponse, ErrorData> {
        if name != PROMPT {
            let message = format!("there is no prompt `{name}`; there is {PROMPT}");
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

    async fn resources(&self, client: &Client) -> Result<Vec<Resource>, ErrorData> {
        let asked = async |agent: &Agent, name: Option<&str>| agent.ask(Request::Notebooks, name).await;
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
                .with_description("A notebook as text, each cell behind a line that says what it is")
                .with_mime_type(TEXT),
            ResourceTemplate::new("artifact://{id}", "artifact")
                .with_description("Output that was cut, as it was written")
                .with_mime_type(TEXT),
        ]
    }

    async fn read(&self, uri: &str, client: &Client) -> Result<ResourceContents, ErrorData> {
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

/// Tells a client that has asked for the tools when it is offered others, for as long as it stays.
async fn tell(
    agent: Weak<Agent>,
    name: Option<String>,
    shared: Arc<Shared>,
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

/// What a model should know before it sees the tools.
fn instructions(mode: Mode) -> String {
    let common = "Notebooks (.ipynb) and Python that keeps its state. Name a notebook by its path, a cell by its id \
                  (ids last, indexes shift). Use these tools for notebooks, never the JSON file behind them.";
    let more = match mode {
        Mode::Agent => {
            " `run: true` on a change also runs it. What takes long returns an execution: `wait` for it. Output that \
             was cut is in an artifact: `read_artifact`."
        }
        Mode::Ask | Mode::Edit => {
            " Here they only look: notebooks are neither changed nor run. Suggest Agent mode where that is asked for."
        }
    };
    format!("{common}{more}")
}

/// The path that a file's address stands for.
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

/// A name for the session of an agent that names none.
fn session() -> String {
    let number = getrandom::u32().unwrap_or_else(|_| std::process::id());
    format!("mcp-{number:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_file_becomes_its_path_again() {
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
    fn what_a_model_is_told_first_is_short_and_names_only_tools_of_the_mode() {
        for mode in Mode::ALL {
            let text = instructions(mode);
            assert!(text.len() <= 420, "{}", text.len());
            let named = text.split('`').filter_map(ToolName::from_name);
            let offer = cellist_tools::ToolOffer::new(mode, true);
            named.for_each(|tool| assert!(offer.has(tool), "{mode}: {tool}"));
        }
    }
}
