//! Parts of a notebook's text: by lines, by cell, or the JSON itself.

use crate::error::{Error, Result};

/// Which part is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The JSON of the file instead of the text.
    Raw,
    /// Some lines of the text.
    Lines(Vec<LineRange>),
    /// One cell, by id or index.
    Cell(String),
}

/// Lines counted from 1, both ends included; without an end, to the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: Option<usize>,
}

impl Selector {
    /// Takes a selector off the end of an argument: `nb.ipynb:5-9,30-44` is a path and two ranges. `None`
    /// when there is nothing that looks like one.
    pub fn split(argument: &str) -> Result<Option<(&str, Selector)>> {
        if let Some(end) = argument.rfind(".ipynb#") {
            let (path, cell) = argument.split_at(end + ".ipynb".len());
            let cell = &cell[1..];
            if cell.is_empty() {
                return Err(Error::BadSelector { selector: "#".into() });
            }
            return Ok(Some((path, Selector::Cell(cell.to_owned()))));
        }
        let Some((path, selector)) = argument.rsplit_once(':') else {
            return Ok(None);
        };
        // The rest after a notebook's name is one selector, however many colons it has.
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(end) = name.find(".ipynb:") {
            let start = &name[end + ".ipynb".len()..];
            return Err(Error::BadSelector { selector: format!("{start}:{selector}") });
        }
        if selector == "raw" {
            return Ok(Some((path, Selector::Raw)));
        }
        let numeric = selector.starts_with(|first: char| first.is_ascii_digit());
        if !numeric && !path.ends_with(".ipynb") {
            return Ok(None);
        }
        let ranges: Option<Vec<LineRange>> = selector.split(',').map(parse_range).collect();
        match ranges {
            Some(ranges) => Ok(Some((path, Selector::Lines(ranges)))),
            None => Err(Error::BadSelector { selector: format!(":{selector}") }),
        }
    }
}

fn parse_range(text: &str) -> Option<LineRange> {
    let number = |digits: &str| {
        let number: usize = digits.parse().ok()?;
        (number > 0 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
    };
    let (first, last) = match text.split_once('-') {
        None => (number(text)?, Some(number(text)?)),
        Some((first, "")) => (number(first)?, None),
        Some((first, last)) => (number(first)?, Some(number(last)?)),
    };
    last.is_none_or(|last| first <= last).then_some(LineRange { first, last })
}

/// The given lines of a text, one range after the other.
pub fn select_lines(text: &str, ranges: &[LineRange]) -> Result<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut selected = String::new();
    for LineRange { first, last } in ranges {
        let last = last.unwrap_or(lines.len().max(*first));
        if last > lines.len() {
            return Err(Error::OutOfRange { first: *first, last, lines: lines.len() });
        }
        if !selected.is_empty() && !selected.ends_with('\n') {
            selected.push('\n');
        }
        selected.extend(lines[first - 1..last].iter().copied());
    }
    Ok(selected)
}
