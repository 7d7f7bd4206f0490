//! One HTTP request on a connection of its own. The response arrives as a stream of events.

use std::time::Duration;

use bytes::Bytes;
use cellist_kernel::body;
use cellist_kernel::stream::Stream;
use cellist_output::wire::{HEAD, HEADERS, PROVIDER_ANSWER, check};
use cellist_platform::without_number;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::account::Account;
use super::decoder::StreamDecoder;
use super::error::ProviderError;
use super::sse::{SseError, SseParser};
use super::{ModelEvent, ProviderTimeouts};

/// Maximum bytes of an error response that are read.
const LARGEST_REFUSAL: usize = 1 << 20;

/// Marks the end of a stream in OpenAI's API.
const DONE: &str = "[DONE]";

type EventSender = mpsc::Sender<Result<ModelEvent, ProviderError>>;

/// Sends a request and forwards the events of the response, up to its end. Dropping the future closes the connection.
pub(super) async fn exchange(
    account: &Account,
    body: String,
    timeouts: ProviderTimeouts,
    events: &EventSender,
) -> Result<(), ProviderError> {
    let host = account.host();
    let address = format!("{}{}", account.base_url(), account.vendor().api().path(account.model()));
    let uri: Uri = address.parse().map_err(|_| ProviderError::Malformed {
        host: host.clone(),
        why: "its address is not a URL".to_owned(),
    })?;
    let unreachable = |why: String| ProviderError::Unreachable { host: host.clone(), why };
    let connecting = async {
        let stream = Stream::open(&uri).await.map_err(|error| unreachable(without_number(&error)))?;
        let mut http = http1::Builder::new();
        http.max_buf_size(HEAD).max_headers(HEADERS);
        http.handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(error.to_string()))
    };
    let (mut sender, connection) = timeout(timeouts.connect, connecting)
        .await
        .map_err(|_| unreachable(format!("no response within {} seconds", timeouts.connect.as_secs())))??;
    let _connection = TaskGuard(tokio::spawn(connection));

    let request = request(account, &uri, body)?;
    let silent = || silent(&host, timeouts.silence);
    let response = timeout(timeouts.silence, sender.send_request(request)).await.map_err(|_| silent())?;
    let response = response.map_err(|error| unreachable(error.to_string()))?;
    let status = response.status();
    if !status.is_success() {
        let after = retry_after(response.headers());
        let body = body::read(response.into_body(), "a refusal", LARGEST_REFUSAL);
        let body = timeout(timeouts.silence, body).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        // Some providers repeat the rejected key.
        let body = account.without_key(String::from_utf8_lossy(&body).into_owned());
        return Err(ProviderError::from_status(&host, status.as_u16(), body.as_bytes(), after));
    }
    forward(account, response.into_body(), timeouts.silence, events).await
}

/// Decodes the body of a response and forwards its events. Returns early when the receiver is gone.
async fn forward(
    account: &Account,
    mut body: Incoming,
    silence: Duration,
    events: &EventSender,
) -> Result<(), ProviderError> {
    let host = account.host();
    let (mut parser, mut decoder) = (SseParser::default(), account.vendor().api().decoder());
    let malformed = |why: &str| ProviderError::Malformed { host: host.clone(), why: why.to_owned() };
    let interrupted = |why: &str| ProviderError::Interrupted { host: host.clone(), why: why.to_owned() };
    let mut has_begun = false;
    let (mut received, mut lines) = (0, 0);
    // Bytes without a line end count as silence: each line must be complete in time.
    let mut deadline = Instant::now() + silence;
    while let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(|_| silent(&host, silence))? {
        let frame = frame.map_err(|_| interrupted("the connection was lost"))?;
        let Ok(bytes) = frame.into_data() else { continue };
        received += bytes.len() as u64;
        check("an answer", received, PROVIDER_ANSWER)
            .map_err(|error| malformed(&format!("it sent {error}")))?;
        let pieces = parser.feed(&bytes).map_err(|error| match error {
            SseError::TooLong => malformed("an event is too long"),
            SseError::NoMemory => interrupted("not enough memory for an event"),
        })?;
        if std::mem::replace(&mut lines, parser.lines) != parser.lines {
            deadline = Instant::now() + silence;
        }
        for piece in pieces {
            has_begun = true;
            if piece.trim() == DONE {
                return end(decoder.as_mut(), events, &host).await;
            }
            let piece: Value = serde_json::from_str(&account.without_key(piece))
                .map_err(|_| malformed("an event is not JSON"))?;
            let error = piece.get("error").filter(|error| !error.is_null());
            if let Some(error) = error {
                return Err(ProviderError::from_stream(&host, error));
            }
            for event in decoder.decode(&piece)? {
                if events.send(Ok(event)).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
    match has_begun {
        true => end(decoder.as_mut(), events, &host).await,
        false => Err(malformed("it contains no events")),
    }
}

fn silent(host: &str, silence: Duration) -> ProviderError {
    let why = format!("no data for {} seconds", silence.as_secs());
    ProviderError::Interrupted { host: host.to_owned(), why }
}

fn request(account: &Account, uri: &Uri, body: String) -> Result<Request<Full<Bytes>>, ProviderError> {
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::post(target)
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream")
        .header(USER_AGENT, concat!("cellist/", env!("CARGO_PKG_VERSION")));
    for (name, value) in account.vendor().api().headers(account.key()) {
        request = request.header(name, value);
    }
    request.body(Full::new(Bytes::from(body))).map_err(|_| ProviderError::RequestRejected {
        host: account.host(),
        status: 0,
        words: "the API key contains invalid characters".to_owned(),
    })
}

/// Forwards the remaining events of a complete response.
async fn end(decoder: &mut dyn StreamDecoder, events: &EventSender, host: &str) -> Result<(), ProviderError> {
    if !decoder.is_complete() {
        let why = "the connection closed early".to_owned();
        return Err(ProviderError::Interrupted { host: host.to_owned(), why });
    }
    for event in decoder.finish() {
        if events.send(Ok(event)).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The delay that the provider requests before a retry.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| number(RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Aborts a task when dropped.
struct TaskGuard<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for TaskGuard<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
