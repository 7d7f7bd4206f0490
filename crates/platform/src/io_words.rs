//! Errors of the operating system in words for people.

use std::io;

/// An error of the operating system: the usual ones in our words, the others without their number, which says
/// nothing to people.
pub fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::NotADirectory => "a part of its path is a file, not a folder".into(),
        io::ErrorKind::IsADirectory => "is a folder, not a file".into(),
        io::ErrorKind::InvalidFilename => "the name is too long, or not one that a file can have".into(),
        io::ErrorKind::AddrInUse => "the address is in use".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        io::ErrorKind::FileTooLarge => "the file would be too large".into(),
        _ => without_number(error),
    }
}

/// An error in the words of the operating system, without its number and without a capital letter.
pub fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    let mut letters = text[..end].chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
