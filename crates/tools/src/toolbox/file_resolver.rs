//! Resolves the file of a call and checks the agent's access: the named or active notebook, and
//! paths in the caller's folders.

use std::io::Read;
use std::path::{Path, PathBuf};

use cellist_notebook::{Ids, Notebook, Revision, Selector};
use cellist_platform::aside::aside;
use cellist_store::Store;

use super::Toolbox;
use crate::answer::ToolRefusal;
use crate::caller::{Caller, ToolSet};
use crate::editor::EditorState;
use crate::file_policy::{AdmittedFile, Denial, FileIdentity, FilePolicy, Use};

/// The URI scheme of artifacts.
pub(crate) const SCHEME: &str = "artifact://";

/// Larger files are not read into memory.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A file that a call may use. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedFile {
    /// The real path, without links.
    pub(crate) real: PathBuf,
    /// The display name.
    pub(crate) name: String,
    /// The permission, with the identity of the file.
    pub(crate) admitted: AdmittedFile,
}

/// A file, and the selected part of it.
pub(crate) struct FileSelection {
    pub(crate) place: ResolvedFile,
    pub(crate) part: Option<Selector>,
}

/// Resolves paths for one call.
pub(crate) struct FileResolver<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) editor: &'a EditorState,
    pub(crate) store: &'a Store,
    /// The file access of the caller.
    pub(crate) policy: FilePolicy,
    /// The use of the file.
    pub(crate) wanted: Use,
    /// Paths that the user has allowed the agent to change.
    pub(crate) consents: Vec<PathBuf>,
}

