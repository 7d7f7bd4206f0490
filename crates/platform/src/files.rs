//! Files, as each operating system has them, behind one set of functions.

#[cfg(target_os = "linux")]
mod large_pages;
#[cfg(target_os = "linux")]
mod lease;
#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::io::Write;
use std::path::Path;
use std::{fs, io};

#[cfg(not(unix))]
pub use other::*;
#[cfg(unix)]
pub use unix::*;

/// Puts a small file where readers find it, whole or not at all, for this user alone.
pub fn save_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let saved = private(&mut options)
        .open(&new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&new, path));
    if saved.is_err() {
        let _ = fs::remove_file(&new);
    }
    saved
}

/// Makes the room that a buffer has cheaper to fill, where the system can.
pub fn prepare_large(buffer: &mut Vec<u8>) {
    #[cfg(target_os = "linux")]
    large_pages::advise(buffer);
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}

/// Whether some process has a file open for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// One has.
    Some,
    /// None has.
    None,
    /// The system does not tell.
    Unknown,
}

/// Which file it is and which state of it, as far as that can be told without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub number: u64,
    length: u64,
    /// When its content changed last.
    pub modified: Option<std::time::SystemTime>,
    made: Option<std::time::SystemTime>,
}

/// Which file it is, whatever it holds: writing into it leaves it the same, putting another one in its place does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub number: u64,
    /// When it was made, in nanoseconds of Unix time: numbers are used again. 0 where that is not known.
    pub made: u128,
}

impl Mark {
    /// The file that it is a state of.
    pub fn identity(&self) -> Identity {
        let since = self.made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        Identity { device: self.device, number: self.number, made: since.map_or(0, |since| since.as_nanos()) }
    }
}
