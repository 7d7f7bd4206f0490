//! Programs without our lock write the notebook while we change it.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;

use cellist_notebook::CellType;
use cellist_store::{ErrorKind, Missing};
use testkit::wait_until;

use crate::bed::{Bed, inode, make_old, sources, temporaries, write_in_place, write_unseen};

const MERGED: &str = "another program changed the file during the save; both changes were merged";

#[test]
fn a_write_before_the_load_needs_no_merge() {
    let bed = Bed::new(&["a"]);
    write_in_place(&bed.path, "\"a\"", "\"A\"");
    let changed = bed.add("b").unwrap();
    assert_eq!(changed.notices, Vec::<String>::new());
    assert_eq!(bed.sources(), ["A", "b"]);
}

#[test]
fn a_write_after_the_load_is_merged() {
    let bed = Bed::new(&["a"]);
    let changed = bed.add_while("b", || write_in_place(&bed.path, "\"a\"", "\"longer\"")).unwrap();
    assert_eq!(changed.notices, [MERGED]);
    assert_eq!(bed.sources(), ["longer", "b"]);
    assert_eq!(changed.notebook.cells().len(), 2);
    assert_eq!(changed.revision, bed.store.open(&bed.path).unwrap().notebook.revision());
    bed.assert_tidy();
}

#[test]
fn a_write_found_only_by_comparing_contents_is_merged() {
    let bed = Bed::new(&["a"]);
    let changed = bed.add_while("b", || write_unseen(&bed.path, "\"a\"", "\"A\"")).unwrap();
    assert_eq!(changed.notices, [MERGED]);
    assert_eq!(bed.sources(), ["A", "b"]);
    bed.assert_tidy();
    assert_eq!(bed.recovered(), Vec::<PathBuf>::new());
}

#[test]
fn a_file_replaced_after_the_load_is_merged() {
    let bed = Bed::new(&["a"]);
    let other = bed.scratch.path().join("other.ipynb");
    bed.add_while("b", || {
        fs::copy(&bed.path, &other).unwrap();
        write_in_place(&other, "\"a\"", "\"A\"");
        fs::rename(&other, &bed.path).unwrap();
    })
    .unwrap();
    assert_eq!(bed.sources(), ["A", "b"]);
    bed.assert_tidy();
}

#[test]
fn the_same_change_on_both_sides_is_no_conflict() {
    let bed = Bed::new(&["a", "b"]);
    let changed = bed
        .store
        .change(&bed.path, Missing::Refuse, |notebook| {
            notebook.set_source(0, "A");
            write_unseen(&bed.path, "\"a\"", "\"A\"");
            Ok(())
        })
        .unwrap();
    assert_eq!(bed.sources(), ["A", "b"]);
    assert_eq!(changed.revision, bed.store.open(&bed.path).unwrap().notebook.revision());
    bed.assert_tidy();
}

/// A conflict, found before or after the exchange, leaves the foreign version in the file.
#[track_caller]
fn check_conflict(write: fn(&std::path::Path, &str, &str)) {
    let bed = Bed::new(&["a", "b"]);
    let before = inode(&bed.path);
    let error = bed
        .store
        .change(&bed.path, Missing::Refuse, |notebook| {
            notebook.set_source(0, "ours");
            write(&bed.path, "\"a\"", "\"A\"");
            Ok(())
        })
        .unwrap_err();
    let cell = fs::read_to_string(&bed.path).unwrap();
    let id = cell.split("\"id\": \"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: cell 0 ({id}) was changed on both sides\n--- this side [code]\nours\n--- the other side [code]\nA",
            bed.path.display()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.notices(), Vec::<String>::new());
    assert_eq!(bed.sources(), ["A", "b"]);
    assert_eq!(inode(&bed.path), before, "the other program's own file is back");
    bed.assert_tidy();
    assert_eq!(bed.recovered(), Vec::<PathBuf>::new());
}

#[test]
fn a_conflict_leaves_the_foreign_version_in_the_file() {
    check_conflict(write_in_place);
}

#[test]
fn a_conflict_found_by_comparing_contents_puts_the_foreign_version_back() {
    check_conflict(write_unseen);
}

#[test]
fn a_broken_foreign_file_is_moved_to_recovered() {
    let bed = Bed::new(&["a"]);
    let changed = bed
        .add_while("b", || {
            fs::write(&bed.path, "{\"cells\": [").unwrap();
            make_old(&bed.path);
        })
        .unwrap();
    assert_eq!(bed.sources(), ["a", "b"]);
    let [kept] = bed.recovered().try_into().unwrap();
    assert_eq!(fs::read(&kept).unwrap(), b"{\"cells\": [");
    assert!(changed.notices[0].ends_with(&format!("is kept in {}", kept.display())), "{:?}", changed.notices);
    bed.assert_tidy();
}