impl FileResolver<'_> {
    /// Resolves the notebook of a call: the named one, or the active one.
    pub(crate) fn notebook(&self, named: Option<&str>) -> Result<ResolvedFile, ToolRefusal> {
        let place = match named {
            Some(named) => self.named_notebook(named)?,
            None => self.active()?,
        };
        match self.caller.requires_active && self.front().notebook() != Some(&place.real) {
            true => Err(ToolRefusal::new(format_args!("{}: {}", place.name, self.why_not(&place.real)))),
            false => Ok(place),
        }
    }

    /// Resolves a notebook by its path.
    pub(crate) fn named_notebook(&self, named: &str) -> Result<ResolvedFile, ToolRefusal> {
        let place = self.resolve(named)?;
        match place.is_notebook() {
            true => Ok(place),
            false => Err(ToolRefusal::new(format_args!(
                "{}: is not a notebook: the name must end in .ipynb",
                place.name
            ))),
        }
    }

    /// Resolves a path with a selector. An existing file with the whole name takes precedence.
    pub(crate) fn target(&self, named: &str) -> Result<FileSelection, ToolRefusal> {
        let whole = self.caller.cwd.join(named.trim());
        let split = match std::fs::symlink_metadata(&whole) {
            Ok(_) => None,
            Err(_) => Selector::split(named.trim())
                .map_err(|error| ToolRefusal::hinted(format_args!("{named}: {error}"), error.hint()))?,
        };
        let (path, part) = split.map_or((named, None), |(path, part)| (path, Some(part)));
        let place = self.resolve(path)?;
        if !place.is_notebook() && self.caller.tools != ToolSet::All {
            return Err(place.refuse("is not a notebook; use the tools of your client for other files", None));
        }
        Ok(FileSelection { place, part })
    }

    /// Resolves a path in one of the agent's folders.
    pub(crate) fn resolve(&self, named: &str) -> Result<ResolvedFile, ToolRefusal> {
        let path = self.caller.cwd.join(path_of(named));
        let name = self.name_of(&path);
        if named.trim().is_empty() {
            return Err(ToolRefusal::new("the path is empty: give a file"));
        }
        let real = self.store.real_path(&path).map_err(|error| {
            // Problems in a folder outside of the agent's folders are not disclosed: the agent
            // cannot fix them.
            let nearest = path.ancestors().find_map(|folder| std::fs::canonicalize(folder).ok());
            let looked = nearest.as_ref().map(|nearest| self.policy.check(&path, nearest, Use::Look, &[]));
            if let Some(Err(denial)) = looked {
                return self.denied(&name, &denial);
            }
            match nearest.is_none_or(|nearest| self.may_use(&nearest)) {
                true => ToolRefusal::hinted(format_args!("{name}: {}", error.problem()), error.hint()),
                false => ToolRefusal::new(self.outside(&name)),
            }
        })?;
        let looked = self.policy.check(&path, &real, Use::Look, &[]);
        let looked = looked.map_err(|denial| self.denied(&name, &denial))?;
        if !self.may_use(&real) {
            return Err(ToolRefusal::new(self.outside(&name)));
        }
        let admitted = match self.wanted {
            Use::Look => Ok(looked),
            Use::Change => self.policy.check(&path, &real, Use::Change, &self.consents),
        };
        let admitted = admitted.map_err(|denial| self.denied(&name, &denial))?;
        Ok(ResolvedFile { real, name, admitted })
    }

    /// Refuses a file, and tells how a user can allow it.
    fn denied(&self, name: &str, denial: &Denial) -> ToolRefusal {
        match denial.consent() {
            None => ToolRefusal::new(format_args!("{name}: {denial}")),
            Some(path) => {
                let how = FilePolicy::advice(denial, self.store.home());
                ToolRefusal::hinted(format_args!("{name}: {denial}"), how).needing(path)
            }
        }
    }

    /// Returns whether a file is in the agent's folders or attached by the user.
    fn may_use(&self, real: &Path) -> bool {
        let folders = std::iter::once(&self.caller.cwd).chain(&self.caller.roots);
        let mut folders = folders.filter_map(|folder| std::fs::canonicalize(folder).ok());
        folders.any(|folder| real.starts_with(folder))
            || self.front().attached.iter().any(|given| given == real)
    }

    fn outside(&self, name: &str) -> String {
        let folders = std::iter::once(&self.caller.cwd).chain(&self.caller.roots);
        let folders: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
        format!(
            "{name}: is outside your folders, {}; only the user can add one, with the setting tools.roots",
            folders.join(", ")
        )
    }

    /// Resolves the active notebook, for calls that name none.
    fn active(&self) -> Result<ResolvedFile, ToolRefusal> {
        let front = self.front();
        let only = || match self.caller.attached.as_slice() {
            [only] if !self.caller.requires_active => std::fs::canonicalize(only).ok(),
            _ => None,
        };
        match front.notebook().map(Path::to_owned).or_else(only) {
            Some(real) => {
                let name = self.name_of(&real);
                let admitted = self.policy.check(&real, &real, self.wanted, &self.consents);
                let admitted = admitted.map_err(|denial| self.denied(&name, &denial))?;
                Ok(ResolvedFile { name, real, admitted })
            }
            None if self.caller.requires_active => Err(ToolRefusal::new(
                "No active notebook found: one must be attached and in the active editor",
            )),
            None => Err(ToolRefusal::new("No active notebook found: pass `notebook`")),
        }
    }

    /// Returns the editor state, with the notebooks attached at the start.
    fn front(&self) -> EditorState {
        self.caller.front.as_ref().unwrap_or(self.editor).with(&self.caller.attached)
    }

    fn why_not(&self, real: &Path) -> &'static str {
        let front = self.front();
        let is_attached = front.attached.iter().any(|path| path == real);
        match (is_attached, front.active.as_deref() == Some(real)) {
            (true, _) => "is attached, but not in the active editor; both are required",
            (false, true) => "is in the active editor, but not attached; both are required",
            (false, false) => "is neither attached nor in the active editor; both are required",
        }
    }

    /// Returns the display name of a path: relative if it is in the agent's folder.
    fn name_of(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.caller.cwd).ok().filter(|rest| !rest.as_os_str().is_empty());
        below.unwrap_or(path).display().to_string()
    }
}

