//! The artifact's line numbers for a text that leaves some of its lines out: cleared and updated displays.

use super::{LineRange, newlines};

/// Lines that the artifact has more than the text, by where in the text that begins to count.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbering {
    /// In order, each place once.
    gaps: Vec<(u64, i64)>,
}

impl Numbering {
    /// From `at` on, the artifact is `lines` further ahead.
    pub(super) fn skip(&mut self, at: u64, lines: i64) {
        if lines == 0 {
            return;
        }
        match self.gaps.binary_search_by_key(&at, |(known, _)| *known) {
            Ok(index) => self.gaps[index].1 += lines,
            Err(index) => self.gaps.insert(index, (at, lines)),
        }
    }

    /// Gives places from `from` on new offsets; those that meet count together.
    pub(super) fn move_from(&mut self, from: u64, moved: impl Fn(u64) -> u64) {
        let first = self.gaps.partition_point(|(at, _)| *at <= from);
        let later: Vec<(u64, i64)> = self.gaps.drain(first..).collect();
        for (at, lines) in later {
            self.skip(moved(at), lines);
        }
    }

    /// Between `head_end` and `kept_from` no line is shown any more, so places need not be told apart.
    pub(super) fn merge(&mut self, head_end: u64, kept_from: u64) {
        let first = self.gaps.partition_point(|(at, _)| *at <= head_end);
        let last = self.gaps.partition_point(|(at, _)| *at <= kept_from);
        let lines = self.gaps.drain(first..last).map(|(_, lines)| lines).sum();
        self.skip(kept_from, lines);
    }

    /// The artifact's lines for a part of the text that begins at `from`, with `before` line ends before it.
    pub(super) fn range(&self, from: u64, before: u64, part: &str) -> Option<LineRange> {
        let last_char = part.chars().next_back()?;
        let last_at = part.len() - last_char.len_utf8();
        let inside = newlines(&part.as_bytes()[..last_at]);
        Some(LineRange {
            first: self.number(from, before),
            last: self.number(from + last_at as u64, before + inside),
        })
    }

    fn number(&self, at: u64, newlines_before: u64) -> u64 {
        let skipped: i64 =
            self.gaps.iter().take_while(|(place, _)| *place <= at).map(|(_, lines)| lines).sum();
        (newlines_before + 1).saturating_add_signed(skipped)
    }
}
