//! The names of artifacts: short, told apart over all processes, safe in addresses and file names.

use std::fmt;
use std::str::FromStr;

use cellist_platform::names::{ALPHABET, LENGTH, random};
use serde::{Deserialize, Serialize};

use super::error::ArtifactError;

const ENDING: &str = ".txt";

/// The name of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactId(String);

impl ArtifactId {
    /// A name that nobody has, as far as chance can tell.
    pub(super) fn random() -> ArtifactId {
        ArtifactId(random())
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the file with the output.
    pub(super) fn file_name(&self) -> String {
        format!("{}{ENDING}", self.0)
    }

    /// The artifact that a file of this name belongs to.
    pub(super) fn of_file(name: &str) -> Option<ArtifactId> {
        name.strip_suffix(ENDING)?.parse().ok()
    }
}

impl FromStr for ArtifactId {
    type Err = ArtifactError;

    /// Takes the name alone or as an address, `artifact://ID`, in capitals or not.
    fn from_str(text: &str) -> Result<ArtifactId, ArtifactError> {
        let name = text.trim().trim_start_matches("artifact://").to_ascii_lowercase();
        match name.len() == LENGTH && name.bytes().all(|byte| ALPHABET.contains(&byte)) {
            true => Ok(ArtifactId(name)),
            false => Err(ArtifactError::BadId { id: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for ArtifactId {
    type Error = ArtifactError;

    fn try_from(text: String) -> Result<ArtifactId, ArtifactError> {
        text.parse()
    }
}

impl From<ArtifactId> for String {
    fn from(id: ArtifactId) -> String {
        id.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_told() {
        let id = ArtifactId::random();
        for text in [id.to_string(), format!("artifact://{id}"), format!(" {} ", id.as_str().to_uppercase())]
        {
            assert_eq!(text.parse::<ArtifactId>().unwrap(), id);
        }
        assert_eq!(ArtifactId::of_file(&id.file_name()), Some(id));
    }

    #[test]
    fn what_is_no_name_never_becomes_a_path() {
        for text in ["", "../../x", "abc", "abcdefgh/", "0123456/", "0123456i", "012345678", "é234567"] {
            assert!(text.parse::<ArtifactId>().is_err(), "{text}");
        }
    }
}
