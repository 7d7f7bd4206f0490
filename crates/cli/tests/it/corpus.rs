//! The whole corpus through the binary: reading and writing back gives the same file.

use crate::desk::Desk;

fn readable() -> Vec<String> {
    let root = testkit::repo_root().join("fixtures");
    let names: Vec<String> = (testkit::fixtures().iter())
        .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        .filter(|name| !name.starts_with("broken/"))
        .collect();
    for folder in ["valid/", "odd/", "saved/"] {
        assert!(names.iter().any(|name| name.starts_with(folder)), "nothing in {folder}");
    }
    names
}

#[test]
fn text_that_was_read_leaves_every_file_as_it_is_byte_for_byte() {
    for name in readable() {
        let desk = Desk::unjudged();
        let bytes = desk.fixture(&name);
        let text = desk.run(&["read", "nb.ipynb"]);
        assert_eq!(text.exit, 0, "{name}: {}", text.err);
        let written = desk.feed(&["write", "nb.ipynb", "--json"], &text.out).json();
        assert_eq!(written["written"], false, "{name}: {written}");
        assert_eq!(desk.read("nb.ipynb"), bytes, "{name}");
        let again = desk.run(&["read", "nb.ipynb"]);
        assert_eq!(again.out, text.out, "{name}");
    }
}

#[test]
fn json_that_was_read_leaves_every_file_as_it_is_byte_for_byte() {
    for name in readable() {
        let desk = Desk::unjudged();
        let bytes = desk.fixture(&name);
        let raw = desk.run(&["read", "nb.ipynb:raw"]);
        assert_eq!(raw.out, bytes, "{name}");
        let written = desk.feed(&["write", "nb.ipynb:raw", "--json"], &raw.out).json();
        assert_eq!(written["written"], false, "{name}: {written}");
        assert_eq!(desk.read("nb.ipynb"), bytes, "{name}");
    }
}

#[test]
fn every_file_is_the_same_as_itself() {
    for name in readable() {
        let desk = Desk::unjudged();
        desk.fixture(&name);
        assert_eq!(desk.run(&["diff", "nb.ipynb", "nb.ipynb"]).ok(), "", "{name}");
        let merged = desk.run(&["merge", "nb.ipynb", "nb.ipynb", "nb.ipynb"]);
        assert_eq!((merged.exit, merged.out), (0, desk.read("nb.ipynb")), "{name}");
    }
}

#[test]
fn a_cell_that_is_added_to_a_valid_notebook_leaves_it_valid() {
    for name in readable().iter().filter(|name| name.starts_with("valid/")) {
        let desk = Desk::new();
        desk.fixture(name);
        desk.run(&["cell", "insert", "nb.ipynb", "end", "--source", "# é\nx = 1"]).ok();
        assert_eq!(desk.run(&["read", "nb.ipynb#-1"]).ok().lines().last(), Some("x = 1"), "{name}");
    }
}
