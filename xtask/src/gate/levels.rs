//! Which crate may depend on which. The table is the architecture's list of edges; there are no others.

use crate::failure::Failure;
use crate::metadata::{Dependency, Metadata, Package, Scope};
use crate::process::text;

struct Place {
    package: &'static str,
    folder: &'static str,
    below: &'static [&'static str],
}

const fn place(package: &'static str, folder: &'static str, below: &'static [&'static str]) -> Place {
    Place { package, folder, below }
}

const PLACES: &[Place] = &[
    place("cellist-output", "crates/output", &[]),
    place("cellist-platform", "crates/platform", &[]),
    place("cellist-notebook", "crates/notebook", &["cellist-output"]),
    place("cellist-kernel", "crates/kernel", &["cellist-output", "cellist-platform"]),
    place("cellist-settings", "crates/settings", &["cellist-platform"]),
    place(
        "cellist-store",
        "crates/store",
        &["cellist-settings", "cellist-notebook", "cellist-output", "cellist-platform"],
    ),
    // Beside the store on its level, which keeps receipts and artifacts of runs.
    place("cellist-session", "crates/session", STORE_AND_BELOW),
    place("cellist-live", "crates/live", SESSION_AND_BELOW),
    place("cellist-tools", "crates/tools", LIVE_AND_BELOW),
    // Beside the tools on their level: the loop of a conversation calls them.
    place("cellist-assistant", "crates/assistant", TOOLS_AND_BELOW),
    place("cellist-host", "crates/host", ASSISTANT_AND_BELOW),
    place("cellist-tui", "crates/tui", &["cellist-host", "cellist-notebook", "cellist-output"]),
    place("cellist-serve", "crates/serve", HOST_AND_BELOW),
    place("cellist", "crates/cli", &UPWARD),
    // Beside the levels: nothing of the product depends on these, but for tests on testkit.
    place(TESTKIT, "testkit", &[]),
    place("xtask", "xtask", &[TESTKIT]),
    place("cellist-bench", "bench", MEASURED),
];

const TESTKIT: &str = "testkit";

/// The crates from the bottom, of which a crate that uses all below it takes the first so many.
const UPWARD: [&str; 13] = [
    "cellist-output",
    "cellist-platform",
    "cellist-notebook",
    "cellist-kernel",
    "cellist-settings",
    "cellist-store",
    "cellist-session",
    "cellist-live",
    "cellist-tools",
    "cellist-assistant",
    "cellist-host",
    "cellist-tui",
    "cellist-serve",
];

const STORE_AND_BELOW: &[&str] = UPWARD.split_at(6).0;
const SESSION_AND_BELOW: &[&str] = UPWARD.split_at(7).0;
const LIVE_AND_BELOW: &[&str] = UPWARD.split_at(8).0;
const TOOLS_AND_BELOW: &[&str] = UPWARD.split_at(9).0;
const ASSISTANT_AND_BELOW: &[&str] = UPWARD.split_at(10).0;
const HOST_AND_BELOW: &[&str] = UPWARD.split_at(11).0;

const MEASURED: &[&str] = &[
    TESTKIT,
    "cellist-live",
    "cellist-session",
    "cellist-store",
    "cellist-settings",
    "cellist-kernel",
    "cellist-notebook",
    "cellist-output",
    "cellist-platform",
];

pub(super) fn problems(metadata: &Metadata) -> Result<Vec<String>, Failure> {
    let root = testkit::repo_root();
    let mut problems = Vec::new();
    for package in metadata.members() {
        problems.extend(edges(package));
        let folder = package.manifest.parent().and_then(|folder| folder.strip_prefix(&root).ok());
        if let Some(place) = PLACES.iter().find(|place| place.package == package.name)
            && folder != Some(place.folder.as_ref())
        {
            problems.push(format!("{} belongs in {}", package.name, place.folder));
        }
        if !shares_lints(&text(&package.manifest)?) {
            problems.push(format!("{} does not take the workspace's lints", package.name));
        }
    }
    Ok(problems)
}

