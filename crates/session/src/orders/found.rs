//! What there is to run code with, as it is found on disk. Nothing is started to find out.

use std::path::{Path, PathBuf};

use cellist_kernel::kernelspec::{self, KernelSpec};
use cellist_kernel::python::{self, Candidate, Disk, Interpreter};
use cellist_platform::Variables;
use cellist_settings::Home;

use super::ClientEnvironment;
use super::choice::{Offer, Refusal};

/// What there is to run code with, as it was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The variables of whoever asked.
    pub variables: Variables,
    /// The state folder.
    pub home: Home,
    /// Where Python was looked for, in order.
    pub pythons: Vec<Candidate>,
    /// The kernelspecs, in order.
    pub specs: Vec<KernelSpec>,
    /// Files that should be kernelspecs, and why they are none.
    pub broken_specs: Vec<(PathBuf, String)>,
    folders: Vec<PathBuf>,
}

impl Found {
    /// Looks around. `folders` are where work is done, the nearest first.
    pub fn look(environment: &ClientEnvironment, home: &Home, folders: Vec<PathBuf>) -> Found {
        let mut found = Found::pythons(environment, home, folders);
        let interpreter = found.interpreter().map(|interpreter| interpreter.path.clone());
        let kernels = kernelspec::search(&found.variables, interpreter.as_deref());
        (found.specs, found.broken_specs) = (kernels.specs, kernels.broken);
        found
    }

    /// Looks for Python alone.
    pub(super) fn pythons(environment: &ClientEnvironment, home: &Home, folders: Vec<PathBuf>) -> Found {
        let mut found = Found {
            variables: environment.variables(),
            home: home.clone(),
            pythons: Vec::new(),
            specs: Vec::new(),
            broken_specs: Vec::new(),
            folders,
        };
        let around = found.around();
        found.pythons = match &environment.python {
            Some(path) => vec![python::named(&around, path)],
            None => python::candidates(&around),
        };
        found
    }

    /// The Python that is used.
    pub fn interpreter(&self) -> Option<&Interpreter> {
        self.pythons.iter().find_map(|candidate| candidate.verdict.as_ref().ok())
    }

    /// Whether an interpreter has a module.
    pub fn has_module(&self, interpreter: &Path, module: &str) -> bool {
        python::has_module(&self.around(), interpreter, module)
    }

    /// The version of an interpreter, where its files tell.
    pub fn version(&self, interpreter: &Path) -> Option<String> {
        python::version(&self.around(), interpreter)
    }

    /// The kernelspecs as the choice sees them.
    pub fn offers(&self) -> Vec<Offer> {
        let offer = |spec: &KernelSpec| Offer {
            name: spec.name.clone(),
            language: spec.language.clone(),
            missing_program: self.missing_program(spec),
        };
        self.specs.iter().map(offer).collect()
    }

    /// The program that a kernelspec starts with, if that is not there.
    pub fn missing_program(&self, spec: &KernelSpec) -> Option<String> {
        let program = Path::new(spec.argv.first()?);
        let is_there = if program.components().count() > 1 {
            program.is_file()
        } else {
            self.variables.path_folders().iter().any(|folder| folder.join(program).is_file())
        };
        (!is_there).then(|| program.display().to_string())
    }

    /// Interpreters that were wanted before the one that is used, and why they are not.
    pub(super) fn passed_over(&self) -> Vec<String> {
        let before = self.pythons.iter().take_while(|candidate| candidate.verdict.is_err());
        let said = before.filter_map(|candidate| {
            let flaw = candidate.verdict.as_ref().err()?;
            Some(format!("{} was passed over: {flaw}", candidate.path.display()))
        });
        said.collect()
    }

    fn around(&self) -> python::Surroundings<'_> {
        python::Surroundings {
            files: &Disk,
            variables: &self.variables,
            folders: &self.folders,
            home: self.home.path(),
        }
    }
}

/// A kernel as a notebook names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name of its kernelspec.
    pub name: String,
    /// What people call it.
    pub display_name: String,
    /// Its language.
    pub language: String,
}

impl Named {
    /// Python, whatever runs it.
    pub fn python() -> Named {
        Named {
            name: "python3".into(),
            display_name: "Python 3 (ipykernel)".into(),
            language: "python".into(),
        }
    }
}

impl Found {
    /// The kernel of this name. Python is there for notebooks with or without a kernelspec.
    pub fn named(&self, name: &str) -> Result<Named, Refusal> {
        let spec = self.specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
        match spec {
            Some(spec) => Ok(Named {
                name: spec.name.clone(),
                display_name: spec.display_name.clone(),
                language: spec.language.clone(),
            }),
            None if matches!(name.to_ascii_lowercase().as_str(), "python" | "python3") => Ok(Named::python()),
            None => {
                let known = self.specs.iter().map(|spec| spec.name.clone()).collect();
                Err(Refusal::NoSuchKernel { kernel: name.to_owned(), known })
            }
        }
    }
}
