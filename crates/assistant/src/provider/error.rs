//! Failures of requests to a provider, and whether a retry makes sense.

use std::time::Duration;

use serde_json::Value;

/// Why a response is missing or incomplete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum ProviderError {
    #[error("cannot reach {host}: {why}")]
    Unreachable { host: String, why: String },
    #[error("rate limited by {host}{}", suffix(words))]
    RateLimited { host: String, words: String, after: Option<Duration> },
    #[error("{host} returned an error ({status}){}", suffix(words))]
    Server { host: String, status: u16, words: String },
    #[error("{host} rejected the API key ({status}){}", suffix(words))]
    KeyRejected { host: String, status: u16, words: String },
    #[error("{host} refused the request ({status}){}", suffix(words))]
    RequestRejected { host: String, status: u16, words: String },
    #[error("the answer from {host} was interrupted: {why}")]
    Interrupted { host: String, why: String },
    #[error("unexpected response from {host}: {why}")]
    Malformed { host: String, why: String },
}

impl ProviderError {
    /// Maps an HTTP error. `after` is the delay that the provider requests.
    pub(super) fn from_status(
        host: &str,
        status: u16,
        body: &[u8],
        after: Option<Duration>,
    ) -> ProviderError {
        let (host, words) = (host.to_owned(), message_of(body));
        match status {
            429 => ProviderError::RateLimited { host, words, after },
            401 | 403 => ProviderError::KeyRejected { host, status, words },
            // Overload is reported as 5xx, such as Anthropic's 529.
            408 | 500..=599 => ProviderError::Server { host, status, words },
            _ => ProviderError::RequestRejected { host, status, words },
        }
    }

    /// Maps an error within a stream.
    pub(super) fn from_stream(host: &str, error: &Value) -> ProviderError {
        const BUSY: [&str; 3] = ["overloaded_error", "rate_limit_error", "rate_limit_exceeded"];
        let words = error_text(error).unwrap_or_else(|| error.to_string());
        let kind = error["type"].as_str().or(error["code"].as_str()).unwrap_or_default();
        match kind {
            kind if BUSY.contains(&kind) => {
                ProviderError::RateLimited { host: host.to_owned(), words: shortened(&words), after: None }
            }
            _ => ProviderError::Interrupted { host: host.to_owned(), why: shortened(&words) },
        }
    }

    /// The delay before the next try, or nothing if a retry is pointless. `tries` counts the failed ones.
    pub fn retry_delay(&self, tries: u32) -> Option<Duration> {
        const TRIES: u32 = 4;
        const FIRST: Duration = Duration::from_millis(500);
        /// A user would not wait longer.
        const LONGEST: Duration = Duration::from_secs(60);
        if tries >= TRIES {
            return None;
        }
        let growing = FIRST * 2_u32.pow(tries.saturating_sub(1));
        match self {
            ProviderError::RateLimited { after: Some(after), .. } => (*after <= LONGEST).then_some(*after),
            ProviderError::RateLimited { .. }
            | ProviderError::Server { .. }
            | ProviderError::Interrupted { .. }
            | ProviderError::Unreachable { .. } => Some(growing),
            ProviderError::KeyRejected { .. }
            | ProviderError::RequestRejected { .. }
            | ProviderError::Malformed { .. } => None,
        }
    }

    /// A hint for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            ProviderError::Unreachable { .. } => {
                "check that the server runs and that chat.base_url is right, then try again"
            }
            ProviderError::RateLimited { .. } => {
                "wait and try again, or choose another model with chat.model"
            }
            ProviderError::Server { .. } | ProviderError::Interrupted { .. } => "try again",
            ProviderError::KeyRejected { .. } => {
                "check the key; `cellist chat --help` lists the places of keys"
            }
            ProviderError::RequestRejected { .. } => "check chat.model and chat.base_url",
            ProviderError::Malformed { .. } => "check chat.provider and chat.base_url",
        }
    }
}

fn suffix(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// The provider's own message, in one line.
fn message_of(body: &[u8]) -> String {
    let message = match serde_json::from_slice::<Value>(body) {
        Ok(body) => {
            let body = body.get(0).unwrap_or(&body);
            error_text(&body["error"]).or_else(|| error_text(body)).unwrap_or_default()
        }
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            if text.starts_with('<') { String::new() } else { text.to_owned() }
        }
    };
    shortened(&message)
}

fn error_text(error: &Value) -> Option<String> {
    error["message"].as_str().or(error.as_str()).map(str::to_owned)
}

fn shortened(message: &str) -> String {
    const SHOWN: usize = 300;
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(status: u16, body: &Value, after: Option<u64>) -> ProviderError {
        let after = after.map(Duration::from_secs);
        ProviderError::from_status("api.example", status, body.to_string().as_bytes(), after)
    }

    #[test]
    fn an_error_contains_the_providers_message() {
        let check = |status, body: Value, expected: &str| {
            assert_eq!(response(status, &body, None).to_string(), expected);
        };
        let error = |words: &str| json!({ "error": { "message": words } });
        check(429, error("slow\n down"), "rate limited by api.example: slow down");
        check(401, error("bad key"), "api.example rejected the API key (401): bad key");
        check(529, error("busy"), "api.example returned an error (529): busy");
        check(
            404,
            json!({ "error": "no such model" }),
            "api.example refused the request (404): no such model",
        );
        check(400, json!([{ "error": { "message": "odd" } }]), "api.example refused the request (400): odd");
        check(500, json!({}), "api.example returned an error (500)");
    }

    #[test]
    fn only_transient_errors_are_retried_after_the_providers_delay() {
        let next = |error: ProviderError, tries| error.retry_delay(tries).map(|delay| delay.as_millis());
        let none = json!({});
        assert_eq!(next(response(429, &none, Some(7)), 1), Some(7000));
        assert_eq!(next(response(429, &none, Some(3600)), 1), None);
        assert_eq!(next(response(429, &none, None), 2), Some(1000));
        assert_eq!(next(response(503, &none, None), 1), Some(500));
        assert_eq!(next(response(503, &none, None), 4), None);
        assert_eq!(next(response(401, &none, None), 1), None);
        assert_eq!(next(response(400, &none, None), 1), None);
    }
}
