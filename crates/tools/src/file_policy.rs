//! Decides which files an agent may read and change: one table for all callers and modes. `facts`
//! examines the file. The decision depends only on these facts, the user's settings and the user's
//! consents.

mod executed;
mod facts;
mod pattern;
mod secrets;

use std::fmt;
use std::path::{Path, PathBuf};

use cellist_settings::Home;

pub use cellist_store::Use;

use crate::caller::Caller;
use executed::is_executed;
use facts::FileFacts;
pub(crate) use facts::FileIdentity;
use pattern::{is_allowed, is_named};
use secrets::is_secret;

/// The reason why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The file belongs to cellist: state, keys and tokens.
    State,
    /// The file belongs to the system: processes, devices, kernel settings.
    System,
    /// The name marks a file with secrets, or the user hides the file from models.
    Secret,
    /// Other programs run or obey the file, and the user has not consented to a change.
    Executed {
        /// The file that other programs run: the real path or another name of it.
        path: PathBuf,
    },
    /// The file has hard links that were not found, so the effect of a change is unknown.
    OtherNames {
        /// The file.
        path: PathBuf,
    },
}

impl Denial {
    /// Returns the path that a user can consent to, if consent helps.
    pub fn consent(&self) -> Option<&Path> {
        match self {
            Denial::State | Denial::System | Denial::Secret => None,
            Denial::Executed { path } | Denial::OtherNames { path } => Some(path),
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::State => f.write_str("belongs to cellist itself; agents may not use it"),
            Denial::System => f.write_str("belongs to the system; agents may not use it"),
            Denial::Secret => f.write_str(
                "is kept from models, and only the user can change that; do not look for another way to read it",
            ),
            Denial::Executed { path } => write!(
                f,
                "other programs run or obey {}: a change needs the consent of the user, and nothing was done",
                path.display()
            ),
            Denial::OtherNames { path } => write!(
                f,
                "{} is a hard link whose other names are unknown: a change needs the consent of the user, and nothing \
                 was done",
                path.display()
            ),
        }
    }
}

/// A permitted file, as it was at the decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmittedFile {
    /// The identity of the file, if it exists.
    pub(crate) identity: Option<FileIdentity>,
    /// The path as the call named it, and other names of the file.
    pub(crate) also: Vec<PathBuf>,
}

/// The file access of one caller.
///
/// The policy is a value without state: [`FilePolicy::check`] reads the file system and returns a
/// permission or a [`Denial`]. A permission describes the file at that moment. Callers that open
/// the file later compare its identity, so a file swapped in between is refused. Checks do blocking
/// I/O and may walk folders to find hard links.
#[derive(Clone, Debug, Default)]
pub struct FilePolicy {
    /// The state folders.
    state: Vec<PathBuf>,
    /// Folders on the `PATH`.
    programs: Vec<PathBuf>,
    /// Folders that are searched for other names of a file.
    folders: Vec<PathBuf>,
    /// The user's home folder.
    own: Option<PathBuf>,
    /// File patterns hidden from models.
    excluded: Vec<String>,
    /// Paths whose change the user's settings allow.
    allowed: Vec<String>,
}

impl FilePolicy {
    /// Builds the policy of a caller. `home` is the state folder of the process that carries out
    /// its calls.
    pub fn of(caller: &Caller, home: &Home) -> FilePolicy {
        let folders = std::iter::once(&caller.cwd).chain(&caller.roots).cloned().collect();
        let variables = caller.environment.variables();
        FilePolicy {
            programs: variables.path_folders().into_iter().filter(|folder| folder.is_absolute()).collect(),
            folders,
            ..FilePolicy::new(home, &caller.excluded, &caller.allowed)
        }
    }

    /// Builds a policy from the user's settings alone, for files anywhere.
    pub fn new(home: &Home, excluded: &[String], allowed: &[String]) -> FilePolicy {
        let own = std::env::home_dir();
        let usual = own.as_ref().map(|own| own.join(".cellist"));
        FilePolicy {
            state: std::iter::once(home.path().to_owned()).chain(usual).collect(),
            own,
            excluded: excluded.to_vec(),
            allowed: allowed.to_vec(),
            ..FilePolicy::default()
        }
    }

    /// Sets the folders that are searched for other names of a file.
    #[must_use]
    pub fn within(self, folders: &[PathBuf]) -> FilePolicy {
        FilePolicy { folders: folders.to_vec(), ..self }
    }

    /// Decides whether a file may be used. `named` is the absolute path as given. `real` is the
    /// file that it resolves to, which need not exist.
    pub fn check(
        &self,
        named: &Path,
        real: &Path,
        wanted: Use,
        consents: &[PathBuf],
    ) -> Result<AdmittedFile, Denial> {
        let facts = FileFacts::of(self, named, real, wanted);
        self.decide(&facts, wanted, consents)?;
        Ok(AdmittedFile { identity: facts.identity, also: facts.also })
    }

    /// Tells a user how to lift a denial, if that is possible.
    pub fn advice(denial: &Denial, home: &Home) -> Option<String> {
        let path = denial.consent()?;
        let settings = home.path().join("config.toml");
        Some(format!("the user can add {path:?} to the setting tools.allow_writes in {}", settings.display()))
    }

    /// Returns whether a path may be read. A path that does not exist may.
    pub fn may_look(&self, path: &Path) -> bool {
        match path.canonicalize() {
            Ok(real) => self.check(path, &real, Use::Look, &[]).is_ok(),
            Err(_) => self.check(path, path, Use::Look, &[]).is_ok(),
        }
    }

    /// The table.
    fn decide(&self, facts: &FileFacts, wanted: Use, consents: &[PathBuf]) -> Result<(), Denial> {
        let names = || std::iter::once(&facts.real).chain(&facts.also);
        if facts.is_state {
            return Err(Denial::State);
        }
        if facts.is_system {
            return Err(Denial::System);
        }
        if names().any(|name| is_secret(name) || self.excluded.iter().any(|pattern| is_named(name, pattern)))
        {
            return Err(Denial::Secret);
        }
        if wanted == Use::Look {
            return Ok(());
        }
        let is_consented = |path: &PathBuf| consents.contains(path) || is_allowed(path, &self.allowed);
        let by_place = facts.is_installed || facts.is_repository || facts.is_program;
        let executed = names().filter(|name| is_executed(name) || by_place && **name == facts.real);
        if let Some(path) = executed.into_iter().find(|path| !is_consented(path)) {
            return Err(Denial::Executed { path: path.clone() });
        }
        match facts.has_unknown_names && !is_consented(&facts.real) {
            true => Err(Denial::OtherNames { path: facts.real.clone() }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
