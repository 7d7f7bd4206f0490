//! Crates that take bytes and give bytes: no runtime, file, clock, network, randomness or environment in them.
//!
//! Their source may name only listed parts of `std`, and a list of libraries may not be linked to them. Parts of `std`
//! that do both, such as `std::io`, may be named only by their pure items, under their own names.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::metadata::{Metadata, Package};
use crate::process::text;
use crate::product::product;
use crate::tokens::{Token, tokens};

const PURE: &[&str] = &["cellist-output", "cellist-notebook"];

/// Modules, primitive types and macros of `std` that compute and do nothing else.
const STD: &str = "
    any array ascii borrow boxed cell char clone cmp collections convert default error f32 f64 fmt
    future hash hint i8 i16 i32 i64 i128 isize iter marker mem num ops option panic pin prelude
    primitive ptr rc result slice str string sync task u8 u16 u32 u64 u128 usize vec assert assert_eq
    assert_ne concat debug_assert format format_args include_bytes include_str matches stringify
    unreachable write writeln
";

/// Items of `std::io` that work on memory, or are only names.
const IO: &str = "
    BufRead BufReader BufWriter Chain Cursor Empty Error ErrorKind IoSlice IoSliceMut LineWriter Lines
    Read Result Seek SeekFrom Sink Take Write copy empty read_to_string repeat sink
";

/// Macros that print, or that read the environment or code from elsewhere at build time.
const MACROS: &str = "dbg env eprint eprintln include option_env print println";

/// Libraries that do work which these crates leave to others.
const LIBRARIES: &str = "
    async-io async-std chrono crossbeam-channel curl directories dirs fastrand fs-err futures-executor
    getrandom home hyper ignore instant jiff memmap2 mio native-tls nix notify num_cpus openssl polling
    quanta rand rayon reqwest rustix rustls smol socket2 tempfile time tokio ureq walkdir web-time which
    zmq zeromq
";

pub(super) fn problems(metadata: &Metadata) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for name in PURE {
        let package = metadata
            .members()
            .find(|package| package.name == *name)
            .ok_or_else(|| Failure::new(format!("the workspace has no crate {name}")))?;
        let linked = metadata.linked(package);
        problems.extend(libraries(package, &linked));
        let folder = package.manifest.parent().unwrap_or(Path::new("/"));
        if folder.join("build.rs").exists() {
            problems.push(format!("{name} has a build script"));
        }
        problems.extend(sources(&folder.join("src"))?);
    }
    Ok(problems)
}

fn libraries(package: &Package, linked: &[&Package]) -> Vec<String> {
    let impure = linked.iter().filter(|library| lists(LIBRARIES, &library.name));
    impure.map(|library| format!("{} is linked with {}", package.name, library.name)).collect()
}

fn sources(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    rust_files(folder, &mut files)
        .map_err(|error| Failure::new(format!("{} cannot be read: {error}", folder.display())))?;
    let mut scanned = Vec::new();
    let mut only_tests = Vec::new();
    for file in files {
        let (product, test_modules) = product(tokens(&text(&file)?));
        only_tests.extend(test_modules.iter().map(|module| below(&file).join(module)));
        scanned.push((file, product));
    }
    let mut problems = Vec::new();
    for (file, product) in scanned {
        // `tests.rs` and files in `tests/`, where the parent declares the module for tests alone.
        if only_tests.iter().any(|module| file == module.with_extension("rs") || file.starts_with(module)) {
            continue;
        }
        let name = file.strip_prefix(testkit::repo_root()).unwrap_or(&file).display().to_string();
        problems.extend(scan(&product).into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
    }
    Ok(problems)
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

// Where the modules that a file declares are found.
fn below(file: &Path) -> PathBuf {
    let top = file.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs" || name == "mod.rs");
    if top { file.parent().unwrap_or(file).to_owned() } else { file.with_extension("") }
}

fn scan(tokens: &[Token]) -> Vec<(usize, String)> {
    let at = |index: usize| tokens.get(index).map_or("", |token: &Token| token.text.as_str());
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let Token { text, line } = &tokens[index];
        let mut refuse = |what: String| found.push((*line, what));
        if text == "use" && at(index + 1) != "<" {
            let mut imports = Vec::new();
            index = import(tokens, index + 1, &[], &mut imports);
            imports.iter().filter_map(Import::problem).for_each(refuse);
            continue;
        }
        if text == "extern" {
            refuse("extern names something outside".to_owned());
        }
        if text == "#" && at(index + 1) == "[" && at(index + 2) == "path" {
            refuse("a module from elsewhere is not judged".to_owned());
        }
        if lists(MACROS, text) && at(index + 1) == "!" {
            refuse(format!("{text}! is not pure"));
        }
        let inside_a_path =
            index > 0 && [".", "::"].contains(&at(index - 1)) && !starts_at_root(tokens, index);
        if tokens[index].is_word() && !inside_a_path {
            let mut path = vec![text.as_str()];
            while at(index + 1) == "::" && tokens.get(index + 2).is_some_and(Token::is_word) {
                path.push(at(index + 2));
                index += 2;
            }
            path_problem(&path).into_iter().for_each(refuse);
        }
        index += 1;
    }
    found
}

// `::std::fs`: the separator is preceded by nothing that could be a path.
fn starts_at_root(tokens: &[Token], index: usize) -> bool {
    tokens[index - 1].text == "::"
        && !index.checked_sub(2).is_some_and(|before| tokens[before].is_word() || tokens[before].text == ">")
}

/// One leaf of a `use` tree.
struct Import<'a> {
    path: Vec<&'a str>,
    renamed: bool,
    glob: bool,
}

