//! Requests to a gateway over HTTP, and the meaning of its responses. A connection serves one request: they are rare.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use cellist_output::wire::{GATEWAY_ANSWER, HEAD, HEADERS};
use cellist_platform::without_number;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::address::{Gateway, TOKEN_VARIABLE};
use crate::body::{self, BodyError};
use crate::error::Error;
use crate::stream::Stream;

/// How long a gateway may take to answer a question that starts nothing.
pub(super) const ANSWER: Duration = Duration::from_secs(15);

/// The result of a request.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nobody is there, or the connection broke.
    Unreachable(String),
    /// Its certificate cannot be verified.
    Distrusted(String),
    /// No answer came in time.
    TimedOut(Duration),
    /// The answer is a refusal or a failure.
    Refused(Refused),
    /// The answer cannot be understood.
    Garbled(String),
    /// The server sent a frame that the protocol or a limit forbids.
    Forbidden(String),
}

/// An answer other than success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// The server's message about it, in its own words.
    pub(super) words: String,
}

impl Trouble {
    /// The system could not make a connection.
    pub(super) fn unreachable(error: &std::io::Error) -> Trouble {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::InvalidCertificate(why)) => Trouble::Distrusted(why.to_string()),
            Some(_) | None => Trouble::Unreachable(without_number(error)),
        }
    }

    pub(super) fn is_status(&self, status: StatusCode) -> bool {
        matches!(self, Trouble::Refused(refused) if refused.status == status)
    }

    /// Whether the server itself failed.
    pub(super) fn is_fault_of_server(&self) -> bool {
        matches!(self, Trouble::Refused(refused) if refused.status.is_server_error())
    }

    /// As an error for a caller that wanted to do `what`.
    pub(super) fn error(self, gateway: &Gateway, what: &str) -> Error {
        let url = gateway.url();
        let strange = |why: String| {
            let hint = "give the address of a Jupyter Kernel Gateway, Enterprise Gateway or Jupyter Server";
            (format!("{url} does not answer like a gateway: {why}"), Some(hint.to_owned()))
        };
        let (message, hint) = match self {
            Trouble::Unreachable(cause) => (
                format!("the gateway {url} cannot be reached: {cause}"),
                Some("see that it runs and that the address is right".to_owned()),
            ),
            Trouble::Distrusted(why) => (
                format!("the gateway {url} shows a certificate that is not trusted: {why}"),
                Some("name a file with the certificate of its authority in SSL_CERT_FILE".to_owned()),
            ),
            Trouble::TimedOut(within) => (
                format!("the gateway {url} did not answer within {} seconds: {what}", within.as_secs()),
                Some("check the gateway; it may still carry out the request".to_owned()),
            ),
            Trouble::Refused(refused) if refused.is_about_the_token() => {
                let (is, advice) = match gateway.token() {
                    Some(_) => ("does not take the token", format!("set {TOKEN_VARIABLE} to its token")),
                    None => ("wants a token", format!("set {TOKEN_VARIABLE}")),
                };
                (format!("the gateway {url} {is} ({refused})"), Some(advice))
            }
            Trouble::Refused(refused) => (format!("the gateway {url} refused: {what}: {refused}"), None),
            Trouble::Garbled(why) => strange(why),
            Trouble::Forbidden(frame) => strange(format!("it sent {frame}")),
        };
        Error::Gateway { message, hint }
    }
}

impl Refused {
    pub(super) fn new(status: StatusCode, body: &[u8]) -> Refused {
        let said = words(body);
        // The text before the colon may say no more than the number does.
        let plain =
            status.canonical_reason().and_then(|reason| said.strip_prefix(reason)?.strip_prefix(": "));
        Refused { status, words: plain.map_or_else(|| said.clone(), str::to_owned) }
    }

    /// Whether it is about our identity, and not about the request.
    fn is_about_the_token(&self) -> bool {
        const PLAIN: [&str; 5] = ["", "forbidden", "unauthorized", "invalid credentials", "not authorized"];
        let words = self.words.to_lowercase();
        self.status == StatusCode::UNAUTHORIZED
            || self.status == StatusCode::FORBIDDEN && PLAIN.contains(&words.as_str())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.status.canonical_reason().unwrap_or_default();
        write!(f, "{} {reason}", self.status.as_u16())?;
        if self.words.is_empty() || self.words.eq_ignore_ascii_case(reason) {
            return Ok(());
        }
        write!(f, ": {}", self.words)
    }
}

/// Asks, and gives the answer's body.
pub(super) async fn ask(
    gateway: &Gateway,
    method: Method,
    path: &str,
    body: Option<&serde_json::Value>,
    within: Duration,
) -> Result<Bytes, Trouble> {
    match tokio::time::timeout(within, converse(gateway, method, path, body)).await {
        Ok(answer) => answer,
        Err(_) => Err(Trouble::TimedOut(within)),
    }
}

