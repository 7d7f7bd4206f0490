//! Chooses a backend from the request, the notebook and the installed software. Pure.

mod common_kernels;
mod refusal;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use cellist_kernel::python::{Candidate, Interpreter, Origin};
use cellist_settings::BackendWish;
use serde::{Deserialize, Serialize};

use common_kernels::known_kernel;

pub use refusal::ChoiceError;

/// Flags and settings that influence the choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendRequest {
    /// Requested backend.
    pub backend: BackendWish,
    /// Name of a kernelspec.
    pub kernel: Option<String>,
    /// Address of a gateway.
    pub gateway: Option<String>,
    /// Whether to assume that required modules are installed.
    pub skip_check: bool,
    /// Whether the shared gateway is disabled.
    pub no_shared_gateway: bool,
}

/// The kernel named by a notebook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedKernel {
    /// Name of its kernelspec.
    pub kernel: Option<String>,
    /// Programming language.
    pub language: Option<String>,
}

/// The installed software that can run code.
#[derive(Clone, Debug)]
pub struct InstalledSoftware<'a> {
    /// Candidates for Python, in search order.
    pub pythons: &'a [Candidate],
    /// Whether the first usable Python has ipykernel.
    pub has_ipykernel: bool,
    /// Whether it has the packages of the shared gateway.
    pub has_kernel_gateway: bool,
    /// Kernelspecs, in search order.
    pub offers: &'a [KernelOffer],
    /// Invalid kernelspec files, each with the reason.
    pub unreadable: &'a [(PathBuf, String)],
}

/// The properties of a kernelspec that the choice depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelOffer {
    /// Name of the kernelspec.
    pub name: String,
    /// Programming language.
    pub language: String,
    /// The program that it starts with, if it is missing.
    pub missing_program: Option<String>,
}

/// The chosen backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendDecision {
    /// The built-in runner.
    Runner(Interpreter),
    /// The ipykernel of an interpreter.
    Ipykernel(Interpreter),
    /// The kernel of this kernelspec.
    Spec(String),
    /// A kernel on the gateway at this address.
    Gateway(String),
    /// A kernel of this interpreter on the shared gateway.
    SharedGateway(Interpreter),
}

/// Chooses a backend.
pub fn choose(
    asked: &BackendRequest,
    wanted: &WantedKernel,
    available: &InstalledSoftware<'_>,
) -> Result<BackendDecision, ChoiceError> {
    if let (BackendWish::Auto | BackendWish::Gateway, Some(url)) = (asked.backend, &asked.gateway) {
        return Ok(BackendDecision::Gateway(url.clone()));
    }
    let other = other_language(wanted, available.offers);
    match (asked.backend, &asked.kernel, other) {
        (BackendWish::Runner, None, Some(language)) => Err(ChoiceError::RunnerIsPython { language }),
        (BackendWish::Runner, _, _) => Ok(BackendDecision::Runner(interpreter(available)?)),
        (BackendWish::Gateway, _, _) if asked.no_shared_gateway => Err(ChoiceError::NoSharedGateway),
        (BackendWish::Gateway, None, Some(language)) => Err(ChoiceError::SharedIsPython { language }),
        (BackendWish::Gateway, _, _) => {
            let interpreter = interpreter(available)?;
            match available.has_kernel_gateway && available.has_ipykernel || asked.skip_check {
                true => Ok(BackendDecision::SharedGateway(interpreter)),
                false => Err(ChoiceError::NoKernelGateway { python: interpreter.path }),
            }
        }
        (_, Some(name), _) => named(name, available),
        (_, None, Some(language)) => other_kernel(wanted, &language, available),
        (BackendWish::Jupyter, None, None) => {
            let interpreter = interpreter(available)?;
            match available.has_ipykernel || asked.skip_check {
                true => Ok(BackendDecision::Ipykernel(interpreter)),
                false => Err(ChoiceError::NoIpykernel { python: interpreter.path }),
            }
        }
        (BackendWish::Auto, None, None) => {
            let interpreter = interpreter(available)?;
            match available.has_ipykernel && wanted.is_notebook() {
                true => Ok(BackendDecision::Ipykernel(interpreter)),
                false => Ok(BackendDecision::Runner(interpreter)),
            }
        }
    }
}

/// Returns the first usable Python.
pub fn interpreter(available: &InstalledSoftware<'_>) -> Result<Interpreter, ChoiceError> {
    let usable = available.pythons.iter().find_map(|candidate| candidate.verdict.as_ref().ok());
    match (usable, available.pythons) {
        (Some(interpreter), _) => Ok(interpreter.clone()),
        (None, [Candidate { path, origin: Origin::Named, verdict: Err(flaw) }]) => {
            Err(ChoiceError::BadPython {
                path: path.clone(),
                reason: flaw.to_string(),
                mend: flaw.hint(path),
            })
        }
        (None, pythons) => {
            let flaw = |candidate: &Candidate| {
                let flaw = candidate.verdict.as_ref().err()?;
                Some((candidate.path.clone(), flaw.to_string()))
            };
            Err(ChoiceError::NoPython { passed: pythons.iter().filter_map(flaw).collect() })
        }
    }
}

