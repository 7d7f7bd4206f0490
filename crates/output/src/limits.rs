//! How much of an output a reader gets.

use serde::{Deserialize, Serialize};

/// Bounds on the text shown. Longer text is cut in the middle: a short head and the tail stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of cleaned text, head and tail together.
    pub max_bytes: usize,
    /// Lines, head and tail together.
    pub max_lines: usize,
    /// Lines that stay of a text that exceeds either bound. Less than `max_lines` where a cut text is to be short.
    pub cut_lines: usize,
    /// Bytes of the head, part of `max_bytes`; the head gets the same share of the lines.
    pub head_bytes: usize,
}

impl Limits {
    /// For a person's screen, and wherever nothing else is set: 50 KiB, 2,000 lines.
    pub const fn for_screen() -> Self {
        Self { max_bytes: 50 * 1024, max_lines: 2000, cut_lines: 2000, head_bytes: 4096 }
    }

    /// For a model that pays for each word: 16 KiB.
    pub const fn for_model() -> Self {
        Self { max_bytes: 16 * 1024, ..Self::for_screen() }
    }

    /// Other bounds, with the usual head; one that would leave the tail less than half is made smaller.
    pub const fn new(max_bytes: usize, max_lines: usize) -> Self {
        let usual = Self::for_screen().head_bytes;
        let head_bytes = if usual > max_bytes / 2 { max_bytes / 2 } else { usual };
        Self { max_bytes, max_lines, cut_lines: max_lines, head_bytes }
    }

    /// The same bounds, with fewer lines left of a text that exceeds them.
    pub const fn cut_to(self, lines: usize) -> Self {
        let cut_lines = if lines < self.max_lines { lines } else { self.max_lines };
        Self { cut_lines, ..self }
    }

    /// Lines that the head may have.
    pub(crate) fn head_lines(&self) -> usize {
        if self.max_bytes == 0 {
            return 0;
        }
        let share =
            self.cut_lines as u128 * self.head_bytes.min(self.max_bytes) as u128 / self.max_bytes as u128;
        usize::try_from(share).unwrap_or(self.cut_lines)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::for_screen()
    }
}
