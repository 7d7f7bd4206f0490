//! Cleaning: raw bytes of a program become the text a terminal or notebook would show, whatever the chunks.
//! Invalid UTF-8 becomes U+FFFD, control characters and escape sequences go, carriage returns and
//! backspaces are folded. No `\n` is ever removed or added, so line numbers stay those of the raw bytes.

mod decode;
mod escape;
mod line;
mod style;

use std::borrow::Cow;

use memchr::{memchr, memrchr};
use serde::{Deserialize, Serialize};

pub use decode::Decoder;
use escape::{Escape, Sequence, Step};
use line::Line;
use style::Style;

/// The treatment of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ansi {
    /// No escape sequence is left.
    Remove,
    /// Colours and text styles (SGR) stay, rewritten so that no line depends on the one before it.
    KeepColour,
}

/// Cleans a stream of bytes that may be split anywhere; the chunks never change the result.
///
/// The current line stays open, because a carriage return may overwrite it. A line past 64 KiB is settled in
/// pieces of that size: settled text is shown as it stands, and a carriage return goes back to the start of
/// the piece that is open. No escape sequence outlives its line or 1 MiB, so an unfinished one can't swallow
/// the rest.
#[derive(Clone, Debug)]
pub struct Cleaner {
    decoder: Decoder,
    fold: Fold,
}

impl Cleaner {
    /// A cleaner at the start of a stream.
    pub fn new(ansi: Ansi) -> Self {
        let fold = Fold { ansi, escape: Escape::default(), style: Style::default(), line: Line::default() };
        Self { decoder: Decoder::default(), fold }
    }

    /// Takes a chunk and appends to `settled` the text that can no longer change.
    pub fn push(&mut self, bytes: &[u8], settled: &mut String) {
        // Small enough that the passes over a piece find it in the processor's cache.
        const PIECE: usize = 16 * 1024;
        let Self { decoder, fold } = self;
        for piece in bytes.chunks(PIECE) {
            decoder.push(piece, |text| fold.push(text, settled));
        }
    }

    /// The current line as it would be shown now, without its settled part.
    pub fn open_line(&self) -> Cow<'_, str> {
        self.fold.line.shown()
    }

    /// Ends the stream: the current line is settled as it stands, and an unfinished character or escape
    /// sequence is closed. The cleaner can then take another stream.
    pub fn finish(&mut self, settled: &mut String) {
        let Self { decoder, fold } = self;
        decoder.finish(|text| fold.push(text, settled));
        fold.line.settle(settled);
        fold.escape = Escape::default();
        fold.style = Style::default();
    }
}

/// Cleans a whole text at once.
pub fn clean(bytes: &[u8], ansi: Ansi) -> String {
    let mut cleaner = Cleaner::new(ansi);
    let mut text = String::with_capacity(bytes.len());
    cleaner.push(bytes, &mut text);
    cleaner.finish(&mut text);
    text
}

/// Decoded text to shown text.
#[derive(Clone, Debug)]
struct Fold {
    ansi: Ansi,
    escape: Escape,
    style: Style,
    line: Line,
}

impl Fold {
    fn push(&mut self, mut text: &str, settled: &mut String) {
        while !text.is_empty() {
            if self.escape.is_open() {
                text = self.sequence(text, settled);
                continue;
            }
            let plain = plain_len(text.as_bytes());
            self.plain(&text[..plain], settled);
            let mut rest = text[plain..].chars();
            match rest.next() {
                Some('\r') => self.line.carriage_return(),
                Some('\u{8}') => self.line.backspace(),
                Some('\u{1b}') => self.escape = Escape::opened(),
                Some(_) | None => {}
            }
            text = rest.as_str();
        }
    }

    /// Feeds an open escape sequence and returns the text behind it.
    fn sequence<'t>(&mut self, text: &'t str, settled: &mut String) -> &'t str {
        let mut rest = text.chars();
        loop {
            let before = rest.as_str();
            let Some(c) = rest.next() else { return before };
            match self.escape.feed(c) {
                Step::More => {}
                Step::Broken => return before,
                Step::Done(None) => return rest.as_str(),
                Step::Done(Some(sequence)) => {
                    self.apply(sequence, settled);
                    return rest.as_str();
                }
            }
        }
    }

    fn apply(&mut self, sequence: Sequence, settled: &mut String) {
        match sequence {
            Sequence::Style(params) => {
                if self.ansi == Ansi::KeepColour {
                    self.style.apply(&params);
                }
            }
            Sequence::EraseToEnd => self.line.erase_to_end(),
            Sequence::EraseToStart => self.line.erase_to_start(settled),
            Sequence::EraseLine => self.line.erase(),
            Sequence::Column(column) => self.line.go_to(column),
            Sequence::Forward(count) => self.line.forward(count),
            Sequence::Back(count) => self.line.back(count),
        }
    }

    /// Text without control characters but `\n` and `\t`.
    fn plain(&mut self, mut text: &str, settled: &mut String) {
        // Up to the end of the line that is open, or of each line where lines need a style of their own.
        while !(self.line.is_untouched() && self.style.is_plain()) {
            let Some(end) = memchr(b'\n', text.as_bytes()) else { break };
            self.line.write(&text[..end], self.style, settled);
            self.line.end(settled);
            text = &text[end + 1..];
        }
        if self.line.is_untouched()
            && self.style.is_plain()
            && let Some(last) = memrchr(b'\n', text.as_bytes())
        {
            settled.push_str(&text[..=last]);
            text = &text[last + 1..];
        }
        self.line.write(text, self.style, settled);
    }
}

/// How many bytes there are before the first control character other than `\n` and `\t`.
fn plain_len(bytes: &[u8]) -> usize {
    let mut from = 0;
    loop {
        let Some(at) = find_suspect(&bytes[from..]).map(|found| from + found) else { return bytes.len() };
        // U+0080 to U+009F are C2 80 to C2 9F; other characters start with C2 too.
        if bytes[at] == 0xc2 && !bytes.get(at + 1).is_some_and(|next| (0x80..0xa0).contains(next)) {
            from = at + 1;
        } else {
            return at;
        }
    }
}

/// The first byte that is a control character or may begin one.
fn find_suspect(bytes: &[u8]) -> Option<usize> {
    const fn suspect(byte: u8) -> bool {
        ((byte < 0x20) & (byte != b'\n') & (byte != b'\t')) | (byte == 0x7f) | (byte == 0xc2)
    }
    // Whole blocks without a branch inside, which the compiler turns into vector instructions.
    const BLOCK: usize = 64;
    let clean = bytes
        .chunks_exact(BLOCK)
        .take_while(|block| !block.iter().fold(false, |any, byte| any | suspect(*byte)))
        .count();
    let from = clean * BLOCK;
    bytes[from..].iter().position(|byte| suspect(*byte)).map(|at| from + at)
}
