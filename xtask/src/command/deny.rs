//! The rules of `deny.toml` for the crates that the project depends on: licences, bans, sources and known faults. Builds a
//! pinned `cargo-deny` once, and keeps it under the target folder.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::process::{capture, cargo, program, show};

/// The release of cargo-deny that the gate runs.
const VERSION: &str = "0.20.2";

pub(super) const NAME: &str = "dependencies";

/// Builds cargo-deny where it is missing or of another version.
pub(super) fn provide() -> Result<(), Failure> {
    let is_there = capture(deny().arg("--version")).is_ok_and(|said| said.trim().ends_with(VERSION));
    if is_there {
        return Ok(());
    }
    eprintln!("building cargo-deny {VERSION}, about two minutes");
    let mut install = cargo();
    install.args(["install", "cargo-deny", "--locked", "--quiet", "--force", "--version", VERSION, "--root"]);
    // A folder of its own that cargo removes afterwards; and a build in a hurry, since it runs for seconds.
    install.arg(folder()).env_remove("CARGO_TARGET_DIR");
    install.envs([
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ]);
    capture(&mut install).map(drop).map_err(|failure| {
        failure.hint("cargo-deny comes from crates.io, or from where cargo's settings point")
    })
}

/// Checks the dependencies, shows the problems, and says whether there are none.
pub(super) fn passes() -> bool {
    eprintln!("checking {NAME}");
    let outcome = provide().and_then(|()| {
        show(deny().args(["--offline", "--log-level", "error", "check", "licenses", "bans", "sources"]))?;
        match has_advisories() {
            true => show(deny().args(["--offline", "--log-level", "error", "check", "advisories"])),
            false => {
                eprintln!(
                    "advisories NOT checked: RustSec's database is not on disk and cannot be fetched from github.com"
                );
                Ok(())
            }
        }
    });
    outcome.inspect_err(|failure| eprint!("{failure}")).is_ok()
}

/// Fetches RustSec's database. Without a network, one that was fetched earlier serves.
fn has_advisories() -> bool {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let on_disk = || home.is_some_and(|home| has_entries(&home.join("advisory-dbs")));
    capture(deny().args(["fetch", "db"])).is_ok() || on_disk()
}

fn has_entries(folder: &std::path::Path) -> bool {
    let is_folder =
        |entry: std::io::Result<std::fs::DirEntry>| entry.is_ok_and(|entry| entry.path().is_dir());
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.any(is_folder))
}

fn deny() -> Command {
    program(folder().join("bin").join(format!("cargo-deny{}", env::consts::EXE_SUFFIX)))
}

fn folder() -> PathBuf {
    testkit::target_dir().join("tools")
}
