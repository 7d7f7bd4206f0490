//! What kernel sessions, their users and their calls are called.

use std::fmt;
use std::path::{Path, PathBuf};

use cellist_platform::names;
use serde::{Deserialize, Serialize};

/// Names a kernel session: what its user calls it, and the folder that it runs in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// What its user calls it.
    pub id: String,
    /// The folder that it runs in.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: PathBuf,
}

impl SessionKey {
    /// A session by its name and folder.
    pub fn new(id: impl Into<String>, cwd: impl Into<PathBuf>) -> SessionKey {
        SessionKey { id: id.into(), cwd: cwd.into() }
    }

    /// The session of an open notebook, by its real path: whoever runs its cells meets there.
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

/// Someone who uses sessions and keeps them alive: a connected client, a page, a terminal, an open notebook.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OwnerId(pub String);

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names one call, by which it is found again after its caller was answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExecutionId(String);

impl ExecutionId {
    /// A name that nobody has.
    pub fn random() -> ExecutionId {
        ExecutionId(names::random())
    }

    /// A name as somebody wrote it down.
    pub fn named(name: &str) -> ExecutionId {
        ExecutionId(name.trim().to_ascii_lowercase())
    }

    /// The name itself.
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
