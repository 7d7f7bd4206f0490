//! Texts by lines: where two differ, and how two changes of one text go together.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// One place where two sequences differ: `before` gave way to `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Positions in the old sequence.
    pub before: Range<usize>,
    /// Positions in the new one.
    pub after: Range<usize>,
}

/// Where two texts differ, by lines as [`split`] gives them.
pub fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let mut input = InternedInput::default();
    input.update_before(split(before).into_iter());
    input.update_after(split(after).into_iter());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    collect(&diff)
}

/// Where two sequences of anything comparable differ.
pub(crate) fn hunks_of<T: std::hash::Hash + Eq + Default>(
    before: impl Iterator<Item = T>,
    after: impl Iterator<Item = T>,
) -> Vec<Hunk> {
    let mut input = InternedInput::default();
    input.update_before(before);
    input.update_after(after);
    collect(&Diff::compute(Algorithm::Histogram, &input))
}

fn collect(diff: &Diff) -> Vec<Hunk> {
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| Hunk { before: range(hunk.before), after: range(hunk.after) }).collect()
}

/// The lines of a text without their newlines. A text that ends in a newline has an empty last line, so
/// that joining the lines with newlines gives the text back.
pub fn split(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

/// Two changes of one text, put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergedLines {
    /// Both changes, in one text.
    Clean(String),
    /// They touch the same lines: the text with both versions between markers.
    Conflict(String),
}

/// Puts two changes of one text together, by lines; `None` where they touch the same ones.
pub fn merge_text(base: &str, ours: &str, theirs: &str) -> Option<String> {
    match merge_lines(base, ours, theirs) {
        MergedLines::Clean(text) => Some(text),
        MergedLines::Conflict(_) => None,
    }
}

/// Puts two changes of `base` together. Changes of neighbouring lines do not disturb each other.
pub(crate) fn merge_lines(base: &str, ours: &str, theirs: &str) -> MergedLines {
    if ours == theirs || theirs == base {
        return MergedLines::Clean(ours.to_owned());
    }
    if ours == base {
        return MergedLines::Clean(theirs.to_owned());
    }
    let our_side = Side { lines: split(ours), hunks: hunks(base, ours) };
    let their_side = Side { lines: split(theirs), hunks: hunks(base, theirs) };
    let base = split(base);
    let mut out: Vec<&str> = Vec::new();
    let mut conflict = false;
    let (mut at, mut o, mut t) = (0, 0, 0);
    loop {
        let (our, their) = (our_side.hunks.get(o), their_side.hunks.get(t));
        let (start, ours_end, theirs_end) = match (our, their) {
            (None, None) => break,
            (Some(our), Some(their)) if clash(&our.before, &their.before) => {
                let (ours_end, theirs_end) = clashing(&our_side.hunks, o, &their_side.hunks, t);
                (our.before.start.min(their.before.start), ours_end, theirs_end)
            }
            (Some(our), Some(their)) if precedes(&their.before, &our.before) => {
                (their.before.start, o, t + 1)
            }
            (Some(our), _) => (our.before.start, o + 1, t),
            (None, Some(their)) => (their.before.start, o, t + 1),
        };
        let end = (our_side.hunks[o..ours_end].iter().chain(&their_side.hunks[t..theirs_end]))
            .map(|hunk| hunk.before.end)
            .max()
            .unwrap_or(start);
        out.extend(&base[at..start]);
        let ours = our_side.version_of(&base, start..end, o..ours_end);
        let theirs = their_side.version_of(&base, start..end, t..theirs_end);
        if o == ours_end || ours == theirs {
            out.extend(theirs);
        } else if t == theirs_end {
            out.extend(ours);
        } else {
            conflict = true;
            out.push("<<<<<<< ours");
            out.extend(ours);
            out.push("=======");
            out.extend(theirs);
            out.push(">>>>>>> theirs");
        }
        (at, o, t) = (end, ours_end, theirs_end);
    }
    out.extend(&base[at..]);
    let text = out.join("\n");
    if conflict { MergedLines::Conflict(text) } else { MergedLines::Clean(text) }
}

struct Side<'a> {
    lines: Vec<&'a str>,
    hunks: Vec<Hunk>,
}

impl<'a> Side<'a> {
    /// This side's version of the lines `range` of the base, which the given hunks of it change.
    fn version_of(&self, base: &[&'a str], range: Range<usize>, hunks: Range<usize>) -> Vec<&'a str> {
        let mut lines = Vec::new();
        let mut at = range.start;
        for hunk in &self.hunks[hunks] {
            lines.extend(&base[at..hunk.before.start]);
            lines.extend(&self.lines[hunk.after.clone()]);
            at = hunk.before.end;
        }
        lines.extend(&base[at..range.end]);
        lines
    }
}

/// How far the run of hunks goes that clash with one another, from the clashing pair (`o`, `t`) on.
fn clashing(ours: &[Hunk], o: usize, theirs: &[Hunk], t: usize) -> (usize, usize) {
    let (mut o, mut t) = (o + 1, t + 1);
    loop {
        let reach = ours[o - 1].before.end.max(theirs[t - 1].before.end);
        let within = |hunk: &Hunk| hunk.before.start < reach;
        if ours.get(o).is_some_and(within) {
            o += 1;
        } else if theirs.get(t).is_some_and(within) {
            t += 1;
        } else {
            return (o, t);
        }
    }
}

/// Whether two changes of the base cannot both be made: they share a line, one inserts amid lines that the
/// other changes, or both insert at one place.
fn clash(one: &Range<usize>, other: &Range<usize>) -> bool {
    match (one.is_empty(), other.is_empty()) {
        (true, true) => one.start == other.start,
        (true, false) => other.start < one.start && one.start < other.end,
        (false, true) => one.start < other.start && other.start < one.end,
        (false, false) => one.start < other.end && other.start < one.end,
    }
}

fn precedes(one: &Range<usize>, other: &Range<usize>) -> bool {
    (one.start, one.end) < (other.start, other.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, ours: &str, theirs: &str, expected: &str) {
        let expected = MergedLines::Clean(expected.into());
        assert_eq!(merge_lines(base, ours, theirs), expected, "{base:?} {ours:?} {theirs:?}");
    }

    #[test]
    fn changes_of_different_lines_both_survive() {
        check("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC");
        check("a\nb", "A\nb", "a\nB", "A\nB");
        check("a\nb", "a\nb\nc", "a\nB", "a\nB\nc");
        check("a\nb", "x\na\nb", "A\nb", "x\nA\nb");
        check("a\nb\nc\nd", "a\nd", "a\nb\nc\nd\ne", "a\nd\ne");
        check("a\n", "a", "A\n", "A");
    }

    #[test]
    fn the_same_change_on_both_sides_is_made_once() {
        check("a\nb", "a\nb\nc", "a\nb\nc", "a\nb\nc");
        check("a\nb\nc", "X\nb\nc", "X\nb\nC", "X\nb\nC");
    }

    #[test]
    fn different_changes_of_one_line_are_a_conflict_that_shows_both() {
        let MergedLines::Conflict(text) = merge_lines("a\nb\nc", "a\nB1\nc", "a\nB2\nc") else {
            panic!("no conflict");
        };
        assert_eq!(text, "a\n<<<<<<< ours\nB1\n=======\nB2\n>>>>>>> theirs\nc");
    }

    #[test]
    fn two_insertions_at_one_place_are_a_conflict() {
        assert!(matches!(merge_lines("a", "a\nb", "a\nc"), MergedLines::Conflict(_)));
    }
}