impl ResolvedFile {
    /// Returns whether the file is a notebook, by its name or its real name.
    pub(crate) fn is_notebook(&self) -> bool {
        let ends = |path: &Path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ipynb"));
        ends(&self.real) || ends(Path::new(&self.name))
    }

    /// Parses the base revision of a change.
    pub(crate) fn base(&self, revision: Option<&str>) -> Result<Option<Revision>, ToolRefusal> {
        let Some(named) = revision.map(str::trim).filter(|named| !named.is_empty()) else {
            return Ok(None);
        };
        let parsed = named.parse::<Revision>().map(Some);
        parsed.map_err(|error| {
            self.refuse(format_args!("{error}; use the one that a read returned, or leave it out"), None)
        })
    }

    /// Returns whether the file is a notebook under another name: by a hard link or by its content.
    pub(crate) fn hides_notebook(&self, store: &Store) -> bool {
        let ends =
            |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ipynb"));
        self.admitted.also.iter().any(ends) || holds_notebook(store, &self.real)
    }

    /// Runs file work off the async threads. `lost` is the problem if the work panics.
    pub(crate) async fn stored<T: Send + 'static>(
        &self,
        lost: &str,
        work: impl FnOnce() -> cellist_store::Result<T> + Send + 'static,
    ) -> Result<T, ToolRefusal> {
        let done = aside(work).await.map_err(|_| self.refuse(lost, None))?;
        done.map_err(|error| self.refuse(error.problem(), error.hint()))
    }

    /// Refuses with a problem of this file.
    pub(crate) fn refuse(&self, problem: impl std::fmt::Display, hint: Option<String>) -> ToolRefusal {
        ToolRefusal::hinted(format_args!("{}: {problem}", self.name), hint)
    }
}

impl Toolbox {
    /// Reads a text file.
    pub(crate) async fn text_of(&self, place: &ResolvedFile) -> Result<String, ToolRefusal> {
        let (store, at) = (self.documents.store().clone(), place.clone());
        let read = aside(move || whole_text(&store, &at)).await;
        let read = read.unwrap_or_else(|_| Err("could not be read".to_owned()));
        read.map_err(|problem| place.refuse(problem, None))
    }
}

/// Reads the file that was checked, and not one that has replaced it since.
fn whole_text(store: &Store, place: &ResolvedFile) -> Result<String, String> {
    let file = store.open_real(&place.real).map_err(|error| cellist_platform::in_words(&error))?;
    let metadata = file.metadata().map_err(|error| cellist_platform::in_words(&error))?;
    if metadata.is_dir() {
        return Err("is a folder, not a file".to_owned());
    }
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("is too large to read as text: {} bytes", metadata.len()));
    }
    if place.admitted.identity != Some(FileIdentity::of(&metadata)) {
        return Err("was replaced while it was opened; call again".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| cellist_platform::in_words(&error))?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

/// Returns whether a file holds a notebook. A file that is too large counts as one if it starts
/// like JSON.
fn holds_notebook(store: &Store, real: &Path) -> bool {
    let Ok(file) = store.open_real(real) else { return false };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut bytes = Vec::new();
    if file.take(LARGEST + 1).read_to_end(&mut bytes).is_err() {
        return false;
    }
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_whole = bytes.len() as u64 <= LARGEST;
    start == Some(&b'{') && (!is_whole || Notebook::parse(bytes, Ids::seeded(0)).is_ok())
}

/// Parses a path or a `file://` URI, which models copy from the context.
fn path_of(named: &str) -> PathBuf {
    let named = named.trim();
    let Some(encoded) = named.strip_prefix("file://") else { return PathBuf::from(named) };
    let mut bytes = Vec::new();
    let mut rest = encoded.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, hex.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}
