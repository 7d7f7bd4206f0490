//! Which way to run code: decided from what was asked, what the notebook says and what is on disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::python::{Candidate, Interpreter};

/// What was asked for, by flags and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The way to run code.
    pub backend: Wish,
    /// A kernel by the name of its kernelspec.
    pub kernel: Option<String>,
    /// The address of a gateway.
    pub gateway: Option<String>,
    /// Whether to take what is wanted to be there without looking.
    pub skip_check: bool,
    /// Whether there may be no gateway of our own.
    pub no_shared_gateway: bool,
}

/// The way to run code, as far as someone has a wish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wish {
    /// Whatever suits.
    #[default]
    Auto,
    /// Our own runner.
    Runner,
    /// A Jupyter kernel on this machine.
    Jupyter,
    /// A Jupyter kernel behind a gateway.
    Gateway,
}

/// What a notebook says about its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// Why code cannot be run, with what was asked for and what is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum Refusal {
    #[error("no Python was found{}", passed_over(.passed))]
    NoPython { passed: Vec<(PathBuf, String)> },
    #[error("{} cannot be used: {reason}", .path.display())]
    BadPython { path: PathBuf, reason: String, mend: Option<String> },
    #[error("ipykernel is not installed in {}", .python.display())]
    NoIpykernel { python: PathBuf },
    #[error("the notebook wants the kernel `{kernel}`{}, which is not installed", in_language(.language))]
    NoKernel { kernel: String, language: Option<String>, python: Option<PathBuf> },
    #[error("there is no kernel named `{kernel}`{}", known_kernels(.known))]
    NoSuchKernel { kernel: String, known: Vec<String> },
    #[error("the kernel `{kernel}` cannot be used: {} cannot be read: {reason}", .file.display())]
    Unreadable { kernel: String, file: PathBuf, reason: String },
    #[error("the kernel `{kernel}` starts with `{program}`, which is not there")]
    NoProgram { kernel: String, program: String, language: String },
    #[error("the runner runs Python, and the notebook is in {language}")]
    RunnerIsPython { language: String },
    #[error("the gateway of our own needs jupyter_kernel_gateway and ipykernel, which {} does not have", .python.display())]
    NoKernelGateway { python: PathBuf },
    #[error("Shared Python gateway required; local gateways are disabled")]
    NoSharedGateway,
    #[error("the gateway of our own runs Python, and the notebook is in {language}")]
    SharedIsPython { language: String },
}

impl Refusal {
    /// A word for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Refusal::NoPython { .. } | Refusal::BadPython { .. } => "no_python",
            Refusal::NoIpykernel { .. }
            | Refusal::NoKernel { .. }
            | Refusal::NoSuchKernel { .. }
            | Refusal::Unreadable { .. }
            | Refusal::NoProgram { .. }
            | Refusal::RunnerIsPython { .. }
            | Refusal::SharedIsPython { .. } => "no_kernel",
            Refusal::NoKernelGateway { .. } | Refusal::NoSharedGateway => "no_gateway",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Refusal::NoPython { .. } => "install Python 3.8 or newer, or name one with --python PATH".to_owned(),
            Refusal::BadPython { mend, .. } => {
                mend.clone().unwrap_or_else(|| "name another one with --python PATH".to_owned())
            }
            Refusal::NoIpykernel { python } => format!(
                "install it: {} -m pip install ipykernel, or use --backend runner, which needs nothing installed",
                python.display()
            ),
            Refusal::NoKernel { kernel, language, python } => {
                let python = python.as_ref().map_or_else(|| "python3".to_owned(), |it| it.display().to_string());
                installation(kernel, language.as_deref(), &python)
            }
            Refusal::NoSuchKernel { .. } => "see `cellist kernels` for those that are installed".to_owned(),
            Refusal::Unreadable { kernel, .. } => {
                format!("mend the file, or install the kernel `{kernel}` anew")
            }
            Refusal::NoProgram { program, language, .. } if program.contains('/') => {
                format!("install {language}, so that {program} exists, or install the kernel anew")
            }
            Refusal::NoProgram { program, language, .. } => {
                format!("install {language}, so that `{program}` is on PATH, or remove the kernel")
            }
            Refusal::RunnerIsPython { .. } => "leave --backend out, or give --backend jupyter".to_owned(),
            Refusal::NoKernelGateway { python } => {
                format!("install them: {} -m pip install jupyter_kernel_gateway ipykernel", python.display())
            }
            Refusal::NoSharedGateway => {
                "set python.shared_gateway to true, name a gateway with --gateway URL, or give --backend runner".to_owned()
            }
            Refusal::SharedIsPython { .. } => {
                "give --backend jupyter, or name a gateway that has the language with --gateway URL".to_owned()
            }
        };
        Some(hint)
    }
}

