//! The private file of a session. Kernel code reads its session, folder, notebook and rights from it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use cellist_platform::files::save_private;
use cellist_platform::{files, names};
use cellist_settings::Home;
use serde::Serialize;

use super::call::{SessionCall, SessionKind};
use super::key::{OwnerId, SessionKey};

const FOLDER: &str = "sessions";

/// The file. Dropping the value removes it.
pub(super) struct SessionFile {
    path: PathBuf,
    content: Vec<u8>,
}

/// The JSON of the file.
#[derive(Serialize)]
struct SessionFileContent<'a> {
    session: Option<&'a str>,
    cwd: &'a Path,
    notebook: Option<&'a Path>,
    mode: Option<&'a str>,
    owner: Option<&'a OwnerId>,
}

impl SessionFile {
    /// Writes the file for the first call of a session.
    pub(super) fn create(home: &Home, call: &SessionCall) -> io::Result<SessionFile> {
        let mut file = SessionFile::new(home)?;
        file.update(call)?;
        Ok(file)
    }

    fn new(home: &Home) -> io::Result<SessionFile> {
        let folder = home.folder(FOLDER)?;
        let path = folder.join(format!("{}-{}.json", std::process::id(), names::random()));
        Ok(SessionFile { path, content: Vec::new() })
    }

    /// Updates the file for a call.
    pub(super) fn update(&mut self, call: &SessionCall) -> io::Result<()> {
        let SessionKey { id, cwd } = &call.key;
        // The session of a single run ends with it, and other calls cannot use it.
        let is_lone = matches!(call.kind, SessionKind::Run { .. });
        let content = SessionFileContent {
            session: Some(id.as_str()).filter(|_| !is_lone),
            cwd,
            notebook: call.kind.notebook().map(PathBuf::as_path),
            mode: call.rights.as_deref(),
            owner: call.owner.as_ref().filter(|_| !is_lone),
        };
        self.write(&content)
    }

    fn write(&mut self, content: &SessionFileContent<'_>) -> io::Result<()> {
        let content = serde_json::to_vec(content)?;
        if content != self.content {
            save_private(&self.path, &content)?;
            self.content = content;
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SessionFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the variables that name the session file and the artifact folder.
pub(super) fn variables(
    file: Option<&SessionFile>,
    artifacts: Option<PathBuf>,
) -> impl Iterator<Item = (OsString, OsString)> + use<> {
    let file = file.map(|file| ("PI_SESSION_FILE", file.path().to_owned()));
    let folders = artifacts
        .into_iter()
        .flat_map(|folder| [("PI_ARTIFACTS_DIR", folder.clone()), ("ARTIFACTS", folder)]);
    file.into_iter().chain(folders).map(|(name, value)| (name.into(), value.into()))
}

/// Removes the files of processes that have ended.
pub(super) fn sweep(home: &Home) {
    let entries = fs::read_dir(home.path().join(FOLDER)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.split_once('-')?.0.parse().ok());
        if owner.is_some_and(|pid| !files::is_running(pid)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
