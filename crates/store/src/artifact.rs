//! Artifacts: the complete output of a run, kept on disk byte for byte. The process that runs the
//! code writes them. Every process with the same state folder can read them.

mod error;
mod id;
mod metadata;
mod reader;
mod search;
mod spool;
mod sweep;
mod writer;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cellist_settings::Home;
use serde::{Deserialize, Serialize};

pub use cellist_settings::Retention;
pub use error::ArtifactError;
pub use id::ArtifactId;
pub use metadata::ArtifactRow;
pub use reader::{ArtifactExcerpt, ArtifactRange};
pub use search::{LineMatch, SearchResult};
pub use writer::{ArtifactSummary, ArtifactWriter};

/// Folder name inside the state folder.
const FOLDER: &str = "artifacts";

/// All artifacts of a state folder. Cheap to clone; making one touches no disk.
///
/// Each artifact is a text file with its metadata in a JSON file beside it. The writer locks the
/// text file until the output is complete. No sweep removes a locked file. Readers need no lock and
/// see the bytes written so far. A failure to write an artifact never fails the run:
/// [`ArtifactSummary::failure`] reports it.
#[derive(Clone, Debug)]
pub struct Artifacts {
    home: Home,
    keep: Retention,
}

/// The run that an artifact came from, shown in lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactOrigin {
    /// A title, or the first line of the code.
    pub what: String,
    /// The session, if it has a name.
    pub session: Option<String>,
    /// The notebook of the run.
    pub notebook: Option<PathBuf>,
}

impl Artifacts {
    /// The artifacts in a state folder.
    pub fn new(home: &Home, keep: Retention) -> Artifacts {
        Artifacts { home: home.clone(), keep }
    }

    /// The folder with all artifacts. It may not exist yet.
    pub fn folder(&self) -> PathBuf {
        self.home.path().join(FOLDER)
    }

    /// Makes the folder if needed. `None` if that fails.
    pub fn made_folder(&self) -> Option<PathBuf> {
        self.home.folder(FOLDER).ok()
    }

    /// The file of an artifact.
    pub fn path(&self, id: &ArtifactId) -> PathBuf {
        self.folder().join(id.file_name())
    }

    /// Starts to record an output. An output of up to `spill` bytes stays in memory and leaves no
    /// file, unless [`ArtifactWriter::keep_anyway`] is called. A longer one goes to a file from its
    /// first byte.
    pub fn begin(&self, origin: ArtifactOrigin, spill: usize) -> ArtifactWriter {
        ArtifactWriter::new(self.clone(), origin, spill)
    }

    /// Lists all artifacts, newest first.
    pub fn list(&self) -> Result<Vec<ArtifactRow>, ArtifactError> {
        metadata::list(&self.folder())
    }

    /// Removes expired artifacts, then the oldest ones until the rest fits the size limit. Never
    /// removes the newest one, or one that is being written. Returns the removed ids.
    pub fn sweep(&self, now: SystemTime) -> Vec<ArtifactId> {
        sweep::sweep(&self.folder(), &self.keep, now)
    }

    fn metadata_path(&self, id: &ArtifactId) -> PathBuf {
        metadata::path(&self.folder(), id)
    }
}

/// The first line of code with any text, cut to the width of a list.
pub fn first_line(code: &str) -> String {
    const LONGEST: usize = 80;
    let line = code.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Whether no process writes to a file. No file counts as free on a system without file locks.
fn is_free(path: &Path) -> bool {
    std::fs::File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}
