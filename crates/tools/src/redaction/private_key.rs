//! Finds private keys: lines of base64 between two markers. A key that was cut is found as long as
//! a marker or the first line is left.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::SecretSpan;

/// The label of a redacted key.
pub(super) const LABEL: &str = "private key";

/// The maximum length of a key.
const LONGEST: usize = 16 * 1024;

/// Characters of a line that counts as part of a key. Most lines have 64.
const LINE: usize = 32;

static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    let marks = r"-----(?:BEGIN|END) (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----";
    Regex::new(marks).expect("a test makes this one")
});

/// The first characters of a key without its marker: RSA, PKCS#8 with RSA, elliptic curves and
/// Ed25519, OpenSSH.
static HEADS: LazyLock<Regex> = LazyLock::new(|| {
    let heads = r"MII[A-Za-z0-9+/]{2}[AQgw]IBA(?:AKC|DAN)|MI[GH][A-Za-z0-9+/]AgEAM|MHcCAQEEI|MIGkAgEBBD|MC4CAQAwBQYDK2VwBCIE|b3BlbnNzaC1rZXktdjE";
    Regex::new(heads).expect("a test makes this one")
});

/// Finds private keys in a text.
pub(super) fn find(text: &str) -> Vec<SecretSpan<'static>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    if text.contains("PRIVATE KEY") {
        let mut seen = 0;
        for mark in MARKS.find_iter(text) {
            if mark.start() < seen {
                continue;
            }
            let key = match mark.as_str().starts_with("-----BEGIN") {
                true => behind(text, mark.range()),
                false => before(text, seen, mark.range()),
            };
            seen = key.as_ref().map_or(mark.end(), |key| key.end);
            ranges.extend(key);
        }
    }
    let mut seen = 0;
    for head in HEADS.find_iter(text) {
        if head.start() >= seen
            && let Some(key) = headless(text, head.start())
        {
            seen = key.end;
            ranges.push(key);
        }
    }
    ranges.into_iter().map(|range| SecretSpan { range, label: LABEL }).collect()
}

/// Returns the range from the BEGIN marker to the END marker, or to the end of the key.
fn behind(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    const END: &str = "-----END ";
    let rest = &text[mark.end..text.floor_char_boundary(mark.end + LONGEST)];
    let length = match rest.find(END) {
        Some(end) => {
            rest[end + END.len()..].find("-----").map_or(rest.len(), |more| end + END.len() + more + 5)
        }
        None => body(rest, true),
    };
    (length > 0).then(|| mark.start..mark.end + length)
}

/// Returns the key lines before an END marker, and the marker. Leaves out text before `seen`.
fn before(text: &str, seen: usize, mark: Range<usize>) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(seen.max(mark.start.saturating_sub(LONGEST)));
    let text = &text[from..];
    let all: Vec<Range<usize>> = lines(&text[..mark.start - from]).collect();
    // The marker shares its line with a line number at most. The last line of a key may be short.
    let (mut start, mut short) = (None, 2);
    for line in all.into_iter().rev() {
        match longest(&text[line.clone()]) {
            Some(run) if is_line(&text[line.clone()], &run) => {
                start = Some(from + line.start + run.start);
                short = 0;
            }
            Some(_) if short == 0 => break,
            Some(_) => short -= 1,
            None => short = short.min(1),
        }
    }
    start.map(|start| start..mark.end)
}

/// Returns the key without a BEGIN marker that starts here.
fn headless(text: &str, start: usize) -> Option<Range<usize>> {
    if text[..start].ends_with(is_base64) {
        return None;
    }
    let rest = &text[start..text.floor_char_boundary(start + LONGEST)];
    let first = &rest[lines(rest).next()?];
    let run = longest(first).filter(|run| run.start == 0 && is_mixed(&first[run.clone()]));
    run.map(|_| start..start + body(rest, false))
}

/// Returns the length of the key lines. Headers may follow the marker.
fn body(text: &str, is_marked: bool) -> usize {
    let mut end = 0;
    for line in lines(text) {
        let piece = &text[line.clone()];
        let Some(run) = longest(piece) else { continue };
        let is_first = !is_marked && line.start == 0;
        let short = short(piece).filter(|_| end > 0);
        match short.or((is_first || is_line(piece, &run)).then_some(run)) {
            Some(run) => end = line.start + run.end,
            None if is_marked && end == 0 && piece.contains(": ") => {}
            None => break,
        }
    }
    end
}

/// Returns the only run of a line that may end a key, beside a line number.
fn short(line: &str) -> Option<Range<usize>> {
    let run = runs(line).last()?;
    let is_number = |run: Range<usize>| line[run].bytes().all(|letter| letter.is_ascii_digit());
    runs(line).all(|other| other == run || is_number(other)).then_some(run)
}

/// Splits a text into lines. An escaped line end counts too.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let bytes = &text.as_bytes()[start..];
        let ends = |at: &usize| {
            let letter = bytes[*at];
            letter == b'\n' || letter == b'\\' && matches!(bytes.get(at + 1), Some(b'n' | b'r'))
        };
        let end = (0..bytes.len()).find(ends);
        next = end.map(|at| start + at + if bytes[at] == b'\n' { 1 } else { 2 });
        Some(start..end.map_or(text.len(), |at| start + at))
    })
}

/// Returns the longest run of base64 characters.
fn longest(line: &str) -> Option<Range<usize>> {
    runs(line).max_by_key(Range::len)
}

fn runs(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    line.split(|letter: char| !is_base64(letter)).filter_map(move |piece| {
        let run = at..at + piece.len();
        at = run.end + line[run.end..].chars().next().map_or(0, char::len_utf8);
        (!run.is_empty()).then_some(run)
    })
}

/// Returns whether a line belongs to a key. A line number, quotes and similar may stand beside it.
fn is_line(line: &str, run: &Range<usize>) -> bool {
    const BESIDE: usize = 24;
    is_mixed(&line[run.clone()]) && line.trim().len() - run.len() <= BESIDE
}

/// Returns whether a run is as long and as mixed as a line of a key.
fn is_mixed(run: &str) -> bool {
    run.len() >= LINE
        && run.contains(|letter: char| letter.is_ascii_lowercase())
        && run.contains(|letter: char| letter.is_ascii_uppercase())
}

fn is_base64(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "+/=".contains(letter)
}
