//! Conversations about notebooks: one private file per notebook in the state folder. The assistant
//! owns the format.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cellist_platform::files::save_private;
use cellist_settings::Home;

use crate::store::key_of;

/// Limit on the number of files. The least recently written ones are removed first.
const MOST: usize = 100;

/// The conversation files of a state folder. Cheap to clone; making one touches no disk.
#[derive(Clone, Debug)]
pub struct ConversationFiles(Home);

impl ConversationFiles {
    /// The conversations in a state folder.
    pub fn new(home: &Home) -> ConversationFiles {
        ConversationFiles(home.clone())
    }

    /// Reads the conversation about a notebook.
    pub fn read(&self, notebook: &Path) -> Option<Vec<u8>> {
        fs::read(self.file(notebook)?).ok()
    }

    /// Replaces the conversation about a notebook, then removes the oldest files above the limit.
    pub fn keep(&self, notebook: &Path, text: &[u8]) -> io::Result<()> {
        let folder = self.0.folder("chats")?;
        let file = self.file(notebook).ok_or(io::ErrorKind::NotFound)?;
        save_private(&file, text)?;
        keep_newest(&folder)
    }

    /// Deletes the conversation about a notebook.
    pub fn forget(&self, notebook: &Path) {
        if let Some(file) = self.file(notebook) {
            // A missing file is already deleted.
            let _ = fs::remove_file(file);
        }
    }

    fn file(&self, notebook: &Path) -> Option<PathBuf> {
        let key = key_of(notebook)?;
        Some(self.0.path().join("chats").join(format!("{key}.json")))
    }
}

fn keep_newest(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(std::time::SystemTime, PathBuf)> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let many = files.len().saturating_sub(MOST);
    files.into_iter().take(many).for_each(|(_, path)| drop(fs::remove_file(path)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn conversations_are_private_limited_in_number_and_can_be_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let conversations = ConversationFiles::new(&Home::at(folder.path().join("home")));
        let notebook = |number: usize| {
            let path = folder.path().join(format!("{number}.ipynb"));
            fs::write(&path, "{}").unwrap();
            path
        };
        let (first, other) = (notebook(0), notebook(1));
        assert_eq!(conversations.read(&first), None);
        conversations.keep(&first, b"hello").unwrap();
        conversations.keep(&other, b"other").unwrap();
        assert_eq!(conversations.read(&first).as_deref(), Some(&b"hello"[..]));
        let file = conversations.file(&first).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        conversations.forget(&first);
        conversations.forget(&first);
        assert_eq!(
            (conversations.read(&first), conversations.read(&other).as_deref()),
            (None, Some(&b"other"[..]))
        );
        for number in 0..MOST + 10 {
            conversations.keep(&notebook(number), b"x").unwrap();
        }
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), MOST);
    }
}
