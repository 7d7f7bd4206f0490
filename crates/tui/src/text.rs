//! Styled lines made to fit a width: cut, broken or wrapped by words.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// No line that a program wrote is shown longer than this, in characters.
pub(crate) const LONGEST_LINE: usize = 4000;
const TAB: usize = 4;

/// The columns that a text takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The columns that a line takes.
pub(crate) fn line_columns(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| columns(&span.content)).sum()
}

/// As much of a line as fits, so that the terminal never breaks it.
pub fn fitting(line: &str, room: usize) -> String {
    let mut used = 0;
    let mut shown = String::new();
    for letter in line.chars() {
        let letter = if letter == '\t' { ' ' } else { letter };
        used += letter.width().unwrap_or(0);
        if used > room {
            while columns(&shown) + 1 > room && shown.pop().is_some() {}
            if room > 0 {
                shown.push('…');
            }
            break;
        }
        shown.push(letter);
    }
    shown
}

/// The beginning of a line that is too long for anyone.
pub(crate) fn clamped(line: &str) -> &str {
    line.char_indices().nth(LONGEST_LINE).map_or(line, |(end, _)| &line[..end])
}

/// Text that cannot do anything to a terminal: control characters but tabs are spelled out.
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

/// The lines of a cell's source, in one style and without what could do anything to a terminal.
pub(crate) fn plain_lines(text: &str, style: Style) -> Vec<Line<'static>> {
    text.split('\n').map(|line| Line::from(Span::styled(visible(clamped(line)), style))).collect()
}

/// Breaks a line wherever it reaches the width.
pub(crate) fn broken(line: &Line<'_>, width: usize) -> Vec<Line<'static>> {
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

/// Wraps a line between words; a word that is wider than the line is broken.
pub(crate) fn wrapped(spans: &[Span<'static>], width: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let (mut rows, mut row, mut used) = (Vec::new(), Vec::new(), 0);
    for (word, style) in words(spans) {
        let wide = columns(word.trim_end());
        if used > 0 && used + wide > width {
            trim(&mut row);
            rows.push(Line::from(std::mem::take(&mut row)));
            used = 0;
        }
        if used == 0 && word.trim().is_empty() && !rows.is_empty() {
            continue;
        }
        if wide > width {
            let mut parts = broken(&Line::from(Span::styled(word, style)), width);
            let last = parts.pop().unwrap_or_default();
            rows.extend(parts);
            used = line_columns(&last);
            row = last.spans;
            continue;
        }
        used += columns(&word);
        push(&mut row, word, style);
    }
    trim(&mut row);
    rows.push(Line::from(row));
    rows
}

/// Puts something before a line, and something else before each row that it goes on in.
pub(crate) fn indented(
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

/// The text of lines, without any style.
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

/// Words, each with the spaces behind it. A word in two styles is two.
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
    fn a_line_never_exceeds_its_room_whatever_it_is_made_of() {
        for (line, room, shown) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 4, "日…"),
            ("日本語", 5, "日本…"),
            ("a\tb", 3, "a b"),
            ("ab", 0, ""),
        ] {
            assert_eq!(fitting(line, room), shown, "{line:?} in {room}");
            assert!(columns(&fitting(line, room)) <= room);
        }
    }

    #[test]
    fn a_line_that_is_too_wide_goes_on_in_the_next_row_with_its_style() {
        let red = Role::Bad.style();
        let line = Line::from(vec![Span::raw("ab"), Span::styled("cd日e", red)]);
        let rows = broken(&line, 3);
        assert_eq!(to_plain(&rows), "abc\nd日\ne\n");
        assert_eq!(rows[2].spans[0].style, red);
        assert_eq!(to_plain(&broken(&Line::from("a\tb"), 20)), "a   b\n");
    }

    #[test]
    fn nothing_past_the_longest_line_is_shown() {
        let rows = broken(&Line::from("x".repeat(LONGEST_LINE + 100)), 80);
        assert_eq!(rows.iter().map(line_columns).sum::<usize>(), LONGEST_LINE);
    }

    #[test]
    fn words_are_kept_whole_where_there_is_room_for_them() {
        let rows = wrapped(&[Span::raw("one two three, unbelievably")], 9);
        assert_eq!(to_plain(&rows), "one two\nthree,\nunbelieva\nbly\n");
        assert_eq!(to_plain(&wrapped(&[], 9)), "\n");
    }

    use crate::look::Role;
}
