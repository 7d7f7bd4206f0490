//! Which state of a notebook's file an edit was based on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

/// A short name for one exact content of a file. Equal contents have equal revisions; it tells states
/// apart, it does not prove anything to an adversary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Revision(u64);

impl Revision {
    /// The revision of a content given in pieces.
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Revision {
        let mut hash = Xxh3Default::new();
        for piece in pieces {
            hash.update(piece);
        }
        Revision(hash.digest())
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<Revision> for String {
    fn from(revision: Revision) -> String {
        revision.to_string()
    }
}

impl TryFrom<String> for Revision {
    type Error = String;

    fn try_from(text: String) -> Result<Revision, String> {
        text.parse()
    }
}

impl FromStr for Revision {
    type Err = String;

    fn from_str(text: &str) -> Result<Revision, String> {
        match u64::from_str_radix(text, 16) {
            Ok(number) if text.len() == 16 => Ok(Revision(number)),
            _ => Err(format!("`{text}` is not a revision: one has 16 hexadecimal digits")),
        }
    }
}
