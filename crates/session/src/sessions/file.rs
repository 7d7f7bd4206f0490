//! The private file of a session, in which code that runs there can look up where it is.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;

use super::call::Call;
use super::key::{OwnerId, SessionKey};
use crate::home::{Home, save_private};
use crate::names;
use crate::platform;

const FOLDER: &str = "sessions";

/// The file. It goes with the value.
pub(super) struct SessionFile {
    path: PathBuf,
    content: Vec<u8>,
}

/// What is in it.
#[derive(Serialize)]
struct Content<'a> {
    session: &'a str,
    cwd: &'a Path,
    notebook: Option<&'a Path>,
    mode: Option<&'a str>,
    owner: Option<&'a OwnerId>,
}

impl SessionFile {
    /// Writes the file of a session, as its first call has it.
    pub(super) fn create(home: &Home, call: &Call) -> io::Result<SessionFile> {
        let folder = home.folder(FOLDER)?;
        let path = folder.join(format!("{}-{}.json", std::process::id(), names::random()));
        let mut file = SessionFile { path, content: Vec::new() };
        file.update(call)?;
        Ok(file)
    }

    /// Brings the file up to what a call says.
    pub(super) fn update(&mut self, call: &Call) -> io::Result<()> {
        let SessionKey { id, cwd } = &call.key;
        let content = Content {
            session: id,
            cwd,
            notebook: call.kind.notebook().map(PathBuf::as_path),
            mode: call.rights.as_deref(),
            owner: call.owner.as_ref(),
        };
        let content = serde_json::to_vec(&content)?;
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

/// Removes the files of processes that are gone.
pub(super) fn sweep(home: &Home) {
    let entries = fs::read_dir(home.path().join(FOLDER)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.split_once('-')?.0.parse().ok());
        if owner.is_some_and(|pid| !platform::is_running(pid)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
