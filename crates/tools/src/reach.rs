//! Which files an agent may look at and change: one table for every caller and every mode. What is known of a file is found
//! out in `facts`; the decision is a function of that, of what the person set, and of what they consented to.

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
pub(crate) use facts::Identity;
use pattern::{is_allowed, is_named};
use secrets::is_secret;

/// Why a file is out of reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// It is cellist's own: state, keys and tokens.
    State,
    /// It belongs to the system: processes, devices, settings of the kernel.
    System,
    /// It holds secrets by its name, or a person keeps it from models.
    Secret,
    /// Other programs run it or obey it, and nobody has consented to a change.
    Executed {
        /// The file that others run, by its real path or by another name of it.
        path: PathBuf,
    },
    /// It has names that could not be found, so nobody can tell what a change would reach.
    OtherNames {
        /// The file.
        path: PathBuf,
    },
}

impl Denial {
    /// The path that a person can consent to, where consent helps.
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
            Denial::State => f.write_str("belongs to cellist itself: no agent may use it"),
            Denial::System => f.write_str("belongs to the system: no agent may use it"),
            Denial::Secret => f.write_str(
                "is kept from models, and only a person can change that; do not look for another way to it",
            ),
            Denial::Executed { path } => write!(
                f,
                "other programs run or obey {}: it changes only after a person allowed that, and nothing was done",
                path.display()
            ),
            Denial::OtherNames { path } => write!(
                f,
                "{} is a hard link whose other names are not known: it changes only after a person allowed that, and \
                 nothing was done",
                path.display()
            ),
        }
    }
}

/// A file that may be used, as it was when that was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admitted {
    /// Which file it is, where it exists.
    pub(crate) identity: Option<Identity>,
    /// The path as it was named, and other names of the same file.
    pub(crate) also: Vec<PathBuf>,
}

/// What one caller can reach.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// The state folders.
    state: Vec<PathBuf>,
    /// Folders whose files are programs of the user.
    programs: Vec<PathBuf>,
    /// Where other names of a file are looked for.
    folders: Vec<PathBuf>,
    /// The user's own folder.
    own: Option<PathBuf>,
    /// Names that the person keeps from models.
    excluded: Vec<String>,
    /// Paths to whose change the person consented in their settings.
    allowed: Vec<String>,
}

impl Reach {
    /// Of a caller, with the state folder of whoever carries its calls out.
    pub fn of(caller: &Caller, home: &Home) -> Reach {
        let folders = std::iter::once(&caller.cwd).chain(&caller.roots).cloned().collect();
        let variables = caller.environment.variables();
        Reach {
            programs: variables.path_folders().into_iter().filter(|folder| folder.is_absolute()).collect(),
            folders,
            ..Reach::new(home, &caller.excluded, &caller.allowed)
        }
    }

    /// By what a person set, for files anywhere.
    pub fn new(home: &Home, excluded: &[String], allowed: &[String]) -> Reach {
        let own = std::env::home_dir();
        let usual = own.as_ref().map(|own| own.join(".cellist"));
        Reach {
            state: std::iter::once(home.path().to_owned()).chain(usual).collect(),
            own,
            excluded: excluded.to_vec(),
            allowed: allowed.to_vec(),
            ..Reach::default()
        }
    }

    /// The same, with folders in which other names of a file are looked for.
    #[must_use]
    pub fn within(self, folders: &[PathBuf]) -> Reach {
        Reach { folders: folders.to_vec(), ..self }
    }

    /// Whether a file may be used. `named` is the path as it was given, whole; `real` the file that it leads to, which need
    /// not exist.
    pub fn check(
        &self,
        named: &Path,
        real: &Path,
        wanted: Use,
        consents: &[PathBuf],
    ) -> Result<Admitted, Denial> {
        let facts = FileFacts::of(self, named, real, wanted);
        self.decide(&facts, wanted, consents)?;
        Ok(Admitted { identity: facts.identity, also: facts.also })
    }

    /// What a person would do about a refusal, where there is something.
    pub fn advice(denial: &Denial, home: &Home) -> Option<String> {
        let path = denial.consent()?;
        let settings = home.path().join("config.toml");
        Some(format!("a person adds {path:?} to the setting tools.allow_writes in {}", settings.display()))
    }

    /// Whether a file that is there may be looked at; a path that leads nowhere may.
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