impl Import<'_> {
    fn problem(&self) -> Option<String> {
        let path = self.path.join("::");
        let module_of_both = self.path == ["std"] || self.path.last() == Some(&"io");
        if module_of_both && (self.renamed || self.glob) {
            return Some(format!("{path} is imported under other names"));
        }
        path_problem(&self.path)
    }
}

// Reads the tree that starts at `index` and returns the index after it.
fn import<'a>(
    tokens: &'a [Token],
    mut index: usize,
    prefix: &[&'a str],
    found: &mut Vec<Import<'a>>,
) -> usize {
    let at = |index: usize| tokens.get(index).map_or(";", |token: &Token| token.text.as_str());
    let mut path = prefix.to_vec();
    let (mut renamed, mut glob) = (false, false);
    loop {
        match at(index) {
            "::" => {}
            "*" => glob = true,
            "as" => {
                renamed = true;
                index += 1;
            }
            "{" => {
                index += 1;
                while at(index) != "}" && at(index) != ";" {
                    index = import(tokens, index, &path, found);
                    index += usize::from(at(index) == ",");
                }
                return index + 1;
            }
            "}" | "," | ";" => {
                found.push(Import { path, renamed, glob });
                return index;
            }
            "self" if !path.is_empty() => {}
            word => path.push(word),
        }
        index += 1;
    }
}

fn lists(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|listed| listed == word)
}

