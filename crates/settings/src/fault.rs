//! Faults in settings, with their source.

use std::fmt;
use std::path::{Path, PathBuf};

use super::domain::Written;
use super::table::{Access, Row, TABLE};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The user's own file.
    User(Line),
    /// The file of the project.
    Project(Line),
    /// A variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag of the command.
    Flag {
        /// Its name.
        flag: String,
    },
}

/// A line of a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file.
    pub path: PathBuf,
    /// The line.
    pub line: usize,
}

impl Origin {
    /// The kind of place, as one word.
    pub fn word(&self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::User(_) => "user",
            Origin::Project(_) => "project",
            Origin::Environment { .. } => "environment",
            Origin::Flag { .. } => "flag",
        }
    }

    /// The line, where it is in a file.
    pub fn line(&self) -> Option<&Line> {
        match self {
            Origin::User(line) | Origin::Project(line) => Some(line),
            Origin::Default | Origin::Environment { .. } | Origin::Flag { .. } => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::User(Line { path, line }) | Origin::Project(Line { path, line }) => {
                write!(f, "{}:{line}", path.display())
            }
            Origin::Environment { variable } => f.write_str(variable),
            Origin::Flag { flag } => f.write_str(flag),
        }
    }
}

/// One thing that is wrong with the settings. The message names the place; advice is in [`Fault::hint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Fault {
    place: String,
    message: String,
    hint: Option<String>,
}

impl Fault {
    /// Advice for the user.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(super) fn of_file(path: &Path, message: impl Into<String>, hint: &str) -> Fault {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        Fault { place: path.display().to_string(), message: message.into(), hint }
    }

    pub(super) fn not_toml(path: &Path, line: usize, column: usize, why: &str) -> Fault {
        Fault {
            place: format!("{}:{line}:{column}", path.display()),
            message: format!("this is not TOML: {}", harmless(why)),
            hint: Some("settings are written like this: max_sessions = 2, below a line [python]".into()),
        }
    }

    pub(super) fn not_valid(origin: &Origin, row: &Row, written: &Written) -> Fault {
        let written = match row.access {
            Access::Secret => "the value it has".to_owned(),
            Access::Open | Access::Trusted | Access::User => written.to_string(),
        };
        Fault {
            place: origin.to_string(),
            message: format!("{} cannot be {written}", row.name),
            hint: Some(format!("{} takes {}", row.name, row.valid())),
        }
    }

    pub(super) fn unknown(origin: &Origin, name: &str) -> Fault {
        let hint = match nearest(name) {
            Some(known) => {
                format!("did you mean {}? `cellist settings` lists all there are", spelled(known, origin))
            }
            None => "`cellist settings` lists all there are".into(),
        };
        let message = match origin {
            Origin::Environment { .. } => "there is no such setting".to_owned(),
            Origin::Default | Origin::User(_) | Origin::Project(_) | Origin::Flag { .. } => {
                format!("there is no setting {}", harmless(name))
            }
        };
        Fault { place: origin.to_string(), message, hint: Some(hint) }
    }

    pub(super) fn seen_by_others(origin: &Origin, row: &Row) -> Fault {
        Fault {
            place: origin.to_string(),
            message: format!("{} cannot be set here: other users of this machine see it", row.name),
            hint: Some(format!("set it in your own file, or by the variable {}", row.variable())),
        }
    }

    pub(super) fn no_value(flag: &str, text: &str) -> Fault {
        Fault {
            place: flag.to_owned(),
            message: format!("{text:?} is not NAME=VALUE"),
            hint: Some(format!("for instance {flag} python.backend=runner")),
        }
    }
}

/// All that is wrong with the settings, at least one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn check(faults: Vec<Fault>) -> Result<(), Faults> {
        if faults.is_empty() { Ok(()) } else { Err(Faults(faults)) }
    }

    /// Each of them, in the order in which places are looked at.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(Fault::to_string).collect();
        f.write_str(&all.join("; "))
    }
}

impl std::error::Error for Faults {}

/// A text of a stranger's that cannot do anything to a terminal.
pub(crate) fn harmless(text: &str) -> String {
    let escaped = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// The setting that was most likely meant.
fn nearest(name: &str) -> Option<&'static Row> {
    /// Below this two names have nothing to do with each other.
    const ALIKE: f64 = 0.75;
    let key = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |row: &Row| {
        let whole = strsim::normalized_damerau_levenshtein(row.name, name);
        // The right key in the wrong section.
        let last = strsim::normalized_damerau_levenshtein(&key(row.name), &key(name)) * 0.95;
        whole.max(last)
    };
    let scored = TABLE.iter().map(|row| (likeness(row), row));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= ALIKE).then_some(best.1)
}

fn spelled(row: &Row, origin: &Origin) -> String {
    match origin {
        Origin::Environment { .. } => row.variable(),
        Origin::Default | Origin::User(_) | Origin::Project(_) | Origin::Flag { .. } => row.name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_found_also_in_another_section_and_never_far_away() {
        for (name, expected) in [
            ("python.backnd", Some("python.backend")),
            ("pyton.backend", Some("python.backend")),
            ("max_sessions", Some("python.max_sessions")),
            ("kernel.idle_timeout", Some("python.idle_timeout")),
            ("output.maxlines", Some("output.max_lines")),
            ("theme.colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(name).map(|row| row.name), expected, "{name}");
        }
    }
}
