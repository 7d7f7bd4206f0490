//! The formatters: rustfmt, prettier for TypeScript and CSS, ruff for Python. All wrap at 110 columns.

use std::process::Command;

use testkit::PARTS;

use super::{no_arguments, setup, web};
use crate::failure::Failure;
use crate::node;
use crate::process::{cargo, program, show};

/// The check of the formatters other than rustfmt, which cargo runs.
pub(super) const NAME: &str = "scripts";

/// Files of TypeScript, JavaScript and CSS. A test of the crate `host` writes `protocol.ts`.
const WEB: &[&str] = &[
    "web/*.mjs",
    "web/src/**/*.{ts,tsx,css}",
    "web/test/**/*.mjs",
    "bench/page/*.{js,mjs}",
    "!web/src/net/protocol.ts",
];

/// Folders with Python files. `pyproject.toml` has ruff's settings.
const PYTHON: &[&str] = &["bench", "crates", "fixtures", "testkit"];

/// Formats every file.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    show(cargo().args(["fmt", "--all"]))?;
    provide()?;
    show(prettier()?.arg("--write").args(WEB))?;
    show(ruff().args(PYTHON))
}

/// Reports files that a formatter would change, and returns whether there are none.
pub(super) fn passes() -> bool {
    eprintln!("checking {NAME}");
    let outcome = provide().and_then(|()| {
        let web = show(prettier()?.arg("--check").args(WEB));
        let python = show(ruff().args(["--check", "--output-format", "concise"]).args(PYTHON));
        web.and(python).map_err(|failure| failure.hint("`cargo xtask format` formats them"))
    });
    outcome.inspect_err(|failure| eprint!("{failure}")).is_ok()
}

fn provide() -> Result<(), Failure> {
    setup::provide_checks()?;
    web::install()
}

fn prettier() -> Result<Command, Failure> {
    let mut prettier = node::node()?;
    prettier.current_dir(testkit::repo_root());
    prettier.args(["web/node_modules/prettier/bin/prettier.cjs", "--config", "web/.prettierrc.json"]);
    prettier.args(["--log-level", "warn"]);
    Ok(prettier)
}

fn ruff() -> Command {
    let part = PARTS.iter().find(|part| part.name == "ruff").expect("the table of parts lists ruff");
    let mut ruff = program(part.folder().join("bin").join("ruff"));
    ruff.args(["format", "--quiet", "--no-cache"]);
    ruff
}
