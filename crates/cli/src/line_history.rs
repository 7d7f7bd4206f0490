//! The history of a prompt, stored in a file that only the user can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use cellist_platform::files;
use cellist_settings::Home;

const FILE: &str = "history";
/// The number of entries that are loaded.
const MOST: usize = 1000;

/// A history file with one JSON string per line.
#[derive(Clone, Debug)]
pub(crate) struct LineHistory {
    home: Home,
    folder: &'static str,
}

impl LineHistory {
    /// The history of `cellist repl`.
    pub(crate) fn code(home: &Home) -> LineHistory {
        LineHistory { home: home.clone(), folder: "repl" }
    }

    /// The history of `cellist chat`.
    pub(crate) fn messages(home: &Home) -> LineHistory {
        LineHistory { home: home.clone(), folder: "chat" }
    }

    /// The newest entries, oldest first. Unreadable lines are skipped.
    pub(crate) fn list(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.path().join(self.folder).join(FILE)).unwrap_or_default();
        let mut pieces: Vec<String> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        pieces.split_off(pieces.len().saturating_sub(MOST))
    }

    pub(crate) fn add(&self, piece: &str) -> io::Result<()> {
        let file = self.home.folder(self.folder)?.join(FILE);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let mut file = files::private(&mut options).open(file)?;
        // One write, so that two terminals do not write into each other's line.
        file.write_all(format!("{}\n", serde_json::Value::from(piece)).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_comes_back_in_its_order_whatever_is_in_it() {
        let scratch = testkit::Scratch::new();
        let typed = LineHistory::code(&Home::at(scratch.path()));
        assert!(typed.list().is_empty());
        for code in ["x = 1", "if x:\n    print('é')"] {
            typed.add(code).unwrap();
        }
        assert_eq!(typed.list(), ["x = 1", "if x:\n    print('é')"]);
        assert!(LineHistory::messages(&Home::at(scratch.path())).list().is_empty(), "code is no message");
    }
}
