//! Messages as frames: built, signed, verified and taken apart. Contents stay bytes until they are needed.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cellist_output::ByteString;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::comm::{CommKind, CommMessage};

pub(crate) const DELIMITER: &[u8] = b"<IDS|MSG>";
const PROTOCOL: &str = "5.3";

/// A content below this size is copied. It stands in the buffer that it was read into, which is about as large; many that wait
/// for a reader would keep as many buffers.
const LARGE: usize = 64 * 1024;

/// The key that signs messages. An empty key signs nothing and accepts everything, as the protocol has it.
#[derive(Clone)]
pub(crate) struct Key(Option<Hmac<Sha256>>);

impl Key {
    pub(crate) fn new(key: &str) -> Key {
        if key.is_empty() { Key(None) } else { Key(Hmac::new_from_slice(key.as_bytes()).ok()) }
    }

    fn sign(&self, parts: &[Bytes]) -> String {
        use std::fmt::Write;
        let Some(mac) = &self.0 else { return String::new() };
        let mut mac = mac.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    fn verifies(&self, signature: &[u8], parts: &[Bytes]) -> bool {
        let Some(mac) = &self.0 else { return true };
        let Some(signature) = unhex(signature) else { return false };
        let mut mac = mac.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.verify_slice(&signature).is_ok()
    }
}

/// A message that was received and verified.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) kind: String,
    pub(crate) id: String,
    /// The id of the message that this one answers or belongs to.
    pub(crate) parent: Option<String>,
    /// JSON.
    pub(crate) content: ByteString,
    /// The number of this output, where the kernel counts them for us.
    pub(crate) number: Option<u64>,
    /// JSON; only of a message to a widget.
    pub(crate) metadata: ByteString,
    /// Binary values behind the content; only of a message to a widget.
    pub(crate) buffers: Vec<Bytes>,
}

impl Message {
    /// Reads the parts of a message that identify it, each as JSON.
    pub(crate) fn of_parts(
        header: &[u8],
        parent: &[u8],
        metadata: &[u8],
        content: Bytes,
    ) -> Result<Message, Garbled> {
        #[derive(Deserialize)]
        struct Metadata {
            cellist_number: Option<u64>,
        }
        #[derive(Deserialize)]
        struct HeaderFields {
            msg_id: String,
            msg_type: String,
        }
        #[derive(Deserialize)]
        struct Parent {
            msg_id: Option<String>,
        }
        let header: HeaderFields = serde_json::from_slice(header).map_err(|_| Garbled::BadHeader)?;
        let parent = serde_json::from_slice::<Parent>(parent).ok().and_then(|parent| parent.msg_id);
        // Python writes bytes that are no character as escapes of themselves.
        let content = match ByteString::try_from(content.clone()) {
            Ok(content) if content.len() < LARGE => ByteString::from(&*content),
            Ok(content) => content,
            Err(_) => String::from_utf8_lossy(&content).into_owned().into(),
        };
        let number = match metadata {
            b"{}" => None,
            other => serde_json::from_slice::<Metadata>(other).ok().and_then(|known| known.cellist_number),
        };
        let (kind, id) = (header.msg_type, header.msg_id);
        let metadata = match CommKind::named(&kind) {
            Some(_) => String::from_utf8_lossy(metadata).into_owned().into(),
            None => ByteString::default(),
        };
        Ok(Message { kind, id, parent, content, number, metadata, buffers: Vec::new() })
    }

    /// Adds the parts behind the content, which only messages to widgets have. Small ones are copied, as contents are.
    pub(crate) fn with_buffers(mut self, buffers: impl Iterator<Item = Bytes>) -> Message {
        if CommKind::named(&self.kind).is_some() {
            let kept = |buffer: Bytes| match buffer.len() < LARGE {
                true => Bytes::copy_from_slice(&buffer),
                false => buffer,
            };
            self.buffers = buffers.map(kept).collect();
        }
        self
    }

    /// How many bytes its content and its buffers have.
    pub(crate) fn size(&self) -> usize {
        self.content.len() + self.buffers.iter().map(Bytes::len).sum::<usize>()
    }

