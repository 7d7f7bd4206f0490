//! What was said about notebooks, kept outside them: one private file for each. What stands in it is for whoever keeps it
//! to know.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cellist_platform::files::save_private;
use cellist_settings::Home;

use crate::store::key_of;

/// How many files there may be; those that were written longest ago go first.
const MOST: usize = 100;

/// What was said about notebooks.
#[derive(Clone, Debug)]
pub struct Talks(Home);

impl Talks {
    /// In a state folder.
    pub fn new(home: &Home) -> Talks {
        Talks(home.clone())
    }

    /// What was said about a notebook.
    pub fn read(&self, notebook: &Path) -> Option<Vec<u8>> {
        fs::read(self.file(notebook)?).ok()
    }

    /// Keeps what was said about a notebook, instead of what was kept before.
    pub fn keep(&self, notebook: &Path, said: &[u8]) -> io::Result<()> {
        let folder = self.0.folder("chats")?;
        let file = self.file(notebook).ok_or(io::ErrorKind::NotFound)?;
        save_private(&file, said)?;
        leave_newest(&folder)
    }

    /// Forgets what was said about a notebook.
    pub fn forget(&self, notebook: &Path) {
        if let Some(file) = self.file(notebook) {
            // What is not there is forgotten already.
            let _ = fs::remove_file(file);
        }
    }

    fn file(&self, notebook: &Path) -> Option<PathBuf> {
        let key = key_of(notebook)?;
        Some(self.0.path().join("chats").join(format!("{key}.json")))
    }
}

fn leave_newest(folder: &Path) -> io::Result<()> {
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
    fn what_is_kept_is_private_and_bounded_and_can_be_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let talks = Talks::new(&Home::at(folder.path().join("home")));
        let notebook = |number: usize| {
            let path = folder.path().join(format!("{number}.ipynb"));
            fs::write(&path, "{}").unwrap();
            path
        };
        let (first, other) = (notebook(0), notebook(1));
        assert_eq!(talks.read(&first), None);
        talks.keep(&first, b"hello").unwrap();
        talks.keep(&other, b"other").unwrap();
        assert_eq!(talks.read(&first).as_deref(), Some(&b"hello"[..]));
        let file = talks.file(&first).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        talks.forget(&first);
        talks.forget(&first);
        assert_eq!((talks.read(&first), talks.read(&other).as_deref()), (None, Some(&b"other"[..])));
        for number in 0..MOST + 10 {
            talks.keep(&notebook(number), b"x").unwrap();
        }
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), MOST);
    }
}
