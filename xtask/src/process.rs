//! Starting other programs, in the repository's root and without standard input.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::failure::Failure;

/// A program to be run in the root of the repository.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(testkit::repo_root()).stdin(Stdio::null());
    command
}

/// The cargo that runs this program, building where it built this program.
pub(crate) fn cargo() -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.env("CARGO_TARGET_DIR", testkit::target_dir());
    command
}

/// Runs a program with its output shown.
pub(crate) fn show(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| unstartable(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("{} ended with {status}", words(command))))
    }
}

/// Runs a program and returns its standard output; all it said is in the failure.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let output = command.output().map_err(|error| unstartable(command, &error))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let complained = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    Err(Failure::new(format!("{} ended with {status}\n{said}{complained}", words(command)).trim_end()))
}

/// A file's text.
pub(crate) fn text(path: &std::path::Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))
}

fn unstartable(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("{} does not start: {error}", command.get_program().display()))
}

fn words(command: &Command) -> String {
    let words: Vec<_> =
        [command.get_program()].into_iter().chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    words.join(" ")
}