    /// Reads the content, or the known part of it.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(&self.content)
    }
}

/// Why frames are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Garbled {
    #[error("no delimiter")]
    NoDelimiter,
    #[error("too few frames")]
    TooShort,
    #[error("the signature does not fit")]
    WrongSignature,
    #[error("the header cannot be read")]
    BadHeader,
}

/// Takes frames apart.
pub(crate) fn parse(frames: &[Bytes], key: &Key) -> Result<Message, Garbled> {
    let delimiter = frames.iter().position(|frame| frame == DELIMITER).ok_or(Garbled::NoDelimiter)?;
    let rest = &frames[delimiter + 1..];
    let (signature, rest) = rest.split_first().ok_or(Garbled::TooShort)?;
    let signed = rest.get(..4).ok_or(Garbled::TooShort)?;
    if !key.verifies(signature, signed) {
        return Err(Garbled::WrongSignature);
    }
    let message = Message::of_parts(&signed[0], &signed[1], &signed[2], signed[3].clone())?;
    Ok(message.with_buffers(rest[4..].iter().cloned()))
}

/// Builds the messages of one client.
pub(crate) struct Session {
    id: String,
    next: AtomicU64,
    key: Key,
}

impl Session {
    pub(crate) fn new(key: Key) -> std::io::Result<Session> {
        Ok(Session { id: random_hex(16)?, next: AtomicU64::new(0), key })
    }

    /// The name under which our sockets are known: a kernel sends requests for input to the one that asked it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// A signed message and its id.
    pub(crate) fn build(
        &self,
        kind: &str,
        parent: Option<&Message>,
        content: &impl Serialize,
    ) -> (String, Vec<Bytes>) {
        self.build_with(kind, parent, Bytes::from_static(b"{}"), content)
    }

    /// A message of a widget, with its buffers.
    pub(crate) fn build_comm(&self, message: &CommMessage) -> (String, Vec<Bytes>) {
        let metadata = Bytes::from(message.metadata.get().to_owned());
        let (id, mut frames) = self.build_with(message.kind.name(), None, metadata, &message.content());
        frames.extend(message.buffers.iter().cloned());
        (id, frames)
    }

    fn build_with(
        &self,
        kind: &str,
        parent: Option<&Message>,
        metadata: Bytes,
        content: &impl Serialize,
    ) -> (String, Vec<Bytes>) {
        #[derive(Serialize)]
        struct OutgoingHeader<'a> {
            msg_id: &'a str,
            session: &'a str,
            username: &'static str,
            date: &'static str,
            msg_type: &'a str,
            version: &'static str,
        }
        let header = |id: &str, kind: &str| {
            let header = OutgoingHeader {
                msg_id: id,
                session: &self.id,
                username: "cellist",
                date: DATE,
                msg_type: kind,
                version: PROTOCOL,
            };
            json(&header)
        };
        // Kernels read the date and do nothing with it.
        const DATE: &str = "1970-01-01T00:00:00Z";

        let id = format!("{}_{}", self.id, self.next.fetch_add(1, Ordering::Relaxed));
        let parent =
            parent.map_or_else(|| Bytes::from_static(b"{}"), |parent| header(&parent.id, &parent.kind));
        let signed = [header(&id, kind), parent, metadata, json(content)];
        let signature = Bytes::from(self.key.sign(&signed));
        let mut frames = vec![Bytes::from_static(DELIMITER), signature];
        frames.extend(signed);
        (id, frames)
    }
}

/// Bytes that nobody can guess, as hexadecimal digits.
pub(crate) fn random_hex(bytes: usize) -> std::io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads hexadecimal digits.
pub(crate) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks_exact(2).map(|pair| Some(digit(&pair[0])? << 4 | digit(&pair[1])?)).collect()
}

