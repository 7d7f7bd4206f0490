//! Messages on a websocket, in both forms that servers speak: JSON as text, and the parts of a message side by side.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite::Message as Frame;

use crate::jupyter::lane::{Channel, Outgoing};
use crate::jupyter::message::{Garbled, Message};

/// The name of the second form. A server that does not know it speaks the first.
pub(super) const PARTS: &str = "v1.kernel.websocket.jupyter.org";

/// Which form a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Parts,
}

impl Form {
    /// A message for the server. Its frames are the delimiter, the signature, four parts of JSON, and buffers.
    pub(super) fn write(self, outgoing: &Outgoing) -> Frame {
        let channel = outgoing.channel.name();
        let parts = outgoing.frames.get(2..).unwrap_or_default();
        match self {
            Form::Parts => Frame::Binary(side_by_side(channel, parts)),
            Form::Json => {
                let (parts, buffers) = parts.split_at(parts.len().min(4));
                let names = ["header", "parent_header", "metadata", "content"];
                let mut text = format!("{{\"channel\":\"{channel}\",\"buffers\":[]");
                for (name, part) in names.iter().zip(parts) {
                    text.push_str(&format!(",\"{name}\":{}", String::from_utf8_lossy(part)));
                }
                text.push('}');
                match buffers {
                    [] => Frame::Text(text.into()),
                    buffers => Frame::Binary(with_buffers(text, buffers)),
                }
            }
        }
    }

    /// A message from the server; none for a malformed one.
    pub(super) fn read(self, frame: Frame) -> Option<(Channel, Result<Message, Garbled>)> {
        match (self, frame) {
            (Form::Parts, Frame::Binary(bytes)) => Some(read_parts(&bytes)),
            (Form::Json, Frame::Binary(bytes)) => {
                let (json, buffers) = beside_buffers(&bytes)?;
                let (channel, message) = read_json(&json);
                Some((channel, message.map(|message| message.with_buffers(buffers.into_iter()))))
            }
            (_, Frame::Text(text)) => Some(read_json(&Bytes::from(text))),
            (_, Frame::Ping(_) | Frame::Pong(_) | Frame::Close(_) | Frame::Frame(_)) => None,
        }
    }
}

fn channel(name: &[u8]) -> Option<Channel> {
    [Channel::Shell, Channel::Iopub, Channel::Stdin, Channel::Control]
        .into_iter()
        .find(|channel| channel.name().as_bytes() == name)
}

/// How many offsets there are, the offsets, and their targets: the channel and the parts.
fn side_by_side(channel: &str, parts: &[Bytes]) -> Bytes {
    let count = parts.len() + 2;
    let mut offset = 8 * (count + 1);
    let length = offset + channel.len() + parts.iter().map(Bytes::len).sum::<usize>();
    let mut bytes = BytesMut::with_capacity(length);
    bytes.put_u64_le(count as u64);
    bytes.put_u64_le(offset as u64);
    for length in std::iter::once(channel.len()).chain(parts.iter().map(Bytes::len)) {
        offset += length;
        bytes.put_u64_le(offset as u64);
    }
    bytes.put_slice(channel.as_bytes());
    parts.iter().for_each(|part| bytes.put_slice(part));
    bytes.freeze()
}

