//! Invariants of every notebook of the corpus.

use std::path::{Path, PathBuf};

use cellist_notebook::{Ids, Notebook};

/// The notebooks that can be read, with their names and bytes.
fn readable() -> Vec<(PathBuf, Vec<u8>)> {
    let files: Vec<PathBuf> = testkit::fixtures().into_iter().filter(|path| !is_in(path, "broken")).collect();
    assert!(files.len() >= 60, "the corpus has only {} readable notebooks", files.len());
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn is_in(path: &Path, folder: &str) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(folder))
}

fn open(path: &Path, bytes: &[u8]) -> Notebook {
    Notebook::parse(bytes.to_vec(), Ids::seeded(1))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn opening_and_saving_without_a_change_gives_the_same_bytes() {
    for (path, bytes) in readable() {
        let notebook = open(&path, &bytes);
        assert!(!notebook.is_changed(), "{}", path.display());
        assert_eq!(notebook.to_bytes(), bytes, "{}", path.display());
    }
}

#[test]
fn writing_back_the_text_that_was_read_changes_nothing() {
    for (path, bytes) in readable() {
        let mut notebook = open(&path, &bytes);
        let (applied, notices) = notebook.apply_text(&notebook.to_text(), None).unwrap();
        assert_eq!(applied.kept.len(), notebook.cells().len(), "{}", path.display());
        assert_eq!(notices, [] as [String; 0], "{}", path.display());
        assert!(!notebook.is_changed(), "{}", path.display());
        assert_eq!(notebook.to_bytes(), bytes, "{}", path.display());
    }
}

#[test]
fn text_in_an_empty_notebook_reads_back_as_the_same_text() {
    for (path, bytes) in readable() {
        let text = open(&path, &bytes).to_text();
        let mut copy = Notebook::empty(Ids::seeded(1));
        copy.apply_text(&text, None).unwrap();
        assert_eq!(copy.to_text(), text, "{}", path.display());
        super::assert_valid(&copy);
    }
}

#[test]
fn editing_a_cell_changes_only_the_lines_of_its_source() {
    for (path, bytes) in readable() {
        let count = open(&path, &bytes).cells().len();
        // Every cell of a small notebook; of a large one the first, the last and some between.
        let step = (count / 12).max(1);
        for index in (0..count).step_by(step).chain(count.checked_sub(1)) {
            for new in edits(&open(&path, &bytes).cells()[index].source()) {
                check_edit(&path, &bytes, index, &new);
            }
        }
    }
}

fn edits(source: &str) -> Vec<String> {
    let first_line_changed = match source.split_once('\n') {
        Some((_, rest)) => format!("changed = 'é\\\\\"'\n{rest}"),
        None => "changed".into(),
    };
    vec![format!("{source}\nadded = 1"), first_line_changed, String::new(), "one\n\nthree\n".into()]
}

#[track_caller]
fn check_edit(path: &Path, bytes: &[u8], index: usize, new: &str) {
    let before = open(path, bytes);
    let mut after = before.clone();
    after.set_source(index, new);
    let written = after.to_bytes();
    let context =
        || format!("{} cell {index} -> {new:?}\n{}", path.display(), String::from_utf8_lossy(&written));

    let reread = open(path, &written);
    assert_eq!(reread.cells()[index].source(), new, "{}", context());
    assert_eq!(reread.cells().len(), before.cells().len());

    let value = before.cells()[index].value("source").unwrap();
    let start = value.as_ptr() as usize - before.original().as_ptr() as usize;
    let tail = bytes.len() - start - value.len();
    assert_eq!(written[..start], bytes[..start], "{}", context());
    assert_eq!(written[written.len() - tail..], bytes[bytes.len() - tail..], "{}", context());
    if is_in(path, "valid") || is_in(path, "saved") {
        super::assert_valid(&after);
    }
}

#[test]
fn lines_that_stay_keep_their_spelling() {
    let path = testkit::fixture("valid/escapes-ascii");
    let bytes = std::fs::read(&path).unwrap();
    let mut notebook = open(&path, &bytes);
    let index = notebook.cells().iter().position(|cell| !cell.source().is_ascii()).unwrap();
    let source = notebook.cells()[index].source().into_owned();
    notebook.set_source(index, &format!("{source}\nx = 'ü'"));
    let written = String::from_utf8(notebook.to_bytes()).unwrap();
    assert!(written.is_ascii(), "a file that escapes all but ASCII goes on doing so");
    let old = String::from_utf8(bytes).unwrap();
    let gone: Vec<&str> = old.lines().filter(|line| !written.contains(line.trim_end_matches(','))).collect();
    // The line that was the last one got a newline; no other line changed.
    assert!(gone.len() <= 1, "{gone:?}");
}

#[test]
fn every_operation_leaves_the_other_cells_as_they_were() {
    use cellist_notebook::{CellRef, CellType, Operation};
    for (path, bytes) in readable() {
        let before = open(&path, &bytes);
        let count = before.cells().len();
        let raw = |notebook: &Notebook, index: usize| {
            let cell = &notebook.cells()[index];
            cell.keys().iter().map(|key| cell.value(key).unwrap().to_vec()).collect::<Vec<_>>()
        };
        let valid = is_in(&path, "valid") || is_in(&path, "saved");
        for at in [0, count / 2, count] {
            let mut notebook = before.clone();
            let insert = Operation::Insert {
                index: at as i64,
                kind: CellType::Markdown,
                source: "# New\ntext".into(),
            };
            notebook.perform(&[insert], None).unwrap();
            let reread = open(&path, &notebook.to_bytes());
            assert_eq!(reread.cells().len(), count + 1, "{}", path.display());
            for index in 0..count {
                assert_eq!(
                    raw(&reread, index + usize::from(index >= at)),
                    raw(&before, index),
                    "{}",
                    path.display()
                );
            }
            if valid {
                super::assert_valid(&notebook);
            }
            // Taking it out again gives back the file, byte for byte.
            let mut again = reread.clone();
            again.perform(&[Operation::Delete { cell: CellRef::Index(at as i64) }], None).unwrap();
            if count > 0 {
                assert_eq!(again.to_bytes(), bytes, "{} at {at}", path.display());
            }
        }
        for at in (0..count).step_by((count / 5).max(1)) {
            let mut notebook = before.clone();
            notebook.perform(&[Operation::Delete { cell: CellRef::Index(at as i64) }], None).unwrap();
            let reread = open(&path, &notebook.to_bytes());
            for index in (0..count).filter(|&index| index != at) {
                assert_eq!(
                    raw(&reread, index - usize::from(index > at)),
                    raw(&before, index),
                    "{}",
                    path.display()
                );
            }
            let mut moved = before.clone();
            moved.perform(&[Operation::Move { cell: CellRef::Index(at as i64), index: 0 }], None).unwrap();
            let reread = open(&path, &moved.to_bytes());
            assert_eq!(raw(&reread, 0), raw(&before, at), "{}", path.display());
            if valid {
                super::assert_valid(&notebook);
                super::assert_valid(&moved);
            }
        }
    }
}
