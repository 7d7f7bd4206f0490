//! Builds the real parts of testkit's table, each once for its pins and its interpreter.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::{env, io};

use testkit::{NeededBy, PARTS, PartKind, TestPart};

use super::{deny, no_arguments, web};
use crate::debian;
use crate::failure::Failure;
use crate::node::npm;
use crate::process::{capture, cargo, program, text};

/// Where Debian puts it.
const STRACE: &str = "/usr/bin/strace";

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    provide(NeededBy::Tests)
}

/// Makes sure that every part which a command needs is there and current.
pub(super) fn provide(needed_by: NeededBy) -> Result<(), Failure> {
    let _lock = lock()?;
    if needed_by == NeededBy::Tests {
        crates()?;
    }
    for part in PARTS.iter().filter(|part| part.needed_by == needed_by) {
        build(part)?;
    }
    if needed_by == NeededBy::Tests {
        checks()?;
        web::provide()?;
        deny::provide()?;
        if cfg!(target_os = "linux") {
            debian::provide(
                Path::new(STRACE),
                "strace",
                "tests of faults run on strace, at /usr/bin/strace",
            )?;
        }
    }
    Ok(())
}

/// Makes sure that the parts of `cargo xtask check` are there.
pub(super) fn provide_checks() -> Result<(), Failure> {
    let _lock = lock()?;
    checks()
}

fn checks() -> Result<(), Failure> {
    PARTS.iter().filter(|part| part.needed_by == NeededBy::Checks).try_for_each(build)?;
    provide_node()
}

/// Makes sure that Node.js is there.
pub(super) fn provide_node() -> Result<(), Failure> {
    PARTS.iter().filter(|part| part.name == testkit::NODE).try_for_each(build)
}

/// Two commands at once would build in the same folder, so the second waits and then finds the parts built.
fn lock() -> Result<File, Failure> {
    let path = testkit::target_dir().join("cellist-setup.lock");
    File::create(&path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| Failure::new(format!("{} cannot be locked: {error}", path.display())))
}

fn build(part: &TestPart) -> Result<(), Failure> {
    match part.kind {
        PartKind::Python => python(part),
        PartKind::Node => node(part),
    }
}

/// Downloads every crate of the lock file, those of other platforms too: some tests ask cargo without the network.
fn crates() -> Result<(), Failure> {
    capture(cargo().args(["fetch", "--locked"])).map(drop).map_err(|failure| {
        failure.hint("the crates come from crates.io, or from where cargo's settings point")
    })
}

fn python(part: &TestPart) -> Result<(), Failure> {
    let pins = testkit::repo_root().join(format!("testkit/python/{}.txt", part.name));
    let base = env::var("CELLIST_TEST_PYTHON3").unwrap_or_else(|_| "python3".to_owned());
    let identity =
        capture(isolated(&base).args(["-c", "import sys; print(sys.version, sys.base_prefix)"]))
            .map_err(|failure| failure.hint("install Python 3, or name one in CELLIST_TEST_PYTHON3"))?;
    let stamp = format!("{identity}{}", text(&pins)?);
    let interpreter = part.folder().join("bin").join("python");
    if fs::read_to_string(part.stamp()).is_ok_and(|found| found == stamp) && interpreter.exists() {
        return Ok(());
    }
    eprintln!("setting up the Python environment {}", part.name);
    capture(isolated(&base).args(["-c", "import ensurepip, venv"])).map_err(|failure| {
        failure
            .hint("this Python cannot make environments; on Debian and Ubuntu: apt-get install python3-venv")
    })?;
    remove(&part.folder())?;
    capture(isolated(&base).args(["-m", "venv"]).arg(part.folder()))?;
    let pip = || {
        let mut pip = isolated(&interpreter);
        pip.args(["-m", "pip", "--disable-pip-version-check", "--no-input"]);
        pip
    };
    // Without resolving: the file names everything, and the check afterwards says if it does not.
    capture(pip().args(["install", "--quiet", "--no-deps", "--requirement"]).arg(&pins))
        .map_err(|failure| failure.hint("the packages come from PyPI, or from where pip's settings point"))?;
    capture(pip().arg("check"))
        .map_err(|failure| failure.hint(format!("{} has to name every package", pins.display())))?;
    fs::write(part.stamp(), stamp)
        .map_err(|error| Failure::new(format!("{} cannot be written: {error}", part.stamp().display())))
}

fn node(part: &TestPart) -> Result<(), Failure> {
    let source = testkit::repo_root().join("testkit/node").join(part.name);
    let stamp = text(&source.join("package-lock.json"))?;
    if fs::read_to_string(part.stamp()).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    eprintln!("setting up the Node packages {}", part.name);
    remove(&part.folder())?;
    let place = |error: io::Error| Failure::new(format!("{}: {error}", part.folder().display()));
    fs::create_dir_all(part.folder()).map_err(place)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), part.folder().join(name)).map_err(place)?;
    }
    let mut npm = npm()?;
    // Nothing of theirs runs before a test asks for it. `npm ci` would insist on packages for systems that this is not.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    npm.current_dir(part.folder());
    capture(&mut npm).map_err(|failure| {
        failure.hint("the packages come from the npm registry, or from where npm's settings point")
    })?;
    fs::write(part.stamp(), stamp)
        .map_err(|error| Failure::new(format!("{} cannot be written: {error}", part.stamp().display())))
}

// A Python that the caller's own settings do not bend.
fn isolated(interpreter: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = program(interpreter);
    for name in ["PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"] {
        command.env_remove(name);
    }
    command
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::new(format!("{} cannot be removed: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}