fn edges(package: &Package) -> Vec<String> {
    let name = &package.name;
    let Some(place) = PLACES.iter().find(|place| place.package == name) else {
        return vec![format!("{name} has no place in the table of levels")];
    };
    let allowed = |dependency: &&Dependency| match dependency.scope {
        Scope::Normal | Scope::Build => place.below.contains(&dependency.name.as_str()),
        Scope::Dev => dependency.name == TESTKIT || place.below.contains(&dependency.name.as_str()),
    };
    let ours = |dependency: &&Dependency| {
        dependency.local || PLACES.iter().any(|place| place.package == dependency.name)
    };
    let forbidden = package.dependencies.iter().filter(ours).filter(|dependency| !allowed(dependency));
    forbidden
        .map(|dependency| match dependency.scope {
            Scope::Normal => format!("{name} may not depend on {}", dependency.name),
            Scope::Build => format!("{name} may not be built with {}", dependency.name),
            Scope::Dev => format!("{name} may not be tested with {}", dependency.name),
        })
        .collect()
}

fn shares_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.any(|line| line == "[lints]") && lines.next() == Some("workspace = true")
}

#[cfg(test)]
mod tests {
    use super::{PLACES, edges, shares_lints};
    use crate::metadata::{Dependency, Package, Scope};

    #[track_caller]
    fn check(from: &str, to: &str, scope: Scope, expected: &[&str]) {
        let dependency = Dependency { name: to.to_owned(), scope, local: false };
        let package = Package { name: from.to_owned(), dependencies: vec![dependency], ..Package::default() };
        assert_eq!(edges(&package), expected);
    }

    #[test]
    fn an_edge_of_the_table_is_allowed_for_every_build() {
        check("cellist-notebook", "cellist-output", Scope::Normal, &[]);
        check("cellist-notebook", "cellist-output", Scope::Dev, &[]);
        check("cellist", "cellist-serve", Scope::Build, &[]);
    }

    #[test]
    fn an_edge_upward_or_sideways_is_refused() {
        let refused = &["cellist-output may not depend on cellist-notebook"];
        check("cellist-output", "cellist-notebook", Scope::Normal, refused);
        let refused = &["cellist-kernel may not be built with cellist-notebook"];
        check("cellist-kernel", "cellist-notebook", Scope::Build, refused);
        let refused = &["cellist-tui may not depend on cellist-session"];
        check("cellist-tui", "cellist-session", Scope::Normal, refused);
    }

    #[test]
    fn tests_may_add_testkit_and_nothing_else() {
        check("cellist-output", "testkit", Scope::Dev, &[]);
        check("cellist-output", "testkit", Scope::Normal, &["cellist-output may not depend on testkit"]);
        check(
            "cellist-output",
            "cellist-session",
            Scope::Dev,
            &["cellist-output may not be tested with cellist-session"],
        );
    }

    #[test]
    fn a_crate_without_a_place_is_refused() {
        check("cellist-core", "serde", Scope::Normal, &["cellist-core has no place in the table of levels"]);
    }

    #[test]
    fn a_folder_outside_the_workspace_is_refused_and_a_library_is_not() {
        check("cellist-output", "serde", Scope::Normal, &[]);
        let dependency = Dependency { name: "patched".to_owned(), scope: Scope::Normal, local: true };
        let package = Package {
            name: "cellist-output".to_owned(),
            dependencies: vec![dependency],
            ..Package::default()
        };
        assert_eq!(edges(&package), ["cellist-output may not depend on patched"]);
    }

    #[test]
    fn the_table_has_no_cycle() {
        // In an order from the bottom, each crate names only crates that came before it.
        let mut placed: Vec<&str> = Vec::new();
        while placed.len() < PLACES.len() {
            let next = PLACES.iter().find(|place| {
                !placed.contains(&place.package) && place.below.iter().all(|below| placed.contains(below))
            });
            placed.push(next.expect("a cycle in the table of levels").package);
        }
    }

    #[test]
    fn lints_are_shared_only_by_the_exact_setting() {
        assert!(shares_lints("[package]\n\n[lints]\nworkspace = true\n"));
        assert!(!shares_lints("[package]\n[lints.rust]\nunsafe_code = \"allow\"\n"));
        assert!(!shares_lints("[lints]\nworkspace = false\n"));
    }
}