fn json(value: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(value).unwrap_or_else(|_| b"{}".to_vec()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn built(key: &str) -> Vec<Bytes> {
        let session = Session::new(Key::new(key)).unwrap();
        session.build("execute_request", None, &json!({"code": "pass"})).1
    }

    #[test]
    fn a_message_comes_back_as_it_was_built_whatever_stands_around_it() {
        let mut frames = vec![Bytes::from_static(b"topic"), Bytes::from_static(b"\x00\xff")];
        frames.extend(built("secret"));
        frames.push(Bytes::from_static(b"a buffer"));
        let message = parse(&frames, &Key::new("secret")).unwrap();
        assert_eq!(message.kind, "execute_request");
        assert_eq!(message.parent, None);
        assert_eq!(message.content, r#"{"code":"pass"}"#);
    }

    #[test]
    fn an_answer_names_the_message_it_belongs_to() {
        let session = Session::new(Key::new("k")).unwrap();
        let (id, frames) = session.build("input_request", None, &json!({}));
        let question = parse(&frames, session.key()).unwrap();
        let (_, frames) = session.build("input_reply", Some(&question), &json!({"value": ""}));
        assert_eq!(parse(&frames, session.key()).unwrap().parent, Some(id));
    }

    #[test]
    fn the_signature_is_the_one_that_jupyter_writes() {
        let parts = vec![Bytes::from_static(b"{}"); 4];
        // hmac.new(b"secret", b"{}" * 4, "sha256").hexdigest()
        let expected = "34982f0bfec60e7b933ffde06c1ecab0fba073717a95ab943d1dd06f82c2d5e4";
        assert_eq!(Key::new("secret").sign(&parts), expected);
    }

    #[test]
    fn what_is_not_signed_with_the_key_is_refused() {
        let key = Key::new("secret");
        assert_eq!(parse(&built("other"), &key).unwrap_err(), Garbled::WrongSignature);
        assert_eq!(parse(&built(""), &key).unwrap_err(), Garbled::WrongSignature);
        for part in 2..6 {
            let mut frames = built("secret");
            frames[part] = Bytes::from_static(b"{\"msg_id\":\"1\",\"msg_type\":\"status\"}");
            assert_eq!(parse(&frames, &key).unwrap_err(), Garbled::WrongSignature);
        }
        assert!(parse(&built("whatever"), &Key::new("")).is_ok());
    }

    #[test]
    fn a_message_that_waits_keeps_the_buffer_it_was_read_into_only_if_it_is_most_of_it() {
        let shares = |length: usize| {
            let buffer = Bytes::from(vec![b' '; LARGE + length]);
            let header = br#"{"msg_id":"1","msg_type":"stream"}"#;
            let message = Message::of_parts(header, b"{}", b"{}", buffer.slice(LARGE..)).unwrap();
            assert_eq!(message.content.len(), length);
            !buffer.is_unique()
        };
        assert!(!shares(1));
        assert!(!shares(LARGE - 1));
        assert!(shares(LARGE));
    }

    #[test]
    fn bytes_that_are_no_character_do_not_spoil_a_message() {
        let mut frames = built("");
        frames[5] = Bytes::from_static(b"{\"text\":\"a\xffb\"}");
        let message = parse(&frames, &Key::new("")).unwrap();
        assert_eq!(message.content, "{\"text\":\"a\u{fffd}b\"}");
    }

    #[test]
    fn hexadecimal_digits_are_read_in_pairs() {
        assert_eq!(unhex(b"00fFa0"), Some(vec![0, 255, 160]));
        assert_eq!(unhex(b"0"), None);
        assert_eq!(unhex(b"0g"), None);
    }

    proptest! {
        #[test]
        fn no_frames_at_all_can_break_the_parser(
            frames in proptest::collection::vec(
                prop_oneof![
                    proptest::collection::vec(any::<u8>(), 0..64),
                    Just(DELIMITER.to_vec()),
                    Just(b"{}".to_vec()),
                    Just(br#"{"msg_id":"1","msg_type":"status"}"#.to_vec()),
                ],
                0..10,
            ),
            key in prop_oneof![Just(""), Just("secret")],
        ) {
            let frames: Vec<Bytes> = frames.into_iter().map(Bytes::from).collect();
            let _ = parse(&frames, &Key::new(key));
        }
    }
}
