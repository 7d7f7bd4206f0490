//! Versions of a notebook that have no place in it any more and must not be thrown away either.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use cellist_platform::files;
use cellist_settings::Home;

use super::place::Place;
use super::temporary::Temporary;

const FOLDER: &str = "recovered";

/// Moves a temporary file to the state folder and says in a sentence where it is.
pub(super) fn keep(home: &Home, place: &Place, temporary: &Temporary, why: &str) -> String {
    let kept = target(home, place, &temporary.tag).and_then(|target| {
        temporary.move_to(&target)?;
        Ok(target)
    });
    // What cannot be moved stays: better a file too many than one too few.
    let path = kept.unwrap_or_else(|_| temporary.path.clone());
    format!("{why} is kept in {}", path.display())
}

/// Writes bytes to the state folder and says in a sentence where they are.
pub(super) fn keep_bytes(home: &Home, place: &Place, bytes: &[u8], why: &str) -> io::Result<String> {
    let path = target(home, place, &Temporary::new(place).tag)?;
    let mut options = OpenOptions::new();
    let mut file = files::private(options.write(true).create_new(true)).open(&path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(format!("{why} is kept in {}", path.display()))
}

fn target(home: &Home, place: &Place, tag: &str) -> io::Result<PathBuf> {
    let name = place.name().to_string_lossy();
    let stem = name.strip_suffix(".ipynb").unwrap_or(&name);
    // Room for the tag and the ending in the longest name that file systems allow.
    let stem = &stem[..stem.floor_char_boundary(200)];
    let folder = home.folder(FOLDER)?;
    let mut path = folder.join(format!("{stem}-{tag}.ipynb"));
    while fs::exists(&path)? {
        path = folder.join(format!("{stem}-{}.ipynb", Temporary::new(place).tag));
    }
    Ok(path)
}