#[test]
fn a_broken_foreign_file_with_two_names_is_copied_to_recovered() {
    let bed = Bed::new(&["a"]);
    fs::hard_link(&bed.path, bed.scratch.path().join("other.ipynb")).unwrap();
    bed.add_while("b", || {
        fs::write(&bed.path, "{\"cells\": [").unwrap();
        make_old(&bed.path);
    })
    .unwrap();
    assert_eq!(bed.sources(), ["a", "b"]);
    let [kept] = bed.recovered().try_into().unwrap();
    assert_eq!(fs::read(&kept).unwrap(), b"{\"cells\": [");
}

#[test]
fn a_write_to_a_file_with_two_names_is_merged() {
    let bed = Bed::new(&["a"]);
    let other = bed.scratch.path().join("other.ipynb");
    fs::hard_link(&bed.path, &other).unwrap();
    bed.add_while("b", || write_unseen(&bed.path, "\"a\"", "\"A\"")).unwrap();
    assert_eq!(sources(&other), ["A", "b"]);
}

#[test]
fn a_save_waits_for_a_file_that_disappears_briefly() {
    let bed = Bed::new(&["a"]);
    let aside = bed.scratch.path().join("aside.ipynb");
    thread::scope(|scope| {
        bed.add_while("b", || {
            fs::rename(&bed.path, &aside).unwrap();
            let (aside, path, folder) = (aside.clone(), bed.path.clone(), bed.folder().to_owned());
            scope.spawn(move || {
                // Returns when the save has removed its temporary file, or made none.
                wait_until("no temporary file is left", || temporaries(&folder).is_empty());
                fs::copy(aside, path).unwrap();
            });
        })
        .unwrap();
    });
    assert_eq!(bed.sources(), ["a", "b"]);
}

#[test]
fn a_file_that_stays_away_is_an_error() {
    let bed = Bed::new(&["a"]);
    let error = bed.add_while("b", || fs::remove_file(&bed.path).unwrap()).unwrap_err();
    let message = "cannot be saved: the file was deleted or moved";
    assert_eq!(error.to_string(), format!("{}: {message}", bed.path.display()));
    assert_eq!(error.kind(), ErrorKind::CannotSave);
    assert_eq!(crate::bed::names(bed.folder()), Vec::<String>::new());
}

#[test]
fn a_file_created_during_the_save_is_merged() {
    let bed = Bed::new(&["a"]);
    let path = bed.folder().join("new.ipynb");
    let changed = bed.store.change(&path, Missing::StartEmpty, |notebook| {
        notebook.insert(0, CellType::Code, "ours");
        fs::copy(&bed.path, &path).unwrap();
        Ok(())
    });
    assert_eq!(changed.unwrap().notices, [MERGED]);
    let mut found = sources(&path);
    found.sort();
    assert_eq!(found, ["a", "ours"]);
}

#[test]
fn a_program_that_has_the_file_open_can_finish_writing() {
    let bed = Bed::new(&["a"]);
    let text = fs::read_to_string(&bed.path).unwrap().replace("\"a\"", "\"A\"");
    thread::scope(|scope| {
        bed.add_while("b", || {
            let mut open = File::options().write(true).open(&bed.path).unwrap();
            let (folder, text) = (bed.folder(), &text);
            scope.spawn(move || {
                wait_until("a temporary file is there", || !temporaries(folder).is_empty());
                open.write_all(text.as_bytes()).unwrap();
            });
        })
        .unwrap();
    });
    assert_eq!(bed.sources(), ["A", "b"]);
    bed.assert_tidy();
}

#[test]
fn a_program_that_never_closes_the_file_still_sees_the_change() {
    let bed = Bed::new(&["a"]);
    let before = inode(&bed.path);
    let open = File::options().write(true).open(&bed.path).unwrap();
    bed.add("b").unwrap();
    assert_eq!(inode(&bed.path), before);
    assert_eq!(open.metadata().unwrap().ino(), before);
    assert_eq!(bed.sources(), ["a", "b"]);
    bed.assert_tidy();
}

#[test]
fn a_write_to_the_displaced_file_is_merged() {
    let mut across = 0;
    let mut attempts = 0;
    // The scheduler decides whether the foreign write falls between temporary file and exchange.
    while across < 3 {
        attempts += 1;
        assert!(attempts < 200, "the file was open across the exchange only {across} times");
        let bed = Bed::new(&["a", &"x".repeat(3_000_000)]);
        let before = inode(&bed.path);
        let text = fs::read_to_string(&bed.path).unwrap().replace("\"a\"", "\"A\"");
        let hit = thread::scope(|scope| {
            let other = scope.spawn(|| {
                // Opens the file until the open one is no longer the notebook.
                loop {
                    let mut open = File::options().write(true).open(&bed.path).unwrap();
                    match open.metadata().unwrap().ino() {
                        mine if mine != before => return false,
                        mine if mine != inode(&bed.path) => {
                            open.write_all(text.as_bytes()).unwrap();
                            return true;
                        }
                        _ => {}
                    }
                }
            });
            bed.add("b").unwrap();
            other.join().unwrap()
        });
        if hit {
            across += 1;
            let found = bed.sources();
            assert_eq!([&*found[0], &*found[2]], ["A", "b"]);
            bed.assert_tidy();
            assert_eq!(bed.recovered(), Vec::<PathBuf>::new());
        }
    }
}
