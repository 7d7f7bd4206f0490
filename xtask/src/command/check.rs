//! Checks that do not run the product: format, lints, documentation and the gates.

use super::{deny, format, no_arguments};
use crate::failure::Failure;
use crate::gate;
use crate::metadata::Metadata;
use crate::process::{capture, cargo, show};

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    let mut failed: Vec<&str> =
        CHECKS.iter().filter(|check| !passes(check)).map(|check| check.name).collect();
    if !format::passes() {
        failed.push(format::NAME);
    }
    if !deny::passes() {
        failed.push(deny::NAME);
    }
    let metadata = Metadata::read()?;
    for gate in gate::GATES {
        if !gate.passes(&metadata)? {
            failed.push(gate.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(format!("failed: {}", failed.join(", ")))) }
}

/// A check that cargo makes.
pub(super) struct Check {
    pub(super) name: &'static str,
    arguments: &'static [&'static str],
    component: Option<&'static str>,
}

pub(super) const CHECKS: &[Check] = &[
    Check { name: "format", arguments: &["fmt", "--all", "--check"], component: Some("rustfmt") },
    Check {
        name: "lints",
        arguments: &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        component: Some("clippy"),
    },
    Check {
        name: "documentation",
        arguments: &["doc", "--quiet", "--workspace", "--no-deps"],
        component: None,
    },
];

/// Runs the check, shows its complaints, and returns whether there are none.
pub(super) fn passes(check: &Check) -> bool {
    eprintln!("checking {}", check.name);
    let outcome = installed(check).and_then(|()| {
        let mut command = cargo();
        command.args(check.arguments);
        if check.name == "documentation" {
            command.env("RUSTDOCFLAGS", "-D warnings");
        }
        show(&mut command)
    });
    outcome.inspect_err(|failure| eprint!("{failure}")).is_ok()
}

fn installed(check: &Check) -> Result<(), Failure> {
    let Some(component) = check.component else { return Ok(()) };
    capture(cargo().args([check.arguments[0], "--version"])).map(drop).map_err(|_| {
        Failure::new(format!("the toolchain lacks {component}"))
            .hint(format!("rustup component add {component}"))
    })
}
