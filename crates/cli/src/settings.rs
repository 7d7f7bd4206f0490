//! The settings of a command, and errors about them.

use std::path::Path;

use cellist_output::Limits;
use cellist_platform::Variables;
use cellist_settings::{Fault, Faults, Home, Resolved, Settings, Sources, resolve};
use cellist_store::artifact::{Artifacts, Retention};
use serde_json::{Value, json};

use crate::error::{CliError, FailureKind};

/// The settings for a folder, overridden by flags.
pub(crate) fn settings_in(folder: &Path, flags: &[String]) -> Result<Resolved, Faults> {
    let (home, variables) = (Home::from_env(), Variables::of_process());
    resolve(&Sources { home: &home, folder: Some(folder), variables: &variables, flags })
}

/// The settings of a host: only those of its user, since it serves all folders.
pub(crate) fn host_settings() -> Result<Resolved, Faults> {
    let (home, variables) = (Home::from_env(), Variables::of_process());
    resolve(&Sources { home: &home, folder: None, variables: &variables, flags: &[] })
}

/// The limits for shown output.
pub(crate) fn limits(settings: &Settings) -> Limits {
    let max_bytes = usize::try_from(settings.output.max_bytes).unwrap_or(usize::MAX);
    Limits::new(max_bytes, settings.output.max_lines)
}

/// The artifact store with the retention from the settings.
pub(crate) fn artifacts(settings: &Settings) -> Artifacts {
    let keep = &settings.artifacts;
    let keep = Retention { max_bytes: keep.max_bytes, max_age: keep.max_age };
    Artifacts::new(&Home::from_env(), keep)
}

impl From<Faults> for CliError {
    fn from(faults: Faults) -> CliError {
        let all: Vec<Value> = faults
            .iter()
            .map(|fault| json!({ "message": fault.to_string(), "hint": fault.hint() }))
            .collect();
        let mut failure =
            CliError::input(FailureKind::InvalidSetting, faults.to_string()).with_detail("faults", all);
        failure.hint = faults.iter().find_map(Fault::hint).map(str::to_owned);
        failure
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> CliError {
        let mut failure = CliError::input(FailureKind::InvalidSetting, fault.to_string());
        failure.hint = fault.hint().map(str::to_owned);
        failure
    }
}