impl WantedKernel {
    /// For code without a notebook.
    pub fn nothing() -> WantedKernel {
        WantedKernel { kernel: None, language: None }
    }

    /// Reads the kernel and language from notebook metadata.
    pub fn of_metadata(metadata: &serde_json::Value) -> WantedKernel {
        let text = |pointer: &str| metadata.pointer(pointer).and_then(|it| it.as_str()).map(str::to_owned);
        let language = text("/kernelspec/language").or_else(|| text("/language_info/name"));
        // A notebook without either is a Python notebook, as everywhere in Jupyter.
        let kernel = text("/kernelspec/name").or_else(|| language.is_none().then(|| "python3".to_owned()));
        WantedKernel { kernel, language }
    }

    fn is_notebook(&self) -> bool {
        self.kernel.is_some() || self.language.is_some()
    }
}

/// Returns the language of a notebook that is not in Python.
fn other_language(wanted: &WantedKernel, offers: &[KernelOffer]) -> Option<String> {
    let of_kernel = || {
        let kernel = wanted.kernel.as_ref()?;
        let offered = offers.iter().find(|offer| offer.name == *kernel).map(|offer| offer.language.clone());
        offered.or_else(|| known_kernel(kernel).map(|known| known.language.to_owned()))
    };
    wanted.language.clone().or_else(of_kernel).filter(|language| !is_python(language))
}

fn is_python(language: &str) -> bool {
    matches!(language.to_ascii_lowercase().as_str(), "python" | "python3" | "ipython" | "ipython3")
}

fn named(name: &str, available: &InstalledSoftware<'_>) -> Result<BackendDecision, ChoiceError> {
    match available.offers.iter().find(|offer| offer.name.eq_ignore_ascii_case(name)) {
        Some(offer) => startable(offer),
        None if name == "python3" && available.has_ipykernel => {
            Ok(BackendDecision::Ipykernel(interpreter(available)?))
        }
        None => Err(unreadable(name, available).unwrap_or_else(|| {
            let usable = available.offers.iter().filter(|offer| offer.missing_program.is_none());
            let known = usable.map(|offer| offer.name.clone()).collect();
            ChoiceError::NoSuchKernel { kernel: name.to_owned(), known }
        })),
    }
}

/// Explains why the kernel of this name cannot be used, if its kernelspec is invalid.
fn unreadable(name: &str, available: &InstalledSoftware<'_>) -> Option<ChoiceError> {
    let is_it = |file: &PathBuf| {
        let folder = file.parent().and_then(|folder| folder.file_name());
        folder.is_some_and(|folder| folder.to_string_lossy().eq_ignore_ascii_case(name))
    };
    let (file, reason) = available.unreadable.iter().find(|(file, _)| is_it(file))?;
    Some(ChoiceError::Unreadable { kernel: name.to_owned(), file: file.clone(), reason: reason.clone() })
}

/// Returns a notice for a Python notebook whose kernel is not installed. It runs anyway, perhaps on another Python.
pub fn stand_in(wanted: &WantedKernel, available: &InstalledSoftware<'_>) -> Option<String> {
    let name = wanted.kernel.as_deref().filter(|name| !is_python(name))?;
    let is_there = available.offers.iter().any(|offer| offer.name.eq_ignore_ascii_case(name));
    if is_there || other_language(wanted, available.offers).is_some() {
        return None;
    }
    let python = interpreter(available).ok()?.path;
    Some(format!("the notebook's kernel `{name}` is not installed; it runs on {}", python.display()))
}

/// Returns the kernel named by the notebook, or another of its language.
fn other_kernel(
    wanted: &WantedKernel,
    language: &str,
    available: &InstalledSoftware<'_>,
) -> Result<BackendDecision, ChoiceError> {
    let by_name = |offer: &&KernelOffer| wanted.kernel.as_ref() == Some(&offer.name);
    let by_language = |offer: &&KernelOffer| offer.language.eq_ignore_ascii_case(language);
    let offers = || available.offers.iter();
    match offers().find(by_name).or_else(|| offers().find(by_language)) {
        Some(offer) => startable(offer),
        None => {
            let named = wanted.kernel.as_deref().and_then(|name| unreadable(name, available));
            Err(named.unwrap_or_else(|| ChoiceError::NoKernel {
                kernel: wanted.kernel.clone().unwrap_or_else(|| language.to_owned()),
                language: Some(language.to_owned()),
                python: interpreter(available).ok().map(|interpreter| interpreter.path),
            }))
        }
    }
}

fn startable(offer: &KernelOffer) -> Result<BackendDecision, ChoiceError> {
    match &offer.missing_program {
        None => Ok(BackendDecision::Spec(offer.name.clone())),
        Some(program) => Err(ChoiceError::NoProgram {
            kernel: offer.name.clone(),
            program: program.clone(),
            language: offer.language.clone(),
        }),
    }
}
