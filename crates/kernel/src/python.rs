//! Where Python is: the interpreters that could run code here, in the order in which they are wanted, and why
//! some of them cannot. Decided by files on disk; no process is started.

mod asking;
mod files;
mod layout;
mod shim;

use std::fmt;
use std::path::{Path, PathBuf};

use cellist_platform::{Variables, project_folders};
use serde::Serialize;

pub use asking::settle;
pub use files::{Disk, Files, Kind};
pub use layout::{has_module, version};
pub use shim::Shim;

/// The inputs of the search.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The file system.
    pub files: &'a dyn Files,
    /// The environment of the client, unfiltered.
    pub variables: &'a Variables,
    /// Folders in which work is done, the nearest first. An environment is looked for in each and above it.
    pub folders: &'a [PathBuf],
    /// The state folder, which may hold an environment of our own.
    pub home: &'a Path,
}

/// A Python that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The program; for a shim that could not be seen through, the shim.
    pub path: PathBuf,
    /// How it was found.
    pub origin: Origin,
    /// The environment that it belongs to.
    pub environment: Option<PathBuf>,
    /// Set while `path` is a shim. [`settle`] asks it once for the program behind it.
    pub shim: Option<Shim>,
}

/// How an interpreter was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was named.
    Named,
    /// `VIRTUAL_ENV` is set.
    Active,
    /// `CONDA_PREFIX` is set.
    Conda,
    /// `.venv` or `venv` lies beside the work or above it.
    Located,
    /// It is in our own environment, in the state folder.
    Managed,
    /// It is on `PATH`.
    Path,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Named => "named",
            Origin::Active => "VIRTUAL_ENV",
            Origin::Conda => "CONDA_PREFIX",
            Origin::Located => "beside the work",
            Origin::Managed => "managed",
            Origin::Path => "PATH",
        })
    }
}

/// A place where an interpreter was expected, and the file there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it was looked for.
    pub path: PathBuf,
    /// Why it was looked for there.
    pub origin: Origin,
    /// The interpreter, or why it cannot be used.
    pub verdict: Result<Interpreter, Flaw>,
}

/// Why an interpreter cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum Flaw {
    #[error("there is no such file")]
    Missing,
    #[error("it is a link to {}, which does not exist", .target.display())]
    Dangling { target: PathBuf, environment: Option<PathBuf> },
    #[error("it is not executable")]
    NotExecutable,
    #[error("it is a folder without bin/python in it")]
    NoInterpreter { environment: Option<PathBuf> },
    #[error("pyvenv.cfg says that the environment was made from {}, which does not exist", .home.display())]
    BaseGone { home: PathBuf },
    #[error("it is Python 2")]
    Python2,
    #[error("it is a shim of {tool} for {program} {version}, which is not installed")]
    ShimOfNothing { tool: &'static str, program: String, version: String },
    #[error("it is a shim of {tool} that leads to no interpreter")]
    SilentShim { tool: &'static str },
}

impl Flaw {
    /// The command that would repair it. Making an environment anew empties its folder, so that is only for certain environments.
    pub fn hint(&self, path: &Path) -> Option<String> {
        let anew = |environment: &Path| {
            Some(format!("make the environment anew: python3 -m venv --clear {}", environment.display()))
        };
        match self {
            Flaw::Dangling { environment: Some(environment), .. }
            | Flaw::NoInterpreter { environment: Some(environment) } => anew(environment),
            Flaw::BaseGone { .. } => anew(path.parent().and_then(Path::parent).unwrap_or(path)),
            Flaw::NoInterpreter { environment: None } => {
                Some("name a Python, or the folder of an environment, with --python PATH".to_owned())
            }
            Flaw::NotExecutable if is_named_python(path) => {
                Some(format!("make it executable: chmod +x {}", path.display()))
            }
            Flaw::ShimOfNothing { tool, version, .. } if *tool == "asdf" => {
                Some(format!("install it: asdf install python {version}"))
            }
            Flaw::ShimOfNothing { tool, version, .. } => {
                Some(format!("install it: {tool} install {version}"))
            }
            Flaw::Missing
            | Flaw::Dangling { environment: None, .. }
            | Flaw::NotExecutable
            | Flaw::Python2
            | Flaw::SilentShim { .. } => None,
        }
    }
}

fn is_named_python(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
}

/// Every place that the search knows of, in order; the first that holds an interpreter is the one to use.
pub fn candidates(around: &Surroundings<'_>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (variable, origin) in [("VIRTUAL_ENV", Origin::Active), ("CONDA_PREFIX", Origin::Conda)] {
        if let Some(folder) = around.variables.path(variable) {
            found.push(in_environment(around.files, &folder, origin));
        }
    }
    for folder in searched_folders(around) {
        for name in [".venv", "venv"] {
            let folder = folder.join(name);
            let is_environment = around.files.kind(&folder) == Kind::Folder
                && (name == ".venv" || around.files.kind(&folder.join("pyvenv.cfg")).is_file());
            if is_environment {
                found.push(in_environment(around.files, &folder, Origin::Located));
            }
        }
    }
    let managed = around.home.join("python-env");
    if around.files.kind(&managed) == Kind::Folder {
        found.push(in_environment(around.files, &managed, Origin::Managed));
    }
    for name in ["python", "python3"] {
        found.extend(on_path(around, name));
    }
    let mut seen: Vec<PathBuf> = Vec::new();
    found.retain(|candidate| {
        // The same program under several names is one; two environments may share theirs and are still two.
        let identity = match &candidate.verdict {
            Ok(Interpreter { path, environment: None, shim: None, .. }) => around.files.real(path),
            Ok(Interpreter { path, .. }) => path.clone(),
            Err(_) => candidate.path.clone(),
        };
        let is_new = !seen.contains(&identity);
        seen.push(identity);
        is_new
    });
    found
}

