//! What can go wrong between us and a provider, and whether it is worth another try.

use std::time::Duration;

use serde_json::Value;

/// Why there is no answer, or only a part of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum Fault {
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("rate limited by {host}{}", said(words))]
    TooMany { host: String, words: String, after: Option<Duration> },
    #[error("{host} returned an error ({status}){}", said(words))]
    Server { host: String, status: u16, words: String },
    #[error("{host} rejected the API key ({status}){}", said(words))]
    Key { host: String, status: u16, words: String },
    #[error("{host} refused the request ({status}){}", said(words))]
    Refused { host: String, status: u16, words: String },
    #[error("{host} broke off in the middle of its answer: {why}")]
    Broken { host: String, why: String },
    #[error("{host} does not answer as a provider of models does: {why}")]
    Garbled { host: String, why: String },
}

impl Fault {
    /// Of an answer that is no success. `after` is what the provider says about another try.
    pub(super) fn of_status(host: &str, status: u16, body: &[u8], after: Option<Duration>) -> Fault {
        let (host, words) = (host.to_owned(), words(body));
        match status {
            429 => Fault::TooMany { host, words, after },
            401 | 403 => Fault::Key { host, status, words },
            // Overloaded servers say so in the same way.
            408 | 500..=599 => Fault::Server { host, status, words },
            _ => Fault::Refused { host, status, words },
        }
    }

    /// Of an error that comes in the middle of an answer.
    pub(super) fn in_stream(host: &str, error: &Value) -> Fault {
        let words = told(error).unwrap_or_else(|| error.to_string());
        let is_busy = ["overloaded_error", "rate_limit_error", "rate_limit_exceeded"];
        let kind = error["type"].as_str().or(error["code"].as_str()).unwrap_or_default();
        match kind {
            kind if is_busy.contains(&kind) => {
                Fault::TooMany { host: host.to_owned(), words: shortened(&words), after: None }
            }
            _ => Fault::Broken { host: host.to_owned(), why: shortened(&words) },
        }
    }

    /// How long to wait before the next try, where one is worth it. `tries` is how many there were.
    pub fn next_try(&self, tries: u32) -> Option<Duration> {
        const TRIES: u32 = 4;
        const FIRST: Duration = Duration::from_millis(500);
        /// Nobody sits before a screen for longer.
        const LONGEST: Duration = Duration::from_secs(60);
        if tries >= TRIES {
            return None;
        }
        let growing = FIRST * 2_u32.pow(tries.saturating_sub(1));
        match self {
            Fault::TooMany { after: Some(after), .. } => (*after <= LONGEST).then_some(*after),
            Fault::TooMany { .. }
            | Fault::Server { .. }
            | Fault::Broken { .. }
            | Fault::Unreachable { .. } => Some(growing),
            Fault::Key { .. } | Fault::Refused { .. } | Fault::Garbled { .. } => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Fault::Unreachable { .. } => "see that it runs and that chat.base_url is right, then ask again",
            Fault::TooMany { .. } => "wait a while and ask again, or choose another model with chat.model",
            Fault::Server { .. } | Fault::Broken { .. } => "ask again",
            Fault::Key { .. } => "check the key; `cellist chat --help` says where it is looked for",
            Fault::Refused { .. } => "check chat.model and chat.base_url",
            Fault::Garbled { .. } => "check chat.provider and chat.base_url",
        }
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// What a failure says about itself, in a line.
fn words(body: &[u8]) -> String {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(body) => {
            let body = body.get(0).unwrap_or(&body);
            told(&body["error"]).or_else(|| told(body)).unwrap_or_default()
        }
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            if text.starts_with('<') { String::new() } else { text.to_owned() }
        }
    };
    shortened(&said)
}

fn told(error: &Value) -> Option<String> {
    error["message"].as_str().or(error.as_str()).map(str::to_owned)
}

fn shortened(said: &str) -> String {
    const SHOWN: usize = 300;
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(status: u16, body: &Value, after: Option<u64>) -> Fault {
        let after = after.map(Duration::from_secs);
        Fault::of_status("api.example", status, body.to_string().as_bytes(), after)
    }

    #[test]
    fn a_fault_is_told_in_the_providers_words() {
        let check = |status, body: Value, expected: &str| {
            assert_eq!(fault(status, &body, None).to_string(), expected);
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
    fn another_try_is_made_where_it_may_help_and_when_the_provider_says() {
        let next = |fault: Fault, tries| fault.next_try(tries).map(|wait| wait.as_millis());
        let none = json!({});
        assert_eq!(next(fault(429, &none, Some(7)), 1), Some(7000));
        assert_eq!(next(fault(429, &none, Some(3600)), 1), None);
        assert_eq!(next(fault(429, &none, None), 2), Some(1000));
        assert_eq!(next(fault(503, &none, None), 1), Some(500));
        assert_eq!(next(fault(503, &none, None), 4), None);
        assert_eq!(next(fault(401, &none, None), 1), None);
        assert_eq!(next(fault(400, &none, None), 1), None);
    }
}
