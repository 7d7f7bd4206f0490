//! The domain of a setting: how its value is read, which values are valid, and how it is written.

mod amounts;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub(super) use amounts::{LARGEST, Size, Time};

/// A value from a file, a variable or a flag.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    Switch(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<String>),
    /// Something that no setting is, by name.
    Other(&'static str),
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Written::Switch(value) => value.fmt(f),
            Written::Integer(value) => value.fmt(f),
            Written::Number(value) => value.fmt(f),
            Written::Text(value) => write!(f, "{value:?}"),
            Written::List(values) => write!(f, "{values:?}"),
            Written::Other(what) => f.write_str(what),
        }
    }
}

/// Where relative paths of a value begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base<'a> {
    /// The folder; without one a path must be absolute.
    pub(crate) folder: Option<&'a Path>,
    /// The user's own folder, for `~`.
    pub(crate) own: Option<&'a Path>,
}

/// All values that a setting may have.
pub(super) trait Domain<T> {
    /// The value that was meant, if it is one of these.
    fn read(&self, written: &Written, base: Base<'_>) -> Option<T>;
    /// The valid values, in words.
    fn valid(&self) -> String;
    /// For programs.
    fn to_json(&self, value: &T) -> Value;
    /// For people, as it could be written in a file.
    fn to_text(&self, value: &T) -> String {
        self.to_json(value).to_string()
    }
}

/// One of a few words.
pub(super) struct Words<T: 'static> {
    pub(super) words: &'static [(&'static str, T)],
    /// Other ways to say the same.
    pub(super) also: &'static [(&'static str, T)],
}

impl<T: Copy + PartialEq> Domain<T> for Words<T> {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<T> {
        let text = match written {
            Written::Text(text) => text.trim().to_owned(),
            Written::Switch(value) => value.to_string(),
            Written::Integer(_) | Written::Number(_) | Written::List(_) | Written::Other(_) => return None,
        };
        let mut known = self.words.iter().chain(self.also);
        known.find(|(word, _)| word.eq_ignore_ascii_case(&text)).map(|(_, value)| *value)
    }

    fn valid(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|(word, _)| *word).collect();
        match words.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => words.concat(),
        }
    }

    fn to_json(&self, value: &T) -> Value {
        self.words.iter().find(|(_, known)| known == value).map_or(Value::Null, |(word, _)| json!(word))
    }
}

/// On or off.
pub(super) struct Switch;

impl Domain<bool> for Switch {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<bool> {
        match written {
            Written::Switch(value) => Some(*value),
            Written::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(true),
                "false" | "0" | "no" | "off" => Some(false),
                _ => None,
            },
            Written::Integer(_) | Written::Number(_) | Written::List(_) | Written::Other(_) => None,
        }
    }

    fn valid(&self) -> String {
        "true or false".into()
    }

    fn to_json(&self, value: &bool) -> Value {
        json!(value)
    }
}

/// A whole number within bounds.
pub(super) struct Count {
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Domain<usize> for Count {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<usize> {
        let count = match written {
            Written::Integer(value) => usize::try_from(*value).ok()?,
            Written::Text(text) => text.trim().parse().ok()?,
            Written::Switch(_) | Written::Number(_) | Written::List(_) | Written::Other(_) => return None,
        };
        (self.least..=self.most).contains(&count).then_some(count)
    }

    fn valid(&self) -> String {
        format!("a whole number from {} to {}", self.least, self.most)
    }

    fn to_json(&self, value: &usize) -> Value {
        json!(value)
    }
}

/// A value, or none at all.
pub(super) struct OrNone<D>(pub(super) D);

impl<T, D: Domain<T>> Domain<Option<T>> for OrNone<D> {
    fn read(&self, written: &Written, base: Base<'_>) -> Option<Option<T>> {
        match written {
            Written::Text(text) if text.trim().eq_ignore_ascii_case("none") => Some(None),
            _ => self.0.read(written, base).map(Some),
        }
    }

    fn valid(&self) -> String {
        format!("{}; or \"none\"", self.0.valid())
    }

    fn to_json(&self, value: &Option<T>) -> Value {
        value.as_ref().map_or(Value::Null, |value| self.0.to_json(value))
    }

    fn to_text(&self, value: &Option<T>) -> String {
        value.as_ref().map_or_else(|| "\"none\"".to_owned(), |value| self.0.to_text(value))
    }
}

/// Names of variables.
pub(super) struct Names;

impl Domain<Vec<String>> for Names {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<Vec<String>> {
        let names: Vec<String> = match written {
            Written::List(names) => names.clone(),
            Written::Text(text) => {
                text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
            }
            Written::Switch(_) | Written::Integer(_) | Written::Number(_) | Written::Other(_) => return None,
        };
        let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0', ',', ' ']);
        names.iter().all(is_name).then_some(names)
    }

    fn valid(&self) -> String {
        "a list of names of variables, or \"all\"".into()
    }

    fn to_json(&self, value: &Vec<String>) -> Value {
        json!(value)
    }
}

/// Names and paths with `*` and `?` in them.
pub(super) struct Patterns;

impl Domain<Vec<String>> for Patterns {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<Vec<String>> {
        let patterns: Vec<String> = match written {
            Written::List(patterns) => patterns.clone(),
            Written::Text(text) => text.split(',').map(str::trim).map(str::to_owned).collect(),
            Written::Switch(_) | Written::Integer(_) | Written::Number(_) | Written::Other(_) => return None,
        };
        Some(patterns.into_iter().filter(|pattern| !pattern.is_empty()).collect())
    }

