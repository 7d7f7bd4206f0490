//! Rules that are read off the files of the repository. Each is a test of its own and part of `cargo xtask check`.

mod levels;
mod links;
mod machine;
mod purity;
mod skips;
mod voice;

use std::path::PathBuf;

use crate::failure::Failure;
use crate::metadata::Metadata;
use crate::process::{capture, program};

/// One rule.
pub(crate) struct Gate {
    pub(crate) name: &'static str,
    /// Each place where the rule is broken, in words.
    pub(crate) problems: fn(&Metadata) -> Result<Vec<String>, Failure>,
}

impl Gate {
    /// Prints each problem, and returns whether there are none.
    pub(crate) fn passes(&self, metadata: &Metadata) -> Result<bool, Failure> {
        let problems = (self.problems)(metadata)?;
        problems.iter().for_each(|problem| eprintln!("{}: {problem}", self.name));
        Ok(problems.is_empty())
    }
}

pub(crate) const GATES: &[Gate] = &[
    Gate { name: "levels", problems: levels::problems },
    Gate { name: "links", problems: links::problems },
    Gate { name: "machine", problems: machine::problems },
    Gate { name: "purity", problems: purity::problems },
    Gate { name: "skips", problems: skips::problems },
    Gate { name: "voice", problems: voice::problems },
];

/// The figures that `cargo xtask gate voice` prints.
pub(crate) use voice::figures as voice_figures;

/// The files that git keeps, from the root of the repository.
fn tracked() -> Result<Vec<PathBuf>, Failure> {
    // The owner of a checkout in a container is often another user, which git otherwise refuses.
    let listing =
        capture(program("git").args(["-c", "safe.directory=*", "ls-files", "-z"])).map_err(|failure| {
            failure.hint("the gates read the list of files from git: install it, and work in a clone")
        })?;
    let files = listing.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    // A file that was deleted and not yet committed is still listed.
    Ok(files.filter(|file| testkit::repo_root().join(file).is_file()).collect())
}

#[cfg(test)]
mod tests {
    use super::GATES;
    use crate::metadata::Metadata;

    #[track_caller]
    fn check(name: &str) {
        let gate = GATES.iter().find(|gate| gate.name == name).unwrap();
        let metadata = Metadata::read().unwrap();
        assert_eq!((gate.problems)(&metadata).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn crates_depend_only_downward() {
        check("levels");
    }

    #[test]
    fn links_lead_somewhere() {
        check("links");
    }

    #[test]
    fn the_pure_crates_touch_nothing_outside() {
        check("purity");
    }

    #[test]
    fn nothing_is_skipped_or_left_to_do() {
        check("skips");
    }

    #[test]
    fn no_file_names_a_machine_or_a_task_list() {
        check("machine");
    }

    #[test]
    fn prose_and_names_keep_their_budgets() {
        check("voice");
    }
}
