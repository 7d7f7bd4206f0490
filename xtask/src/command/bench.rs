//! Benchmarks on the release build, with the peers' environments beside it. Never part of the tests.

use testkit::NeededBy;

use super::setup;
use crate::failure::Failure;
use crate::process::{cargo, program, show};

pub(super) fn run(names: &[String]) -> Result<(), Failure> {
    setup::provide(NeededBy::Bench)?;
    // What is measured goes to the usual place, so that the path below is right under any target setting.
    let target = testkit::target_dir();
    let build = ["build", "--release", "--package", "cellist", "--package", "cellist-bench", "--target-dir"];
    show(cargo().args(build).arg(&target))?;
    let release = target.join("release");
    show(
        program(release.join("cellist-bench"))
            .args(names)
            .env("CELLIST_BENCH_BINARY", release.join("cellist")),
    )
}
