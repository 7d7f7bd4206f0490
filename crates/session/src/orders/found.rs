//! Finds the software that can run code: Pythons and kernelspecs. Reads the disk and starts nothing.

use std::path::{Path, PathBuf};

use cellist_kernel::kernelspec::{self, KernelSpec};
use cellist_kernel::python::{self, Candidate, Disk, Interpreter};
use cellist_platform::Variables;
use cellist_settings::Home;

use super::ClientEnvironment;
use super::choice::{ChoiceError, KernelOffer};

/// The Pythons and kernelspecs found on disk.
#[derive(Clone, Debug)]
pub struct FoundSoftware {
    /// The client's environment variables.
    pub variables: Variables,
    /// The state folder.
    pub home: Home,
    /// Candidates for Python, in search order.
    pub pythons: Vec<Candidate>,
    /// Kernelspecs, in search order.
    pub specs: Vec<KernelSpec>,
    /// Invalid kernelspec files, each with the reason.
    pub broken_specs: Vec<(PathBuf, String)>,
    folders: Vec<PathBuf>,
}

impl FoundSoftware {
    /// Searches for Pythons and kernelspecs. `folders` are the working folders, the nearest first.
    pub fn look(environment: &ClientEnvironment, home: &Home, folders: Vec<PathBuf>) -> FoundSoftware {
        let mut found = FoundSoftware::pythons(environment, home, folders);
        let interpreter = found.interpreter().map(|interpreter| interpreter.path.clone());
        let kernels = kernelspec::search(&found.variables, interpreter.as_deref());
        (found.specs, found.broken_specs) = (kernels.specs, kernels.broken);
        found
    }

    /// Searches for Python only.
    pub(super) fn pythons(
        environment: &ClientEnvironment,
        home: &Home,
        folders: Vec<PathBuf>,
    ) -> FoundSoftware {
        let mut found = FoundSoftware {
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

    /// Returns the first usable Python.
    pub fn interpreter(&self) -> Option<&Interpreter> {
        self.pythons.iter().find_map(|candidate| candidate.verdict.as_ref().ok())
    }

    /// Whether an interpreter has a module.
    pub fn has_module(&self, interpreter: &Path, module: &str) -> bool {
        python::has_module(&self.around(), interpreter, module)
    }

    /// Returns the version of an interpreter, if its files tell.
    pub fn version(&self, interpreter: &Path) -> Option<String> {
        python::version(&self.around(), interpreter)
    }

    /// Returns the kernelspecs for the choice.
    pub fn offers(&self) -> Vec<KernelOffer> {
        let offer = |spec: &KernelSpec| KernelOffer {
            name: spec.name.clone(),
            language: spec.language.clone(),
            missing_program: self.missing_program(spec),
        };
        self.specs.iter().map(offer).collect()
    }

    /// Returns the program that a kernelspec starts with, if it is missing.
    pub fn missing_program(&self, spec: &KernelSpec) -> Option<String> {
        let program = Path::new(spec.argv.first()?);
        let is_there = if program.components().count() > 1 {
            program.is_file()
        } else {
            self.variables.path_folders().iter().any(|folder| folder.join(program).is_file())
        };
        (!is_there).then(|| program.display().to_string())
    }

    /// Lists the skipped interpreters that had priority over the chosen one, with reasons.
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
pub struct NamedKernel {
    /// Name of its kernelspec.
    pub name: String,
    /// Name for display.
    pub display_name: String,
    /// Programming language.
    pub language: String,
}

impl NamedKernel {
    /// The Python kernel, on any backend.
    pub fn python() -> NamedKernel {
        NamedKernel {
            name: "python3".into(),
            display_name: "Python 3 (ipykernel)".into(),
            language: "python".into(),
        }
    }
}

impl FoundSoftware {
    /// Finds the kernel of this name. Python is available with or without a kernelspec.
    pub fn named(&self, name: &str) -> Result<NamedKernel, ChoiceError> {
        let spec = self.specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
        match spec {
            Some(spec) => Ok(NamedKernel {
                name: spec.name.clone(),
                display_name: spec.display_name.clone(),
                language: spec.language.clone(),
            }),
            None if matches!(name.to_ascii_lowercase().as_str(), "python" | "python3") => {
                Ok(NamedKernel::python())
            }
            None => {
                let known = self.specs.iter().map(|spec| spec.name.clone()).collect();
                Err(ChoiceError::NoSuchKernel { kernel: name.to_owned(), known })
            }
        }
    }
}
