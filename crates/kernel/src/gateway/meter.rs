//! A meter on a websocket's stream: it looks at the head of each frame before the library takes its body, and ends the
//! connection of a server that sends more than the limits allow.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use cellist_output::wire::{self, COMMANDS, FRAGMENTED, FRAGMENTS, HEAD, KERNEL_MESSAGE};
use cellist_platform::fault::{self, Site};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Frames of fewer bytes are not asked about.
const LARGE: u64 = 64 << 10;

/// In which time pings are counted.
const WINDOW: Duration = Duration::from_secs(10);

/// A message that no Jupyter server sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Violation(pub(super) String);

/// A stream whose frames are counted.
pub(super) struct Metered<S> {
    stream: S,
    meter: Meter,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S) -> Metered<S> {
        Metered { stream, meter: Meter::new(Instant::now()) }
    }

    /// How many bytes have come, and whether a message is half-read.
    pub(super) fn progress(&self) -> (u64, bool) {
        (self.meter.received, self.meter.is_inside())
    }
}

/// Reads the heads of frames, whatever pieces they come in.
struct Meter {
    state: MeterState,
    /// Bytes and fragments of the message that comes in fragments.
    fragments: Option<(u64, usize)>,
    pings: usize,
    window: Instant,
    received: u64,
}

enum MeterState {
    /// The answer to the handshake: how many bytes it had, and how much of its end was seen.
    Handshake { read: usize, seen: usize },
    /// The head of a frame, as far as it is here.
    Head { bytes: [u8; 10], have: usize },
    /// The body of a frame.
    Body { left: u64 },
}

const FRESH: MeterState = MeterState::Head { bytes: [0; 10], have: 0 };

impl Meter {
    fn new(now: Instant) -> Meter {
        let state = MeterState::Handshake { read: 0, seen: 0 };
        Meter { state, fragments: None, pings: 0, window: now, received: 0 }
    }

    fn is_inside(&self) -> bool {
        match &self.state {
            MeterState::Handshake { .. } => true,
            MeterState::Head { have, .. } => *have > 0 || self.fragments.is_some(),
            MeterState::Body { .. } => true,
        }
    }

