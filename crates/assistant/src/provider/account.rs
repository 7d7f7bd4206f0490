//! Provider, address, model and key. They come only from the user's settings and environment variables.

use std::fmt;

use cellist_platform::Variables;
use cellist_settings::{Chat, ChatProvider};
use hyper::Uri;
use serde::{Deserialize, Serialize};

use super::ProviderApi;

/// A provider of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// OpenAI, or a server with the same API.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
    /// An Ollama server, usually on this machine.
    Ollama,
}

/// An API key. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey(String);

/// A model at a provider, with address and key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    vendor: Vendor,
    model: String,
    base_url: String,
    key: Option<ApiKey>,
}

/// Why no account can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum AccountError {
    #[error("no AI model configured")]
    NoProvider,
    #[error("keys of several providers are set: {}", .0.join(", "))]
    Several(Vec<&'static str>),
    #[error("no model is set for {0}")]
    NoModel(&'static str),
    #[error("no API key is set for {0}")]
    NoKey(&'static str, &'static [&'static str]),
    #[error("chat.base_url is not valid: {0}")]
    BadAddress(&'static str),
    #[error("the API key would be sent unencrypted to {0}")]
    Unencrypted(String),
}

impl Vendor {
    const ALL: [Vendor; 4] = [Vendor::OpenAi, Vendor::Anthropic, Vendor::Gemini, Vendor::Ollama];

    /// The value of `chat.provider`.
    pub fn as_str(self) -> &'static str {
        match self {
            Vendor::OpenAi => "openai",
            Vendor::Anthropic => "anthropic",
            Vendor::Gemini => "gemini",
            Vendor::Ollama => "ollama",
        }
    }

    /// The environment variables of all providers' keys.
    pub(crate) fn all_variables() -> impl Iterator<Item = &'static str> {
        Vendor::ALL.into_iter().flat_map(|vendor| vendor.variables().iter().copied())
    }

    /// The environment variables of its key, in order of precedence.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Vendor::OpenAi => &["OPENAI_API_KEY"],
            Vendor::Anthropic => &["ANTHROPIC_API_KEY"],
            Vendor::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Vendor::Ollama => &[],
        }
    }

    fn default_address(self) -> &'static str {
        match self {
            Vendor::OpenAi => "https://api.openai.com/v1",
            Vendor::Anthropic => "https://api.anthropic.com",
            Vendor::Gemini => "https://generativelanguage.googleapis.com",
            Vendor::Ollama => "http://127.0.0.1:11434/v1",
        }
    }

    pub(super) fn api(self) -> ProviderApi {
        match self {
            Vendor::OpenAi | Vendor::Ollama => ProviderApi::OpenAi,
            Vendor::Anthropic => ProviderApi::Anthropic,
            Vendor::Gemini => ProviderApi::Gemini,
        }
    }
}

impl Account {
    /// Chooses the account by settings and variables. A key from a provider's own variable is sent only to the provider's
    /// own address. Other addresses get only a key that was set for cellist itself.
    pub fn find(chat: &Chat, variables: &Variables) -> Result<Account, AccountError> {
        let key_of = |vendor: &Vendor| {
            let mut values = vendor.variables().iter().filter_map(|name| variables.text(name));
            values.find(|key| !key.trim().is_empty())
        };
        let vendor = match chat.provider {
            ChatProvider::OpenAi => Vendor::OpenAi,
            ChatProvider::Anthropic => Vendor::Anthropic,
            ChatProvider::Gemini => Vendor::Gemini,
            ChatProvider::Ollama => Vendor::Ollama,
            ChatProvider::Auto => {
                let known: Vec<Vendor> =
                    Vendor::ALL.into_iter().filter(|vendor| key_of(vendor).is_some()).collect();
                match known.as_slice() {
                    [only] => *only,
                    // Most self-hosted servers have OpenAI's API.
                    [] if chat.base_url.is_some() => Vendor::OpenAi,
                    [] => return Err(AccountError::NoProvider),
                    several => {
                        return Err(AccountError::Several(
                            several.iter().map(|vendor| vendor.as_str()).collect(),
                        ));
                    }
                }
            }
        };
        let model = chat.model.clone().ok_or(AccountError::NoModel(vendor.as_str()))?;
        let default = vendor.default_address();
        let base_url = chat.base_url.as_deref().unwrap_or(default).trim_end_matches('/').to_owned();
        let (is_encrypted, host) = address(&base_url)?;
        let is_default = base_url == default;
        let key = chat.api_key.as_ref().map(|key| key.reveal().to_owned());
        let key = key.or_else(|| key_of(&vendor).filter(|_| is_default));
        if key.is_none() && is_default && vendor != Vendor::Ollama {
            return Err(AccountError::NoKey(vendor.as_str(), vendor.variables()));
        }
        if key.is_some() && !is_encrypted && !is_loopback_host(&host) {
            return Err(AccountError::Unencrypted(host));
        }
        Ok(Account { vendor, model, base_url, key: key.map(|key| ApiKey(key.trim().to_owned())) })
    }

    /// The provider.
    pub fn vendor(&self) -> Vendor {
        self.vendor
    }

