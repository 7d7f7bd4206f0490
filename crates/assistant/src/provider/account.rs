//! Who provides the model, at which address, and with which key: from the user's settings and variables alone.

use std::fmt;

use cellist_platform::Variables;
use cellist_settings::{Chat, ChatProvider};
use hyper::Uri;
use serde::{Deserialize, Serialize};

use super::Dialect;

/// Who provides models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// OpenAI, or a server that speaks as it does.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
    /// A server on this machine.
    Ollama,
}

/// What lets in. Nobody is shown it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key(String);

/// A model at a provider, as the user has set it up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    vendor: Vendor,
    model: String,
    base_url: String,
    key: Option<Key>,
}

/// Why there is nobody to ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum NoAccount {
    #[error("no AI model configured")]
    NoProvider,
    #[error("there are keys of several providers: {}", .0.join(", "))]
    Several(Vec<&'static str>),
    #[error("no model is chosen for {0}")]
    NoModel(&'static str),
    #[error("there is no key for {0}")]
    NoKey(&'static str, &'static [&'static str]),
    #[error("chat.base_url is no address: {0}")]
    BadAddress(&'static str),
    #[error("the key would travel unencrypted to {0}")]
    Unencrypted(String),
}

impl Vendor {
    const ALL: [Vendor; 4] = [Vendor::OpenAi, Vendor::Anthropic, Vendor::Gemini, Vendor::Ollama];

    /// As it is written in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Vendor::OpenAi => "openai",
            Vendor::Anthropic => "anthropic",
            Vendor::Gemini => "gemini",
            Vendor::Ollama => "ollama",
        }
    }

    /// The variables in which keys are usually kept.
    pub(crate) fn all_variables() -> impl Iterator<Item = &'static str> {
        Vendor::ALL.into_iter().flat_map(|vendor| vendor.variables().iter().copied())
    }

    /// The variables in which its key is usually kept.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Vendor::OpenAi => &["OPENAI_API_KEY"],
            Vendor::Anthropic => &["ANTHROPIC_API_KEY"],
            Vendor::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Vendor::Ollama => &[],
        }
    }

    fn usual_address(self) -> &'static str {
        match self {
            Vendor::OpenAi => "https://api.openai.com/v1",
            Vendor::Anthropic => "https://api.anthropic.com",
            Vendor::Gemini => "https://generativelanguage.googleapis.com",
            Vendor::Ollama => "http://127.0.0.1:11434/v1",
        }
    }

    pub(super) fn dialect(self) -> Dialect {
        match self {
            Vendor::OpenAi | Vendor::Ollama => Dialect::OpenAi,
            Vendor::Anthropic => Dialect::Anthropic,
            Vendor::Gemini => Dialect::Gemini,
        }
    }
}

impl Account {
    /// The one that settings and variables name. A provider's own variable counts for its own address alone: whoever
    /// else is asked gets a key only where it was set for this program.
    pub fn find(chat: &Chat, variables: &Variables) -> Result<Account, NoAccount> {
        let held = |vendor: &Vendor| {
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
                    Vendor::ALL.into_iter().filter(|vendor| held(vendor).is_some()).collect();
                match known.as_slice() {
                    [only] => *only,
                    // Servers at addresses of their own mostly speak as OpenAI does.
                    [] if chat.base_url.is_some() => Vendor::OpenAi,
                    [] => return Err(NoAccount::NoProvider),
                    several => {
                        return Err(NoAccount::Several(
                            several.iter().map(|vendor| vendor.as_str()).collect(),
                        ));
                    }
                }
            }
        };
        let model = chat.model.clone().ok_or(NoAccount::NoModel(vendor.as_str()))?;
        let usual = vendor.usual_address();
        let base_url = chat.base_url.as_deref().unwrap_or(usual).trim_end_matches('/').to_owned();
        let (is_encrypted, host) = address(&base_url)?;
        let is_usual = base_url == usual;
        let key = chat.api_key.as_ref().map(|key| key.reveal().to_owned());
        let key = key.or_else(|| held(&vendor).filter(|_| is_usual));
        if key.is_none() && is_usual && vendor != Vendor::Ollama {
            return Err(NoAccount::NoKey(vendor.as_str(), vendor.variables()));
        }
        if key.is_some() && !is_encrypted && !is_here(&host) {
            return Err(NoAccount::Unencrypted(host));
        }
        Ok(Account { vendor, model, base_url, key: key.map(|key| Key(key.trim().to_owned())) })
    }

    /// Who provides the model.
    pub fn vendor(&self) -> Vendor {
        self.vendor
    }

    /// The model.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(super) fn is_usual_address(&self) -> bool {
        self.base_url == self.vendor.usual_address()
    }

    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.0.as_str())
    }

    /// The machine that is asked.
    pub fn host(&self) -> String {
        address(&self.base_url).map(|(_, host)| host).unwrap_or_default()
    }

    /// A text in which the key does not stand, whatever a tool has found.
    pub(super) fn without_key(&self, text: String) -> String {
        /// Shorter ones are no keys, and stand in many words.
        const SHORTEST: usize = 8;
        match self.key() {
            Some(key) if key.len() >= SHORTEST && text.contains(key) => {
                text.replace(key, "[the key was here]")
            }
            Some(_) | None => text,
        }
    }
}

