//! Finds the definition of a type in the sources of the workspace.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Arm, Expr, File, ImplItem, Item, ItemEnum, ItemStruct, Lit, Pat, Stmt, Type, UseTree};

/// The sources of all crates.
pub(super) struct Sources {
    files: Vec<(PathBuf, String)>,
    parsed: HashMap<PathBuf, File>,
}

/// A type, and the file that it is in.
pub(super) enum Definition {
    Struct(ItemStruct, PathBuf),
    Enum(ItemEnum, PathBuf),
}

impl Sources {
    pub(super) fn read() -> Sources {
        let mut files = Vec::new();
        let mut folders = vec![testkit::repo_root().join("crates")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && path.file_name().is_none_or(|name| name != "tests") {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs")
                    && path.iter().any(|part| part == "src")
                {
                    let text = fs::read_to_string(&path).unwrap();
                    files.push((path, text));
                }
            }
        }
        files.sort();
        Sources { files, parsed: HashMap::new() }
    }

    fn file(&mut self, path: &Path) -> &File {
        let text = self.files.iter().find(|(known, _)| known == path).map(|(_, text)| text);
        let text = text.unwrap_or_else(|| panic!("{}", path.display()));
        self.parsed.entry(path.to_owned()).or_insert_with(|| syn::parse_file(text).unwrap())
    }

    /// The type that a name means in a file.
    pub(super) fn find(&mut self, name: &str, from: Option<&Path>) -> Definition {
        let mut found: Vec<PathBuf> = Vec::new();
        let is_definition = |line: &str| {
            let rest = line.trim_start().trim_start_matches("pub ").trim_start();
            let rest = rest.strip_prefix("struct ").or_else(|| rest.strip_prefix("enum "));
            let rest = rest.and_then(|rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        };
        for (path, text) in &self.files {
            if text.lines().any(is_definition) {
                found.push(path.clone());
            }
        }
        if found.len() > 1
            && let Some(from) = from
        {
            found = self.meant(name, from, found);
        }
        let [path] = found.as_slice() else { panic!("{name} in {from:?} is one of {found:?}") };
        let path = path.clone();
        let item = self.file(&path).items.iter().find_map(|item| match item {
            Item::Struct(item) if item.ident == name => Some(Definition::Struct(item.clone(), path.clone())),
            Item::Enum(item) if item.ident == name => Some(Definition::Enum(item.clone(), path.clone())),
            _ => None,
        });
        item.unwrap_or_else(|| panic!("{name} is not at the top of {}", path.display()))
    }

    /// Of several definitions of one name, the one that a file means: its own, or the one that it imports.
    fn meant(&mut self, name: &str, from: &Path, found: Vec<PathBuf>) -> Vec<PathBuf> {
        if found.iter().any(|path| path == from) {
            return vec![from.to_owned()];
        }
        let path = self.imported(name, from).unwrap_or_default();
        let named = path.first().and_then(|first| first.strip_prefix("cellist_"));
        let within = named.map_or_else(|| crate_of(from), str::to_owned);
        let (mut meant, others): (Vec<PathBuf>, Vec<PathBuf>) =
            found.into_iter().partition(|path| crate_of(path) == within);
        if meant.len() > 1 {
            let module = path.iter().rev().nth(1).cloned().unwrap_or_default();
            meant.retain(|path| path.file_stem().is_some_and(|stem| stem.to_string_lossy() == module));
        }
        if !meant.is_empty() {
            return meant;
        }
        // The crate has it from another one, and says so wherever it is made public.
        let files = self.files.iter().filter(|(path, text)| crate_of(path) == within && text.contains(name));
        let files: Vec<PathBuf> = files.map(|(path, _)| path.clone()).filter(|path| path != from).collect();
        let through = files
            .into_iter()
            .find(|path| self.imported(name, path).is_some_and(|path| path[0].starts_with("cellist_")));
        through.map_or_else(Vec::new, |through| self.meant(name, &through, others))
    }

    /// The path by which a file imports a name.
    fn imported(&mut self, name: &str, from: &Path) -> Option<Vec<String>> {
        self.file(from).items.iter().find_map(|item| match item {
            Item::Use(item) => import(&item.tree, name, Vec::new()),
            _ => None,
        })
    }

    /// The variants of an enum that `allowed_from_page` may allow, if it has that function.
    pub(super) fn allowed(&mut self, name: &str, path: &Path) -> Option<Vec<String>> {
        let items = self.file(path).items.clone();
        let functions = items.iter().filter_map(|item| match item {
            Item::Impl(item) if item.trait_.is_none() && is_named(&item.self_ty, name) => Some(&item.items),
            _ => None,
        });
        let function = functions.flatten().find_map(|item| match item {
            ImplItem::Fn(item) if item.sig.ident == "allowed_from_page" => Some(item),
            _ => None,
        })?;
        let Some(Stmt::Expr(Expr::Match(decision), None)) = function.block.stmts.last() else {
            panic!("{name}::allowed_from_page is not one match")
        };
        let mut allowed = Vec::new();
        for Arm { pat, body, .. } in &decision.arms {
            if !matches!(&**body, Expr::Lit(literal) if matches!(&literal.lit, Lit::Bool(no) if !no.value)) {
                variants(pat, &mut allowed);
            }
        }
        Some(allowed)
    }
}

/// The crate of a source file, by the name of its folder.
fn crate_of(path: &Path) -> String {
    let folders = path.ancestors().find(|folder| folder.ends_with("src")).and_then(Path::parent);
    folders.and_then(Path::file_name).unwrap().to_string_lossy().into_owned()
}

fn is_named(found: &Type, name: &str) -> bool {
    matches!(found, Type::Path(path) if path.path.is_ident(name))
}

/// The path by which a name is imported.
fn import(tree: &UseTree, name: &str, mut path: Vec<String>) -> Option<Vec<String>> {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            import(&part.tree, name, path)
        }
        UseTree::Group(group) => group.items.iter().find_map(|item| import(item, name, path.clone())),
        UseTree::Name(last) if last.ident == name => {
            path.push(name.to_owned());
            Some(path)
        }
        UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => None,
    }
}

fn variants(pattern: &Pat, found: &mut Vec<String>) {
    let path = match pattern {
        Pat::Or(any) => return any.cases.iter().for_each(|case| variants(case, found)),
        Pat::Path(path) => &path.path,
        Pat::Struct(pattern) => &pattern.path,
        Pat::TupleStruct(pattern) => &pattern.path,
        _ => panic!("allowed_from_page has a pattern that names no variant"),
    };
    found.push(path.segments.last().unwrap().ident.to_string());
}
