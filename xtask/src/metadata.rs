//! Cargo's metadata of the workspace and its dependencies.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::failure::Failure;
use crate::process::{capture, cargo};

/// The packages, those of the workspace and all others.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    /// For each package id, its resolved dependencies.
    resolved: BTreeMap<String, Vec<(String, Scope)>>,
}

/// One package.
#[derive(Debug, Clone, Default)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) manifest: PathBuf,
    pub(crate) member: bool,
    /// Runs inside the compiler, so nothing of it is in the product.
    pub(crate) macros: bool,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as the manifest states it.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    /// The package's real name, also where the manifest renames it.
    pub(crate) name: String,
    pub(crate) scope: Scope,
    /// Whether it is a folder on this machine.
    pub(crate) local: bool,
}

/// Which builds a dependency is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Normal,
    Build,
    Dev,
}

impl Metadata {
    /// Asks cargo.
    pub(crate) fn read() -> Result<Self, Failure> {
        let said = capture(cargo().args(["metadata", "--format-version", "1", "--all-features"]))?;
        let value: Value = serde_json::from_str(&said)
            .map_err(|error| Failure::new(format!("cargo metadata is not JSON: {error}")))?;
        Self::parse(&value).ok_or_else(|| Failure::new("cargo metadata has an unknown shape"))
    }

    /// The workspace's own packages.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.member)
    }

    /// The packages that the library or program of `package` is made of, without itself.
    pub(crate) fn linked(&self, package: &Package) -> Vec<&Package> {
        let mut found: Vec<&Package> = Vec::new();
        let mut waiting = vec![package.id.as_str()];
        while let Some(id) = waiting.pop() {
            for (needed, scope) in self.resolved.get(id).into_iter().flatten() {
                let Some(needed) = self.packages.iter().find(|package| package.id == *needed) else {
                    continue;
                };
                let new = !found.iter().any(|package| package.id == needed.id);
                if *scope == Scope::Normal && !needed.macros && new {
                    found.push(needed);
                    waiting.push(&needed.id);
                }
            }
        }
        found
    }

    fn parse(value: &Value) -> Option<Self> {
        let members: Vec<&str> =
            value["workspace_members"].as_array()?.iter().filter_map(Value::as_str).collect();
        let packages = value["packages"].as_array()?.iter().map(|package| Package::parse(package, &members));
        let mut resolved = BTreeMap::new();
        for node in value["resolve"]["nodes"].as_array()? {
            let mut edges = Vec::new();
            for edge in node["deps"].as_array()? {
                for kind in edge["dep_kinds"].as_array()? {
                    edges.push((edge["pkg"].as_str()?.to_owned(), Scope::parse(&kind["kind"])?));
                }
            }
            resolved.insert(node["id"].as_str()?.to_owned(), edges);
        }
        Some(Self { packages: packages.collect::<Option<_>>()?, resolved })
    }
}

impl Package {
    fn parse(value: &Value, members: &[&str]) -> Option<Self> {
        let text = |key: &str| Some(value[key].as_str()?.to_owned());
        let kinds =
            value["targets"].as_array()?.iter().filter_map(|target| target["kind"].as_array()).flatten();
        let dependencies = value["dependencies"].as_array()?.iter().map(|dependency| {
            Some(Dependency {
                name: dependency["name"].as_str()?.to_owned(),
                scope: Scope::parse(&dependency["kind"])?,
                local: !dependency["path"].is_null(),
            })
        });
        let id = text("id")?;
        Some(Self {
            member: members.contains(&id.as_str()),
            id,
            name: text("name")?,
            manifest: text("manifest_path")?.into(),
            macros: kinds.into_iter().any(|kind| kind == "proc-macro"),
            dependencies: dependencies.collect::<Option<_>>()?,
        })
    }
}

impl Scope {
    fn parse(value: &Value) -> Option<Self> {
        match value.as_str() {
            None => Some(Self::Normal),
            Some("build") => Some(Self::Build),
            Some("dev") => Some(Self::Dev),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Metadata;

    fn package(id: &str, kind: &str) -> Value {
        let targets = json!([{ "kind": [kind] }]);
        json!({ "id": id, "name": id, "manifest_path": "/x/Cargo.toml",
            "targets": targets, "dependencies": [] })
    }

    fn node(id: &str, edges: &[(&str, Value)]) -> Value {
        let edges = edges.iter().map(|(to, kind)| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] }));
        json!({ "id": id, "deps": edges.collect::<Vec<_>>() })
    }

    #[test]
    fn what_is_linked_leaves_out_macros_and_what_only_builds_or_tests_need() {
        let metadata = Metadata::parse(&json!({
            "workspace_members": ["ours"],
            "packages": [
                package("ours", "lib"), package("used", "lib"), package("deep", "lib"), package("derive", "proc-macro"),
                package("inside-the-compiler", "lib"), package("builds", "lib"), package("tests", "lib"),
            ],
            "resolve": { "nodes": [
                node("ours", &[("used", Value::Null), ("derive", Value::Null), ("tests", json!("dev"))]),
                node("used", &[("deep", Value::Null), ("builds", json!("build"))]),
                node("deep", &[("used", Value::Null)]),
                node("derive", &[("inside-the-compiler", Value::Null)]),
            ] },
        }))
        .unwrap();
        let ours = metadata.members().next().unwrap();
        let linked: Vec<&str> = metadata.linked(ours).iter().map(|package| package.name.as_str()).collect();
        assert_eq!(linked, ["used", "deep"]);
    }
}
