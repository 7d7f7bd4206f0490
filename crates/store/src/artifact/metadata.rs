//! Metadata of artifacts: a small JSON file beside each one. It may be missing or outdated.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use cellist_platform::{
    clock::{milliseconds, now_ms},
    files::save_private,
};
use serde::{Deserialize, Serialize};

use super::{ArtifactError, ArtifactId, ArtifactOrigin, is_free};

/// One artifact in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactRow {
    /// The id.
    pub id: ArtifactId,
    /// The file with the output.
    pub path: PathBuf,
    /// The current size.
    pub bytes: u64,
    /// The number of lines, once the output is complete.
    pub lines: Option<u64>,
    /// Time of the start, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of the last write, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Whether a process still writes to it.
    pub is_being_written: bool,
    /// Whether the file has the complete output.
    pub is_whole: bool,
    /// The run that it came from.
    #[serde(flatten)]
    pub origin: ArtifactOrigin,
}

/// The content of the JSON file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ArtifactMetadata {
    #[serde(flatten)]
    pub(super) origin: ArtifactOrigin,
    pub(super) created_ms: u64,
    /// Set when the artifact is complete.
    pub(super) lines: Option<u64>,
    pub(super) is_whole: bool,
}

impl ArtifactMetadata {
    pub(super) fn new(origin: ArtifactOrigin) -> ArtifactMetadata {
        ArtifactMetadata { origin, created_ms: now_ms(), lines: None, is_whole: false }
    }

    /// Writes the metadata atomically.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        save_private(path, &serde_json::to_vec(self)?)
    }

    fn load(path: &Path) -> ArtifactMetadata {
        let read =
            File::open(path).ok().and_then(|file| serde_json::from_reader(io::BufReader::new(file)).ok());
        read.unwrap_or_default()
    }
}

/// The path of the JSON file.
pub(super) fn path(folder: &Path, id: &ArtifactId) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// Lists the artifacts in a folder, newest first. Empty if the folder does not exist.
pub(super) fn list(folder: &Path) -> Result<Vec<ArtifactRow>, ArtifactError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(ArtifactError::Unlisted)?,
    };
    let mut rows: Vec<ArtifactRow> = entries.flatten().filter_map(|entry| row(folder, &entry)).collect();
    rows.sort_by(|one, other| {
        (other.created_ms, other.modified_ms, &other.id).cmp(&(one.created_ms, one.modified_ms, &one.id))
    });
    Ok(rows)
}

fn row(folder: &Path, entry: &fs::DirEntry) -> Option<ArtifactRow> {
    let id = ArtifactId::of_file(entry.file_name().to_str()?)?;
    // A sweep may have removed it since.
    let metadata = entry.metadata().ok()?;
    let note = ArtifactMetadata::load(&path(folder, &id));
    let modified_ms = milliseconds(metadata.modified().ok()?);
    let is_being_written = !is_free(&entry.path());
    Some(ArtifactRow {
        path: entry.path(),
        bytes: metadata.len(),
        lines: note.lines.filter(|_| !is_being_written),
        created_ms: if note.created_ms == 0 { modified_ms } else { note.created_ms },
        modified_ms,
        is_being_written,
        is_whole: note.is_whole,
        origin: note.origin,
        id,
    })
}
