//! Replaces files that are not notebooks, atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use cellist_notebook::Revision;
use cellist_platform::files;

use super::location::{FileLocation, unreadable};
use super::save::not_durable;
use super::temporary::TemporaryFile;
use super::{Store, Use};
use crate::{Problem, Result};

impl Store {
    /// Replaces or creates a file. With a `base`, the content must still be at that revision.
    /// Follows links and keeps permissions.
    pub fn replace_file(&self, path: &Path, bytes: &[u8], base: Option<Revision>) -> Result<()> {
        let location = self.location(path, Use::Change)?;
        let before = match location.metadata() {
            Ok(metadata) if files::is_read_only(&metadata) => return Err(location.error(Problem::ReadOnly)),
            Ok(metadata) => Some(metadata),
            Err(error) if matches!(error.problem(), Problem::NoSuchFile) && base.is_none() => None,
            Err(error) => return Err(error),
        };
        if let Some(base) = base {
            let now = fs::read(&location.real).map_err(|error| location.error(unreadable(error)))?;
            let current = Revision::of([now.as_slice()]);
            if current != base {
                return Err(location.error(Problem::ChangedSince { base, current }));
            }
        }
        let temporary = TemporaryFile::new(&location).path;
        let saved = put(&location, &temporary, bytes, before.as_ref());
        if saved.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        saved.map_err(|error| location.error(Problem::CannotSave(error)))
    }
}

fn put(
    location: &FileLocation,
    temporary: &Path,
    bytes: &[u8],
    before: Option<&fs::Metadata>,
) -> io::Result<()> {
    let write = |mut file: File| file.write_all(bytes).and_then(|()| file.sync_all());
    // A file with several names keeps them only if it is written in place.
    if before.is_some_and(files::has_several_names) {
        return write(File::create(&location.real)?);
    }
    write(File::create_new(temporary)?)?;
    if let Some(before) = before {
        fs::set_permissions(temporary, before.permissions())?;
    }
    fs::rename(temporary, &location.real)?;
    files::sync_folder(location.folder())
        .map_err(|error| io::Error::new(error.kind(), not_durable(location, &error)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;
    use cellist_settings::Home;

    #[test]
    fn a_replaced_file_keeps_links_names_and_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Home::at(folder.path().join("home")));
        let path = folder.path().join("a.sh");
        store.replace_file(&path, b"one", None).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        symlink(&path, folder.path().join("link")).unwrap();
        store
            .replace_file(&folder.path().join("link"), b"two", Some(Revision::of([b"one".as_slice()])))
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        let stale = store.replace_file(&path, b"three", Some(Revision::of([b"one".as_slice()]))).unwrap_err();
        assert!(matches!(stale.problem(), Problem::ChangedSince { .. }), "{stale}");
        fs::hard_link(&path, folder.path().join("other")).unwrap();
        store.replace_file(&path, b"four", None).unwrap();
        assert_eq!(fs::read(folder.path().join("other")).unwrap(), b"four");
        assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 3);
    }

    #[test]
    fn a_folder_and_a_file_in_a_missing_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Home::at(folder.path().join("home")));
        let refused = |path: &Path| store.replace_file(path, b"x", None).unwrap_err().to_string();
        assert!(refused(folder.path()).ends_with("is a folder, not a file"));
        assert!(refused(&folder.path().join("no/file")).contains("does not exist"));
    }
}
