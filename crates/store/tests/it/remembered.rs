//! A later change can name the revision that was read.

use std::fs;

use crate::bed::Bed;

#[test]
fn a_read_snapshot_is_recalled_by_its_revision() {
    let bed = Bed::new(&["a"]);
    assert_eq!(bed.store.last_read(&bed.path), None);
    let first = bed.store.open(&bed.path).unwrap().notebook.snapshot();
    bed.store.remember(&bed.path, &first);
    bed.add("b").unwrap();
    let second = bed.store.open(&bed.path).unwrap().notebook.snapshot();
    bed.store.remember(&bed.path, &second);

    let link = bed.scratch.path().join("link.ipynb");
    std::os::unix::fs::symlink(&bed.path, &link).unwrap();
    for path in [&bed.path, &link] {
        assert_eq!(bed.store.last_read(path), Some(second.revision.parse().unwrap()));
        assert_eq!(bed.store.recall(path, first.revision.parse().unwrap()), Some(first.clone()));
    }
    bed.store.remember(&bed.path, &first);
    assert_eq!(bed.store.last_read(&bed.path), Some(first.revision.parse().unwrap()));
}

#[test]
fn the_number_of_kept_revisions_is_limited() {
    let bed = Bed::new(&[]);
    let mut revisions = Vec::new();
    for number in 0..60 {
        let snapshot = bed.add(&number.to_string()).unwrap().notebook.snapshot();
        bed.store.remember(&bed.path, &snapshot);
        revisions.push(snapshot.revision.parse().unwrap());
    }
    let is_kept = |revision| bed.store.recall(&bed.path, revision).is_some();
    assert!(revisions[60 - 32..].iter().all(|revision| is_kept(*revision)), "the newest are kept");
    assert!(!is_kept(revisions[0]), "the oldest is not");
    let kept = fs::read_dir(bed.store.home().path().join("read")).unwrap().next().unwrap().unwrap();
    let count = fs::read_dir(kept.path()).unwrap().count();
    assert!(count <= 50, "{count} files are kept");
}
