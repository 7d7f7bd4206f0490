//! Fits styled lines to a width: cut, broken or wrapped at words.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Maximum characters of a line of output.
pub(crate) const LONGEST_LINE: usize = 4000;
const TAB: usize = 4;

/// The width of a text in columns.
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// The width of a line in columns.
pub(crate) fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| display_width(&span.content)).sum()
}

/// Cuts a line to a width, with an ellipsis.
pub fn fit_to_width(line: &str, room: usize) -> String {
    let mut used = 0;
    let mut shown = String::new();
    for letter in line.chars() {
        let letter = if letter == '\t' { ' ' } else { letter };
        used += letter.width().unwrap_or(0);
        if used > room {
            while display_width(&shown) + 1 > room && shown.pop().is_some() {}
            if room > 0 {
                shown.push('…');
            }
            break;
        }
        shown.push(letter);
    }
    shown
}

/// Cuts a line to [`LONGEST_LINE`].
pub(crate) fn clamp_line(line: &str) -> &str {
    line.char_indices().nth(LONGEST_LINE).map_or(line, |(end, _)| &line[..end])
}

/// Escapes control characters except tabs, so that the text is harmless for a terminal.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => shown.push('\t'),
            '\0'..='\x1f' => shown.extend(['^', char::from(letter as u8 + b'@')]),
            '\x7f'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.extend(letter.escape_unicode());
            }
            _ => shown.push(letter),
        }
    }
    shown
}

/// The escaped lines of a text, in one style.
pub(crate) fn plain_lines(text: &str, style: Style) -> Vec<Line<'static>> {
    text.split('\n').map(|line| Line::from(Span::styled(visible(clamp_line(line)), style))).collect()
}

/// Breaks a line at the width.
pub(crate) fn break_line(line: &Line<'_>, width: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let mut rows = Vec::new();
    let (mut row, mut used): (Vec<Span<'static>>, usize) = (Vec::new(), 0);
    let mut characters = 0;
    for span in &line.spans {
        let style = line.style.patch(span.style);
        let mut piece = String::new();
        for letter in span.content.chars() {
            characters += 1;
            if characters > LONGEST_LINE {
                break;
            }
            let (text, wide): (&str, usize) = match letter {
                '\t' => (&"    "[..TAB - used % TAB], TAB - used % TAB),
                _ => ("", letter.width().unwrap_or(0)),
            };
            if used + wide > width && used > 0 {
                push(&mut row, std::mem::take(&mut piece), style);
                rows.push(Line::from(std::mem::take(&mut row)));
                used = 0;
            }
            match letter {
                '\t' => piece.push_str(text),
                _ => piece.push(letter),
            }
            used += wide;
        }
        push(&mut row, piece, style);
    }
    rows.push(Line::from(row));
    rows
}

/// Wraps a line at words. A word wider than the line is broken.
pub(crate) fn wrap_words(spans: &[Span<'static>], width: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let (mut rows, mut row, mut used) = (Vec::new(), Vec::new(), 0);
    for (word, style) in words(spans) {
        let wide = display_width(word.trim_end());
        if used > 0 && used + wide > width {
            trim(&mut row);
            rows.push(Line::from(std::mem::take(&mut row)));
            used = 0;
        }
        if used == 0 && word.trim().is_empty() && !rows.is_empty() {
            continue;
        }
        if wide > width {
            let mut parts = break_line(&Line::from(Span::styled(word, style)), width);
            let last = parts.pop().unwrap_or_default();
            rows.extend(parts);
            used = line_width(&last);
            row = last.spans;
            continue;
        }
        used += display_width(&word);
        push(&mut row, word, style);
    }
    trim(&mut row);
    rows.push(Line::from(row));
    rows
}

/// Prefixes rows: the first row with `first`, the others with `rest`.
pub(crate) fn prefix_rows(
    rows: Vec<Line<'static>>,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let before = |at: usize| if at == 0 { first } else { rest };
    let indent = |(at, row): (usize, Line<'static>)| {
        Line::from(before(at).iter().cloned().chain(row.spans).collect::<Vec<_>>())
    };
    rows.into_iter().enumerate().map(indent).collect()
}

/// The text of lines, without styles.
pub fn to_plain(lines: &[Line<'_>]) -> String {
    let mut text = String::new();
    for line in lines {
        let start = text.len();
        line.spans.iter().for_each(|span| text.push_str(&span.content));
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    }
    text
}

fn push(row: &mut Vec<Span<'static>>, text: String, style: Style) {
    match row.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.style == style => last.content.to_mut().push_str(&text),
        _ => row.push(Span::styled(text, style)),
    }
}

fn trim(row: &mut Vec<Span<'static>>) {
    while let Some(last) = row.last_mut() {
        let kept = last.content.trim_end().len();
        if kept > 0 {
            last.content.to_mut().truncate(kept);
            return;
        }
        row.pop();
    }
}

/// The words with their trailing spaces. A word in two styles counts as two.
fn words(spans: &[Span<'static>]) -> Vec<(String, Style)> {
    let each = spans.iter().flat_map(|span| {
        span.content.split_inclusive([' ', '\n']).map(|word| (word.replace('\n', " "), span.style))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_never_wider_than_its_room() {
        for (line, room, shown) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 4, "日…"),
            ("日本語", 5, "日本…"),
            ("a\tb", 3, "a b"),
            ("ab", 0, ""),
        ] {
            assert_eq!(fit_to_width(line, room), shown, "{line:?} in {room}");
            assert!(display_width(&fit_to_width(line, room)) <= room);
        }
    }

    #[test]
    fn a_broken_line_keeps_its_style_in_the_next_row() {
        let red = TextRole::Bad.style();
        let line = Line::from(vec![Span::raw("ab"), Span::styled("cd日e", red)]);
        let rows = break_line(&line, 3);
        assert_eq!(to_plain(&rows), "abc\nd日\ne\n");
        assert_eq!(rows[2].spans[0].style, red);
        assert_eq!(to_plain(&break_line(&Line::from("a\tb"), 20)), "a   b\n");
    }

    #[test]
    fn very_long_lines_are_cut() {
        let rows = break_line(&Line::from("x".repeat(LONGEST_LINE + 100)), 80);
        assert_eq!(rows.iter().map(line_width).sum::<usize>(), LONGEST_LINE);
    }

    #[test]
    fn lines_are_wrapped_at_words() {
        let rows = wrap_words(&[Span::raw("one two three, unbelievably")], 9);
        assert_eq!(to_plain(&rows), "one two\nthree,\nunbelieva\nbly\n");
        assert_eq!(to_plain(&wrap_words(&[], 9)), "\n");
    }

    use crate::style::TextRole;
}
