//! Files that cannot be read or saved: the error says so, and the file is unchanged.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use cellist_notebook::{CellType, Error as Refusal, Ids, Notebook, Revision};
use cellist_settings::Home;
use cellist_store::{Error, ErrorKind, Missing, Store};

use crate::bed::{Bed, add, as_nobody, give_to_nobody, mount, notebook, with_own_mounts};

/// The message after the path, and the hint.
#[track_caller]
fn check(error: &Error, path: &Path, kind: ErrorKind, message: &str, hint: &str) {
    assert_eq!(error.to_string(), format!("{}: {message}", path.display()));
    assert_eq!(error.hint().unwrap_or_default(), hint);
    assert_eq!(error.kind(), kind);
}

#[test]
fn a_missing_file_is_refused() {
    let bed = Bed::new(&["a"]);
    let path = bed.folder().join("none.ipynb");
    let hint = "check the name, or make a notebook with `cellist new`";
    for error in [bed.store.open(&path).unwrap_err(), add(&bed.store, &path, "b").unwrap_err()] {
        check(&error, &path, ErrorKind::NotFound, "no such file", hint);
    }
    let error = bed.store.read_file(&path).unwrap_err();
    check(&error, &path, ErrorKind::NotFound, "no such file", hint);
    assert!(!bed.store.home().path().exists());
}

#[test]
fn a_missing_folder_is_refused() {
    let bed = Bed::new(&["a"]);
    let folder = bed.folder().join("none");
    let path = folder.join("nb.ipynb");
    let message = format!("the folder {} does not exist", folder.display());
    for error in [
        bed.store.open(&path).unwrap_err(),
        bed.store.create(&path, &Notebook::empty(Ids::seeded(1))).unwrap_err(),
        bed.store.change(&path, Missing::StartEmpty, |_| Ok(())).unwrap_err(),
    ] {
        check(&error, &path, ErrorKind::NotFound, &message, "make the folder first");
    }
}

#[test]
fn a_folder_instead_of_a_file_is_refused() {
    let bed = Bed::new(&["a"]);
    let path = bed.folder().to_owned();
    for error in [
        bed.store.open(&path).unwrap_err(),
        bed.store.read_file(&path).unwrap_err(),
        add(&bed.store, &path, "b").unwrap_err(),
        bed.store.create(&path, &Notebook::empty(Ids::seeded(1))).unwrap_err(),
    ] {
        let message = "is a folder, not a file";
        check(&error, &path, ErrorKind::Unreadable, message, "name a notebook inside it");
    }
}

#[test]
fn a_file_instead_of_a_folder_is_refused() {
    let bed = Bed::new(&["a"]);
    let path = bed.path.join("nb.ipynb");
    let error = bed.store.open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    assert!(error.to_string().starts_with(&format!("{}: cannot be read: ", path.display())), "{error}");
}

#[test]
fn a_pipe_is_refused() {
    let bed = Bed::new(&["a"]);
    let path = bed.folder().join("pipe.ipynb");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    for error in [bed.store.open(&path).unwrap_err(), add(&bed.store, &path, "b").unwrap_err()] {
        let hint = "a notebook is a regular file";
        check(&error, &path, ErrorKind::Unreadable, "is not a regular file", hint);
    }
}

#[test]
fn an_unreadable_file_is_refused() {
    let Bed { scratch, store, path } = Bed::new(&["a"]);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    give_to_nobody(scratch.path());
    std::os::unix::fs::chown(&path, Some(1), Some(1)).unwrap();
    let at = path.clone();
    let errors = as_nobody(move || [store.open(&at).unwrap_err(), add(&store, &at, "b").unwrap_err()]);
    for error in &errors {
        let hint = "ask its owner for permission to read it";
        check(error, &path, ErrorKind::Unreadable, "cannot be read: permission denied", hint);
    }
}

