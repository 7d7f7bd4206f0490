//! Finds the marks that the runner puts into a pipe, wherever the bytes were cut.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use memchr::memchr;

/// The content of a pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Output of the program.
    Text(Bytes),
    /// A mark of the runner's.
    Mark(Mark),
}

/// A numbered place in both pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) number: u64,
    /// Whether a frame with the same number belongs here.
    pub(super) frame: bool,
}

/// Takes the bytes of one pipe apart. Bytes that only begin like a mark come through.
#[derive(Debug)]
pub(super) struct Marks {
    prefix: Vec<u8>,
    // The beginning of a possible mark.
    held: BytesMut,
}

/// How bytes compare to a mark.
enum PipeItem {
    Mark(Mark, usize),
    Beginning,
    Nothing,
}

impl Marks {
    /// Looks for marks with this token.
    pub(super) fn new(token: &str) -> Marks {
        Marks { prefix: [b"\0", token.as_bytes()].concat(), held: BytesMut::new() }
    }

    /// Takes bytes that were read.
    pub(super) fn push(&mut self, bytes: Bytes, pieces: &mut VecDeque<Piece>) {
        let bytes = if self.held.is_empty() {
            bytes
        } else {
            self.held.extend_from_slice(&bytes);
            self.held.split().freeze()
        };
        let (mut start, mut at) = (0, 0);
        let text = |from: usize, to: usize, pieces: &mut VecDeque<Piece>| {
            if from < to {
                pieces.push_back(Piece::Text(bytes.slice(from..to)));
            }
        };
        while let Some(step) = memchr(0, &bytes[at..]) {
            at += step;
            match self.look(&bytes[at..]) {
                PipeItem::Mark(mark, length) => {
                    text(start, at, pieces);
                    pieces.push_back(Piece::Mark(mark));
                    at += length;
                    start = at;
                }
                PipeItem::Beginning => {
                    text(start, at, pieces);
                    self.held.extend_from_slice(&bytes[at..]);
                    return;
                }
                PipeItem::Nothing => at += 1,
            }
        }
        text(start, bytes.len(), pieces);
    }

    /// The pipe has ended: the held text was no mark.
    pub(super) fn finish(&mut self, pieces: &mut VecDeque<Piece>) {
        if !self.held.is_empty() {
            pieces.push_back(Piece::Text(self.held.split().freeze()));
        }
    }

    fn look(&self, bytes: &[u8]) -> PipeItem {
        let known = bytes.len().min(self.prefix.len());
        if bytes[..known] != self.prefix[..known] {
            return PipeItem::Nothing;
        }
        let Some((kind, digits)) = bytes[known..].split_first() else { return PipeItem::Beginning };
        let frame = match kind {
            b'f' => true,
            b't' => false,
            _ => return PipeItem::Nothing,
        };
        let mut number = 0_u64;
        for (count, byte) in digits.iter().enumerate() {
            match byte {
                b'0'..=b'9' if count < 19 => number = number * 10 + u64::from(byte - b'0'),
                b';' if count > 0 => return PipeItem::Mark(Mark { number, frame }, known + count + 2),
                _ => return PipeItem::Nothing,
            }
        }
        PipeItem::Beginning
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "c0ffee";

    fn written(pieces: &[Piece]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => bytes.extend_from_slice(text),
                Piece::Mark(Mark { number, frame }) => {
                    let kind = if *frame { 'f' } else { 't' };
                    bytes.extend_from_slice(format!("\0{TOKEN}{kind}{number};").as_bytes());
                }
            }
        }
        bytes
    }

    /// Neighbouring texts as one: how text is cut says nothing.
    fn joined(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
        let mut all: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (all.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(text)) => {
                    *before = [before.as_ref(), text.as_ref()].concat().into();
                }
                (_, Piece::Text(text)) if text.is_empty() => {}
                (_, piece) => all.push(piece),
            }
        }
        all
    }

    fn read(chunks: &[&[u8]]) -> Vec<Piece> {
        let mut marks = Marks::new(TOKEN);
        let mut pieces = VecDeque::new();
        for chunk in chunks {
            marks.push(Bytes::copy_from_slice(chunk), &mut pieces);
        }
        marks.finish(&mut pieces);
        joined(pieces)
    }

    #[test]
    fn what_only_looks_like_a_mark_comes_through() {
        for text in [
            &b"\0"[..],
            b"\0c0ff",
            b"\0c0ffeex1;",
            b"\0c0ffeef;",
            b"\0c0ffeef12",
            b"\0\0c0ffee",
            b"\0c0ffeet1x",
        ] {
            assert_eq!(read(&[text]), [Piece::Text(Bytes::copy_from_slice(text))], "{text:?}");
        }
    }

    #[test]
    fn a_mark_is_seen_at_once_and_not_only_with_the_next_byte() {
        let mut marks = Marks::new(TOKEN);
        let mut pieces = VecDeque::new();
        marks.push(Bytes::from_static(b"a\0c0ffeef7;"), &mut pieces);
        assert_eq!(pieces, [Piece::Text("a".into()), Piece::Mark(Mark { number: 7, frame: true })]);
    }

    fn piece() -> impl Strategy<Value = Piece> {
        // Text made of the bytes of which marks are made.
        let text = prop::collection::vec(prop::sample::select(b"\0c0ffeft1;x".to_vec()), 0..12);
        prop_oneof![
            text.prop_map(|text| Piece::Text(text.into())),
            (any::<u32>(), any::<bool>())
                .prop_map(|(number, frame)| Piece::Mark(Mark { number: number.into(), frame })),
        ]
    }

    proptest! {
        #[test]
        fn marks_are_found_wherever_the_bytes_are_cut(
            pieces in prop::collection::vec(piece(), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes = written(&pieces);
            let whole = read(&[&bytes]);
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            ends.sort_unstable();
            ends.push(bytes.len());
            let mut start = 0;
            let chunks: Vec<&[u8]> = ends.iter().map(|&end| { let chunk = &bytes[start..end]; start = end; chunk }).collect();
            prop_assert_eq!(read(&chunks), whole);
            prop_assert_eq!(written(&read(&chunks)), bytes);
        }

        #[test]
        fn marks_between_ordinary_text_are_all_found(
            texts in prop::collection::vec("[a-z\n]{0,20}", 1..8),
            frames in prop::collection::vec(any::<bool>(), 8),
        ) {
            let mut pieces = Vec::new();
            for (number, text) in texts.iter().enumerate() {
                pieces.push(Piece::Text(text.clone().into()));
                pieces.push(Piece::Mark(Mark { number: number as u64, frame: frames[number] }));
            }
            prop_assert_eq!(read(&[&written(&pieces)]), joined(pieces));
        }
    }
}
