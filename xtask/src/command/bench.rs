//! Benchmarks on the release build, with the peers' environments beside it. Never part of the tests.

use testkit::NeededBy;

use super::setup;
use crate::failure::Failure;
use crate::process::{cargo, program, show};

pub(super) fn run(names: &[String]) -> Result<(), Failure> {
    // The page is measured with the parts of its tests.
    setup::provide(NeededBy::Tests)?;
    setup::provide(NeededBy::Bench)?;
    // The assistant asks a provider that is a program of the testkit.
    let packages = ["cellist", "cellist-bench", "testkit"].map(|package| ["--package", package]);
    show(cargo().args(["build", "--release"]).args(packages.as_flattened()))?;
    let release = testkit::target_dir().join("release");
    show(
        program(release.join("cellist-bench"))
            .args(names)
            .env("CELLIST_BENCH_BINARY", release.join("cellist")),
    )
}