    fn see(&mut self, mut bytes: &[u8], now: Instant) -> Result<(), Violation> {
        self.received += bytes.len() as u64;
        while let Some((first, rest)) = bytes.split_first() {
            match &mut self.state {
                MeterState::Handshake { read, seen } => {
                    const END: &[u8] = b"\r\n\r\n";
                    *read += 1;
                    *seen = match *first {
                        byte if byte == END[*seen] => *seen + 1,
                        b'\r' => 1,
                        _ => 0,
                    };
                    if *seen == END.len() {
                        self.state = FRESH;
                    } else if *read > HEAD {
                        return Err(Violation(format!("headers of more than {}", wire::Bytes(HEAD as u64))));
                    }
                    bytes = rest;
                }
                MeterState::Head { bytes: head, have } => {
                    head[*have] = *first;
                    *have += 1;
                    bytes = rest;
                    if *have >= 2 && *have == head_length(head[1]) {
                        let head = *head;
                        let left = self.admit(&head, now)?;
                        self.state = if left == 0 { FRESH } else { MeterState::Body { left } };
                    }
                }
                MeterState::Body { left } => {
                    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= length as u64;
                    bytes = &bytes[length..];
                    if *left == 0 {
                        self.state = FRESH;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a frame may come, by its head; returns the length of its body.
    fn admit(&mut self, head: &[u8; 10], now: Instant) -> Result<u64, Violation> {
        let violation = |what: &str| Err(Violation(what.to_owned()));
        let (is_last, reserved, kind) = (head[0] & 0x80 != 0, head[0] & 0x70, head[0] & 0x0f);
        let length = match head[1] & 0x7f {
            126 => u64::from(u16::from_be_bytes([head[2], head[3]])),
            127 => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&head[2..]);
                u64::from_be_bytes(bytes)
            }
            length => u64::from(length),
        };
        if reserved != 0 {
            return violation("a frame with reserved bits");
        }
        if head[1] & 0x80 != 0 {
            return violation("a masked frame");
        }
        let too_large = |error: wire::TooLarge| Violation(error.to_string());
        // The library takes the room at once, and aborts where there is none.
        let check_room = |length: u64| {
            if length < LARGE {
                return Ok(());
            }
            let bytes = usize::try_from(length).unwrap_or(usize::MAX);
            fault::check_room(Site::GatewayMessage, bytes).map_err(|_| {
                Violation(format!("a frame of {}, for which there is no memory", wire::Bytes(length)))
            })
        };
        match kind {
            0 => {
                let Some((sum, count)) = &mut self.fragments else {
                    return violation("a fragment of no message");
                };
                (*sum, *count) = (sum.saturating_add(length), *count + 1);
                wire::check("a message in fragments", *sum, FRAGMENTED).map_err(too_large)?;
                if *count > FRAGMENTS {
                    return Err(Violation(format!("a message in more than {FRAGMENTS} fragments")));
                }
                check_room(length)?;
                if is_last {
                    self.fragments = None;
                }
            }
            1 | 2 if is_last => {
                wire::check("a frame", length, KERNEL_MESSAGE).map_err(too_large)?;
                check_room(length)?;
            }
            1 | 2 => {
                wire::check("a message in fragments", length, FRAGMENTED).map_err(too_large)?;
                check_room(length)?;
                self.fragments = Some((length, 1));
            }
            8..=10 => {
                if length > 125 || !is_last {
                    return violation("a control frame that is too long");
                }
                if now.duration_since(self.window) > WINDOW {
                    (self.window, self.pings) = (now, 0);
                }
                self.pings += 1;
                if self.pings > COMMANDS {
                    return Err(Violation(format!(
                        "more than {COMMANDS} pings in {} seconds",
                        WINDOW.as_secs()
                    )));
                }
            }
            _ => return violation("a frame of an unknown kind"),
        }
        Ok(length)
    }
}

/// How long the head of a frame is, by its second byte. A masked frame is refused before its mask matters.
fn head_length(second: u8) -> usize {
    match second & 0x7f {
        126 => 4,
        127 => 10,
        _ => 2,
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = &polled
            && let Err(violation) = self.meter.see(&buffer.filled()[before..], Instant::now())
        {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, violation)));
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

    /// Looks at bytes in pieces of a size.
    fn seen(bytes: &[u8], size: usize) -> Result<(), Violation> {
        let now = Instant::now();
        let mut meter = Meter::new(now);
        [ANSWER, bytes].concat().chunks(size).try_for_each(|piece| meter.see(piece, now))
    }

    fn frame(first: u8, body: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match body.len() {
            short @ 0..126 => frame.push(short as u8),
            middle @ 126..65536 => {
                frame.push(126);
                frame.extend((middle as u16).to_be_bytes());
            }
            long => frame.extend(head(127, long as u64)),
        }
        frame.extend(body);
        frame
    }

    fn head(second: u8, length: u64) -> Vec<u8> {
        [&[second][..], &length.to_be_bytes()].concat()
    }

    #[test]
    fn what_servers_send_passes_in_any_pieces() {
        let frames = [
            frame(0x81, b"{}"),
            frame(0x82, &[0; 300]),
            frame(0x02, &[1; 70_000]),
            frame(0x89, b"ping"),
            frame(0x00, &[1; 200]),
            frame(0x80, b""),
            frame(0x88, &[3, 232]),
        ]
        .concat();
        for size in [1, 2, 3, 7, 1000, frames.len() + ANSWER.len()] {
            assert_eq!(seen(&frames, size), Ok(()), "in pieces of {size}");
        }
    }

    #[test]
    fn a_hostile_head_is_refused_before_its_body() {
        let check = |bytes: &[u8], says: &str| {
            for size in [1, bytes.len() + ANSWER.len()] {
                let refused = seen(bytes, size).unwrap_err().0;
                assert!(refused.contains(says), "{refused}");
            }
        };
        let long = |first: u8, length: u64| [vec![first], head(127, length)].concat();
        check(&long(0x82, 1 << 40), "a frame of 1 TiB, where at most 512 MiB are taken");
        check(&long(0x81, u64::MAX), "a frame of");
        check(&long(0x02, 1 << 30), "a message in fragments of 1 GiB, where at most 16 MiB are taken");
        check(&[long(0x02, 1 << 23), vec![0; 1 << 23], long(0, (1 << 23) + 1)].concat(), "in fragments of");
        check(&[frame(0x02, b""), frame(0, b"").repeat(FRAGMENTS)].concat(), "more than 4096 fragments");
        check(&frame(0x00, b"x"), "a fragment of no message");
        check(&frame(0x89, b"x").repeat(COMMANDS + 1), "more than 1000 pings in 10 seconds");
        check(&long(0x89, 1 << 20), "a control frame that is too long");
        check(&[0xc2, 5], "reserved bits");
        check(&[0x82, 0x85], "a masked frame");
        check(&[0x83, 5], "an unknown kind");
    }

    #[test]
    fn headers_without_end_are_refused() {
        let (now, line) = (Instant::now(), b"X-More: and more\r\n".repeat(10_000));
        let mut meter = Meter::new(now);
        assert!(meter.see(&line, now).unwrap_err().0.starts_with("headers of more than 64 KiB"));
    }

    #[test]
    fn pings_at_leisure_never_end_a_connection() {
        let mut now = Instant::now();
        let mut meter = Meter::new(now);
        meter.see(ANSWER, now).unwrap();
        for _ in 0..5 * COMMANDS {
            now += Duration::from_secs(1);
            meter.see(&frame(0x89, b""), now).unwrap();
        }
    }

    proptest! {
        #[test]
        fn nothing_breaks_the_meter(bytes: Vec<u8>, size in 1_usize..20) {
            let _ = seen(&bytes, size);
        }
    }
}