    fn valid(&self) -> String {
        "a list of names of files or folders, with * and ? as wildcards".into()
    }

    fn to_json(&self, value: &Vec<String>) -> Value {
        json!(value)
    }
}

/// Files and folders from the root on, with `*` and `?` as wildcards within a name.
pub(super) struct Paths;

impl Domain<Vec<String>> for Paths {
    fn read(&self, written: &Written, base: Base<'_>) -> Option<Vec<String>> {
        let whole = |path: String| match path.strip_prefix("~/") {
            Some(below) => Some(base.own?.join(below).to_string_lossy().into_owned()),
            None => path.starts_with('/').then_some(path),
        };
        Patterns.read(written, base)?.into_iter().map(whole).collect()
    }

    fn valid(&self) -> String {
        "a list of paths that begin with / or ~/, with * and ? as wildcards within a name".into()
    }

    fn to_json(&self, value: &Vec<String>) -> Value {
        json!(value)
    }
}

/// A line of text, which is said to be this.
pub(super) struct TextLine(pub(super) &'static str);

impl Domain<String> for TextLine {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<String> {
        match written {
            Written::Text(text) => Some(text.trim().to_owned())
                .filter(|text| !text.is_empty() && !text.contains(char::is_control)),
            Written::Switch(_)
            | Written::Integer(_)
            | Written::Number(_)
            | Written::List(_)
            | Written::Other(_) => None,
        }
    }

    fn valid(&self) -> String {
        self.0.to_owned()
    }

    fn to_json(&self, value: &String) -> Value {
        json!(value)
    }
}

/// Something that nobody is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The plain value, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Secrets.
pub(super) struct Hidden;

impl Domain<Secret> for Hidden {
    fn read(&self, written: &Written, base: Base<'_>) -> Option<Secret> {
        TextLine("").read(written, base).map(Secret)
    }

    fn valid(&self) -> String {
        "a key".into()
    }

    fn to_json(&self, _: &Secret) -> Value {
        json!("(hidden)")
    }
}

/// Folders.
pub(super) struct Folders;

impl Domain<Vec<PathBuf>> for Folders {
    fn read(&self, written: &Written, base: Base<'_>) -> Option<Vec<PathBuf>> {
        let paths: Vec<PathBuf> = match written {
            Written::List(paths) => paths.iter().map(PathBuf::from).collect(),
            Written::Text(text) => {
                std::env::split_paths(text).filter(|path| !path.as_os_str().is_empty()).collect()
            }
            Written::Switch(_) | Written::Integer(_) | Written::Number(_) | Written::Other(_) => return None,
        };
        let whole = |path: PathBuf| {
            let path = match path.strip_prefix("~") {
                Ok(below) => base.own?.join(below),
                Err(_) => path,
            };
            match base.folder {
                _ if path.as_os_str().is_empty() => None,
                _ if path.is_absolute() => Some(path),
                Some(folder) => Some(folder.join(path)),
                None => None,
            }
        };
        paths.into_iter().map(whole).collect()
    }

    fn valid(&self) -> String {
        "a list of folders; in the user's file they begin with / or ~".into()
    }

    fn to_json(&self, value: &Vec<PathBuf>) -> Value {
        value.iter().map(|path| path.to_string_lossy()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn text(text: &str) -> Written {
        Written::Text(text.to_owned())
    }

    #[track_caller]
    pub(super) fn check<T: PartialEq + fmt::Debug>(
        domain: &impl Domain<T>,
        written: Written,
        expected: Option<T>,
    ) {
        assert_eq!(domain.read(&written, Base::default()), expected, "{written}");
    }

    #[test]
    fn words_switches_counts_and_lists_are_read_from_files_and_from_variables() {
        let words = Words { words: &[("auto", 1), ("never", 2)], also: &[("true", 1), ("false", 2)] };
        check(&words, text(" Never"), Some(2));
        check(&words, Written::Switch(true), Some(1));
        check(&words, text("nope"), None);
        assert_eq!(words.valid(), "auto or never");
        check(&Switch, text("0"), Some(false));
        check(&Switch, Written::Integer(1), None);
        let count = Count { least: 1, most: 9 };
        check(&count, Written::Integer(9), Some(9));
        check(&count, text("10"), None);
        check(&count, Written::Integer(-1), None);
        check(&Names, text("A, B,"), Some(vec!["A".into(), "B".into()]));
        check(&Names, Written::List(vec!["A".into()]), Some(vec!["A".into()]));
        check(&Names, Written::List(vec!["A=1".into()]), None);
    }

    #[test]
    fn folders_begin_where_they_were_written() {
        let base = Base { folder: Some(Path::new("/p")), own: Some(Path::new("/home/u")) };
        let list = Written::List(vec!["data".into(), "/x".into(), "~/y".into(), "~".into()]);
        let expected = ["/p/data", "/x", "/home/u/y", "/home/u"].map(PathBuf::from).to_vec();
        assert_eq!(Folders.read(&list, base), Some(expected));
        assert_eq!(Folders.read(&list, Base { folder: None, ..base }), None);
        assert_eq!(Folders.read(&text("/a:/b"), Base::default()).unwrap().len(), 2);
        assert_eq!(Folders.read(&Written::List(vec![String::new()]), base), None);
    }
}