/// Asks, and reads the answer.
pub(super) async fn get<T: DeserializeOwned>(gateway: &Gateway, path: &str) -> Result<T, Trouble> {
    read(&ask(gateway, Method::GET, path, None, ANSWER).await?)
}

pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Trouble> {
    serde_json::from_slice(body).map_err(|error| Trouble::Garbled(error.to_string()))
}

async fn converse(
    gateway: &Gateway,
    method: Method,
    path: &str,
    body: Option<&serde_json::Value>,
) -> Result<Bytes, Trouble> {
    let broke = |error: &dyn fmt::Display| Trouble::Unreachable(error.to_string());
    let uri = gateway.uri(path);
    let stream =
        Stream::open_trusting(&uri, gateway.bundle()).await.map_err(|error| Trouble::unreachable(&error))?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD)
        .max_headers(HEADERS)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broke(&error))?;
    let connection = RestConnection(tokio::spawn(connection));

    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::builder().method(method).uri(target).header(HOST, authority);
    if let Some(authorization) = gateway.authorization() {
        request = request.header(AUTHORIZATION, authorization);
    }
    let body = match body {
        Some(body) => {
            request = request.header(CONTENT_TYPE, "application/json");
            Bytes::from(body.to_string())
        }
        None => Bytes::new(),
    };
    let request = request.body(Full::new(body)).map_err(|error| Trouble::Garbled(error.to_string()))?;
    let answer = sender.send_request(request).await.map_err(|error| broke(&error))?;
    let status = answer.status();
    let body = body::read(answer.into_body(), "an answer", GATEWAY_ANSWER).await;
    drop(connection);
    let body = body.map_err(|error| match error {
        BodyError::TooLarge(error) => Trouble::Garbled(format!("it sent {error}")),
        BodyError::Broken(error) => broke(&error),
    })?;
    match status.is_success() {
        true => Ok(body),
        false => Err(Trouble::Refused(Refused::new(status, &body))),
    }
}

/// The task of a connection, which ends with the question: a server could hold it up.
struct RestConnection<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for RestConnection<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The server's own message about a failure: Jupyter servers reply with JSON, proxies before them with a page.
fn words(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct RestFailure {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        reason: Option<String>,
    }
    const SHOWN: usize = 500;
    let said = match serde_json::from_slice::<RestFailure>(body) {
        Ok(RestFailure { message, reason }) => {
            let told = |words: &Option<String>| words.clone().filter(|words| !words.trim().is_empty());
            match (told(&reason), told(&message)) {
                (Some(reason), Some(message)) if reason != message => format!("{reason}: {message}"),
                (reason, message) => message.or(reason).unwrap_or_default(),
            }
        }
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            if text.starts_with('<') { String::new() } else { text.to_owned() }
        }
    };
    match said.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &said[..end]),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, body: &str, token: Option<&str>) -> (String, Option<String>) {
        let gateway = Gateway::new("http://gw:1", token.map(str::to_owned)).unwrap();
        let refused = Refused::new(StatusCode::from_u16(status).unwrap(), body.as_bytes());
        let error = Trouble::Refused(refused).error(&gateway, "starting a kernel");
        (error.to_string(), error.hint())
    }

    #[test]
    fn a_refusal_for_the_token_says_which_variable_to_set() {
        let (message, hint) = said(401, "{\"reason\": \"Unauthorized\", \"message\": \"\"}", None);
        assert_eq!(message, "the gateway http://gw:1 wants a token (401 Unauthorized)");
        assert_eq!(hint.as_deref(), Some("set PI_PYTHON_GATEWAY_TOKEN"));
        let (message, hint) = said(403, "{\"message\": \"Forbidden\", \"reason\": null}", Some("wrong"));
        assert_eq!(message, "the gateway http://gw:1 does not take the token (403 Forbidden)");
        assert_eq!(hint.as_deref(), Some("set PI_PYTHON_GATEWAY_TOKEN to its token"));
    }

    #[test]
    fn other_refusals_are_told_in_the_servers_words() {
        let (message, hint) =
            said(403, "{\"reason\": \"Forbidden\", \"message\": \"Resource Limit\"}", Some("t"));
        assert_eq!(
            message,
            "the gateway http://gw:1 refused: starting a kernel: 403 Forbidden: Resource Limit"
        );
        assert_eq!(hint, None);
        let (message, _) = said(500, "<html>oh</html>", None);
        assert_eq!(message, "the gateway http://gw:1 refused: starting a kernel: 500 Internal Server Error");
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(words("x".repeat(2000).as_bytes()).chars().count(), 501);
    }
}
