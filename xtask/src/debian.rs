//! Parts of the system that tests run on, from Debian's packages where they are missing.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::process::{capture, program};

/// Makes sure that a program is there. Where it cannot be installed, the hint says why it is needed.
pub(crate) fn provide(path: &Path, package: &str, hint: &str) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    eprintln!("setting up {package}");
    let install = || capture(apt().args(["install", "-y", "--no-install-recommends", package]));
    let installed = install().or_else(|_| {
        capture(apt().arg("update"))?;
        install()
    });
    installed.map(drop).map_err(|failure| failure.hint(hint))
}

fn apt() -> Command {
    let mut apt = program("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}
