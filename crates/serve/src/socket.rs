//! The host's Unix socket, private to its user. It is in the state folder, or in its own folder if
//! that path is too long.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cellist_kernel::guard::Guard;
use tokio::net::UnixListener;

/// Longest path of a socket that all systems accept.
const LONGEST: usize = 100;

/// A listening socket. Dropping it removes its file, unless the file belongs to another host by
/// now. Connections that were accepted stay open.
#[derive(Debug)]
pub(crate) struct HostSocket {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
    /// Device and inode of the file. The next host may reuse the path.
    number: (u64, u64),
    /// The folder made for the socket, and the guard that removes it if the host is killed.
    folder: Option<(PathBuf, Guard)>,
}

impl HostSocket {
    /// Listens in a private folder, or in a temporary one if the path is too long. Needs a runtime.
    pub(crate) fn bind(folder: &Path, guard: &Guard) -> io::Result<HostSocket> {
        let path = std::path::absolute(folder)?.join("host.sock");
        if path.as_os_str().as_bytes().len() <= LONGEST {
            return HostSocket::listen(path, None);
        }
        let short = Path::new("/tmp").join(format!("cellist-{:016x}", getrandom::u64()?));
        DirBuilder::new().mode(0o700).create(&short)?;
        guard.add_path(&short);
        guard.settle();
        HostSocket::listen(short.join("host.sock"), Some((short, guard.clone())))
    }

    /// Listens again at the same path if the file was removed. Returns whether that was needed.
    /// Open connections stay.
    pub(crate) fn restore(&mut self) -> io::Result<bool> {
        if number(&self.path).is_ok_and(|number| number == self.number) {
            return Ok(false);
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Dropping the old socket would remove the folder of the new one.
        let folder = self.folder.take();
        *self = HostSocket::listen(self.path.clone(), folder)?;
        Ok(true)
    }

    fn listen(path: PathBuf, folder: Option<(PathBuf, Guard)>) -> io::Result<HostSocket> {
        // A stale file of a killed host: the lock is ours now.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let number = number(&path)?;
        Ok(HostSocket { listener, path, number, folder })
    }
}

impl Drop for HostSocket {
    fn drop(&mut self) {
        if number(&self.path).is_ok_and(|number| number == self.number) {
            let _ = fs::remove_file(&self.path);
        }
        if let Some((folder, guard)) = &self.folder {
            let _ = fs::remove_dir_all(folder);
            guard.remove_path(folder);
        }
    }
}

fn number(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_private_replaces_a_stale_file_and_is_removed() {
        let scratch = Scratch::new();
        let left = scratch.write("host.sock", "left by another");
        let socket = HostSocket::bind(scratch.path(), &Guard::none()).unwrap();
        assert_eq!(socket.path, left);
        assert_eq!(fs::metadata(&left).unwrap().permissions().mode() & 0o777, 0o600);
        drop(socket);
        assert!(!left.exists());
    }

    #[tokio::test]
    async fn a_socket_whose_file_or_folder_was_removed_listens_again() {
        let scratch = Scratch::new();
        let run = scratch.path().join("run");
        fs::create_dir(&run).unwrap();
        let mut socket = HostSocket::bind(&run, &Guard::none()).unwrap();
        assert!(!socket.restore().unwrap());
        for removed in [&socket.path.clone(), &run] {
            let _ = fs::remove_file(removed).or_else(|_| fs::remove_dir_all(removed));
            assert!(tokio::net::UnixStream::connect(&socket.path).await.is_err());
            assert!(socket.restore().unwrap());
            let (client, accepted) =
                tokio::join!(tokio::net::UnixStream::connect(&socket.path), socket.listener.accept());
            assert!(client.is_ok() && accepted.is_ok());
        }
        let path = socket.path.clone();
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_long_path_is_replaced_by_a_private_temporary_folder() {
        let scratch = Scratch::new();
        let deep = scratch.path().join("d".repeat(60)).join("e".repeat(60));
        fs::create_dir_all(&deep).unwrap();
        let socket = HostSocket::bind(&deep, &Guard::none()).unwrap();
        let folder = socket.path.parent().unwrap().to_owned();
        assert!(socket.path.as_os_str().len() <= LONGEST && !socket.path.starts_with(&deep));
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        drop(socket);
        assert!(!folder.exists());
    }
}
