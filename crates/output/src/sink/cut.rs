//! Where a text is cut: between characters, outside escape sequences, and at a line's end if one is near.

use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};

use crate::limits::Limits;

/// No style that we write is longer than this many bytes.
pub(super) const MAX_SEQUENCE: usize = 64;

/// The visible parts: the text up to the head's end, and the text from the tail's start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) head_end: usize,
    pub(super) tail_start: usize,
}

/// Decides how to cut a text that ends with `kept`; `None` where it fits. With `more` there is text before
/// `kept`, which begins with `head`; without, `head` is `kept`.
pub(super) fn cut(head: &str, kept: &str, more: bool, limits: &Limits) -> Option<Cut> {
    let fits = kept.len() <= limits.max_bytes && lines(kept) <= limits.max_lines as u64;
    if fits && !more {
        return None;
    }
    let head_end = head_end(head, limits.head_bytes.min(limits.max_bytes), limits.head_lines());
    let head_lines = usize::try_from(lines(&head[..head_end])).unwrap_or(usize::MAX);
    let tail_start =
        tail_start(kept, limits.max_bytes - head_end, limits.cut_lines.saturating_sub(head_lines));
    Some(Cut { head_end, tail_start })
}

/// Lines of a text: the last one counts without a line end too.
pub(super) fn lines(text: &str) -> u64 {
    let unfinished = !text.is_empty() && !text.ends_with('\n');
    memchr_iter(b'\n', text.as_bytes()).count() as u64 + u64::from(unfinished)
}

/// The codes that end the styles of a part that was cut inside a line.
pub(super) fn reset_after(part: &str) -> &'static str {
    let line = memrchr(b'\n', part.as_bytes()).map_or(0, |at| at + 1);
    if memchr(b'\x1b', &part.as_bytes()[line..]).is_some() { "\u{1b}[0m" } else { "" }
}

fn head_end(text: &str, max_bytes: usize, max_lines: usize) -> usize {
    let Some(last) = max_lines.checked_sub(1) else { return 0 };
    if let Some(at) = memchr_iter(b'\n', text.as_bytes()).nth(last)
        && at < max_bytes
    {
        return at + 1;
    }
    let end = text.floor_char_boundary(max_bytes);
    match memrchr(b'\n', &text.as_bytes()[..end]) {
        Some(at) if at + 1 >= end - end / 4 => at + 1,
        Some(_) | None => open_sequence(text, end).unwrap_or(end),
    }
}

fn tail_start(text: &str, max_bytes: usize, max_lines: usize) -> usize {
    if max_bytes == 0 || max_lines == 0 {
        return text.len();
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    let by_lines = memrchr_iter(b'\n', body.as_bytes()).nth(max_lines - 1).map_or(0, |at| at + 1);
    let by_bytes = text.len().saturating_sub(max_bytes);
    if by_lines >= by_bytes {
        return by_lines;
    }
    let start = text.ceil_char_boundary(by_bytes);
    if text.as_bytes()[start - 1] == b'\n' {
        return start;
    }
    match memchr(b'\n', &text.as_bytes()[start..]) {
        Some(distance) if distance < max_bytes / 4 && start + distance + 1 < text.len() => {
            start + distance + 1
        }
        Some(_) | None => match open_sequence(text, start) {
            Some(_) => start + memchr(b'm', &text.as_bytes()[start..]).map_or(0, |end| end + 1),
            None => start,
        },
    }
}

/// Where the escape sequence begins that `at` would cut in two.
fn open_sequence(text: &str, at: usize) -> Option<usize> {
    let from = at.saturating_sub(MAX_SEQUENCE);
    let escape = from + memrchr(b'\x1b', &text.as_bytes()[from..at])?;
    memchr(b'm', &text.as_bytes()[escape..at]).is_none().then_some(escape)
}
