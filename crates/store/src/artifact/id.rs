//! Ids of artifacts: short, unique across processes, safe in URLs and file names.

use std::fmt;
use std::str::FromStr;

use cellist_platform::names::{ALPHABET, LENGTH, random};
use serde::{Deserialize, Serialize};

use super::error::ArtifactError;

const ENDING: &str = ".txt";

/// The id of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactId(String);

impl ArtifactId {
    /// Makes a random id.
    pub(super) fn random() -> ArtifactId {
        ArtifactId(random())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the file with the output.
    pub(super) fn file_name(&self) -> String {
        format!("{}{ENDING}", self.0)
    }

    /// The id in the name of an artifact's file.
    pub(super) fn of_file(name: &str) -> Option<ArtifactId> {
        name.strip_suffix(ENDING)?.parse().ok()
    }
}

impl FromStr for ArtifactId {
    type Err = ArtifactError;

    /// Accepts the bare id or the address `artifact://ID`, in any case.
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
    fn an_id_is_parsed_with_or_without_scheme_and_in_any_case() {
        let id = ArtifactId::random();
        for text in [id.to_string(), format!("artifact://{id}"), format!(" {} ", id.as_str().to_uppercase())]
        {
            assert_eq!(text.parse::<ArtifactId>().unwrap(), id);
        }
        assert_eq!(ArtifactId::of_file(&id.file_name()), Some(id));
    }

    #[test]
    fn invalid_ids_are_rejected() {
        for text in ["", "../../x", "abc", "abcdefgh/", "0123456/", "0123456i", "012345678", "é234567"] {
            assert!(text.parse::<ArtifactId>().is_err(), "{text}");
        }
    }
}
