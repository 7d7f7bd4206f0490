//! Trust in folders. A folder's own settings and modules reach beyond it only after its user has looked at them and said
//! so. Trust covers the files of that moment, each by its content: an addition or change later, by a pull
//! for instance, needs to be looked at again, and the rest stays trusted.

mod ledger;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{Access, Entry, Fault, Line, Project, harmless, read, row};

pub use ledger::{Ledger, Page, TrustError};

/// Something in a folder's `.cellist` that needs trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The name of a setting, or a file in the `.cellist`.
    pub name: String,
    /// The value of a setting.
    pub value: Option<String>,
    /// Where a setting is written.
    pub line: Option<Line>,
    digest: String,
}

/// All in a project that needs trust.
pub fn items(project: &Project) -> Result<Vec<Item>, Fault> {
    let entries = read(&project.config())?.unwrap_or_default();
    let settings = entries.iter().filter_map(item_of);
    let files = modules(project).into_iter().chain(prompts(project)).map(|(_, item)| item);
    Ok(settings.chain(files).collect())
}

/// The item that a line of a settings file is, if it needs trust.
pub(crate) fn item_of(entry: &Entry) -> Option<Item> {
    row(&entry.name).filter(|(_, row)| row.access == Access::Trusted)?;
    let value = entry.written.to_string();
    Some(Item {
        name: entry.name.clone(),
        digest: hex(&Sha256::digest(&value)),
        value: Some(value),
        line: Some(entry.line.clone()),
    })
}

/// The modules of a project, by name.
pub(crate) fn modules(project: &Project) -> Vec<(PathBuf, Item)> {
    files(project, "modules", "py")
}

/// The prompts of a project, by name.
pub(crate) fn prompts(project: &Project) -> Vec<(PathBuf, Item)> {
    files(project, "prompts", "md")
}

fn files(project: &Project, folder: &str, ending: &str) -> Vec<(PathBuf, Item)> {
    let files = project.files(folder, ending).into_iter();
    files.map(|path| (path.clone(), file_item(folder, &path))).collect()
}

fn file_item(folder: &str, path: &Path) -> Item {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // An unreadable file equals nothing that was ever trusted.
    let digest = digest(path).unwrap_or_default();
    Item { name: format!("{folder}/{}", harmless(&name)), value: None, line: None, digest }
}

fn digest(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
