//! The page: its packages, its build, and its tests in a real browser.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{no_arguments, setup};
use crate::debian;
use crate::failure::Failure;
use crate::follow::follow;
use crate::node;
use crate::process::{capture, show, text};
use crate::report::Suite;

/// Where Debian puts the browser.
const CHROMIUM: &str = "/usr/bin/chromium";

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    setup::provide_node()?;
    install()?;
    types()?;
    show(node()?.args(["build.mjs"]))
}

fn folder() -> PathBuf {
    testkit::repo_root().join("web")
}

fn node() -> Result<Command, Failure> {
    let mut command = node::node()?;
    command.current_dir(folder());
    Ok(command)
}

/// Makes sure that the packages of the lock file are there, and no others.
pub(super) fn install() -> Result<(), Failure> {
    let lock = text(&folder().join("package-lock.json"))?;
    let stamp = folder().join("node_modules").join("cellist-stamp");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == lock) {
        return Ok(());
    }
    eprintln!("setting up the packages of the page");
    let mut npm = node::npm()?;
    npm.current_dir(folder()).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    capture(&mut npm).map_err(|failure| {
        failure.hint("the packages come from the npm registry, or from where npm's settings point")
    })?;
    fs::write(&stamp, lock)
        .map_err(|error| Failure::new(format!("{} cannot be written: {error}", stamp.display())))
}

fn types() -> Result<(), Failure> {
    show(node()?.args(["node_modules/typescript/bin/tsc", "--noEmit"]))
}

/// Makes sure that the needs of the page's tests are there.
pub(super) fn provide() -> Result<(), Failure> {
    install()?;
    debian::provide(Path::new(CHROMIUM), "chromium", "the page's tests run in Chromium, at /usr/bin/chromium")
}

/// Whether the page that is built into the program is that of its sources.
pub(super) fn is_current() -> bool {
    eprintln!("checking page");
    let fresh = testkit::target_dir().join("web-dist");
    let built = types().and_then(|()| capture(node()?.arg("build.mjs").arg(&fresh)));
    let compared = built.and_then(|_| match differing(&fresh, &folder().join("dist")) {
        Ok(None) => Ok(()),
        Ok(Some(name)) => Err(Failure::new(format!("web/dist/{name} differs from a build of web/"))
            .hint("`cargo xtask web` builds it")),
        Err(error) => Err(Failure::new(format!("web/dist cannot be compared: {error}"))),
    });
    compared.inspect_err(|failure| eprint!("{failure}")).is_ok()
}

/// The first file that is not the same in both folders.
fn differing(one: &Path, other: &Path) -> io::Result<Option<String>> {
    let names = |folder: &Path| -> io::Result<Vec<String>> {
        let entries =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<String> = entries.collect::<io::Result<_>>()?;
        names.sort();
        Ok(names)
    };
    let (ours, theirs) = (names(one)?, names(other)?);
    for name in ours.iter().chain(&theirs) {
        if !ours.contains(name)
            || !theirs.contains(name)
            || fs::read(one.join(name))? != fs::read(other.join(name))?
        {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// Runs the page's tests and counts them.
pub(super) fn test(suite: &mut Suite) -> io::Result<()> {
    let target = testkit::target_dir();
    let mut command = node().map_err(|failure| io::Error::other(failure.to_string()))?;
    command
        .args(["--test", "--test-reporter=tap", "--test-concurrency=1"])
        .args(["test/replica.test.mjs", "test/chat.test.mjs", "test/page.test.mjs"])
        .env("CELLIST_TARGET", &target)
        .env("CELLIST_PROGRAM", target.join("debug/cellist"));
    suite.ended_well &= follow(&mut command, |line| suite.read_tap(line))?;
    Ok(())
}
