//! What a person typed and ran at a terminal, kept for the next time in a file of theirs alone.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use crate::home::Home;
use crate::platform;

const FOLDER: &str = "repl";
const FILE: &str = "history";
/// As much of it as is brought back.
const MOST: usize = 1000;

/// The pieces of code, one JSON text a line.
#[derive(Clone, Debug)]
pub struct Typed {
    home: Home,
}

impl Typed {
    /// That of a user.
    pub fn new(home: &Home) -> Typed {
        Typed { home: home.clone() }
    }

    /// The newest of it, oldest first. What cannot be read is left out.
    pub fn list(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.path().join(FOLDER).join(FILE)).unwrap_or_default();
        let mut pieces: Vec<String> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        pieces.split_off(pieces.len().saturating_sub(MOST))
    }

    /// Adds a piece.
    pub fn add(&self, code: &str) -> io::Result<()> {
        let file = self.home.folder(FOLDER)?.join(FILE);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let mut file = platform::private(&mut options).open(file)?;
        // One write, so that two terminals do not write into each other's line.
        file.write_all(format!("{}\n", serde_json::Value::from(code)).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_comes_back_in_its_order_whatever_is_in_it() {
        let scratch = testkit::Scratch::new();
        let typed = Typed::new(&Home::at(scratch.path()));
        assert!(typed.list().is_empty());
        for code in ["x = 1", "if x:\n    print('é')"] {
            typed.add(code).unwrap();
        }
        assert_eq!(typed.list(), ["x = 1", "if x:\n    print('é')"]);
    }
}
