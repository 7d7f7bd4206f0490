//! Excerpts of a text for a model, cut between lines, with a hint for reading on.

use cellist_notebook::{Error, LineRange, Result};

use crate::budget;

/// A part of a text.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// The range of lines, and how to read on.
    pub(crate) about: String,
    /// Whether it is the whole text.
    pub(crate) is_complete: bool,
}

impl Excerpt {
    /// Takes the whole text, or its start.
    pub(crate) fn whole(text: &str, name: &str, budget: usize) -> Excerpt {
        Excerpt::from(text, name, budget, &[LineRange { first: 1, last: None }], lines_in(text))
    }

    /// Takes lines of a text within `budget` bytes. Fails for lines that do not exist.
    pub(crate) fn lines(text: &str, ranges: &[LineRange], name: &str, budget: usize) -> Result<Excerpt> {
        let count = lines_in(text);
        for LineRange { first, last } in ranges {
            let last = last.unwrap_or(count.max(*first));
            if last > count {
                return Err(Error::OutOfRange { first: *first, last, lines: count });
            }
        }
        Ok(Excerpt::from(text, name, budget, ranges, count))
    }

    fn from(text: &str, name: &str, budget: usize, ranges: &[LineRange], count: usize) -> Excerpt {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut shown = String::new();
        let mut parts: Vec<(usize, usize)> = Vec::new();
        let mut next = None;
        'ranges: for LineRange { first, last } in ranges {
            for number in *first..=last.unwrap_or(count) {
                let line = lines.get(number - 1).copied().unwrap_or_default();
                if shown.len() + line.len() > budget {
                    if shown.is_empty() {
                        shown = budget::cut(line, budget);
                        parts.push((number, number));
                        next = Some(number + 1);
                    } else {
                        next = Some(number);
                    }
                    break 'ranges;
                }
                if parts.last().is_some_and(|(_, last)| *last + 1 != number) && !shown.ends_with('\n') {
                    shown.push('\n');
                }
                match parts.last_mut() {
                    Some((_, last)) if *last + 1 == number => *last = number,
                    _ => parts.push((number, number)),
                }
                shown.push_str(line);
            }
        }
        let is_complete = parts == [(1, count)] && next.is_none();
        let said: Vec<String> = parts.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        let mut about = match count {
            0 => "empty".to_owned(),
            _ if is_complete => format!("{count} lines"),
            _ => format!("lines {} of {count}", said.join(",")),
        };
        if let Some(next) = next.filter(|next| *next <= count) {
            about.push_str(&format!(", cut here; continue with `{name}:{next}-`"));
        }
        Excerpt { text: shown, about, is_complete: is_complete || count == 0 }
    }
}

fn lines_in(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: usize, last: usize) -> LineRange {
        LineRange { first, last: Some(last) }
    }

    #[test]
    fn an_excerpt_is_cut_between_lines_with_a_hint() {
        let text = "one\ntwo\nthree\nfour";
        let whole = Excerpt::whole(text, "f", 100);
        assert_eq!((whole.text.as_str(), whole.about.as_str(), whole.is_complete), (text, "4 lines", true));
        let cut = Excerpt::whole(text, "f", 9);
        assert_eq!((cut.text.as_str(), cut.is_complete), ("one\ntwo\n", false));
        assert_eq!(cut.about, "lines 1-2 of 4, cut here; continue with `f:3-`");
        let long = Excerpt::whole(text, "f", 2);
        assert_eq!(
            (long.text.as_str(), long.about.as_str()),
            ("on… [2 more bytes]", "lines 1-1 of 4, cut here; continue with `f:2-`")
        );
        assert_eq!(Excerpt::whole("", "f", 9).about, "empty");
    }

    #[test]
    fn lines_keep_the_requested_order() {
        let text = "one\ntwo\nthree\nfour";
        let some = Excerpt::lines(text, &[range(4, 4), range(1, 2)], "f", 100).unwrap();
        assert_eq!((some.text.as_str(), some.about.as_str()), ("four\none\ntwo\n", "lines 4-4,1-2 of 4"));
        let all = Excerpt::lines(text, &[range(1, 4)], "f", 100).unwrap();
        assert!(all.is_complete);
        let error = Excerpt::lines(text, &[range(3, 9)], "f", 100).err().unwrap();
        assert_eq!(error.to_string(), "lines 3-9 are out of range: there are 4 lines");
    }
}
