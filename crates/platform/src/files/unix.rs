//! Linux and macOS.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, CWD, RenameFlags, XattrFlags, renameat_with};
use rustix::io::Errno;

use super::{Mark, Writers};

/// Makes the file that `options` creates accessible to this user alone.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Whether a process of this number is there.
pub fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // One of another user is there too.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// Opens a file by its real path for reading. A link that has come into the path since is an error, and a pipe is not
/// waited for.
pub fn open_real(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Kernels before 5.6 do not know the call, and some containers do not allow it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?.into()),
        }
    }
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Lets two files of a folder change places in one step. `Unsupported` where the system cannot.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(unless_known)
}

/// Renames a file to a name that no file has. `Unsupported` where the system cannot.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(unless_known)
}

// File systems that do not know a flag of rename say that it is invalid; kernels, that there is no such call.
fn unless_known(error: Errno) -> io::Error {
    match error {
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => io::ErrorKind::Unsupported.into(),
        other => other.into(),
    }
}

/// Makes names in a folder last.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = match File::open(folder) {
        // A folder that may be written to and not read cannot be synced by this user.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        opened => opened?,
    };
    match folder.sync_all() {
        // Some network file systems have nothing to do here and say so.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// The mark of a file.
pub fn mark(metadata: &Metadata) -> Mark {
    Mark {
        device: metadata.dev(),
        number: metadata.ino(),
        length: metadata.len(),
        modified: metadata.modified().ok(),
        made: metadata.created().ok(),
    }
}

/// Whether both are one file.
pub fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// When the file got its name, or was changed in any other way.
pub fn named_at(metadata: &Metadata) -> SystemTime {
    let (seconds, rest) = (metadata.ctime(), metadata.ctime_nsec());
    let since = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(rest).unwrap_or(0));
    UNIX_EPOCH + since
}

/// Whether it has hard links.
pub fn has_several_names(metadata: &Metadata) -> bool {
    metadata.nlink() > 1
}

/// Whether nobody, not even the owner, may write to it.
pub fn is_read_only(metadata: &Metadata) -> bool {
    metadata.mode() & 0o222 == 0
}

/// Whether this user may write to the file.
pub fn may_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// Whether a file that this user makes can be given to the owner of `metadata`.
pub fn may_give_to_owner(metadata: &Metadata) -> bool {
    let user = rustix::process::geteuid();
    user.is_root() || user.as_raw() == metadata.uid()
}

/// Gives `to` the owner, the permissions and the extended attributes of `from`. `false` when the owner or the
/// group cannot be kept; extended attributes are kept as far as the system allows.
pub fn copy_attributes(from: &File, to: &File) -> io::Result<bool> {
    let (wanted, made) = (from.metadata()?, to.metadata()?);
    let owner = (wanted.uid() != made.uid()).then_some(wanted.uid());
    let group = (wanted.gid() != made.gid()).then_some(wanted.gid());
    if (owner.is_some() || group.is_some()) && fchown(to, owner, group).is_err() {
        return Ok(false);
    }
    // After the owner, since a change of owner takes some permissions away.
    to.set_permissions(Permissions::from_mode(wanted.mode() & 0o7777))?;
    // After the permissions, which would change the mask of an access control list.
    let names = attribute_names(from);
    for name in attribute_names(to).iter().filter(|name| !names.contains(name)) {
        let _ = rustix::fs::fremovexattr(to, name.as_slice());
    }
    for name in &names {
        let _ = copy_attribute(from, to, name);
    }
    Ok(true)
}

fn attribute_names(file: &File) -> Vec<Vec<u8>> {
    let mut list = vec![0; rustix::fs::flistxattr_query(file).unwrap_or(0)];
    let length = rustix::fs::flistxattr(file, list.as_mut_slice()).unwrap_or(0);
    list[..length].split_inclusive(|&byte| byte == 0).map(|name| name[..name.len() - 1].to_vec()).collect()
}

fn copy_attribute(from: &File, to: &File, name: &[u8]) -> rustix::io::Result<()> {
    let mut value = vec![0; rustix::fs::fgetxattr_query(from, name)?];
    let length = rustix::fs::fgetxattr(from, name, value.as_mut_slice())?;
    rustix::fs::fsetxattr(to, name, &value[..length], XattrFlags::empty())
}

/// Whether anyone has `file` open for writing. It must be open for reading only.
pub fn writers(file: &File) -> Writers {
    #[cfg(target_os = "linux")]
    return super::lease::writers(file);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Writers::Unknown
    }
}

/// Blocks other opens of `file` until it is closed here, unless some process has it open already.
pub fn keep_others_out(file: &File) -> Writers {
    #[cfg(target_os = "linux")]
    return super::lease::keep_others_out(file);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Writers::Unknown
    }
}

/// Takes the room for `length` bytes without making the file longer, where the system can.
pub fn reserve(file: &File, length: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, length) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, length);
    Ok(())
}

/// Whether a file cannot be replaced here, though it can perhaps be written to: the folder or a mount forbids it.
pub fn forbids_replacing(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy | CrossesDevices)
}
