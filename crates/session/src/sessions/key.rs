//! Names of sessions, owners and calls.

use std::fmt;
use std::path::{Path, PathBuf};

use cellist_platform::names;
use serde::{Deserialize, Serialize};

/// Names a kernel session by id and folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// Name chosen by the user.
    pub id: String,
    /// Working folder.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: PathBuf,
}

impl SessionKey {
    /// Creates the key of a session.
    pub fn new(id: impl Into<String>, cwd: impl Into<PathBuf>) -> SessionKey {
        SessionKey { id: id.into(), cwd: cwd.into() }
    }

    /// Returns the key of an open notebook's session, by its real path. All runs of the notebook share it.
    pub fn of_notebook(path: &Path) -> SessionKey {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        SessionKey::new(name, path.parent().unwrap_or(Path::new("/")))
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.id, self.cwd.display())
    }
}

/// An owner, which keeps its sessions alive: a connected client, a page, a terminal, an open notebook.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OwnerId(pub String);

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a call. A caller can find the call by it later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExecutionId(String);

impl ExecutionId {
    /// Creates a unique id.
    pub fn random() -> ExecutionId {
        ExecutionId(names::random())
    }

    /// Parses an id that was written down.
    pub fn named(name: &str) -> ExecutionId {
        ExecutionId(name.trim().to_ascii_lowercase())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_of_a_notebook_is_called_as_its_file_and_runs_beside_it() {
        let key = SessionKey::of_notebook(Path::new("/data/a/b.ipynb"));
        assert_eq!(key, SessionKey::new("b.ipynb", "/data/a"));
    }
}
