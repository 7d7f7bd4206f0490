//! ZeroMQ's wire protocol, as far as a client of a kernel needs it: ZMTP 3.0 without encryption, over one connection.
//! Every length is checked against the limits before anything is allocated for it.

use std::io;
use std::net::SocketAddr;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use cellist_output::wire::{self, COMMANDS, KERNEL_MESSAGE, KERNEL_PART, KERNEL_PARTS, SKIPPED, TooLarge};
use cellist_platform::fault::{self, Site};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::connection::Place;
use crate::jupyter::message::DELIMITER;

/// How much is read at a time.
const READ: usize = 64 * 1024;

/// A part of this size is written as it is, not copied beside the others.
const LARGE: usize = 64 * 1024;

/// Parts before the delimiter: topics and identities.
const ADDRESSES: usize = 16;

/// Which part behind the delimiter is the content.
const CONTENT: usize = 4;

/// Which part behind the delimiter is the header.
const HEADER: usize = 1;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// Which kind of socket this side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketType {
    Dealer,
    Subscriber,
    Request,
}

impl SocketType {
    fn name(self) -> &'static str {
        match self {
            SocketType::Dealer => "DEALER",
            SocketType::Subscriber => "SUB",
            SocketType::Request => "REQ",
        }
    }
}

/// Why a connection cannot be read any further.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The connection ended.
    #[error(transparent)]
    Broken(#[from] io::Error),
    /// The peer sent a malformed message.
    #[error("{0}")]
    Violation(String),
}

impl From<TooLarge> for Fault {
    fn from(error: TooLarge) -> Fault {
        Fault::Violation(error.to_string())
    }
}

/// A received item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// The parts of a message, buffers behind the content left out.
    Message(Vec<Bytes>),
    /// A message that was thrown away, for its size.
    TooLarge(TooLarge),
}

/// Opens a connection and greets the peer.
pub(super) async fn connect(
    place: &Place,
    kind: SocketType,
    identity: &str,
) -> Result<(Reader, ZmtpWriter), Fault> {
    fault::point(Site::KernelSocket)?;
    let (reader, writer): (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>) =
        match place {
            Place::File(path) => {
                let (reader, writer) = UnixStream::connect(path).await?.into_split();
                (Box::new(reader), Box::new(writer))
            }
            Place::Port(ip, port) => {
                let stream = match ip.parse() {
                    Ok(ip) => TcpStream::connect(SocketAddr::new(ip, *port)).await?,
                    Err(_) => TcpStream::connect((ip.as_str(), *port)).await?,
                };
                stream.set_nodelay(true)?;
                let (reader, writer) = stream.into_split();
                (Box::new(reader), Box::new(writer))
            }
        };
    greet(Reader::new(reader), ZmtpWriter(writer), kind, identity).await
}

async fn greet(
    mut reader: Reader,
    mut writer: ZmtpWriter,
    kind: SocketType,
    identity: &str,
) -> Result<(Reader, ZmtpWriter), Fault> {
    writer.0.write_all(&greeting()).await?;
    writer.0.write_all(&ready(kind, identity)).await?;
    reader.read_greeting().await?;
    reader.read_ready().await?;
    if kind == SocketType::Subscriber {
        // Everything that is published.
        writer.send(&[Bytes::from_static(&[1])]).await?;
    }
    Ok((reader, writer))
}

