//! The state folder: cellist's own files, apart from the user's.

mod privacy;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

pub use privacy::Exposure;

/// The state folder. It is made when something is first put into it, for this user alone.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

impl Home {
    /// `CELLIST_HOME`, or else `.cellist` in the user's home folder.
    pub fn from_env() -> Home {
        let set = env::var_os("CELLIST_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        // Without a home folder there is still a state folder, beside the work.
        Home(set.unwrap_or_else(|| env::home_dir().unwrap_or_default().join(".cellist")))
    }

    /// A state folder at a path of the caller's choice.
    pub fn at(path: impl Into<PathBuf>) -> Home {
        Home(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// How other users could reach it, if they can: by its owner, its permissions, or those of a folder above it.
    pub fn exposure(&self) -> Option<Exposure> {
        privacy::exposure(&self.0)
    }

    /// Refuses a folder of another user. Sockets and tokens in it would be that user's.
    pub fn refuse_foreign(&self) -> io::Result<()> {
        match self.exposure() {
            Some(foreign @ Exposure::Foreign { .. }) => Err(io::Error::other(foreign.to_string())),
            Some(Exposure::Writable { .. } | Exposure::Replaceable { .. }) | None => Ok(()),
        }
    }

    /// A folder below it, made if need be.
    pub fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.0.join(name);
        if !folder.is_dir() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&folder)?;
        }
        Ok(folder)
    }
}
