//! The `recovered` folder: versions of a notebook that are no longer in its file and must not be
//! lost.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use cellist_platform::files;
use cellist_settings::Home;

use super::location::FileLocation;
use super::temporary::TemporaryFile;

const FOLDER: &str = "recovered";

/// Moves a temporary file to the folder. Returns a notice with the path.
pub(super) fn keep(home: &Home, location: &FileLocation, temporary: &TemporaryFile, why: &str) -> String {
    let kept = target(home, location, &temporary.tag).and_then(|target| {
        temporary.move_to(&target)?;
        Ok(target)
    });
    // A file that cannot be moved stays beside the notebook.
    let path = kept.unwrap_or_else(|_| temporary.path.clone());
    format!("{why} is kept in {}", path.display())
}

/// Writes bytes to the folder. Returns a notice with the path.
pub(super) fn keep_bytes(
    home: &Home,
    location: &FileLocation,
    bytes: &[u8],
    why: &str,
) -> io::Result<String> {
    let path = target(home, location, &TemporaryFile::new(location).tag)?;
    let mut options = OpenOptions::new();
    let mut file = files::private(options.write(true).create_new(true)).open(&path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(format!("{why} is kept in {}", path.display()))
}

fn target(home: &Home, location: &FileLocation, tag: &str) -> io::Result<PathBuf> {
    let name = location.name().to_string_lossy();
    let stem = name.strip_suffix(".ipynb").unwrap_or(&name);
    // Leaves room for tag and extension in a name of 255 bytes.
    let stem = &stem[..stem.floor_char_boundary(200)];
    let folder = home.folder(FOLDER)?;
    let mut path = folder.join(format!("{stem}-{tag}.ipynb"));
    while fs::exists(&path)? {
        path = folder.join(format!("{stem}-{}.ipynb", TemporaryFile::new(location).tag));
    }
    Ok(path)
}
