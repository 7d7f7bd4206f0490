//! The sink against a model that has the whole text and no reason to be clever.

use cellist_output::{Ansi, Limits, LineRange, Shown, Sink, Truncation, clean, notices};
use proptest::prelude::*;

fn lines(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// The longest prefix within the limits; where bytes decide and a line ends in its last quarter, up to there.
fn head(text: &str, max_bytes: usize, max_lines: usize) -> &str {
    let ends = (0..=text.len()).filter(|end| text.is_char_boundary(*end));
    let fits = |end: &usize| *end <= max_bytes && lines(&text[..*end]) <= max_lines;
    let end = ends.filter(fits).max().unwrap_or(0);
    if end == text.len() || lines(&text[..end]) == max_lines && text[..end].ends_with('\n') {
        return &text[..end];
    }
    match text[..end].rfind('\n') {
        Some(at) if at + 1 >= end - end / 4 => &text[..=at],
        _ => &text[..end],
    }
}

/// The longest suffix within the limits; where bytes decide and a line begins in its first quarter, from there.
fn tail(text: &str, max_bytes: usize, max_lines: usize) -> &str {
    let starts = (0..=text.len()).filter(|start| text.is_char_boundary(*start));
    let fits = |start: &usize| text.len() - start <= max_bytes && lines(&text[*start..]) <= max_lines;
    let start = starts.filter(fits).min().unwrap_or(text.len());
    if start == 0 || start == text.len() || text[..start].ends_with('\n') {
        return &text[start..];
    }
    match text[start..].find('\n') {
        Some(at) if at < max_bytes / 4 && start + at + 1 < text.len() => &text[start + at + 1..],
        _ => &text[start..],
    }
}

fn range(before: &str, part: &str) -> Option<LineRange> {
    let last = part.chars().next_back()?;
    let first = before.matches('\n').count() as u64 + 1;
    let inside = part[..part.len() - last.len_utf8()].matches('\n').count() as u64;
    Some(LineRange { first, last: first + inside })
}

fn model(raw: &[u8], limits: Limits) -> Shown {
    let text = clean(raw, Ansi::Remove);
    if text.len() <= limits.max_bytes && lines(&text) <= limits.max_lines {
        return Shown { text, truncated: None };
    }
    let head_lines = limits.cut_lines * limits.head_bytes / limits.max_bytes;
    let head = head(&text, limits.head_bytes, head_lines);
    let tail = tail(&text, limits.max_bytes - head.len(), limits.cut_lines - lines(head));
    let head_range = range("", head);
    let tail_range = range(&text[..text.len() - tail.len()], tail);
    let mut shown: Vec<u64> =
        [head_range, tail_range].into_iter().flatten().flat_map(|range| range.first..=range.last).collect();
    shown.dedup();
    let truncated = Truncation {
        total_lines: raw.split_inclusive(|byte| *byte == b'\n').count() as u64,
        shown_lines: shown.len() as u64,
        total_bytes: raw.len() as u64,
        shown_bytes: (head.len() + tail.len()) as u64,
        head: head_range,
        tail: tail_range,
    };
    let own_line = |part: &str| {
        if part.is_empty() || part.ends_with('\n') { part.to_owned() } else { format!("{part}\n") }
    };
    let notice = notices::truncated(&truncated, Some("id"));
    let text = format!("{}{}\n{}{notice}", own_line(head), notices::GAP, own_line(tail));
    Shown { text, truncated: Some(truncated) }
}

fn limits() -> impl Strategy<Value = Limits> {
    (1usize..200, 1usize..20).prop_flat_map(|(max_bytes, max_lines)| {
        (0..=max_bytes, 1..=max_lines).prop_map(move |(head_bytes, cut_lines)| Limits {
            max_bytes,
            max_lines,
            cut_lines,
            head_bytes,
        })
    })
}

/// From a few bytes to many times the limits.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z é█]{0,12}\n".prop_map(String::into_bytes),
        2 => "[a-zé█]{0,60}".prop_map(String::into_bytes),
        1 => prop::sample::select(vec![&b"\r"[..], b"\x08", b"\x1b[31m", b"\x1b[K", b"\xff", b"\xe2\x96", b"\r\n", b"\n"])
            .prop_map(<[u8]>::to_vec),
    ];
    (prop::collection::vec(piece, 0..40), 1usize..4).prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_sink_shows_and_counts_what_the_model_does(
        raw in streams(),
        limits in limits(),
        sizes in prop::collection::vec(1usize..50, 1..5),
    ) {
        let mut sink = Sink::new(limits, Ansi::Remove);
        let mut rest = &raw[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, later) = rest.split_at((*size).min(rest.len()));
            sink.push(chunk);
            rest = later;
            let pushed = raw.len() - rest.len();
            prop_assert_eq!(sink.total_bytes(), pushed as u64);
        }
        prop_assert_eq!(sink.total_lines(), raw.split_inclusive(|byte| *byte == b'\n').count() as u64);
        prop_assert_eq!(sink.finish(Some("id")), model(&raw, limits));
    }

    #[test]
    fn a_snapshot_is_what_finishing_would_give(raw in "[a-z \r\n]{0,400}", limits in limits()) {
        let mut sink = Sink::new(limits, Ansi::Remove);
        sink.push(raw.as_bytes());
        prop_assert_eq!(sink.snapshot(None), sink.finish(None));
    }
}
