//! Everything that can be wrong with reading an artifact.

use std::io;

use cellist_platform::in_words;

use super::id::ArtifactId;

/// Why an artifact could not be read. Advice is in [`ArtifactError::hint`].
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum ArtifactError {
    #[error("`{id}` is not the id of an artifact")]
    BadId { id: String },
    #[error("artifact {id} does not exist")]
    NoSuchArtifact { id: ArtifactId },
    #[error("lines {first}-{last} are out of range: artifact {id} has {lines} lines")]
    OutOfRange { id: ArtifactId, first: u64, last: u64, lines: u64 },
    #[error("`{pattern}` is not a regular expression: {reason}")]
    BadPattern { pattern: String, reason: String },
    #[error("artifact {id} cannot be read: {}", in_words(.error))]
    Unreadable { id: ArtifactId, error: io::Error },
    #[error("artifacts cannot be listed: {}", in_words(.0))]
    Unlisted(io::Error),
    #[error("artifact {id} could not be copied: {}", in_words(.error))]
    Copy { id: ArtifactId, error: io::Error },
}

impl ArtifactError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            ArtifactError::BadId { .. } => {
                "an id is eight letters and digits: `cellist artifact list` shows them"
            }
            ArtifactError::NoSuchArtifact { .. } => {
                "it may have been removed for its age or to make room: `cellist artifact list` shows what is there"
            }
            ArtifactError::OutOfRange { lines: 0, .. } => "it is empty",
            ArtifactError::OutOfRange { lines, .. } => return Some(format!("lines 1-{lines} can be read")),
            ArtifactError::BadPattern { .. } => {
                "to find text with special characters, put a backslash before each"
            }
            ArtifactError::Unreadable { .. } | ArtifactError::Unlisted(_) | ArtifactError::Copy { .. } => {
                return None;
            }
        };
        Some(hint.into())
    }
}