fn read_parts(bytes: &Bytes) -> (Channel, Result<Message, Garbled>) {
    let number = |at: usize| {
        let digits = bytes.get(at * 8..at * 8 + 8)?;
        usize::try_from(u64::from_le_bytes(digits.try_into().ok()?)).ok()
    };
    let part = |at: usize| {
        let (start, end) = (number(at + 1)?, number(at + 2)?);
        (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
    };
    let read = || {
        // The channel, four parts, and the end of the last of them.
        let count = number(0).filter(|count| (6..=bytes.len() / 8).contains(count))?;
        let parts = [part(1)?, part(2)?, part(3)?, part(4)?];
        // The last of the offsets is an end.
        let buffers = (5..count - 1).map_while(part).collect::<Vec<Bytes>>();
        Some((part(0)?, parts, buffers))
    };
    match read() {
        None => (Channel::Iopub, Err(Garbled::TooShort)),
        Some((name, [header, parent, metadata, content], buffers)) => {
            let message = Message::of_parts(&header, &parent, &metadata, content);
            let message = message.map(|message| message.with_buffers(buffers.into_iter()));
            (channel(&name).unwrap_or(Channel::Iopub), message)
        }
    }
}

/// The JSON of a message that has buffers, and the buffers: how many pieces there are, where they begin, and the pieces.
fn beside_buffers(bytes: &Bytes) -> Option<(Bytes, Vec<Bytes>)> {
    let number = |at: usize| {
        let digits = bytes.get(at * 4..at * 4 + 4)?;
        usize::try_from(u32::from_be_bytes(digits.try_into().ok()?)).ok()
    };
    let count = number(0).filter(|count| (1..=bytes.len() / 4).contains(count))?;
    let mut pieces = (1..=count).map_while(|at| {
        let (start, end) = (number(at)?, if at < count { number(at + 1)? } else { bytes.len() });
        (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
    });
    Some((pieces.next()?, pieces.collect()))
}

/// The other way round.
fn with_buffers(json: String, buffers: &[Bytes]) -> Bytes {
    let pieces: Vec<Bytes> = std::iter::once(Bytes::from(json)).chain(buffers.iter().cloned()).collect();
    let mut bytes = BytesMut::new();
    let mut offset = 4 * (pieces.len() + 1);
    bytes.put_u32(pieces.len() as u32);
    for piece in &pieces {
        bytes.put_u32(offset as u32);
        offset += piece.len();
    }
    pieces.iter().for_each(|piece| bytes.put_slice(piece));
    bytes.freeze()
}

fn read_json(text: &Bytes) -> (Channel, Result<Message, Garbled>) {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(default)]
        channel: Option<&'a str>,
        #[serde(borrow)]
        header: &'a RawValue,
        #[serde(borrow)]
        parent_header: Option<&'a RawValue>,
        #[serde(borrow)]
        metadata: Option<&'a RawValue>,
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let Ok(whole) = serde_json::from_slice::<Whole<'_>>(text) else {
        return (Channel::Iopub, Err(Garbled::BadHeader));
    };
    let parent = whole.parent_header.map_or("{}", RawValue::get);
    let content = text.slice_ref(whole.content.get().as_bytes());
    let metadata = whole.metadata.map_or("{}", RawValue::get).as_bytes();
    let message = Message::of_parts(whole.header.get().as_bytes(), parent.as_bytes(), metadata, content);
    let channel = whole.channel.and_then(|name| channel(name.as_bytes())).unwrap_or(Channel::Iopub);
    (channel, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::jupyter::message::{Key, Session};

    #[test]
    fn a_message_comes_back_as_it_was_written_in_either_form() {
        let session = Session::new(Key::new("")).unwrap();
        let (id, frames) = session.build("execute_request", None, &json!({"code": "print('é\n')"}));
        let outgoing = Outgoing { channel: Channel::Shell, frames };
        for form in [Form::Json, Form::Parts] {
            let (channel, message) = form.read(form.write(&outgoing)).unwrap();
            let message = message.unwrap();
            assert_eq!((channel, &message.id), (Channel::Shell, &id));
            assert_eq!(message.kind, "execute_request");
            assert_eq!(message.content, "{\"code\":\"print('é\\n')\"}");
        }
    }

    #[test]
    fn the_parts_stand_where_jupyter_puts_them() {
        let parts: Vec<Bytes> = ["{}", "[1]", "", "x"].map(Bytes::from).into();
        let written = side_by_side("shell", &parts);
        // jupyter_server's serialize_msg_to_ws_v1([b"{}", b"[1]", b"", b"x"], "shell")
        let offsets = [6_u64, 56, 61, 63, 66, 66, 67];
        let expected: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        assert_eq!(written, [expected, b"shell{}[1]x".to_vec()].concat());
    }

    #[test]
    fn buffers_beside_a_message_are_kept() {
        let json = r#"{"channel":"iopub","header":{"msg_id":"1","msg_type":"comm_msg"},"content":{"a":1}}"#;
        let bytes = with_buffers(json.to_owned(), &[Bytes::from("a buffer")]);
        assert_eq!(bytes[..12], [[0, 0, 0, 2], [0, 0, 0, 12], [0, 0, 0, 12 + json.len() as u8]].concat());
        let (channel, message) = Form::Json.read(Frame::Binary(bytes)).unwrap();
        let message = message.unwrap();
        assert_eq!((channel, message.kind.as_str()), (Channel::Iopub, "comm_msg"));
        assert_eq!(message.buffers, ["a buffer"]);

        let header = r#"{"msg_id":"1","msg_type":"comm_msg"}"#;
        let parts = [header, "{}", r#"{"version":"2"}"#, r#"{"a":1}"#, "one", ""].map(Bytes::from);
        let (_, message) = Form::Parts.read(Frame::Binary(side_by_side("iopub", &parts))).unwrap();
        let message = message.unwrap();
        assert_eq!(
            (message.content.as_ref(), message.metadata.as_ref()),
            (r#"{"a":1}"#, r#"{"version":"2"}"#)
        );
        assert_eq!(message.buffers, ["one", ""]);
    }

    proptest! {
        #[test]
        fn nothing_that_a_server_sends_can_break_the_reader(
            bytes: Vec<u8>,
            numbers in proptest::collection::vec(0_u64..90, 0..9),
        ) {
            let offsets: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            for bytes in [bytes.clone(), [offsets, bytes].concat()] {
                let _ = Form::Parts.read(Frame::Binary(bytes.clone().into()));
                let _ = Form::Json.read(Frame::Binary(bytes.clone().into()));
                let _ = Form::Json.read(Frame::Text(String::from_utf8_lossy(&bytes).into_owned().into()));
            }
        }
    }
}
