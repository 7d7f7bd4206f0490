//! One prompt over one connection: sent whole, answered piece by piece.

use std::time::Duration;

use bytes::Bytes;
use cellist_kernel::body;
use cellist_kernel::stream::Stream;
use cellist_output::wire::{HEAD, HEADERS, PROVIDER_ANSWER, check};
use cellist_platform::without_number;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::account::Account;
use super::fault::Fault;
use super::stream::{Events, Unread};
use super::{Event, Patience};

/// How much of a refusal is read.
const LARGEST_REFUSAL: usize = 1 << 20;

/// What closes a stream of events for those who do not just end it.
const DONE: &str = "[DONE]";

type Sender = mpsc::Sender<Result<Event, Fault>>;

/// Sends a prompt and tells what comes of it, up to the end of the answer.
pub(super) async fn converse(
    account: &Account,
    body: String,
    patience: Patience,
    events: &Sender,
) -> Result<(), Fault> {
    let host = account.host();
    let dialect = account.vendor().dialect();
    let address = format!("{}{}", account.base_url(), dialect.path(account.model()));
    let uri: Uri = address.parse().map_err(|_| Fault::Garbled {
        host: host.clone(),
        why: "its address cannot be read as one".to_owned(),
    })?;
    let unreachable = |why: String| Fault::Unreachable { host: host.clone(), why };
    let connecting = async {
        let stream = Stream::open(&uri).await.map_err(|error| unreachable(without_number(&error)))?;
        let mut http = http1::Builder::new();
        http.max_buf_size(HEAD).max_headers(HEADERS);
        http.handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(error.to_string()))
    };
    let (mut sender, connection) = timeout(patience.connect, connecting)
        .await
        .map_err(|_| unreachable(format!("no answer within {} seconds", patience.connect.as_secs())))??;
    let _connection = Aborted(tokio::spawn(connection));

    let request = request(account, &uri, body)?;
    let silent = || Fault::Broken {
        host: host.clone(),
        why: format!("it said nothing for {} seconds", patience.silence.as_secs()),
    };
    let answer = timeout(patience.silence, sender.send_request(request)).await.map_err(|_| silent())?;
    let answer = answer.map_err(|error| unreachable(error.to_string()))?;
    let status = answer.status();
    if !status.is_success() {
        let after = retry_after(answer.headers());
        let body =
            timeout(patience.silence, body::read(answer.into_body(), "a refusal", LARGEST_REFUSAL)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        // Some say back the key that they do not know.
        let body = account.without_key(String::from_utf8_lossy(&body).into_owned());
        return Err(Fault::of_status(&host, status.as_u16(), body.as_bytes(), after));
    }

    let (mut body, mut pieces, mut reader) = (answer.into_body(), Events::default(), dialect.reader());
    let garbled = |why: &str| Fault::Garbled { host: host.clone(), why: why.to_owned() };
    let mut has_begun = false;
    let (mut received, mut lines) = (0, 0);
    // A line must end in time: bytes that make none count as silence.
    let mut silent_at = Instant::now() + patience.silence;
    while let Some(frame) = timeout_at(silent_at, body.frame()).await.map_err(|_| silent())? {
        let frame = frame
            .map_err(|_| Fault::Broken { host: host.clone(), why: "the connection was lost".to_owned() })?;
        let Ok(bytes) = frame.into_data() else { continue };
        received += bytes.len() as u64;
        check("an answer", received, PROVIDER_ANSWER)
            .map_err(|error| garbled(&format!("it sent {error}")))?;
        let taken = pieces.take(&bytes).map_err(|unread| match unread {
            Unread::TooLong => garbled("one piece of its answer is too long"),
            Unread::NoMemory => Fault::Broken {
                host: host.clone(),
                why: "there is no memory for a piece of its answer".to_owned(),
            },
        })?;
        if std::mem::replace(&mut lines, pieces.lines) != pieces.lines {
            silent_at = Instant::now() + patience.silence;
        }
        for piece in taken {
            has_begun = true;
            if piece.trim() == DONE {
                return end(reader.as_mut(), events, &host).await;
            }
            let piece: Value = serde_json::from_str(&account.without_key(piece))
                .map_err(|_| garbled("a piece of its answer is not JSON"))?;
            let error = piece.get("error").filter(|error| !error.is_null());
            if let Some(error) = error {
                return Err(Fault::in_stream(&host, error));
            }
            for event in reader.take(&piece)? {
                if events.send(Ok(event)).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
    match has_begun {
        true => end(reader.as_mut(), events, &host).await,
        false => Err(garbled("it sent no events")),
    }
}

/// The request that carries a prompt.
fn request(account: &Account, uri: &Uri, body: String) -> Result<Request<Full<Bytes>>, Fault> {
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::post(target)
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream")
        .header(USER_AGENT, concat!("cellist/", env!("CARGO_PKG_VERSION")));
    for (name, value) in account.vendor().dialect().headers(account.key()) {
        request = request.header(name, value);
    }
    request.body(Full::new(Bytes::from(body))).map_err(|_| Fault::Refused {
        host: account.host(),
        status: 0,
        words: "the key has letters that no key has".to_owned(),
    })
}

/// An answer is whole only when the provider has said so.
async fn end(reader: &mut dyn super::events::Reader, events: &Sender, host: &str) -> Result<(), Fault> {
    if !reader.is_complete() {
        let why = "the connection dropped mid-answer".to_owned();
        return Err(Fault::Broken { host: host.to_owned(), why });
    }
    for event in reader.finish() {
        if events.send(Ok(event)).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// When a provider wants to be asked again.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| number(RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A task that ends with whoever waits for it.
struct Aborted<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
