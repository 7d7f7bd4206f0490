//! Artifacts: the whole output of a piece of code, kept on disk as it was written. Written by whoever runs the
//! code, read by anyone with the same state folder. That none can be kept never fails what runs.

mod error;
mod id;
mod note;
mod reading;
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
pub use note::ArtifactRow;
pub use reading::{Part, Piece};
pub use search::{Found, Hit};
pub use writer::{Kept, Writer};

/// The folder of the artifacts, within the state folder.
const FOLDER: &str = "artifacts";

/// All artifacts of a state folder. Cheap to clone; making it touches no disk.
#[derive(Clone, Debug)]
pub struct Artifacts {
    home: Home,
    keep: Retention,
}

/// Where an artifact came from, for whoever looks through a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// What ran: a title, or the first line of the code.
    pub what: String,
    /// The session that it ran in, where that has a name.
    pub session: Option<String>,
    /// The notebook that it belongs to.
    pub notebook: Option<PathBuf>,
}

impl Artifacts {
    /// The artifacts in a state folder.
    pub fn new(home: &Home, keep: Retention) -> Artifacts {
        Artifacts { home: home.clone(), keep }
    }

    /// The folder that they are in. It may not exist yet.
    pub fn folder(&self) -> PathBuf {
        self.home.path().join(FOLDER)
    }

    /// The folder, made if need be; none where that cannot be.
    pub fn made_folder(&self) -> Option<PathBuf> {
        self.home.folder(FOLDER).ok()
    }

    /// The file of an artifact.
    pub fn path(&self, id: &ArtifactId) -> PathBuf {
        self.folder().join(id.file_name())
    }

    /// Begins to keep an output. Up to `spill` bytes stay in memory and leave nothing behind unless
    /// [`Writer::keep_anyway`] was called; with more, all of it goes to a file.
    pub fn begin(&self, origin: Origin, spill: usize) -> Writer {
        Writer::new(self.clone(), origin, spill)
    }

    /// What is there, the newest first.
    pub fn list(&self) -> Result<Vec<ArtifactRow>, ArtifactError> {
        note::list(&self.folder())
    }

    /// Removes what is too old, and the oldest as long as all are too large together. One that is being written
    /// is never removed, nor is the newest. Returns what was removed.
    pub fn sweep(&self, now: SystemTime) -> Vec<ArtifactId> {
        sweep::sweep(&self.folder(), &self.keep, now)
    }

    fn note_path(&self, id: &ArtifactId) -> PathBuf {
        note::path(&self.folder(), id)
    }
}

/// The first line of some code that says anything, short enough for a list.
pub fn first_line(code: &str) -> String {
    const LONGEST: usize = 80;
    let line = code.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Whether nobody writes to a file. Where the system has no locks, its age alone decides.
fn is_free(path: &Path) -> bool {
    std::fs::File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}