fn path_problem(path: &[&str]) -> Option<String> {
    let shown = path.join("::");
    // `io` keeps its name wherever it is imported, so it is known also without its root.
    if let Some(at) = path.iter().position(|segment| *segment == "io")
        && let Some(item) = path.get(at + 1)
    {
        return (!lists(IO, item)).then(|| format!("{shown} is not pure"));
    }
    if path.contains(&"RandomState") {
        return Some(format!("{shown} is random"));
    }
    match path {
        ["std"] => Some("std stands alone, so its use cannot be judged".to_owned()),
        ["std", "io"] | ["std", "time", "Duration"] => None,
        ["std", module, ..] => {
            (!lists(STD, module)).then(|| format!("{shown} is not on the list of pure parts"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{below, libraries, scan, sources};
    use crate::metadata::Package;
    use crate::product::product;
    use crate::tokens::tokens;
    use std::path::Path;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let found: Vec<String> = scan(&product(tokens(source)).0).into_iter().map(|(_, what)| what).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn what_only_computes_is_let_through() {
        check(
            "use std::{collections::{BTreeMap, HashMap as Map}, fmt::{self, Write as _}, io::{self, Read}};",
            &[],
        );
        check(
            "use std::io::{Error, Write}; fn f() -> io::Result<()> { Err(io::Error::other(\"std::fs\")) }",
            &[],
        );
        check("fn f(d: std::time::Duration) -> std::fmt::Result { std::format!(\"{d:?}\") }", &[]);
        check(
            "enum Stream { Stdout } fn f(s: Stream) { Stream::stdout(); s.env(); s.std; let fs = 1; }",
            &[],
        );
        check("const T: &str = include_str!(\"t.txt\"); // std::fs, std::env", &[]);
        check("fn f<'a>(x: &'a str) -> impl Iterator + use<'a> { x.chars() }", &[]);
        check("use cellist_output::{Output, text::*}; use crate::time::Instant;", &[]);
    }

    #[test]
    fn what_reaches_outside_is_caught_however_it_is_spelt() {
        check("use std::fs;", &["std::fs is not on the list of pure parts"]);
        check("use ::std::net::TcpStream;", &["std::net::TcpStream is not on the list of pure parts"]);
        check("use std::{fmt, fs as files};", &["std::fs is not on the list of pure parts"]);
        check("use {std::{thread::{self}}};", &["std::thread is not on the list of pure parts"]);
        check("pub(crate) use r#std::env::var;", &["std::env::var is not on the list of pure parts"]);
        check("fn f() { std::process::exit(1) }", &["std::process::exit is not on the list of pure parts"]);
        check("fn f() { ::std::fs::read(p); }", &["std::fs::read is not on the list of pure parts"]);
        check("fn f() { <std::fs::File>::open(p); }", &["std::fs::File is not on the list of pure parts"]);
        check("fn f(p: &std::path::Path) {}", &["std::path::Path is not on the list of pure parts"]);
        check(
            "use std::time::{Duration, Instant};",
            &["std::time::Instant is not on the list of pure parts"],
        );
        check(
            "let t = std::time::SystemTime::now();",
            &["std::time::SystemTime::now is not on the list of pure parts"],
        );
        check("use std::hash::RandomState;", &["std::hash::RandomState is random"]);
    }

    #[test]
    fn other_names_for_std_are_caught() {
        check("use std as s;", &["std is imported under other names"]);
        check("use std::{self as s};", &["std is imported under other names"]);
        check("use std::*;", &["std is imported under other names"]);
        check(
            "extern crate std as s;",
            &["extern names something outside", "std stands alone, so its use cannot be judged"],
        );
        check("m!(std);", &["std stands alone, so its use cannot be judged"]);
    }

    #[test]
    fn the_terminal_is_caught_behind_io() {
        check("use std::io::stdin;", &["std::io::stdin is not pure"]);
        check("use std::io; fn f() { io::stdout(); }", &["io::stdout is not pure"]);
        check("use std::io::{self as terminal};", &["std::io is imported under other names"]);
        check("use std::io::*;", &["std::io is imported under other names"]);
        check("use super::io as terminal;", &["super::io is imported under other names"]);
        check("fn f() { super::io::stderr(); }", &["super::io::stderr is not pure"]);
    }

    #[test]
    fn macros_and_modules_from_elsewhere_are_caught() {
        check("fn f() { println!(\"x\"); }", &["println! is not pure"]);
        check("const V: &str = env!(\"HOME\");", &["env! is not pure"]);
        check("const V: Option<&str> = option_env!(\"HOME\");", &["option_env! is not pure"]);
        check("include!(\"other.rs\");", &["include! is not pure"]);
        check("#[path = \"../other.rs\"] mod other;", &["a module from elsewhere is not judged"]);
    }

    #[test]
    fn tests_may_do_what_they_like_and_what_follows_them_is_judged() {
        let caught = &["std::env is not on the list of pure parts"];
        check("#[cfg(test)] mod tests { use std::fs; fn f() { { } } } use std::env;", caught);
        check("#[cfg(test)] #[expect(dead_code)] use std::{fs, io}; use std::env;", caught);
        check("#[cfg(test)] pub(crate) const A: [u8; 2] = { std::fs::x() }; use std::env;", caught);
        check("#[cfg(test)] fn f(a: [u8; 2]) { std::fs::x() } use std::env;", caught);
        check("#[cfg(not(test))] use std::env;", caught);
    }

    #[test]
    fn a_test_module_in_its_own_file_is_let_through_and_its_neighbour_is_not() {
        let scratch = testkit::Scratch::new();
        scratch.write("lib.rs", "mod cell; #[cfg(test)] mod tests;");
        scratch.write("tests.rs", "use std::fs;");
        scratch.write("tests/more.rs", "use std::fs;");
        scratch.write("cell.rs", "#[cfg(test)]\nmod tests;\nmod inner;");
        scratch.write("cell/tests.rs", "use std::fs;");
        let inner = scratch.write("cell/inner.rs", "\nuse std::fs;");
        let expected = format!("{}:2: std::fs is not on the list of pure parts", inner.display());
        assert_eq!(sources(scratch.path()).unwrap(), [expected]);
    }

    #[test]
    fn modules_lie_below_the_file_that_declares_them() {
        assert_eq!(below(Path::new("src/lib.rs")), Path::new("src"));
        assert_eq!(below(Path::new("src/cell.rs")), Path::new("src/cell"));
    }

    #[test]
    fn a_library_that_reaches_outside_is_caught() {
        let package = |name: &str| Package { name: name.to_owned(), ..Package::default() };
        let (serde, tokio) = (package("serde"), package("tokio"));
        let found = libraries(&package("cellist-output"), &[&serde, &tokio]);
        assert_eq!(found, ["cellist-output is linked with tokio"]);
    }
}
