//! The difference of two texts in unified format.

use std::fmt::Write;
use std::ops::Range;

use cellist_notebook::{Hunk, split};

use crate::paint::{Ink, Paint, visible};

/// Lines shown around a change.
const CONTEXT: usize = 3;

/// Writes the hunks of a unified diff.
pub(crate) fn write_hunks(before: &str, after: &str, hunks: &[Hunk], paint: Paint, out: &mut String) {
    let (old, new) = (split(before), split(after));
    for group in groups(hunks) {
        let (first, last) = (&hunks[group.start], &hunks[group.end - 1]);
        let lead = first.before.start.min(CONTEXT);
        let trail = (old.len() - last.before.end).min(CONTEXT);
        let shown_old = first.before.start - lead..last.before.end + trail;
        let shown_new = first.after.start - lead..last.after.end + trail;
        let position = format!("@@ -{} +{} @@", position(&shown_old), position(&shown_new));
        push(out, &paint.line(Ink::Position, &position));
        let mut at = shown_old.start;
        for hunk in &hunks[group] {
            old[at..hunk.before.start].iter().for_each(|line| push(out, &format!(" {}", visible(line))));
            write_lines(&old[hunk.before.clone()], '-', paint, out);
            write_lines(&new[hunk.after.clone()], '+', paint, out);
            at = hunk.before.end;
        }
        old[at..shown_old.end].iter().for_each(|line| push(out, &format!(" {}", visible(line))));
    }
}

/// Writes lines that are all new (`+`) or all gone (`-`).
pub(crate) fn write_lines(lines: &[&str], sign: char, paint: Paint, out: &mut String) {
    let ink = if sign == '+' { Ink::Added } else { Ink::Removed };
    for line in lines {
        push(out, &paint.line(ink, &format!("{sign}{}", visible(line))));
    }
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// Groups hunks whose context would overlap.
fn groups(hunks: &[Hunk]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if hunk.before.start - hunks[group.end - 1].before.end <= 2 * CONTEXT => {
                group.end = index + 1;
            }
            Some(_) | None => groups.push(index..index + 1),
        }
    }
    groups
}

/// A range as unified diffs print it: from 1, or the preceding line if it is empty.
fn position(lines: &Range<usize>) -> String {
    let mut text = String::new();
    let first = if lines.is_empty() { lines.start } else { lines.start + 1 };
    let _ = write!(text, "{first}");
    if lines.len() != 1 {
        let _ = write!(text, ",{}", lines.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use cellist_notebook::hunks;

    use super::write_hunks;
    use crate::paint::{ColourMode, Paint};

    fn check(before: &str, after: &str, expected: &str) {
        let mut out = String::new();
        write_hunks(before, after, &hunks(before, after), Paint::for_stdout(ColourMode::Never), &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9",
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
        );
    }

    #[test]
    fn near_changes_share_a_hunk_and_far_ones_do_not() {
        check("a\nb\nc", "A\nb\nC", "@@ -1,3 +1,3 @@\n-a\n+A\n b\n-c\n+C\n");
        let before = (1..=20).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
        let after = before.replace("\n2\n", "\nB\n").replace("19", "S");
        check(
            &before,
            &after,
            "@@ -1,5 +1,5 @@\n 1\n-2\n+B\n 3\n 4\n 5\n@@ -16,5 +16,5 @@\n 16\n 17\n 18\n-19\n+S\n 20\n",
        );
    }

    #[test]
    fn control_characters_are_spelled_out() {
        check("a", "\u{1b}[31mred\r", "@@ -1 +1 @@\n-a\n+^[[31mred^M\n");
    }
}
