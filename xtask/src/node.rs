//! Node.js and its npm, from the Python environment that brings them: the same version on every machine, and nothing to
//! install by hand.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::process::program;

/// Node.js.
pub(crate) fn node() -> Result<Command, Failure> {
    let mut node = program(folder()?.join("bin").join("node"));
    // It brings certificates of its own; a network that needs others has told the system.
    node.arg("--use-system-ca");
    Ok(node)
}

/// The npm that belongs to it.
pub(crate) fn npm() -> Result<Command, Failure> {
    let mut npm = node()?;
    npm.arg(folder()?.join("lib/node_modules/npm/bin/npm-cli.js"));
    Ok(npm)
}

fn folder() -> Result<PathBuf, Failure> {
    testkit::node_folder().ok_or_else(|| {
        Failure::new("the Python environment mcp, which brings Node.js, is missing")
            .hint("`cargo xtask setup` makes it")
    })
}
