//! Which way to run code: decided from what was asked, what the notebook says and what is on disk.

mod known;
mod refusal;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use cellist_kernel::python::{Candidate, Interpreter, Origin};
use cellist_settings::BackendWish;
use serde::{Deserialize, Serialize};

use known::known_kernel;

pub use refusal::Refusal;

/// What was asked for, by flags and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The way to run code.
    pub backend: BackendWish,
    /// A kernel by the name of its kernelspec.
    pub kernel: Option<String>,
    /// The address of a gateway.
    pub gateway: Option<String>,
    /// Whether to take what is wanted to be there without looking.
    pub skip_check: bool,
    /// Whether there may be no gateway of our own.
    pub no_shared_gateway: bool,
}

/// The kernel that a notebook names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The name of its kernelspec.
    pub kernel: Option<String>,
    /// Its language.
    pub language: Option<String>,
}

/// What there is to run code with.
#[derive(Clone, Debug)]
pub struct Available<'a> {
    /// Where Python was looked for, in order.
    pub pythons: &'a [Candidate],
    /// Whether the first usable of them has ipykernel.
    pub has_ipykernel: bool,
    /// Whether it has what our own gateway is made of.
    pub has_kernel_gateway: bool,
    /// The kernelspecs, in the order in which they were found.
    pub offers: &'a [Offer],
    /// Files that should be kernelspecs, and why they cannot be read as one.
    pub unreadable: &'a [(PathBuf, String)],
}

/// An installed kernelspec, as far as the choice depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// Its language.
    pub language: String,
    /// The program that it starts with, if that is not there.
    pub missing_program: Option<String>,
}

/// How code will be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// By our own runner.
    Runner(Interpreter),
    /// By the ipykernel of an interpreter.
    Ipykernel(Interpreter),
    /// By the kernel of this kernelspec.
    Spec(String),
    /// By a kernel behind the gateway at this address.
    Gateway(String),
    /// By a kernel behind our own gateway, of this interpreter.
    SharedGateway(Interpreter),
}

/// Decides how to run code.
pub fn choose(asked: &Asked, wanted: &Wanted, available: &Available<'_>) -> Result<Decision, Refusal> {
    if let (BackendWish::Auto | BackendWish::Gateway, Some(url)) = (asked.backend, &asked.gateway) {
        return Ok(Decision::Gateway(url.clone()));
    }
    let other = other_language(wanted, available.offers);
    match (asked.backend, &asked.kernel, other) {
        (BackendWish::Runner, None, Some(language)) => Err(Refusal::RunnerIsPython { language }),
        (BackendWish::Runner, _, _) => Ok(Decision::Runner(interpreter(available)?)),
        (BackendWish::Gateway, _, _) if asked.no_shared_gateway => Err(Refusal::NoSharedGateway),
        (BackendWish::Gateway, None, Some(language)) => Err(Refusal::SharedIsPython { language }),
        (BackendWish::Gateway, _, _) => {
            let interpreter = interpreter(available)?;
            match available.has_kernel_gateway && available.has_ipykernel || asked.skip_check {
                true => Ok(Decision::SharedGateway(interpreter)),
                false => Err(Refusal::NoKernelGateway { python: interpreter.path }),
            }
        }
        (_, Some(name), _) => named(name, available),
        (_, None, Some(language)) => other_kernel(wanted, &language, available),
        (BackendWish::Jupyter, None, None) => {
            let interpreter = interpreter(available)?;
            match available.has_ipykernel || asked.skip_check {
                true => Ok(Decision::Ipykernel(interpreter)),
                false => Err(Refusal::NoIpykernel { python: interpreter.path }),
            }
        }
        (BackendWish::Auto, None, None) => {
            let interpreter = interpreter(available)?;
            match available.has_ipykernel && wanted.is_notebook() {
                true => Ok(Decision::Ipykernel(interpreter)),
                false => Ok(Decision::Runner(interpreter)),
            }
        }
    }
}

/// The first Python that can be used.
pub fn interpreter(available: &Available<'_>) -> Result<Interpreter, Refusal> {
    let usable = available.pythons.iter().find_map(|candidate| candidate.verdict.as_ref().ok());
    match (usable, available.pythons) {
        (Some(interpreter), _) => Ok(interpreter.clone()),
        (None, [Candidate { path, origin: Origin::Named, verdict: Err(flaw) }]) => {
            Err(Refusal::BadPython { path: path.clone(), reason: flaw.to_string(), mend: flaw.hint(path) })
        }
        (None, pythons) => {
            let flaw = |candidate: &Candidate| {
                let flaw = candidate.verdict.as_ref().err()?;
                Some((candidate.path.clone(), flaw.to_string()))
            };
            Err(Refusal::NoPython { passed: pythons.iter().filter_map(flaw).collect() })
        }
    }
}

