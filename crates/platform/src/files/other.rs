//! Systems that are neither Linux nor macOS: no exchange of files, owners or leases, so saving uses plain
//! rename and the checks around it.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::{Mark, Writers};

/// Makes the file that `options` creates accessible to this user alone.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Whether a process of this number is there.
pub fn is_running(_: u32) -> bool {
    true
}

/// Lets two files of a folder change places in one step. `Unsupported` where the system cannot.
pub fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames a file to a name that no file has. `Unsupported` where the system cannot.
pub fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes names in a folder last.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The mark of a file.
pub fn mark(metadata: &Metadata) -> Mark {
    Mark {
        device: 0,
        number: 0,
        length: metadata.len(),
        modified: metadata.modified().ok(),
        made: metadata.created().ok(),
    }
}

/// Whether both are one file.
pub fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// When the file got its name, or was changed in any other way.
pub fn named_at(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Whether it has hard links.
pub fn has_several_names(_: &Metadata) -> bool {
    false
}

/// Whether nobody, not even the owner, may write to it.
pub fn is_read_only(metadata: &Metadata) -> bool {
    metadata.permissions().readonly()
}

/// Whether this user may write to the file.
pub fn may_write(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

/// Whether a file that this user makes can be given to the owner of `metadata`.
pub fn may_give_to_owner(_: &Metadata) -> bool {
    true
}

/// Gives `to` the owner, the permissions and the extended attributes of `from`. `false` when the owner or the
/// group cannot be kept; extended attributes are kept as far as the system allows.
pub fn copy_attributes(from: &File, to: &File) -> io::Result<bool> {
    to.set_permissions(from.metadata()?.permissions())?;
    Ok(true)
}

/// Whether anyone has `file` open for writing. It must be open for reading only.
pub fn writers(_: &File) -> Writers {
    Writers::Unknown
}

/// Blocks other opens of `file` until it is closed here, unless some process has it open already.
pub fn keep_others_out(_: &File) -> Writers {
    Writers::Unknown
}

/// Takes the room for `length` bytes without making the file longer, where the system can.
pub fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// Whether a file cannot be replaced here, though it can perhaps be written to: the folder or a mount forbids it.
pub fn forbids_replacing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Opens a file by its real path for reading. A link that has come into the path since is an error, and a pipe is not
/// waited for.
pub fn open_real(path: &Path) -> io::Result<File> {
    File::open(path)
}