/// The interpreter that a person named: a program, or the folder of an environment.
pub fn named(around: &Surroundings<'_>, path: &Path) -> Candidate {
    if path.components().count() == 1
        && around.files.kind(path) == Kind::Missing
        && let Some(name) = path.to_str()
        && let Some(first) = on_path(around, name).into_iter().next()
    {
        return Candidate { origin: Origin::Named, ..first };
    }
    match around.files.kind(path) {
        Kind::Folder => in_environment(around.files, path, Origin::Named),
        Kind::File { .. } | Kind::Missing => {
            let verdict = program(around, path, Origin::Named);
            Candidate { path: path.to_owned(), origin: Origin::Named, verdict }
        }
    }
}

/// The folders in which an environment may lie: each folder of the work, and those above it.
fn searched_folders(around: &Surroundings<'_>) -> Vec<PathBuf> {
    let own = around.variables.path("HOME");
    let mut folders: Vec<PathBuf> = Vec::new();
    for start in around.folders {
        let is_there = |path: &Path| around.files.kind(path) != Kind::Missing;
        for folder in project_folders(start, own.as_deref(), is_there) {
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
    }
    folders
}

fn in_environment(files: &dyn Files, folder: &Path, origin: Origin) -> Candidate {
    let programs = if cfg!(windows) {
        vec![folder.join("Scripts").join("python.exe"), folder.join("python.exe")]
    } else {
        vec![folder.join("bin").join("python"), folder.join("bin").join("python3")]
    };
    let there = programs
        .iter()
        .find(|program| files.kind(program) != Kind::Missing)
        .or_else(|| programs.iter().find(|program| files.link(program).is_some()));
    let Some(program) = there else {
        let flaw = match files.kind(folder) {
            Kind::Missing => Flaw::Missing,
            Kind::File { .. } | Kind::Folder => {
                let is_environment = files.kind(&folder.join("pyvenv.cfg")).is_file();
                Flaw::NoInterpreter { environment: is_environment.then(|| folder.to_owned()) }
            }
        };
        return Candidate { path: folder.to_owned(), origin, verdict: Err(flaw) };
    };
    let verdict = runnable(files, program).and_then(|()| match layout::base_of(files, folder) {
        Some(home) if files.kind(&home) == Kind::Missing => Err(Flaw::BaseGone { home }),
        Some(_) | None => Ok(Interpreter {
            path: program.clone(),
            origin,
            environment: Some(folder.to_owned()),
            shim: None,
        }),
    });
    Candidate { path: program.clone(), origin, verdict }
}

fn on_path(around: &Surroundings<'_>, name: &str) -> Vec<Candidate> {
    let candidate = |folder: PathBuf| {
        let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let is_there = around.files.kind(&path).is_file() || around.files.link(&path).is_some();
        is_there.then(|| Candidate {
            verdict: program(around, &path, Origin::Path),
            path,
            origin: Origin::Path,
        })
    };
    around.variables.path_folders().into_iter().filter_map(candidate).collect()
}

/// A program as it stands, or the interpreter behind it when it is a shim.
fn program(around: &Surroundings<'_>, path: &Path, origin: Origin) -> Result<Interpreter, Flaw> {
    runnable(around.files, path)?;
    let plain = |path: PathBuf, shim| {
        let real = around.files.real(&path);
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("python2") {
            return Err(Flaw::Python2);
        }
        let environment = layout::environment_of(around.files, &path);
        Ok(Interpreter { path, origin, environment, shim })
    };
    match shim::behind(around, path)? {
        shim::ShimTarget::Itself => plain(path.to_owned(), None),
        shim::ShimTarget::Program(program) => {
            runnable(around.files, &program)?;
            plain(program, None)
        }
        shim::ShimTarget::Unknown(shim) => {
            Ok(Interpreter { path: path.to_owned(), origin, environment: None, shim: Some(shim) })
        }
    }
}

fn runnable(files: &dyn Files, path: &Path) -> Result<(), Flaw> {
    match (files.kind(path), files.link(path)) {
        (Kind::File { executable: true }, _) => Ok(()),
        (Kind::File { executable: false }, _) => Err(Flaw::NotExecutable),
        (Kind::Missing, Some(target)) => {
            Err(Flaw::Dangling { target, environment: layout::environment_of(files, path) })
        }
        (Kind::Missing, None) => Err(Flaw::Missing),
        (Kind::Folder, _) => Err(Flaw::NoInterpreter { environment: None }),
    }
}

#[cfg(test)]
mod tests;