/// Whether an address is encrypted, and the machine in it.
fn address(url: &str) -> Result<(bool, String), NoAccount> {
    let uri: Uri = url.parse().map_err(|_| NoAccount::BadAddress("it cannot be read as one"))?;
    let is_encrypted = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        Some(_) | None => return Err(NoAccount::BadAddress("it must begin with http:// or https://")),
    };
    let authority = uri.authority().ok_or(NoAccount::BadAddress("it names no machine"))?;
    if authority.as_str().contains('@') {
        return Err(NoAccount::BadAddress("names and passwords do not belong into it"));
    }
    Ok((is_encrypted, authority.to_string()))
}

fn is_here(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        Some(_) | None => authority,
    };
    host == "localhost"
        || host == "[::1]"
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

impl NoAccount {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            NoAccount::NoProvider => "set the key of a provider in OPENAI_API_KEY, ANTHROPIC_API_KEY or \
                GEMINI_API_KEY and a model with `model = \"…\"` below a line [chat] in ~/.cellist/config.toml; \
                or `provider = \"ollama\"` there for models on this machine; docs/assistant.md has more"
                .to_owned(),
            NoAccount::Several(_) => {
                "choose one with `chat.provider` in ~/.cellist/config.toml, or with --set chat.provider=…".to_owned()
            }
            NoAccount::NoModel(_) => {
                "name one with --model, or with `model = \"…\"` below a line [chat] in ~/.cellist/config.toml"
                    .to_owned()
            }
            NoAccount::NoKey(_, variables) => {
                format!("set it in {}, or as chat.api_key in ~/.cellist/config.toml", variables.join(" or "))
            }
            NoAccount::BadAddress(_) => "it looks like https://models.example/v1".to_owned(),
            NoAccount::Unencrypted(_) => "use an address that begins with https://".to_owned(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn find(variables: &[(&str, &str)], change: impl FnOnce(&mut Chat)) -> Result<Account, NoAccount> {
        let mut chat = Chat { model: Some("m".to_owned()), ..Chat::default() };
        change(&mut chat);
        let variables =
            variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        Account::find(&chat, &variables)
    }

    #[test]
    fn the_provider_is_the_one_whose_key_is_there() {
        let found = |variables: &[(&str, &str)]| find(variables, |_| {}).map(|account| account.vendor);
        assert_eq!(found(&[("OPENAI_API_KEY", "k")]), Ok(Vendor::OpenAi));
        assert_eq!(found(&[("GOOGLE_API_KEY", "k"), ("OPENAI_API_KEY", " ")]), Ok(Vendor::Gemini));
        assert_eq!(found(&[]), Err(NoAccount::NoProvider));
        let both = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
        assert_eq!(found(&both), Err(NoAccount::Several(vec!["openai", "anthropic"])));
        let chosen = find(&both, |chat| chat.provider = ChatProvider::Anthropic).unwrap();
        assert_eq!((chosen.vendor, chosen.host()), (Vendor::Anthropic, "api.anthropic.com".to_owned()));
        let none = find(&[("OPENAI_API_KEY", "k")], |chat| chat.model = None);
        assert_eq!(none, Err(NoAccount::NoModel("openai")));
        let ollama = find(&[], |chat| chat.provider = ChatProvider::Ollama).unwrap();
        assert_eq!((ollama.key(), ollama.host().as_str()), (None, "127.0.0.1:11434"));
    }

    #[test]
    fn a_providers_key_goes_to_its_own_address_alone() {
        let at = |url: &str| {
            let url = Some(url.to_owned());
            find(&[("OPENAI_API_KEY", "hush")], |chat| chat.base_url = url)
                .map(|account| account.key.is_some())
        };
        assert_eq!(at("https://elsewhere.example/v1"), Ok(false));
        assert_eq!(at("https://api.openai.com/v1/"), Ok(true));
        assert_eq!(at("http://127.0.0.1:1234/v1"), Ok(false));
        assert!(matches!(at("ftp://x"), Err(NoAccount::BadAddress(_))));
        assert!(matches!(at("https://me:hush@x"), Err(NoAccount::BadAddress(_))));
    }

    #[test]
    fn a_key_is_not_shown_and_stands_in_no_prompt() {
        let account = find(&[("OPENAI_API_KEY", "hush-hush-hush")], |_| {}).unwrap();
        assert!(!format!("{account:?}").contains("hush"));
        let text = account.without_key("a tool found hush-hush-hush!".to_owned());
        assert_eq!(text, "a tool found [the key was here]!");
    }
}
