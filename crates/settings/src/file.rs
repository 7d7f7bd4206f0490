//! A settings file as a list of names and values, each with its line. The names have no meaning here.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cellist_platform::in_words;
use toml::de::{DeArray, DeTable, DeValue};

use super::domain::Written;
use super::fault::{Fault, Line};
use super::table::row;

/// The name of such a file, in the state folder or in the `.cellist` of a project.
pub(crate) const NAME: &str = "config.toml";

/// No settings need more room than this.
const LARGEST: u64 = 1 << 20;

/// A line of a settings file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) written: Written,
    pub(crate) line: Line,
}

/// The values of a file; nothing where there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<Entry>>, Fault> {
    let bytes = match bounded(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => {
            let message = format!("the settings cannot be read: {}", in_words(&error));
            return Err(Fault::of_file(path, message, "make it a file that you can read, or remove it"));
        }
    };
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Fault::of_file(path, "this is not UTF-8", "save it as UTF-8"))?;
    parse(path, text.strip_prefix('\u{feff}').unwrap_or(text)).map(Some)
}

/// A file whole, unless it is none or larger than settings are. A pipe would never end.
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}

fn parse(path: &Path, text: &str) -> Result<Vec<Entry>, Fault> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = text.floor_char_boundary(error.span().map_or(0, |span| span.start));
        let begins = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let column = text[begins..at].chars().count() + 1;
        Fault::not_toml(path, line_of(text, at), column, error.message())
    })?;
    let mut entries = Vec::new();
    flatten(path, text, "", table.get_ref(), &mut entries);
    entries.sort_by_key(|entry| entry.line.line);
    Ok(entries)
}

fn flatten(path: &Path, text: &str, above: &str, table: &DeTable<'_>, entries: &mut Vec<Entry>) {
    for (key, value) in table {
        let name =
            if above.is_empty() { key.get_ref().to_string() } else { format!("{above}.{}", key.get_ref()) };
        match value.get_ref() {
            DeValue::Table(below) if row(&name).is_none() && !below.is_empty() => {
                flatten(path, text, &name, below, entries);
            }
            // A section without anything in it sets nothing.
            DeValue::Table(below) if below.is_empty() && above.is_empty() => {}
            value => {
                let line = Line { path: path.to_owned(), line: line_of(text, key.span().start) };
                entries.push(Entry { name, written: written(value), line });
            }
        }
    }
}

fn written(value: &DeValue<'_>) -> Written {
    match value {
        DeValue::Boolean(value) => Written::Switch(*value),
        DeValue::String(text) => Written::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Written::Other("a number that large"), Written::Integer),
        DeValue::Float(number) => {
            number.as_str().parse().map_or(Written::Other("such a number"), Written::Number)
        }
        DeValue::Array(values) => list(values),
        DeValue::Datetime(_) => Written::Other("a date"),
        DeValue::Table(_) => Written::Other("a table"),
    }
}

fn list(values: &DeArray<'_>) -> Written {
    let texts = values.iter().map(|value| value.get_ref().as_str().map(str::to_owned));
    texts.collect::<Option<_>>().map_or(Written::Other("a list of other things than texts"), Written::List)
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Written, usize)]) {
        let entries = parse(Path::new("f"), text).unwrap();
        let found: Vec<(&str, Written, usize)> = entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry.written.clone(), entry.line.line))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sections_dots_and_inline_tables_name_the_same_settings() {
        let four = || Written::Integer(4);
        check("[python]\n# some\nmax_sessions = 4\n", &[("python.max_sessions", four(), 3)]);
        check("python.max_sessions = 4", &[("python.max_sessions", four(), 1)]);
        check("\r\npython = { max_sessions = 0x4 }\r\n", &[("python.max_sessions", four(), 2)]);
        check("[python]\n[tools]\n", &[]);
        check("max_sessions = 4", &[("max_sessions", four(), 1)]);
    }

    #[test]
    fn every_kind_of_value_is_kept_or_named() {
        check(
            "a = true\nb = 1.5\nc = 'x'\nd = ['x', \"y\"]\ne = [1]\nf = 2026-01-01\n[python.backend]\nx = 1\n",
            &[
                ("a", Written::Switch(true), 1),
                ("b", Written::Number(1.5), 2),
                ("c", Written::Text("x".into()), 3),
                ("d", Written::List(vec!["x".into(), "y".into()]), 4),
                ("e", Written::Other("a list of other things than texts"), 5),
                ("f", Written::Other("a date"), 6),
                ("python.backend", Written::Other("a table"), 7),
            ],
        );
        check("a = 99999999999999999999", &[("a", Written::Other("a number that large"), 1)]);
    }

    #[test]
    fn what_is_not_toml_is_named_with_line_and_column() {
        let fault = parse(Path::new("f"), "[python]\nmax_sessions 4\n").unwrap_err();
        assert!(fault.to_string().starts_with("f:2:14: this is not TOML: "), "{fault}");
        let fault = parse(Path::new("f"), "é = 'ü").unwrap_err();
        assert!(fault.to_string().starts_with("f:1:"), "{fault}");
    }
}
