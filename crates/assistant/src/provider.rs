//! Providers of models: a prompt goes in, and events come out until the answer has ended. There are three ways to write
//! both, one a file; the connection is the one that gateways use, so that models cost no further libraries.

mod account;
mod anthropic;
mod events;
mod fault;
mod gemini;
mod openai;
mod stream;
mod transport;

use std::time::Duration;

use cellist_tools::Definition;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::message::{Message, ToolCall};

pub use account::{Account, Key, NoAccount, Vendor};
pub use fault::Fault;

/// Somebody who answers prompts.
#[derive(Clone, Debug)]
pub struct Provider {
    account: Account,
    patience: Patience,
}

/// How long a provider is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next word.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        // Models that think say nothing for a while.
        Patience { connect: Duration::from_secs(20), silence: Duration::from_secs(180) }
    }
}

/// All that a model is told.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// Instructions, which stay the same from one prompt of a conversation to the next.
    pub instructions: String,
    /// What was said, the newest last.
    pub messages: Vec<Message>,
    /// The tools that it may ask for.
    pub tools: Vec<Tool>,
    /// How long its answer may be, in tokens, where the provider wants to know.
    pub max_tokens: usize,
}

/// A tool as a model reads about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does and what to know before a call.
    pub description: &'static str,
    /// The schema of its arguments.
    pub schema: Value,
}

impl From<Definition> for Tool {
    fn from(definition: Definition) -> Tool {
        let Definition { name, description, .. } = definition;
        Tool { name: name.as_str(), description, schema: definition.schema() }
    }
}

/// What comes of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// More words.
    Text(String),
    /// A tool is asked for, with all of its arguments.
    Call(ToolCall),
    /// How much was read and written.
    Usage(Usage),
    /// The answer has ended.
    End(Finish),
}

/// Why an answer has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All is said, or tools are asked for.
    Done,
    /// It was too long.
    Length,
    /// The provider did not want to go on.
    Refused,
}

/// How much was read and written, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// How much of that was known from before.
    pub cached: u64,
    /// Written.
    pub output: u64,
    /// What it cost in US dollars, where the provider says so.
    pub cost: Option<f64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
    }
}

/// How many events may wait for whoever hears them; a model is slower than any reader.
const WAITING: usize = 256;

impl Provider {
    /// The provider of an account.
    pub fn new(account: Account) -> Provider {
        Provider { account, patience: Patience::default() }
    }

    /// The same with other patience.
    pub fn with_patience(self, patience: Patience) -> Provider {
        Provider { patience, ..self }
    }

    /// Who is asked, and for which model.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// A prompt as it travels.
    pub(crate) fn body(&self, prompt: &Prompt) -> String {
        let body = self.account.vendor().dialect().body(&self.account, prompt);
        self.account.without_key(body.to_string())
    }

    /// A text of a prompt as it travels.
    pub(crate) fn as_sent(&self, text: &str) -> String {
        self.account.without_key(text.to_owned())
    }

    /// Asks. The last event is the end or a fault; without either the connection was given up. Dropping the receiver
    /// ends the answer. Needs a runtime.
    pub fn ask(&self, prompt: &Prompt) -> mpsc::Receiver<Result<Event, Fault>> {
        let (events, heard) = mpsc::channel(WAITING);
        let (account, patience) = (self.account.clone(), self.patience);
        let body = self.body(prompt);
        tokio::spawn(async move {
            let conversing = transport::converse(&account, body, patience, &events);
            tokio::select! {
                done = conversing => if let Err(fault) = done {
                    let _ = events.send(Err(fault)).await;
                },
                () = events.closed() => {}
            }
        });
        heard
    }
}

/// A way to write prompts and to read what comes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Dialect {
    fn body(self, account: &Account, prompt: &Prompt) -> Value {
        match self {
            Dialect::OpenAi => openai::body(account, prompt),
            Dialect::Anthropic => anthropic::body(account, prompt),
            Dialect::Gemini => gemini::body(prompt),
        }
    }

    /// Where a prompt is sent, below the address of the provider.
    fn path(self, model: &str) -> String {
        match self {
            Dialect::OpenAi => "/chat/completions".to_owned(),
            Dialect::Anthropic => "/v1/messages".to_owned(),
            Dialect::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
            }
        }
    }

    /// What lets in, and what else has to be said.
    fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = |name, before: &str| key.map(|key| (name, format!("{before}{key}")));
        match self {
            Dialect::OpenAi => key("authorization", "Bearer ").into_iter().collect(),
            Dialect::Anthropic => key("x-api-key", "")
                .into_iter()
                .chain([("anthropic-version", "2023-06-01".to_owned())])
                .collect(),
            Dialect::Gemini => key("x-goog-api-key", "").into_iter().collect(),
        }
    }

    fn reader(self) -> Box<dyn events::Reader> {
        match self {
            Dialect::OpenAi => Box::new(openai::Reader::default()),
            Dialect::Anthropic => Box::new(anthropic::Reader::default()),
            Dialect::Gemini => Box::new(gemini::Reader::default()),
        }
    }
}
