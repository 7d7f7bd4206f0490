//! The line that is still open: text, cursor, and which style each part was written in.

use std::borrow::Cow;

use super::style::Style;

/// A line is settled in pieces of this size, which bounds it.
const WINDOW: usize = 64 * 1024;
/// No sequence moves the cursor further than this beyond the end of the text.
const MAX_COLUMN: usize = 256;

/// Characters are counted as one column each, as notebooks do.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    text: String,
    /// Where the next character goes: a byte offset at a character boundary.
    cursor: usize,
    /// Columns between the end of the text and the cursor; only where the cursor is at the end.
    gap: usize,
    /// Styles and where they begin, in order; none before the first.
    styles: Vec<(usize, Style)>,
}

impl Line {
    /// Whether nothing was written and the cursor is at the start.
    pub(super) fn is_untouched(&self) -> bool {
        self.text.is_empty() && self.gap == 0
    }

    /// Writes text without control characters at the cursor, over the existing characters.
    pub(super) fn write(&mut self, mut text: &str, style: Style, settled: &mut String) {
        if self.gap > 0 && !text.is_empty() {
            let gap = " ".repeat(std::mem::take(&mut self.gap));
            self.append(&gap, Style::default(), settled);
        }
        if self.cursor < self.text.len() {
            let written = self.overwrite(text, style);
            text = &text[written..];
        }
        self.append(text, style, settled);
    }

    /// Settles the line and its end.
    pub(super) fn end(&mut self, settled: &mut String) {
        self.settle(settled);
        settled.push('\n');
    }

    /// Gives the text out and starts anew, on the same line.
    pub(super) fn settle(&mut self, settled: &mut String) {
        self.show(settled);
        self.text.clear();
        self.styles.clear();
        self.cursor = 0;
        self.gap = 0;
    }

    /// The text with its styles.
    pub(super) fn shown(&self) -> Cow<'_, str> {
        if self.styles.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let mut shown = String::new();
        self.show(&mut shown);
        Cow::Owned(shown)
    }

    pub(super) fn carriage_return(&mut self) {
        self.cursor = 0;
        self.gap = 0;
    }

    /// At the end of the line the character before the cursor goes, as in notebooks; elsewhere the cursor
    /// only moves.
    pub(super) fn backspace(&mut self) {
        if self.gap > 0 || self.cursor < self.text.len() {
            self.back(1);
        } else {
            self.text.pop();
            self.cursor = self.text.len();
            self.forget_styles();
        }
    }

    pub(super) fn back(&mut self, count: usize) {
        let over_text = count.saturating_sub(self.gap);
        self.gap = self.gap.saturating_sub(count);
        if over_text > 0 {
            let before = self.text[..self.cursor].char_indices();
            self.cursor = before.rev().nth(over_text - 1).map_or(0, |(at, _)| at);
        }
    }

    pub(super) fn forward(&mut self, count: usize) {
        let rest = &self.text[self.cursor..];
        if let Some((offset, _)) = rest.char_indices().nth(count) {
            self.cursor += offset;
        } else {
            let beyond = count - rest.chars().count();
            let end = self.text.chars().count() + self.gap;
            self.cursor = self.text.len();
            self.gap += beyond.min(MAX_COLUMN.saturating_sub(end));
        }
    }

    pub(super) fn go_to(&mut self, column: usize) {
        self.carriage_return();
        if column > 0 {
            self.forward(column);
        }
    }

    pub(super) fn erase_to_end(&mut self) {
        self.text.truncate(self.cursor);
        self.forget_styles();
    }

    /// The character under the cursor goes too, as in terminals.
    pub(super) fn erase_to_start(&mut self, settled: &mut String) {
        let column = self.text[..self.cursor].chars().count();
        let under = usize::from(self.cursor < self.text.len());
        let gap = self.gap;
        self.carriage_return();
        self.write(&" ".repeat(column + under), Style::default(), settled);
        self.go_to(column);
        self.gap = gap;
    }

    pub(super) fn erase(&mut self) {
        let column = self.text[..self.cursor].chars().count() + self.gap;
        self.text.clear();
        self.styles.clear();
        self.cursor = 0;
        self.gap = column.min(MAX_COLUMN);
    }

    /// Appends at the end. A piece is settled by the character that fills it, so that chunks don't matter.
    fn append(&mut self, mut text: &str, style: Style, settled: &mut String) {
        while !text.is_empty() {
            let room = WINDOW.saturating_sub(self.text.len()).max(1);
            let taken = if text.len() <= room { text.len() } else { text.ceil_char_boundary(room) };
            if self.style_at(self.text.len()) != style {
                self.styles.push((self.text.len(), style));
            }
            self.text.push_str(&text[..taken]);
            self.cursor = self.text.len();
            text = &text[taken..];
            if self.text.len() >= WINDOW {
                self.settle(settled);
            }
        }
    }

    /// Replaces as many characters as there are on both sides, and says how many bytes of `text` that took.
    fn overwrite(&mut self, text: &str, style: Style) -> usize {
        let old = &self.text[self.cursor..];
        let common = old.len().min(text.len());
        let (old_len, new_len) =
            if old.as_bytes()[..common].is_ascii() && text.as_bytes()[..common].is_ascii() {
                (common, common)
            } else {
                old.chars().zip(text.chars()).fold((0, 0), |(old_len, new_len), (old, new)| {
                    (old_len + old.len_utf8(), new_len + new.len_utf8())
                })
            };
        if !(self.styles.is_empty() && style.is_plain()) {
            self.restyle(self.cursor, old_len, new_len, style);
        }
        self.text.replace_range(self.cursor..self.cursor + old_len, &text[..new_len]);
        self.cursor += new_len;
        new_len
    }

    /// Accounts for `old_len` bytes at `from` becoming `new_len` bytes of one style.
    fn restyle(&mut self, from: usize, old_len: usize, new_len: usize, style: Style) {
        let old_end = from + old_len;
        let after = self.style_at(old_end);
        let first = self.styles.partition_point(|(at, _)| *at < from);
        let rest = self.styles.partition_point(|(at, _)| *at <= old_end);
        for (at, _) in &mut self.styles[rest..] {
            *at = *at - old_len + new_len;
        }
        let behind = (old_end < self.text.len()).then_some((from + new_len, after));
        self.styles.splice(first..rest, std::iter::once((from, style)).chain(behind));
    }

    fn style_at(&self, offset: usize) -> Style {
        let next = self.styles.partition_point(|(at, _)| *at <= offset);
        next.checked_sub(1).map_or_else(Style::default, |last| self.styles[last].1)
    }

    /// Drops styles that begin beyond the text.
    fn forget_styles(&mut self) {
        let end = self.text.len();
        self.styles.truncate(self.styles.partition_point(|(at, _)| *at < end));
    }

    fn show(&self, shown: &mut String) {
        let mut from = 0;
        let mut current = Style::default();
        for (at, style) in self.styles.iter().copied() {
            shown.push_str(&self.text[from..at]);
            from = at;
            style.switch_from(current, shown);
            current = style;
        }
        shown.push_str(&self.text[from..]);
        Style::default().switch_from(current, shown);
    }
}
