//! Systems that are neither Linux nor macOS: no exchange of files, owners or leases, so saving uses plain
//! rename and the checks around it.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::{Mark, Writers};

pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(crate) fn is_running(_: u32) -> bool {
    true
}

pub(crate) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn mark(metadata: &Metadata) -> Mark {
    Mark {
        device: 0,
        number: 0,
        length: metadata.len(),
        modified: metadata.modified().ok(),
        made: metadata.created().ok(),
    }
}

pub(crate) fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

pub(crate) fn named_at(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

pub(crate) fn has_several_names(_: &Metadata) -> bool {
    false
}

pub(crate) fn is_read_only(metadata: &Metadata) -> bool {
    metadata.permissions().readonly()
}

pub(crate) fn may_write(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

pub(crate) fn may_give_to_owner(_: &Metadata) -> bool {
    true
}

pub(crate) fn copy_attributes(from: &File, to: &File) -> io::Result<bool> {
    to.set_permissions(from.metadata()?.permissions())?;
    Ok(true)
}

pub(crate) fn writers(_: &File) -> Writers {
    Writers::Unknown
}

pub(crate) fn keep_others_out(_: &File) -> Writers {
    Writers::Unknown
}

pub(crate) fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

pub(crate) fn forbids_replacing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Opens a file by its real path for reading.
pub(crate) fn open_real(path: &Path) -> io::Result<File> {
    File::open(path)
}