fn greeting() -> [u8; 64] {
    let mut greeting = [0; 64];
    (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

fn ready(kind: SocketType, identity: &str) -> Vec<u8> {
    let mut body = b"\x05READY".to_vec();
    let mut property = |name: &str, value: &str| {
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    };
    property("Socket-Type", kind.name());
    property("Identity", if kind == SocketType::Dealer { identity } else { "" });
    [&[COMMAND, body.len() as u8], body.as_slice()].concat()
}

/// The half of a connection that is written to.
pub(super) struct ZmtpWriter(Box<dyn AsyncWrite + Send + Unpin>);

impl ZmtpWriter {
    /// Sends the parts of one message.
    pub(super) async fn send(&mut self, parts: &[Bytes]) -> io::Result<()> {
        let mut together = BytesMut::new();
        for (at, part) in parts.iter().enumerate() {
            let more = if at + 1 < parts.len() { MORE } else { 0 };
            match u8::try_from(part.len()) {
                Ok(length) => together.extend_from_slice(&[more, length]),
                Err(_) => {
                    together.put_u8(more | LONG);
                    together.put_u64(part.len() as u64);
                }
            }
            if part.len() < LARGE {
                together.extend_from_slice(part);
            } else {
                self.0.write_all(&together.split()).await?;
                self.0.write_all(part).await?;
            }
        }
        self.0.write_all(&together).await?;
        self.0.flush().await
    }
}

/// The half of a connection that is read. Half-read frames stay here, so that a reading can be dropped.
pub(super) struct Reader {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    /// Bytes that were read and not parsed yet.
    buffer: BytesMut,
    /// The frame whose body comes next.
    frame: Option<ZmtpFrame>,
    message: ZmtpMessage,
    commands: usize,
}

struct ZmtpFrame {
    flags: u8,
    left: u64,
    fate: Fate,
}

enum Fate {
    Kept(Vec<u8>),
    Skipped,
}

/// The message that is being read.
#[derive(Default)]
struct ZmtpMessage {
    parts: Vec<Bytes>,
    count: usize,
    /// How many parts have come since the delimiter.
    behind: Option<usize>,
    /// Whether the parts behind the content are kept, which only messages to widgets have.
    has_buffers: bool,
    /// How many bytes of content and buffers are kept.
    kept: u64,
    skipped: u64,
    too_large: Option<TooLarge>,
}

impl ZmtpMessage {
    /// Whether the next part is to be kept, by its length.
    fn admit(&mut self, length: u64) -> Result<bool, TooLarge> {
        self.count += 1;
        wire::check("a message in parts: one", self.count as u64, KERNEL_PARTS)?;
        let keeps = match self.behind {
            None if self.count > ADDRESSES => {
                return Err(TooLarge {
                    what: "parts without a delimiter: one",
                    size: self.count as u64,
                    limit: 16,
                });
            }
            None => wire::check("the address of a message", length, READ).map(|()| true)?,
            Some(behind) if behind == CONTENT || behind > CONTENT && self.has_buffers => {
                match self.fit(length) {
                    Ok(()) => true,
                    Err(error) => {
                        self.too_large = Some(error);
                        false
                    }
                }
            }
            Some(behind) if behind < CONTENT => {
                wire::check("the head of a message", length, KERNEL_PART).map(|()| true)?
            }
            Some(_) => false,
        };
        if !keeps {
            self.skipped = self.skipped.saturating_add(length);
            if self.skipped > SKIPPED {
                return Err(TooLarge { what: "a message", size: self.skipped, limit: KERNEL_MESSAGE as u64 });
            }
        }
        Ok(keeps)
    }

    /// Whether so many bytes more are not too many.
    fn fit(&mut self, length: u64) -> Result<(), TooLarge> {
        self.kept = self.kept.saturating_add(length);
        wire::check("a message", self.kept, KERNEL_MESSAGE)
    }

    fn take(&mut self, part: Option<Bytes>) {
        match &mut self.behind {
            Some(behind) => {
                if *behind == HEADER {
                    self.has_buffers = part.as_deref().is_some_and(is_of_widget);
                }
                *behind += 1;
            }
            None if part.as_deref() == Some(DELIMITER) => self.behind = Some(0),
            None => {}
        }
        self.parts.extend(part);
    }
}

impl Reader {
    fn new(stream: Box<dyn AsyncRead + Send + Unpin>) -> Reader {
        let (buffer, message) = (BytesMut::new(), ZmtpMessage::default());
        Reader { stream, buffer, frame: None, message, commands: 0 }
    }

    /// The next message. Nothing is lost when this is dropped.
    pub(super) async fn next(&mut self) -> Result<Received, Fault> {
        loop {
            let Some(frame) = &mut self.frame else {
                self.frame = Some(self.header().await?);
                continue;
            };
            let more = frame.flags & MORE != 0;
            let is_command = frame.flags & COMMAND != 0;
            let body = self.body().await?;
            self.frame = None;
            if is_command {
                self.commands += 1;
                if self.commands > COMMANDS {
                    return Err(Fault::Violation(format!("{COMMANDS} commands and no message")));
                }
                continue;
            }
            self.message.take(body);
            if !more {
                self.commands = 0;
                let message = std::mem::take(&mut self.message);
                return Ok(match message.too_large {
                    Some(error) => Received::TooLarge(error),
                    None => Received::Message(message.parts),
                });
            }
        }
    }

    async fn read_greeting(&mut self) -> Result<(), Fault> {
        self.fill(64).await?;
        let greeting = self.buffer.split_to(64);
        let is_one = greeting[0] == 0xff && greeting[9] & 1 == 1 && greeting[10] >= 3;
        if !is_one || !greeting[12..].starts_with(b"NULL\0") {
            return Err(Fault::Violation("a greeting that is not ZeroMQ's".into()));
        }
        Ok(())
    }

    async fn read_ready(&mut self) -> Result<(), Fault> {
        let ZmtpFrame { flags, left, .. } = self.header().await?;
        let length = usize::try_from(left).unwrap_or(usize::MAX);
        wire::check("a command", left, READ)?;
        self.fill(length).await?;
        let body = self.buffer.split_to(length);
        match flags & COMMAND != 0 && body.starts_with(b"\x05READY") {
            true => Ok(()),
            false => Err(Fault::Violation("a greeting without an end".into())),
        }
    }

    /// Reads the head of a frame, and decides whether its body is kept.
    async fn header(&mut self) -> Result<ZmtpFrame, Fault> {
        self.fill(2).await?;
        let flags = self.buffer[0];
        if flags & !(MORE | LONG | COMMAND) != 0 {
            return Err(Fault::Violation("a frame with unknown flags".into()));
        }
        let left = if flags & LONG == 0 {
            let length = u64::from(self.buffer[1]);
            self.buffer.advance(2);
            length
        } else {
            self.fill(9).await?;
            self.buffer.advance(1);
            self.buffer.get_u64()
        };
        let fate = if flags & COMMAND != 0 {
            wire::check("a command", left, READ)?;
            Fate::Skipped
        } else if self.message.admit(left)? {
            Fate::Kept(Vec::new())
        } else {
            Fate::Skipped
        };
        Ok(ZmtpFrame { flags, left, fate })
    }

    /// Reads the rest of a frame; none for one that is not kept.
    async fn body(&mut self) -> Result<Option<Bytes>, Fault> {
        let Some(frame) = &mut self.frame else { return Ok(None) };
        if let Fate::Kept(bytes) = &mut frame.fate
            && bytes.is_empty()
        {
            let length = usize::try_from(frame.left).unwrap_or(usize::MAX);
            if length <= self.buffer.len() {
                return Ok(Some(self.buffer.split_to(length).freeze()));
            }
            // Memory is taken as the bytes come; this reserves addresses for it.
            let reserved = fault::reserve(Site::KernelMessage, bytes, length);
            reserved.map_err(|_| {
                Fault::Violation(format!(
                    "a message of {}, for which there is no memory",
                    wire::Bytes(frame.left)
                ))
            })?;
        }
        while frame.left > 0 {
            let most = usize::try_from(frame.left).unwrap_or(usize::MAX);
            if !self.buffer.is_empty() {
                let length = most.min(self.buffer.len());
                if let Fate::Kept(bytes) = &mut frame.fate {
                    bytes.extend_from_slice(&self.buffer[..length]);
                }
                self.buffer.advance(length);
                frame.left -= length as u64;
                continue;
            }
            let length = match &mut frame.fate {
                Fate::Kept(bytes) if most >= READ => self.stream.read_buf(&mut bytes.limit(most)).await?,
                Fate::Kept(_) | Fate::Skipped => {
                    self.buffer.reserve(READ);
                    if self.stream.read_buf(&mut self.buffer).await? == 0 {
                        return Err(hung_up());
                    }
                    continue;
                }
            };
            if length == 0 {
                return Err(hung_up());
            }
            frame.left -= length as u64;
        }
        Ok(match &mut frame.fate {
            Fate::Kept(bytes) => Some(Bytes::from(std::mem::take(bytes))),
            Fate::Skipped => None,
        })
    }

    /// Reads until so many bytes are there.
    async fn fill(&mut self, length: usize) -> Result<(), Fault> {
        while self.buffer.len() < length {
            self.buffer.reserve(READ);
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(hung_up());
            }
        }
        Ok(())
    }
}

/// Whether a header is that of a message to a widget, as far as a look at its bytes tells.
fn is_of_widget(header: &[u8]) -> bool {
    memchr::memmem::find(header, b"\"comm_").is_some()
}

fn hung_up() -> Fault {
    Fault::Broken(io::Error::new(io::ErrorKind::UnexpectedEof, "the kernel hung up"))
}

#[cfg(test)]
mod tests;
