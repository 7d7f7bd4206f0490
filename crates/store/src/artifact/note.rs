//! What is known about an artifact beside its bytes: a small file of its own, which may be missing or behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use cellist_platform::{
    clock::{milliseconds, now_ms},
    files::save_private,
};
use serde::{Deserialize, Serialize};

use super::{ArtifactError, ArtifactId, Origin, is_free};

/// One artifact in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactRow {
    /// Its name.
    pub id: ArtifactId,
    /// Its file.
    pub path: PathBuf,
    /// Bytes it has now.
    pub bytes: u64,
    /// Lines it has, once it is complete.
    pub lines: Option<u64>,
    /// When it was begun, in milliseconds since 1970.
    pub created_ms: u64,
    /// When its last byte was written, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Whether someone still writes to it.
    pub is_being_written: bool,
    /// Whether all of the output is in it.
    pub is_whole: bool,
    /// Where it came from.
    #[serde(flatten)]
    pub origin: Origin,
}

/// The content of the small file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Note {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) created_ms: u64,
    /// Of a complete artifact.
    pub(super) lines: Option<u64>,
    pub(super) is_whole: bool,
}

impl Note {
    pub(super) fn new(origin: Origin) -> Note {
        Note { origin, created_ms: now_ms(), lines: None, is_whole: false }
    }

    /// Puts the note where readers find it, whole or not at all.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        save_private(path, &serde_json::to_vec(self)?)
    }

    fn load(path: &Path) -> Note {
        let read =
            File::open(path).ok().and_then(|file| serde_json::from_reader(io::BufReader::new(file)).ok());
        read.unwrap_or_default()
    }
}

/// Where the note of an artifact is.
pub(super) fn path(folder: &Path, id: &ArtifactId) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// All artifacts in a folder, the newest first. None where there is no folder.
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
    // One that was removed meanwhile is not there.
    let metadata = entry.metadata().ok()?;
    let note = Note::load(&path(folder, &id));
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
