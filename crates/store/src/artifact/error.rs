//! Errors of reading artifacts.

use std::io;

use cellist_platform::in_words;

use super::id::ArtifactId;

/// The reason why an artifact could not be read. [`ArtifactError::hint`] has the advice.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message documents each variant")]
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
    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            ArtifactError::BadId { .. } => "use an id from `cellist artifact list`: eight letters and digits",
            ArtifactError::NoSuchArtifact { .. } => {
                "it may have expired; `cellist artifact list` shows all artifacts"
            }
            ArtifactError::OutOfRange { lines: 0, .. } => "it is empty",
            ArtifactError::OutOfRange { lines, .. } => return Some(format!("lines 1-{lines} can be read")),
            ArtifactError::BadPattern { .. } => {
                "put a backslash before special characters to match them literally"
            }
            ArtifactError::Unreadable { .. } | ArtifactError::Unlisted(_) | ArtifactError::Copy { .. } => {
                return None;
            }
        };
        Some(hint.into())
    }
}