/// Decides how to run code.
pub fn choose(asked: &Asked, wanted: &Wanted, available: &Available<'_>) -> Result<Decision, Refusal> {
    if let (Wish::Auto | Wish::Gateway, Some(url)) = (asked.backend, &asked.gateway) {
        return Ok(Decision::Gateway(url.clone()));
    }
    let other = other_language(wanted, available.offers);
    match (asked.backend, &asked.kernel, other) {
        (Wish::Runner, None, Some(language)) => Err(Refusal::RunnerIsPython { language }),
        (Wish::Runner, _, _) => Ok(Decision::Runner(interpreter(available)?)),
        (Wish::Gateway, _, _) if asked.no_shared_gateway => Err(Refusal::NoSharedGateway),
        (Wish::Gateway, None, Some(language)) => Err(Refusal::SharedIsPython { language }),
        (Wish::Gateway, _, _) => {
            let interpreter = interpreter(available)?;
            match available.has_kernel_gateway && available.has_ipykernel || asked.skip_check {
                true => Ok(Decision::SharedGateway(interpreter)),
                false => Err(Refusal::NoKernelGateway { python: interpreter.path }),
            }
        }
        (_, Some(name), _) => named(name, available),
        (_, None, Some(language)) => other_kernel(wanted, &language, available),
        (Wish::Jupyter, None, None) => {
            let interpreter = interpreter(available)?;
            match available.has_ipykernel || asked.skip_check {
                true => Ok(Decision::Ipykernel(interpreter)),
                false => Err(Refusal::NoIpykernel { python: interpreter.path }),
            }
        }
        (Wish::Auto, None, None) => {
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
        (None, [Candidate { path, origin: crate::python::Origin::Named, verdict: Err(flaw) }]) => {
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

/// A kernel of another language: what it is called, and how it is installed.
struct Known {
    prefix: &'static str,
    language: &'static str,
    installation: &'static str,
}

/// `PY` stands for the interpreter.
const KNOWN: &[Known] = &[
    Known {
        prefix: "ir",
        language: "R",
        installation: "R -e 'install.packages(\"IRkernel\"); IRkernel::installspec()'",
    },
    Known { prefix: "julia", language: "julia", installation: "julia -e 'using Pkg; Pkg.add(\"IJulia\")'" },
    Known {
        prefix: "bash",
        language: "bash",
        installation: "PY -m pip install bash_kernel && PY -m bash_kernel.install",
    },
    Known { prefix: "deno", language: "typescript", installation: "deno jupyter --install" },
    Known {
        prefix: "javascript",
        language: "javascript",
        installation: "npm install -g ijavascript && ijsinstall",
    },
    Known {
        prefix: "rust",
        language: "rust",
        installation: "cargo install evcxr_jupyter && evcxr_jupyter --install",
    },
    Known {
        prefix: "gophernotes",
        language: "go",
        installation: "go install github.com/janpfeifer/gonb@latest && gonb --install",
    },
    Known { prefix: "octave", language: "octave", installation: "PY -m pip install octave_kernel" },
    Known { prefix: "xcpp", language: "c++", installation: "conda install -c conda-forge xeus-cling" },
    Known {
        prefix: "sos",
        language: "sos",
        installation: "PY -m pip install sos-notebook && PY -m sos_notebook.install",
    },
    Known { prefix: "ruby", language: "ruby", installation: "gem install iruby && iruby register" },
    Known { prefix: "scala", language: "scala", installation: "coursier launch almond -- --install" },
];

fn known_kernel(name: &str) -> Option<&'static Known> {
    let name = name.to_ascii_lowercase();
    KNOWN.iter().find(|known| {
        name.strip_prefix(known.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    })
}

fn installation(kernel: &str, language: Option<&str>, python: &str) -> String {
    let by_language = || {
        let language = language?;
        KNOWN.iter().find(|known| known.language.eq_ignore_ascii_case(language))
    };
    match known_kernel(kernel).or_else(by_language) {
        Some(known) => format!("install it: {}", known.installation.replace("PY", python)),
        None => format!(
            "install a Jupyter kernel for {}; `cellist kernels` lists what is there",
            language.unwrap_or("it")
        ),
    }
}

fn in_language(language: &Option<String>) -> String {
    language.as_ref().map_or_else(String::new, |language| format!(" ({language})"))
}

fn known_kernels(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are {}", known.join(", ")) }
}

fn passed_over(passed: &[(PathBuf, String)]) -> String {
    let reasons: Vec<String> =
        passed.iter().map(|(path, reason)| format!("{}: {reason}", path.display())).collect();
    if reasons.is_empty() { String::new() } else { format!(" that can be used ({})", reasons.join("; ")) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::python::{Flaw, Origin};

    fn python() -> Candidate {
        let interpreter =
            Interpreter { path: "/py".into(), origin: Origin::Path, environment: None, shim: None };
        Candidate { path: "/py".into(), origin: Origin::Path, verdict: Ok(interpreter) }
    }

    fn offer(name: &str, language: &str, missing: Option<&str>) -> Offer {
        Offer { name: name.into(), language: language.into(), missing_program: missing.map(str::to_owned) }
    }

    fn wanted(kernel: &str, language: &str) -> Wanted {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Wanted { kernel: text(kernel), language: text(language) }
    }

    /// The decision in a word, or the refusal with its hint.
    fn decide(asked: &Asked, wanted: &Wanted, has_ipykernel: bool, pythons: &[Candidate]) -> String {
        let offers =
            [offer("python3", "python", None), offer("bash", "bash", None), offer("ir", "R", Some("R"))];
        let unreadable = [(PathBuf::from("/k/torn/kernel.json"), "no argv".to_owned())];
        let available = Available {
            pythons,
            has_ipykernel,
            has_kernel_gateway: has_ipykernel,
            offers: &offers,
            unreadable: &unreadable,
        };
        match choose(asked, wanted, &available) {
            Ok(Decision::Runner(it)) => format!("runner {}", it.path.display()),
            Ok(Decision::Ipykernel(it)) => format!("ipykernel {}", it.path.display()),
            Ok(Decision::Spec(name)) => format!("spec {name}"),
            Ok(Decision::Gateway(url)) => format!("gateway {url}"),
            Ok(Decision::SharedGateway(it)) => format!("shared gateway {}", it.path.display()),
            Err(refusal) => format!("{}: {refusal} | {}", refusal.kind(), refusal.hint().unwrap_or_default()),
        }
    }

    #[test]
    fn what_is_asked_comes_before_what_the_notebook_says_and_that_before_what_is_there() {
        use Wish::{Auto, Gateway, Jupyter, Runner};
        let (py, bash) = (wanted("python3", "python"), wanted("bash", "bash"));
        let table = [
            (Auto, "", &py, true, "ipykernel /py"),
            (Auto, "", &py, false, "runner /py"),
            (Auto, "", &Wanted::nothing(), true, "runner /py"),
            (Runner, "", &py, true, "runner /py"),
            (Jupyter, "", &Wanted::nothing(), true, "ipykernel /py"),
            (Auto, "", &bash, false, "spec bash"),
            (Jupyter, "", &bash, false, "spec bash"),
            (Auto, "", &wanted("bash-5", "bash"), false, "spec bash"),
            (Auto, "", &wanted("bash", ""), false, "spec bash"),
            (Auto, "", &wanted("myenv", ""), false, "runner /py"),
            (Auto, "", &wanted("", "IPython"), false, "runner /py"),
            (Auto, "python3", &bash, false, "spec python3"),
            (Jupyter, "BASH", &py, false, "spec bash"),
            (
                Jupyter,
                "",
                &py,
                false,
                "no_kernel: ipykernel is not installed in /py | install it: /py -m pip install ipykernel, or use \
                 --backend runner, which needs nothing installed",
            ),
            (
                Runner,
                "",
                &bash,
                true,
                "no_kernel: the runner runs Python, and the notebook is in bash | leave --backend out, or give \
                 --backend jupyter",
            ),
            (
                Auto,
                "nope",
                &py,
                true,
                "no_kernel: there is no kernel named `nope`; there are python3, bash | see `cellist kernels` for \
                 those that are installed",
            ),
            (
                Auto,
                "",
                &wanted("ir", "R"),
                true,
                "no_kernel: the kernel `ir` starts with `R`, which is not there | install R, so that `R` is on PATH, \
                 or remove the kernel",
            ),
            (
                Auto,
                "",
                &wanted("julia-1.11", "julia"),
                true,
                "no_kernel: the notebook wants the kernel `julia-1.11` (julia), which is not installed | install it: \
                 julia -e 'using Pkg; Pkg.add(\"IJulia\")'",
            ),
            (
                Auto,
                "",
                &wanted("wolfram", "Wolfram"),
                true,
                "no_kernel: the notebook wants the kernel `wolfram` (Wolfram), which is not installed | install a \
                 Jupyter kernel for Wolfram; `cellist kernels` lists what is there",
            ),
            (Gateway, "", &py, true, "shared gateway /py"),
            (
                Gateway,
                "",
                &py,
                false,
                "no_gateway: the gateway of our own needs jupyter_kernel_gateway and ipykernel, which /py does not \
                 have | install them: /py -m pip install jupyter_kernel_gateway ipykernel",
            ),
            (
                Gateway,
                "",
                &bash,
                true,
                "no_kernel: the gateway of our own runs Python, and the notebook is in bash | give --backend jupyter, \
                 or name a gateway that has the language with --gateway URL",
            ),
        ];
        for (backend, kernel, wanted, has_ipykernel, expected) in table {
            let kernel = (!kernel.is_empty()).then(|| kernel.to_owned());
            let asked = Asked { backend, kernel, ..Asked::default() };
            assert_eq!(decide(&asked, wanted, has_ipykernel, &[python()]), expected, "{asked:?} {wanted:?}");
        }
    }

    #[test]
    fn a_gateway_is_meant_by_its_address_unless_another_way_is_asked_for() {
        let asked = |backend| Asked { backend, gateway: Some("http://x".into()), ..Asked::default() };
        let python_notebook = wanted("python3", "python");
        for wish in [Wish::Auto, Wish::Gateway] {
            assert_eq!(decide(&asked(wish), &python_notebook, true, &[]), "gateway http://x");
        }
        let none = Asked { backend: Wish::Gateway, no_shared_gateway: true, ..Asked::default() };
        let refused = decide(&none, &python_notebook, true, &[python()]);
        let sentence = "no_gateway: Shared Python gateway required; local gateways are disabled | ";
        assert!(refused.starts_with(sentence), "{refused}");
        assert_eq!(decide(&asked(Wish::Runner), &python_notebook, true, &[python()]), "runner /py");
    }

    #[test]
    fn a_kernelspec_that_cannot_be_read_is_not_denied_and_only_usable_ones_are_offered() {
        let asked = |name: &str| Asked { kernel: Some(name.to_owned()), ..Asked::default() };
        let decide = |asked: &Asked, wanted: &Wanted| decide(asked, wanted, false, &[python()]);
        let torn = "no_kernel: the kernel `torn` cannot be used: /k/torn/kernel.json cannot be read: no argv | mend \
                    the file, or install the kernel `torn` anew";
        assert_eq!(decide(&asked("torn"), &Wanted::nothing()), torn);
        assert_eq!(decide(&Asked::default(), &wanted("torn", "Torn")), torn);
        let unknown = decide(&asked("none"), &Wanted::nothing());
        assert!(unknown.contains("there is no kernel named `none`; there are python3, bash |"), "{unknown}");
    }

    #[test]
    fn a_python_notebook_whose_kernel_is_not_there_says_what_it_runs_on() {
        let offers = [offer("mine", "python", None), offer("bash", "bash", None)];
        let pythons = [python()];
        let available = Available {
            pythons: &pythons,
            has_ipykernel: false,
            has_kernel_gateway: false,
            offers: &offers,
            unreadable: &[],
        };
        let said = |kernel: &str, language: &str| stand_in(&wanted(kernel, language), &available);
        let expected = "the notebook's kernel `myenv` is not installed; it runs on /py";
        assert_eq!(said("myenv", "python").as_deref(), Some(expected));
        assert_eq!(said("myenv", "").as_deref(), Some(expected));
        for (kernel, language) in
            [("mine", "python"), ("python3", ""), ("", "python"), ("bash", "bash"), ("ir", "")]
        {
            assert_eq!(said(kernel, language), None, "{kernel}");
        }
    }

    #[test]
    fn the_check_can_be_skipped() {
        let asked = Asked { backend: Wish::Jupyter, skip_check: true, ..Asked::default() };
        assert_eq!(decide(&asked, &Wanted::nothing(), false, &[python()]), "ipykernel /py");
    }

    #[test]
    fn without_a_usable_python_the_reason_is_said_for_each_place() {
        let broken = |origin| Candidate {
            path: "/v/bin/python".into(),
            origin,
            verdict: Err(Flaw::Dangling { target: "/gone".into(), environment: Some("/v".into()) }),
        };
        let nothing = decide(&Asked::default(), &Wanted::nothing(), false, &[]);
        assert!(nothing.starts_with("no_python: no Python was found | install Python 3.8"), "{nothing}");
        let passed = decide(&Asked::default(), &Wanted::nothing(), false, &[broken(Origin::Active)]);
        assert!(passed.contains("/v/bin/python: it is a link to /gone, which does not exist"), "{passed}");
        let named = decide(&Asked::default(), &Wanted::nothing(), false, &[broken(Origin::Named)]);
        assert_eq!(
            named,
            "no_python: /v/bin/python cannot be used: it is a link to /gone, which does not exist | make the \
             environment anew: python3 -m venv --clear /v"
        );
    }

    #[test]
    fn a_notebook_that_says_nothing_is_in_python() {
        let nothing = Wanted::of_metadata(&serde_json::json!({}));
        assert_eq!(nothing, wanted("python3", ""));
        let said = serde_json::json!({ "kernelspec": { "name": "ir" }, "language_info": { "name": "R" } });
        assert_eq!(Wanted::of_metadata(&said), wanted("ir", "R"));
        assert_eq!(Path::new("/py"), python().path);
    }
}