#[test]
fn an_unwritable_file_is_refused() {
    let Bed { scratch, store, path } = Bed::new(&["a"]);
    let before = fs::read(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    give_to_nobody(scratch.path());
    std::os::unix::fs::chown(&path, Some(1), Some(1)).unwrap();
    let at = path.clone();
    let error = as_nobody(move || add(&store, &at, "b").unwrap_err());
    let hint = "ask for permission to write to the file or its folder, or save a copy elsewhere";
    check(&error, &path, ErrorKind::CannotSave, "cannot be saved: permission denied", hint);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_read_only_file_is_refused_for_root_too() {
    let bed = Bed::new(&["a"]);
    fs::set_permissions(&bed.path, Permissions::from_mode(0o444)).unwrap();
    let error = bed.add("b").unwrap_err();
    let hint = format!("make it writable first: chmod u+w {}", bed.path.display());
    check(&error, &bed.path, ErrorKind::CannotSave, "is read-only", &hint);
    assert_eq!(bed.sources(), ["a"]);
    bed.assert_tidy();
    // An unchanged notebook is not written, so nothing is refused.
    bed.store.change(&bed.path, Missing::Refuse, |_| Ok(())).unwrap();
}

#[test]
fn a_full_disk_leaves_the_notebook_as_it_was() {
    if !with_own_mounts("refused::a_full_disk_leaves_the_notebook_as_it_was") {
        return;
    }
    let bed = Bed::new(&[]);
    mount(&["-t", "tmpfs", "-o", "size=512k", "tmpfs", bed.folder().to_str().unwrap()]);
    fs::write(&bed.path, notebook(&[&"a\n".repeat(40_000)])).unwrap();
    let before = fs::read(&bed.path).unwrap();
    let hint = "the file is unchanged; free some disk space and try again";
    let error = bed.add("b").unwrap_err();
    check(&error, &bed.path, ErrorKind::CannotSave, "cannot be saved: the disk is full", hint);
    assert_eq!(fs::read(&bed.path).unwrap(), before);
    bed.assert_tidy();

    // In place there is room for a small change, not for a large one.
    let other = bed.folder().join("other.ipynb");
    fs::hard_link(&bed.path, &other).unwrap();
    let error = bed.add(&"b\n".repeat(200_000)).unwrap_err();
    check(&error, &bed.path, ErrorKind::CannotSave, "cannot be saved: the disk is full", hint);
    assert_eq!(fs::read(&bed.path).unwrap(), before);
    bed.add("b").unwrap();
    assert_eq!(bed.sources()[1], "b");

    let error = bed.store.create(&bed.folder().join("new.ipynb"), &large()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CannotSave);
    assert_eq!(crate::bed::names(bed.folder()), ["nb.ipynb", "other.ipynb"]);
}

fn large() -> Notebook {
    let mut notebook = Notebook::empty(Ids::seeded(1));
    notebook.insert(0, CellType::Code, &"c\n".repeat(400_000));
    notebook
}

#[test]
fn a_full_disk_under_the_state_folder_leaves_the_notebook_as_it_was() {
    if !with_own_mounts("refused::a_full_disk_under_the_state_folder_leaves_the_notebook_as_it_was") {
        return;
    }
    let bed = Bed::new(&["a"]);
    let home = bed.store.home().path().to_owned();
    fs::create_dir(&home).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs", home.to_str().unwrap()]);
    let _ = fs::write(home.join("ballast"), vec![0; 1 << 20]);
    let error = bed.add("b").unwrap_err();
    let message =
        format!("cannot be saved: the state folder {} cannot be used: the disk is full", home.display());
    let hint = "set CELLIST_HOME to a folder that you can write to";
    check(&error, &bed.path, ErrorKind::CannotSave, &message, hint);
    assert_eq!(bed.sources(), ["a"]);
    bed.assert_tidy();
}

#[test]
fn a_read_only_file_system_is_refused() {
    if !with_own_mounts("refused::a_read_only_file_system_is_refused") {
        return;
    }
    let bed = Bed::new(&[]);
    let folder = bed.folder().to_str().unwrap().to_owned();
    mount(&["-t", "tmpfs", "tmpfs", &folder]);
    fs::write(&bed.path, notebook(&["a"])).unwrap();
    mount(&["-o", "remount,ro", &folder]);
    let error = bed.add("b").unwrap_err();
    let hint = "copy the notebook to a writable folder";
    let message = "cannot be saved: the file system is read-only";
    check(&error, &bed.path, ErrorKind::CannotSave, message, hint);
    assert_eq!(bed.sources(), ["a"]);
}

#[test]
fn an_unusable_state_folder_is_refused() {
    let bed = Bed::new(&["a"]);
    let blocked = bed.scratch.write("blocked", b"");
    let store = Store::new(Home::at(blocked.join("home")));
    let error = add(&store, &bed.path, "b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CannotSave);
    assert_eq!(error.hint().unwrap(), "set CELLIST_HOME to a folder that you can write to");
    assert_eq!(bed.sources(), ["a"]);
    // Reading needs no state folder.
    let opened = store.open(&bed.path).unwrap();
    store.remember(&bed.path, &opened.notebook.snapshot());
    assert_eq!(store.last_read(&bed.path), None);
}

#[test]
fn creating_an_existing_file_is_refused() {
    let bed = Bed::new(&["a"]);
    fs::write(bed.folder().join("other.ipynb"), "no notebook").unwrap();
    for name in ["nb.ipynb", "other.ipynb"] {
        let path = bed.folder().join(name);
        let before = fs::read(&path).unwrap();
        let error = bed.store.create(&path, &Notebook::empty(Ids::seeded(1))).unwrap_err();
        let hint = "choose another name, or delete the file first";
        check(&error, &path, ErrorKind::BadInput, "already exists", hint);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn an_invalid_change_is_refused() {
    let bed = Bed::new(&["a"]);
    let refusal = Refusal::NoSuchCell { index: "7".into(), count: 1 };
    let error = bed
        .store
        .change(&bed.path, Missing::Refuse, |notebook| {
            notebook.insert(0, CellType::Code, "half done");
            Err::<(), _>(refusal.clone())
        })
        .unwrap_err();
    let message = "cell 7 does not exist: the notebook has only cell 0";
    check(&error, &bed.path, ErrorKind::BadInput, message, "");
    assert_eq!(bed.sources(), ["a"]);
}

#[test]
fn raw_bytes_that_are_not_a_notebook_are_refused() {
    let bed = Bed::new(&["a"]);
    let error = bed.store.replace_raw(&bed.path, b"[]".to_vec(), None).unwrap_err();
    let message = "not a notebook: the file holds an array, not an object";
    check(&error, &bed.path, ErrorKind::BadInput, message, "");
    assert_eq!(bed.sources(), ["a"]);
}

#[test]
fn raw_bytes_for_another_revision_are_refused() {
    let bed = Bed::new(&["a"]);
    let read = bed.store.open(&bed.path).unwrap().notebook.revision();
    bed.add("b").unwrap();
    let now = bed.store.open(&bed.path).unwrap().notebook.revision();
    let error = bed.store.replace_raw(&bed.path, notebook(&["c"]).into(), Some(read)).unwrap_err();
    let message = format!("has changed since revision {read}: it is at {now} now");
    let hint = "read it again and make the change on its current content";
    check(&error, &bed.path, ErrorKind::Conflict, &message, hint);
    assert_eq!(bed.sources(), ["a", "b"]);

    let missing = bed.folder().join("none.ipynb");
    let error = bed.store.replace_raw(&missing, notebook(&["c"]).into(), Some(read)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn raw_bytes_replace_a_broken_file() {
    let bed = Bed::new(&["a"]);
    let bytes = notebook(&["c"]).into_bytes();
    let changed = bed.store.replace_raw(&bed.path, bytes.clone(), None).unwrap();
    assert_eq!((changed.written, changed.revision), (true, Revision::of([bytes.as_slice()])));
    assert!(!bed.store.replace_raw(&bed.path, bytes.clone(), Some(changed.revision)).unwrap().written);
    assert_eq!(bed.sources(), ["c"]);

    fs::write(&bed.path, "{\"cells\":").unwrap();
    crate::bed::make_old(&bed.path);
    let broken = Revision::of([&b"{\"cells\":"[..]]);
    assert!(bed.store.replace_raw(&bed.path, bytes.clone(), Some(broken)).unwrap().written);
    assert_eq!(fs::read(&bed.path).unwrap(), bytes);

    let new = bed.folder().join("new.ipynb");
    assert!(bed.store.replace_raw(&new, bytes, None).unwrap().written);
    assert_eq!(crate::bed::sources(&new), ["c"]);
    assert_eq!(bed.recovered(), Vec::<std::path::PathBuf>::new());
}
