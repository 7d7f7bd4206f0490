//! The table of parts and its files of pins agree, and every pin is exact.

use std::collections::BTreeSet;
use std::fs;

use testkit::{PARTS, PartKind, repo_root};

#[test]
fn every_python_environment_has_its_pins_and_every_file_of_pins_its_environment() {
    let table: BTreeSet<String> =
        PARTS.iter().filter(|part| part.kind == PartKind::Python).map(|part| part.name.to_owned()).collect();
    let files: BTreeSet<String> = fs::read_dir(repo_root().join("testkit/python"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(table, files);
}

#[test]
fn node_packages_are_locked_to_what_is_asked_for() {
    for part in PARTS.iter().filter(|part| part.kind == PartKind::Node) {
        let folder = repo_root().join("testkit/node").join(part.name);
        let read = |name: &str| -> serde_json::Value {
            serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
        };
        let (asked, locked) = (read("package.json"), read("package-lock.json"));
        for (name, version) in asked["dependencies"].as_object().unwrap() {
            assert!(version.as_str().unwrap().starts_with(|c: char| c.is_ascii_digit()), "{name}: {version}");
            assert_eq!(&locked["packages"][format!("node_modules/{name}")]["version"], version, "{name}");
        }
    }
}

#[test]
fn every_pin_is_exact() {
    for part in PARTS.iter().filter(|part| part.kind == PartKind::Python) {
        let file = repo_root().join(format!("testkit/python/{}.txt", part.name));
        for line in fs::read_to_string(&file).unwrap().lines() {
            let exact = line.split_once("==").is_some_and(|(name, version)| {
                let plain =
                    |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c));
                !name.is_empty() && !version.is_empty() && plain(name) && plain(version)
            });
            assert!(exact, "{}: {line:?} is not NAME==VERSION", file.display());
        }
    }
}

#[test]
#[should_panic(expected = "there is no Python environment \"cobol\"")]
fn an_unknown_part_is_refused() {
    testkit::python("cobol");
}
