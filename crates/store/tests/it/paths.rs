//! Targets of a path, and attributes of the file that a save must keep.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use cellist_notebook::{Ids, Notebook};
use cellist_store::{ErrorKind, Missing};

use crate::bed::{Bed, add, as_nobody, give_to_nobody, inode, mount, notebook, sources, with_own_mounts};

#[test]
fn a_change_is_in_the_file_and_nothing_is_left_beside_it() {
    let bed = Bed::new(&["a"]);
    let changed = bed.add("b").unwrap();
    assert!(changed.written);
    assert_eq!(changed.notices, Vec::<String>::new());
    assert_eq!(changed.revision, bed.store.open(&bed.path).unwrap().notebook.revision());
    assert_eq!(bed.sources(), ["a", "b"]);
    bed.assert_tidy();
}

#[test]
fn an_unchanged_notebook_is_not_written() {
    let bed = Bed::new(&["a"]);
    let before = (inode(&bed.path), fs::metadata(&bed.path).unwrap().modified().unwrap());
    let changed = bed.store.change(&bed.path, Missing::Refuse, |_| Ok(7)).unwrap();
    assert_eq!((changed.value, changed.written), (7, false));
    assert_eq!(before, (inode(&bed.path), fs::metadata(&bed.path).unwrap().modified().unwrap()));
}

#[test]
fn a_symlink_stays_and_its_target_is_changed() {
    let bed = Bed::new(&["a"]);
    let link = bed.scratch.path().join("link.ipynb");
    symlink("work/nb.ipynb", &link).unwrap();
    add(&bed.store, &link, "b").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(bed.store.open(&link).unwrap().path, fs::canonicalize(&bed.path).unwrap());
    assert_eq!(bed.sources(), ["a", "b"]);
    bed.assert_tidy();
}

#[test]
fn a_dangling_symlink_creates_its_target() {
    let bed = Bed::new(&["a"]);
    let (first, second) = (bed.scratch.path().join("first.ipynb"), bed.scratch.path().join("second.ipynb"));
    symlink("second.ipynb", &first).unwrap();
    symlink("work/new.ipynb", &second).unwrap();
    bed.store.create(&first, &Notebook::empty(Ids::seeded(1))).unwrap();
    assert!(fs::symlink_metadata(&first).unwrap().is_symlink());
    assert_eq!(sources(&bed.folder().join("new.ipynb")), Vec::<String>::new());
}

#[test]
fn a_circle_of_symlinks_is_an_error() {
    let bed = Bed::new(&["a"]);
    let link = bed.scratch.path().join("link.ipynb");
    symlink("link.ipynb", &link).unwrap();
    let error = bed.store.open(&link).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    assert!(error.to_string().starts_with(&format!("{}: cannot be read: ", link.display())), "{error}");
}

#[test]
fn both_names_of_a_file_see_the_change() {
    let bed = Bed::new(&["a"]);
    let other = bed.scratch.path().join("other.ipynb");
    fs::hard_link(&bed.path, &other).unwrap();
    bed.add("b").unwrap();
    add(&bed.store, &other, "c").unwrap();
    assert_eq!(inode(&bed.path), inode(&other));
    assert_eq!(bed.sources(), ["a", "b", "c"]);
    assert_eq!(sources(&other), ["a", "b", "c"]);
    bed.assert_tidy();
}

#[test]
fn a_notebook_written_in_place_may_become_shorter() {
    let bed = Bed::new(&["a", "b"]);
    fs::hard_link(&bed.path, bed.scratch.path().join("other.ipynb")).unwrap();
    bed.store
        .change(&bed.path, Missing::Refuse, |notebook| {
            notebook.remove(0);
            Ok(())
        })
        .unwrap();
    assert_eq!(bed.sources(), ["b"]);
}

#[test]
fn a_bind_mounted_file_is_changed_at_its_source() {
    if !with_own_mounts("paths::a_bind_mounted_file_is_changed_at_its_source") {
        return;
    }
    let bed = Bed::new(&["a"]);
    let origin = bed.scratch.write("origin.ipynb", notebook(&["x"]));
    mount(&["--bind", origin.to_str().unwrap(), bed.path.to_str().unwrap()]);
    bed.add("y").unwrap();
    assert_eq!(bed.sources(), ["x", "y"]);
    assert_eq!(sources(&origin), ["x", "y"]);
    bed.assert_tidy();
}

