//! The host's socket: a file for this user alone, in the state folder, or in a folder of its own where the state folder's
//! path is too long for one.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cellist_kernel::guard::Guard;
use tokio::net::UnixListener;

/// The longest path that every system takes for a socket.
const LONGEST: usize = 100;

/// A socket that listens. Its file goes with it.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
    /// Which file it is: the next host's may have the same name.
    number: (u64, u64),
    /// The folder that was made for it, and who removes that when we are killed.
    folder: Option<(PathBuf, Guard)>,
}

impl Socket {
    /// Listens in the folder, which is private, or elsewhere if its path is too long. Needs a runtime.
    pub(crate) fn bind(folder: &Path, guard: &Guard) -> io::Result<Socket> {
        let path = std::path::absolute(folder)?.join("host.sock");
        if path.as_os_str().as_bytes().len() <= LONGEST {
            return Socket::listen(path, None);
        }
        let short = Path::new("/tmp").join(format!("cellist-{:016x}", getrandom::u64()?));
        DirBuilder::new().mode(0o700).create(&short)?;
        guard.add_path(&short);
        guard.settle();
        Socket::listen(short.join("host.sock"), Some((short, guard.clone())))
    }

    /// Listens anew at the same path where its file is gone; whether it had to. Clients that are connected stay so.
    pub(crate) fn restore(&mut self) -> io::Result<bool> {
        if number(&self.path).is_ok_and(|number| number == self.number) {
            return Ok(false);
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Dropping the old one would remove the new file's folder.
        let folder = self.folder.take();
        *self = Socket::listen(self.path.clone(), folder)?;
        Ok(true)
    }

    fn listen(path: PathBuf, folder: Option<(PathBuf, Guard)>) -> io::Result<Socket> {
        // What is there was left by a host that was killed: we own the place now.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let number = number(&path)?;
        Ok(Socket { listener, path, number, folder })
    }
}

impl Drop for Socket {
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
    async fn a_socket_is_private_replaces_what_was_left_and_leaves_nothing() {
        let scratch = Scratch::new();
        let left = scratch.write("host.sock", "left by another");
        let socket = Socket::bind(scratch.path(), &Guard::none()).unwrap();
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
        let mut socket = Socket::bind(&run, &Guard::none()).unwrap();
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
    async fn a_path_that_is_too_long_gives_way_to_a_private_folder_that_goes_too() {
        let scratch = Scratch::new();
        let deep = scratch.path().join("d".repeat(60)).join("e".repeat(60));
        fs::create_dir_all(&deep).unwrap();
        let socket = Socket::bind(&deep, &Guard::none()).unwrap();
        let folder = socket.path.parent().unwrap().to_owned();
        assert!(socket.path.as_os_str().len() <= LONGEST && !socket.path.starts_with(&deep));
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        drop(socket);
        assert!(!folder.exists());
    }
}
