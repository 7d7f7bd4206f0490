//! Providers of models: a prompt goes in, a stream of events comes out. Each of the three APIs has a file of its own. They
//! share the HTTP client of the kernel gateways, so no further library is needed.

mod account;
mod anthropic;
mod decoder;
mod error;
mod gemini;
mod openai;
mod sse;
mod transport;

use std::time::Duration;

use cellist_tools::Definition;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::message::{ModelMessage, ToolCall};

use decoder::StreamDecoder;

pub use account::{Account, AccountError, ApiKey, Vendor};
pub use error::ProviderError;

/// A client of one model at one provider.
///
/// [`send`](Provider::send) makes one request and never retries; [`ProviderError::retry_delay`] tells the caller whether a
/// retry makes sense. The API key is removed from prompts and responses.
#[derive(Clone, Debug)]
pub struct Provider {
    account: Account,
    timeouts: ProviderTimeouts,
}

/// The time limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct ProviderTimeouts {
    /// Until the connection is open.
    pub connect: Duration,
    /// Between two lines of the response.
    pub silence: Duration,
}

impl Default for ProviderTimeouts {
    fn default() -> ProviderTimeouts {
        // A reasoning model may send nothing for minutes.
        ProviderTimeouts { connect: Duration::from_secs(20), silence: Duration::from_secs(180) }
    }
}

/// A whole prompt.
#[derive(Clone, Debug, Default)]
pub struct ModelPrompt {
    /// The instructions. They stay the same within a conversation, so that providers can cache them.
    pub instructions: String,
    /// The messages, newest last.
    pub messages: Vec<ModelMessage>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// Maximum tokens of the response, for providers that have such a parameter.
    pub max_tokens: usize,
}

/// A tool as it is described to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name.
    pub name: &'static str,
    /// The effect, and the facts to know before a call.
    pub description: &'static str,
    /// The JSON schema of the arguments.
    pub schema: Value,
}

impl From<Definition> for ToolSpec {
    fn from(definition: Definition) -> ToolSpec {
        let Definition { name, description, .. } = definition;
        ToolSpec { name: name.as_str(), description, schema: definition.schema() }
    }
}

/// A piece of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text.
    Text(String),
    /// A complete tool call.
    Call(ToolCall),
    /// The tokens of the request.
    Usage(TokenUsage),
    /// The response is complete.
    End(FinishReason),
}

/// Why a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished, or waits for the results of its calls.
    Done,
    /// The limit of tokens was reached.
    Length,
    /// The provider refused to continue.
    Refused,
}

/// A count of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the prompt that came from the provider's cache.
    pub cached: u64,
    /// Tokens of the response.
    pub output: u64,
    /// The cost in US dollars, if the provider reports it.
    pub cost: Option<f64>,
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: TokenUsage) {
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
    }
}

/// The capacity of the channel of events. A model is slower than any receiver.
const EVENT_CAPACITY: usize = 256;

impl Provider {
    /// Makes a client with default timeouts.
    pub fn new(account: Account) -> Provider {
        Provider { account, timeouts: ProviderTimeouts::default() }
    }

    /// Sets other timeouts.
    pub fn with_timeouts(self, timeouts: ProviderTimeouts) -> Provider {
        Provider { timeouts, ..self }
    }

    /// The account.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The body of a request, without the key.
    pub(crate) fn body(&self, prompt: &ModelPrompt) -> String {
        let body = self.account.vendor().api().body(&self.account, prompt);
        self.account.without_key(body.to_string())
    }

    /// A text without the key.
    pub(crate) fn as_sent(&self, text: &str) -> String {
        self.account.without_key(text.to_owned())
    }

    /// Sends a prompt. The last item is [`ModelEvent::End`] or an error; a channel that closes without either means a lost
    /// connection. Dropping the receiver cancels the request. Panics without a tokio runtime.
    pub fn send(&self, prompt: &ModelPrompt) -> mpsc::Receiver<Result<ModelEvent, ProviderError>> {
        let (events, receiver) = mpsc::channel(EVENT_CAPACITY);
        let (account, timeouts) = (self.account.clone(), self.timeouts);
        let body = self.body(prompt);
        tokio::spawn(async move {
            let exchange = transport::exchange(&account, body, timeouts, &events);
            tokio::select! {
                done = exchange => if let Err(error) = done {
                    let _ = events.send(Err(error)).await;
                },
                () = events.closed() => {}
            }
        });
        receiver
    }
}

/// An HTTP API for prompts. Several vendors share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProviderApi {
    OpenAi,
    Anthropic,
    Gemini,
}

impl ProviderApi {
    fn body(self, account: &Account, prompt: &ModelPrompt) -> Value {
        match self {
            ProviderApi::OpenAi => openai::body(account, prompt),
            ProviderApi::Anthropic => anthropic::body(account, prompt),
            ProviderApi::Gemini => gemini::body(prompt),
        }
    }

    /// The path of the endpoint, below the base URL.
    fn path(self, model: &str) -> String {
        match self {
            ProviderApi::OpenAi => "/chat/completions".to_owned(),
            ProviderApi::Anthropic => "/v1/messages".to_owned(),
            ProviderApi::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
            }
        }
    }

    /// The headers for authentication and version.
    fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = |name, before: &str| key.map(|key| (name, format!("{before}{key}")));
        match self {
            ProviderApi::OpenAi => key("authorization", "Bearer ").into_iter().collect(),
            ProviderApi::Anthropic => key("x-api-key", "")
                .into_iter()
                .chain([("anthropic-version", "2023-06-01".to_owned())])
                .collect(),
            ProviderApi::Gemini => key("x-goog-api-key", "").into_iter().collect(),
        }
    }

    fn decoder(self) -> Box<dyn StreamDecoder> {
        match self {
            ProviderApi::OpenAi => Box::new(openai::OpenAiDecoder::default()),
            ProviderApi::Anthropic => Box::new(anthropic::AnthropicDecoder::default()),
            ProviderApi::Gemini => Box::new(gemini::GeminiDecoder::default()),
        }
    }
}