    /// The name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(super) fn is_default_address(&self) -> bool {
        self.base_url == self.vendor.default_address()
    }

    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.0.as_str())
    }

    /// The host and port of the provider.
    pub fn host(&self) -> String {
        address(&self.base_url).map(|(_, host)| host).unwrap_or_default()
    }

    /// Replaces the key in a text, in case a tool or the provider has returned it.
    pub(super) fn without_key(&self, text: String) -> String {
        /// A shorter string is no real key and could match ordinary words.
        const SHORTEST: usize = 8;
        match self.key() {
            Some(key) if key.len() >= SHORTEST && text.contains(key) => {
                text.replace(key, "[API key removed]")
            }
            Some(_) | None => text,
        }
    }
}

/// Whether an address uses TLS, and its host.
fn address(url: &str) -> Result<(bool, String), AccountError> {
    let uri: Uri = url.parse().map_err(|_| AccountError::BadAddress("not a URL"))?;
    let is_encrypted = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        Some(_) | None => return Err(AccountError::BadAddress("it must start with http:// or https://")),
    };
    let authority = uri.authority().ok_or(AccountError::BadAddress("no host"))?;
    if authority.as_str().contains('@') {
        return Err(AccountError::BadAddress("user names and passwords are not supported"));
    }
    Ok((is_encrypted, authority.to_string()))
}

fn is_loopback_host(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        Some(_) | None => authority,
    };
    host == "localhost"
        || host == "[::1]"
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

impl AccountError {
    /// A hint for the user.
    pub fn hint(&self) -> String {
        match self {
            AccountError::NoProvider => "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, and in \
                ~/.cellist/config.toml, section [chat], `model = \"…\"`; for local models set `provider = \"ollama\"` \
                there; see docs/assistant.md"
                .to_owned(),
            AccountError::Several(_) => {
                "choose one with `chat.provider` in ~/.cellist/config.toml, or with --set chat.provider=…".to_owned()
            }
            AccountError::NoModel(_) => {
                "use --model, or set `model = \"…\"` in ~/.cellist/config.toml, section [chat]".to_owned()
            }
            AccountError::NoKey(_, variables) => {
                format!("set {}, or chat.api_key in ~/.cellist/config.toml", variables.join(" or "))
            }
            AccountError::BadAddress(_) => "use an address such as https://models.example/v1".to_owned(),
            AccountError::Unencrypted(_) => "use an address that starts with https://".to_owned(),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey")
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn find(variables: &[(&str, &str)], change: impl FnOnce(&mut Chat)) -> Result<Account, AccountError> {
        let mut chat = Chat { model: Some("m".to_owned()), ..Chat::default() };
        change(&mut chat);
        let variables =
            variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        Account::find(&chat, &variables)
    }

    #[test]
    fn the_only_key_chooses_the_provider() {
        let found = |variables: &[(&str, &str)]| find(variables, |_| {}).map(|account| account.vendor);
        assert_eq!(found(&[("OPENAI_API_KEY", "k")]), Ok(Vendor::OpenAi));
        assert_eq!(found(&[("GOOGLE_API_KEY", "k"), ("OPENAI_API_KEY", " ")]), Ok(Vendor::Gemini));
        assert_eq!(found(&[]), Err(AccountError::NoProvider));
        let both = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
        assert_eq!(found(&both), Err(AccountError::Several(vec!["openai", "anthropic"])));
        let chosen = find(&both, |chat| chat.provider = ChatProvider::Anthropic).unwrap();
        assert_eq!((chosen.vendor, chosen.host()), (Vendor::Anthropic, "api.anthropic.com".to_owned()));
        let none = find(&[("OPENAI_API_KEY", "k")], |chat| chat.model = None);
        assert_eq!(none, Err(AccountError::NoModel("openai")));
        let ollama = find(&[], |chat| chat.provider = ChatProvider::Ollama).unwrap();
        assert_eq!((ollama.key(), ollama.host().as_str()), (None, "127.0.0.1:11434"));
    }

    #[test]
    fn a_key_from_a_providers_variable_goes_to_its_own_address_only() {
        let at = |url: &str| {
            let url = Some(url.to_owned());
            find(&[("OPENAI_API_KEY", "hush")], |chat| chat.base_url = url)
                .map(|account| account.key.is_some())
        };
        assert_eq!(at("https://elsewhere.example/v1"), Ok(false));
        assert_eq!(at("https://api.openai.com/v1/"), Ok(true));
        assert_eq!(at("http://127.0.0.1:1234/v1"), Ok(false));
        assert!(matches!(at("ftp://x"), Err(AccountError::BadAddress(_))));
        assert!(matches!(at("https://me:hush@x"), Err(AccountError::BadAddress(_))));
    }

    #[test]
    fn the_key_is_neither_printed_nor_part_of_a_prompt() {
        let account = find(&[("OPENAI_API_KEY", "hush-hush-hush")], |_| {}).unwrap();
        assert!(!format!("{account:?}").contains("hush"));
        let text = account.without_key("a tool found hush-hush-hush!".to_owned());
        assert_eq!(text, "a tool found [API key removed]!");
    }
}