#[test]
fn permissions_and_attributes_are_kept() {
    let bed = Bed::new(&["a"]);
    for mode in [0o600, 0o640, 0o755, 0o200, 0o444 | 0o200] {
        fs::set_permissions(&bed.path, Permissions::from_mode(mode)).unwrap();
        rustix::fs::setxattr(&bed.path, c"user.origin", b"here", rustix::fs::XattrFlags::empty()).unwrap();
        bed.add("b").unwrap();
        assert_eq!(fs::metadata(&bed.path).unwrap().mode() & 0o7777, mode);
        let mut value = [0; 8];
        let length = rustix::fs::getxattr(&bed.path, c"user.origin", &mut value).unwrap();
        assert_eq!(&value[..length], b"here");
    }
}

#[test]
fn a_new_file_has_default_permissions() {
    let bed = Bed::new(&["a"]);
    let (ours, usual) = (bed.folder().join("ours.ipynb"), bed.folder().join("usual"));
    bed.store.create(&ours, &Notebook::empty(Ids::seeded(1))).unwrap();
    fs::write(&usual, "").unwrap();
    assert_eq!(fs::metadata(&ours).unwrap().mode(), fs::metadata(&usual).unwrap().mode());
    testkit::assert_valid(&ours);
}

#[test]
fn the_state_folder_is_private() {
    let bed = Bed::new(&["a"]);
    let opened = bed.store.open(&bed.path).unwrap();
    bed.store.remember(&bed.path, &opened.notebook.snapshot());
    bed.add("b").unwrap();
    let mut waiting = vec![bed.store.home().path().to_owned()];
    let mut files = 0;
    while let Some(path) = waiting.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.mode() & 0o777, expected, "{}", path.display());
        files += usize::from(metadata.is_file());
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert!(files > 2);
}

#[test]
fn root_keeps_the_owner() {
    let bed = Bed::new(&["a"]);
    give_to_nobody(&bed.path);
    let before = inode(&bed.path);
    bed.add("b").unwrap();
    let metadata = fs::metadata(&bed.path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534));
    assert_ne!(metadata.ino(), before);
    assert_eq!(bed.sources(), ["a", "b"]);
}

#[test]
fn a_file_of_another_user_keeps_its_owner() {
    let bed = Bed::new(&["a"]);
    let Bed { scratch, store, path } = bed;
    give_to_nobody(scratch.path());
    std::os::unix::fs::chown(&path, Some(1), Some(1)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let before = inode(&path);
    let at = path.clone();
    as_nobody(move || add(&store, &at, "b").unwrap());
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.ino()), (1, 1, before));
    assert_eq!(sources(&path), ["a", "b"]);
}

#[test]
fn a_file_in_a_read_only_folder_is_written_in_place() {
    let bed = Bed::new(&["a"]);
    let Bed { scratch, store, path } = bed;
    give_to_nobody(scratch.path());
    let folder = path.parent().unwrap().to_owned();
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).unwrap();
    let before = inode(&path);
    let at = path.clone();
    let error = as_nobody(move || {
        add(&store, &at, "b").unwrap();
        store.create(&folder.join("new.ipynb"), &Notebook::empty(Ids::seeded(1))).unwrap_err()
    });
    assert_eq!(inode(&path), before);
    assert_eq!(sources(&path), ["a", "b"]);
    assert_eq!(error.kind(), ErrorKind::CannotSave);
    assert!(error.to_string().ends_with("new.ipynb: cannot be saved: permission denied"), "{error}");
}

#[test]
fn a_file_with_the_longest_possible_name_is_saved() {
    let bed = Bed::new(&[]);
    let name = format!("{}.ipynb", "ä".repeat(124));
    assert_eq!(name.len(), 254);
    let path = bed.scratch.write(&format!("long/{name}"), notebook(&["a"]));
    add(&bed.store, &path, "b").unwrap();
    assert_eq!(sources(&path), ["a", "b"]);
    assert_eq!(crate::bed::names(path.parent().unwrap()), [name]);
}
