//! JSON-RPC, one message per line. Every malformed line gets an error, with the id of the request
//! if it can be found.

use std::io;
use std::sync::Arc;

use cellist_output::wire::{self, MCP_MESSAGE};
use cellist_platform::fault::{self, Site};
use futures_util::SinkExt;
use memchr::memchr;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::JsonRpcMessageCodec;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::Mutex;
use tokio_util::codec::FramedWrite;

type Received = RxJsonRpcMessage<RoleServer>;
type Sent = TxJsonRpcMessage<RoleServer>;
type LineWriter<W> = FramedWrite<W, JsonRpcMessageCodec<Sent>>;

/// The transport over a pair of streams.
pub(super) struct LineTransport<R, W> {
    reading: BufReader<R>,
    /// The unfinished line. Kept here, because `next` may be cancelled.
    line: Vec<u8>,
    /// The reason why the line is discarded.
    refusal: Option<LineRefusal>,
    writing: Arc<Mutex<Option<LineWriter<W>>>>,
}

impl<R: AsyncRead, W: AsyncWrite> LineTransport<R, W> {
    pub(super) fn new(reading: R, writing: W) -> LineTransport<R, W> {
        let writing = FramedWrite::new(writing, JsonRpcMessageCodec::default());
        let writing = Arc::new(Mutex::new(Some(writing)));
        LineTransport { reading: BufReader::new(reading), line: Vec::new(), refusal: None, writing }
    }
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    /// The next line. `None` at the end. Reads a line that is too long to its end and discards it.
    async fn next(&mut self) -> Option<Result<Vec<u8>, LineRefusal>> {
        loop {
            let bytes = self.reading.fill_buf().await.ok()?;
            let end = memchr(b'\n', bytes);
            let is_over = bytes.is_empty();
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > MCP_MESSAGE {
                (self.line, self.refusal) = (Vec::new(), Some(LineRefusal::TooLong));
            }
            if self.refusal.is_none() && self.line.capacity() - self.line.len() < piece.len() {
                let more = self.line.len().max(piece.len());
                if fault::reserve(Site::McpMessage, &mut self.line, more).is_err() {
                    (self.line, self.refusal) = (Vec::new(), Some(LineRefusal::NoMemory));
                }
            }
            if self.refusal.is_none() {
                self.line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.reading.consume(used);
            if end.is_some() || is_over {
                let line = std::mem::take(&mut self.line);
                return match self.refusal.take() {
                    Some(refusal) => Some(Err(refusal)),
                    None if is_over && line.is_empty() => None,
                    None => Some(Ok(line)),
                };
            }
        }
    }
}

/// The reason why a line is discarded.
enum LineRefusal {
    /// Longer than the limit on messages.
    TooLong,
    /// Not enough memory.
    NoMemory,
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: Sent) -> impl Future<Output = io::Result<()>> + Send + 'static {
        send(Arc::clone(&self.writing), message)
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            let refused = match self.next().await? {
                Ok(line) => match InputLine::of(&line) {
                    InputLine::Message(message) => return Some(*message),
                    InputLine::Nothing => continue,
                    InputLine::Refused(error, id) => (error, id),
                },
                Err(LineRefusal::NoMemory) => {
                    (ErrorData::internal_error("not enough memory for the message", None), None)
                }
                Err(LineRefusal::TooLong) => {
                    let message = format!("the message is longer than {}", wire::Bytes(MCP_MESSAGE as u64));
                    (ErrorData::invalid_request(message, None), None)
                }
            };
            let (error, id) = refused;
            send(Arc::clone(&self.writing), Sent::error(error, id)).await.ok()?;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.writing.lock().await.take());
        Ok(())
    }
}

async fn send<W: AsyncWrite + Unpin>(
    writing: Arc<Mutex<Option<LineWriter<W>>>>,
    message: Sent,
) -> io::Result<()> {
    match writing.lock().await.as_mut() {
        Some(writing) => writing.send(message).await.map_err(Into::into),
        None => Err(io::ErrorKind::NotConnected.into()),
    }
}

/// A parsed line.
enum InputLine {
    Message(Box<Received>),
    /// An empty line, or an unknown notification.
    Nothing,
    Refused(ErrorData, Option<RequestId>),
}

impl InputLine {
    fn of(line: &[u8]) -> InputLine {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return InputLine::Nothing;
        }
        if let Ok(message) = serde_json::from_slice(line) {
            return InputLine::Message(Box::new(message));
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => InputLine::misshapen(&value),
            Err(error) => {
                let message = format!("the message is not valid JSON: {error}");
                InputLine::Refused(ErrorData::parse_error(message, None), id_within(line))
            }
        }
    }

    /// Classifies JSON that is not a message.
    fn misshapen(value: &Value) -> InputLine {
        let method = value.get("method").and_then(Value::as_str);
        let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
        let params_fit = value.get("params").is_none_or(Value::is_object);
        let error = match (method, &id) {
            // Notifications get no answer.
            (Some(_), None) if value.get("id").is_none() => return InputLine::Nothing,
            (Some(method), Some(_)) if !params_fit => {
                ErrorData::invalid_params(format!("the params of {method} must be an object"), None)
            }
            (_, None) if value.get("id").is_some() => {
                ErrorData::invalid_request("the id of a request must be an integer or a string", None)
            }
            _ => ErrorData::invalid_request("not a JSON-RPC 2.0 request", None),
        };
        InputLine::Refused(error, id)
    }
}

/// The id of a request in invalid JSON: the value of the key `id` in the outermost object.
fn id_within(line: &[u8]) -> Option<RequestId> {
    let (mut depth, mut at) = (0_usize, 0);
    while at < line.len() {
        match line[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = at + 2 + end_of_string(&line[at + 1..])?;
                let rest = line[end..].trim_ascii_start();
                if depth == 1
                    && &line[at..end] == b"\"id\""
                    && let Some(value) = rest.strip_prefix(b":")
                {
                    return serde_json::Deserializer::from_slice(value).into_iter().next()?.ok();
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The position of the closing quote.
fn end_of_string(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|&byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(i32, Option<RequestId>)>) {
        let refused = match InputLine::of(line.as_bytes()) {
            InputLine::Refused(error, id) => Some((error.code.0, id)),
            InputLine::Message(_) | InputLine::Nothing => None,
        };
        assert_eq!(refused, expected, "{line}");
    }

    #[test]
    fn invalid_json_is_refused_with_the_id_of_its_request() {
        let seven = || Some(RequestId::Number(7));
        check(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud83d"}}"#, Some((-32700, seven())));
        check(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e400}}"#, Some((-32700, seven())));
        check(r#"{"jsonrpc":"2.0","id":7,"method":"tools/ca"#, Some((-32700, seven())));
        check(
            r#"{"params":{"id":3,"a":"\"{"},"id" : "x","method":nope}"#,
            Some((-32700, Some(RequestId::String("x".into())))),
        );
        check(r#"{"params":{"id":3},"#, Some((-32700, None)));
        check("hello", Some((-32700, None)));
        check("\"\\ud83d\"", Some((-32700, None)));
    }

    #[test]
    fn json_that_is_not_a_request_is_refused_with_its_id() {
        let seven = || Some(RequestId::Number(7));
        check(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":"zz"}"#, Some((-32602, seven())));
        check(r#"{"id":7,"method":"tools/list"}"#, Some((-32600, seven())));
        check(r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, Some((-32600, None)));
        check("[1, 2]", Some((-32600, None)));
    }

    #[test]
    fn messages_and_notifications_pass() {
        check(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#, None);
        check("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\r", None);
        check(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":"zz"}"#, None);
        check("", None);
    }
}
