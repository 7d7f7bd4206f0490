//! Errors of the choice, with hints.

use std::path::PathBuf;

use super::common_kernels::installation;
use cellist_platform::FailureKind;

/// Why no backend can run the code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum ChoiceError {
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
    #[error("the runner runs Python only; the notebook is in {language}")]
    RunnerIsPython { language: String },
    #[error("the shared gateway needs jupyter_kernel_gateway and ipykernel, which {} does not have", .python.display())]
    NoKernelGateway { python: PathBuf },
    #[error("Shared Python gateway required; local gateways are disabled")]
    NoSharedGateway,
    #[error("the shared gateway runs Python only; the notebook is in {language}")]
    SharedIsPython { language: String },
}

impl ChoiceError {
    /// Returns the kind of failure, for programs.
    pub fn kind(&self) -> FailureKind {
        match self {
            ChoiceError::NoPython { .. } | ChoiceError::BadPython { .. } => FailureKind::NoPython,
            ChoiceError::NoIpykernel { .. }
            | ChoiceError::NoKernel { .. }
            | ChoiceError::NoSuchKernel { .. }
            | ChoiceError::Unreadable { .. }
            | ChoiceError::NoProgram { .. }
            | ChoiceError::RunnerIsPython { .. }
            | ChoiceError::SharedIsPython { .. } => FailureKind::NoKernel,
            ChoiceError::NoKernelGateway { .. } | ChoiceError::NoSharedGateway => FailureKind::NoGateway,
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            ChoiceError::NoPython { .. } => "install Python 3.8 or newer, or name one with --python PATH".to_owned(),
            ChoiceError::BadPython { mend, .. } => {
                mend.clone().unwrap_or_else(|| "name another one with --python PATH".to_owned())
            }
            ChoiceError::NoIpykernel { python } => format!(
                "install it: {} -m pip install ipykernel, or use --backend runner, which needs nothing installed",
                python.display()
            ),
            ChoiceError::NoKernel { kernel, language, python } => {
                let python = python.as_ref().map_or_else(|| "python3".to_owned(), |it| it.display().to_string());
                installation(kernel, language.as_deref(), &python)
            }
            ChoiceError::NoSuchKernel { .. } => "`cellist kernels` lists the installed ones".to_owned(),
            ChoiceError::Unreadable { kernel, .. } => {
                format!("fix the file, or reinstall the kernel `{kernel}`")
            }
            ChoiceError::NoProgram { program, language, .. } if program.contains('/') => {
                format!("install {language}, so that {program} exists, or reinstall the kernel")
            }
            ChoiceError::NoProgram { program, language, .. } => {
                format!("install {language}, so that `{program}` is on PATH, or remove the kernel")
            }
            ChoiceError::RunnerIsPython { .. } => "leave --backend out, or give --backend jupyter".to_owned(),
            ChoiceError::NoKernelGateway { python } => {
                format!("install them: {} -m pip install jupyter_kernel_gateway ipykernel", python.display())
            }
            ChoiceError::NoSharedGateway => {
                "set python.shared_gateway to true, name a gateway with --gateway URL, or give --backend runner".to_owned()
            }
            ChoiceError::SharedIsPython { .. } => {
                "give --backend jupyter, or name a gateway that has the language with --gateway URL".to_owned()
            }
        };
        Some(hint)
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
