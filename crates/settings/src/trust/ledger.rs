//! Trusted items on disk: one private file for each folder, named after its real path.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cellist_platform::{files, in_words};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Item, hex};
use crate::Home;
use crate::Project;

const FOLDER: &str = "trust";

/// All that a user trusts.
#[derive(Clone, Debug)]
pub struct Ledger(Home);

/// The trusted items of one folder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Page {
    /// The folder, by its real path, for people.
    pub folder: String,
    /// Each item, with the digest of its content.
    items: BTreeMap<String, String>,
}

/// Why trust could not be given or taken back.
#[derive(Debug, thiserror::Error)]
#[error("{}: the list of trusted items cannot be written: {}", .path.display(), in_words(.error))]
pub struct TrustError {
    path: PathBuf,
    error: io::Error,
}

impl Ledger {
    /// That of a state folder.
    pub fn new(home: &Home) -> Ledger {
        Ledger(home.clone())
    }

    /// The trusted items of a project. An unreadable list is an empty one.
    pub fn page(&self, project: &Project) -> Page {
        page(&self.path(project.folder())).unwrap_or_default()
    }

    /// Trusts these things, and nothing else in the project.
    pub fn trust(&self, project: &Project, items: &[Item]) -> Result<(), TrustError> {
        let path = self.path(project.folder());
        let page = Page {
            folder: project.folder().to_string_lossy().into_owned(),
            items: items.iter().map(|item| (item.name.clone(), item.digest.clone())).collect(),
        };
        self.write(&path, &page).map_err(|error| TrustError { path, error })
    }

    /// Trusts a folder no longer; `false` if it was not trusted. The folder may be gone.
    pub fn remove(&self, folder: &Path) -> Result<bool, TrustError> {
        let path = self.path(folder);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TrustError { path, error }),
        }
    }

    /// All pages, by folder.
    pub fn pages(&self) -> Vec<Page> {
        let entries = fs::read_dir(self.0.path().join(FOLDER)).into_iter().flatten().flatten();
        let files =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "json"));
        let mut pages: Vec<Page> = files.filter_map(|path| page(&path)).collect();
        pages.sort_by(|one, other| one.folder.cmp(&other.folder));
        pages
    }

    fn path(&self, folder: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(folder.as_os_str().as_encoded_bytes()));
        self.0.path().join(FOLDER).join(format!("{}.json", &name[..32]))
    }

    fn write(&self, path: &Path, page: &Page) -> io::Result<()> {
        self.0.folder(FOLDER)?;
        let text = serde_json::to_vec(page).map_err(io::Error::other)?;
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file =
            files::private(OpenOptions::new().write(true).create(true).truncate(true)).open(&temporary)?;
        file.write_all(&text)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, path))
            .inspect_err(|_| {
                let _ = fs::remove_file(&temporary);
            })
    }
}

impl Page {
    /// Whether something is trusted as it is now.
    pub fn holds(&self, item: &Item) -> bool {
        !item.digest.is_empty() && self.items.get(&item.name) == Some(&item.digest)
    }

    /// The names of the trusted items.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.items.keys().map(String::as_str)
    }

    /// The notice about things in a project that have no effect, if there are any.
    pub(crate) fn notice(&self, project: &Project, refused: &[Item]) -> Option<String> {
        const NAMED: usize = 6;
        if refused.is_empty() {
            return None;
        }
        let told = |item: &Item| match &item.line {
            Some(line) => format!("{} (line {})", item.name, line.line),
            None => item.name.clone(),
        };
        let mut names: Vec<String> = refused.iter().take(NAMED).map(told).collect();
        if refused.len() > NAMED {
            names.push(format!("{} more", refused.len() - NAMED));
        }
        let own = project.own();
        let why = if self.items.is_empty() { "is not trusted" } else { "has changed since it was trusted" };
        Some(format!(
            "{} {why}, so this has no effect: {}; if it should, look at it and run: cellist trust {}",
            own.display(),
            names.join(", "),
            quoted(project.folder())
        ))
    }
}

fn page(path: &Path) -> Option<Page> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@".contains(letter);
    if text.chars().all(is_plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