impl Wanted {
    /// Code that no notebook is behind.
    pub fn nothing() -> Wanted {
        Wanted { kernel: None, language: None }
    }

    /// What the metadata of a notebook says.
    pub fn of_metadata(metadata: &serde_json::Value) -> Wanted {
        let text = |pointer: &str| metadata.pointer(pointer).and_then(|it| it.as_str()).map(str::to_owned);
        let language = text("/kernelspec/language").or_else(|| text("/language_info/name"));
        // A notebook that says nothing is a Python notebook, as everywhere in Jupyter.
        let kernel = text("/kernelspec/name").or_else(|| language.is_none().then(|| "python3".to_owned()));
        Wanted { kernel, language }
    }

    fn is_notebook(&self) -> bool {
        self.kernel.is_some() || self.language.is_some()
    }
}

/// The language of a notebook that is not in Python.
fn other_language(wanted: &Wanted, offers: &[Offer]) -> Option<String> {
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

fn named(name: &str, available: &Available<'_>) -> Result<Decision, Refusal> {
    match available.offers.iter().find(|offer| offer.name.eq_ignore_ascii_case(name)) {
        Some(offer) => startable(offer),
        None if name == "python3" && available.has_ipykernel => {
            Ok(Decision::Ipykernel(interpreter(available)?))
        }
        None => Err(unreadable(name, available).unwrap_or_else(|| {
            let usable = available.offers.iter().filter(|offer| offer.missing_program.is_none());
            let known = usable.map(|offer| offer.name.clone()).collect();
            Refusal::NoSuchKernel { kernel: name.to_owned(), known }
        })),
    }
}

/// Why a kernel of this name is there and cannot be used.
fn unreadable(name: &str, available: &Available<'_>) -> Option<Refusal> {
    let is_it = |file: &PathBuf| {
        let folder = file.parent().and_then(|folder| folder.file_name());
        folder.is_some_and(|folder| folder.to_string_lossy().eq_ignore_ascii_case(name))
    };
    let (file, reason) = available.unreadable.iter().find(|(file, _)| is_it(file))?;
    Some(Refusal::Unreadable { kernel: name.to_owned(), file: file.clone(), reason: reason.clone() })
}

/// What to say about a Python notebook that names a kernel which is not there: it runs all the same, maybe on another
/// Python.
pub fn stand_in(wanted: &Wanted, available: &Available<'_>) -> Option<String> {
    let name = wanted.kernel.as_deref().filter(|name| !is_python(name))?;
    let is_there = available.offers.iter().any(|offer| offer.name.eq_ignore_ascii_case(name));
    if is_there || other_language(wanted, available.offers).is_some() {
        return None;
    }
    let python = interpreter(available).ok()?.path;
    Some(format!("the notebook's kernel `{name}` is not installed; it runs on {}", python.display()))
}

/// The kernel that a notebook names, or another of its language.
fn other_kernel(wanted: &Wanted, language: &str, available: &Available<'_>) -> Result<Decision, Refusal> {
    let by_name = |offer: &&Offer| wanted.kernel.as_ref() == Some(&offer.name);
    let by_language = |offer: &&Offer| offer.language.eq_ignore_ascii_case(language);
    let offers = || available.offers.iter();
    match offers().find(by_name).or_else(|| offers().find(by_language)) {
        Some(offer) => startable(offer),
        None => {
            let named = wanted.kernel.as_deref().and_then(|name| unreadable(name, available));
            Err(named.unwrap_or_else(|| Refusal::NoKernel {
                kernel: wanted.kernel.clone().unwrap_or_else(|| language.to_owned()),
                language: Some(language.to_owned()),
                python: interpreter(available).ok().map(|interpreter| interpreter.path),
            }))
        }
    }
}

fn startable(offer: &Offer) -> Result<Decision, Refusal> {
    match &offer.missing_program {
        None => Ok(Decision::Spec(offer.name.clone())),
        Some(program) => Err(Refusal::NoProgram {
            kernel: offer.name.clone(),
            program: program.clone(),
            language: offer.language.clone(),
        }),
    }
}
