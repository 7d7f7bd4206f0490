//! Leftovers of an interrupted save, and the next save that finds them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use cellist_store::Missing;
use testkit::wait_until;

use crate::bed::{Bed, names, notebook, sources, temporaries, write_in_place};

/// The only file in a folder.
fn only(folder: &Path) -> PathBuf {
    let [name] = names(folder).try_into().unwrap();
    folder.join(name)
}

/// The journal of a killed save, copied from a save at work.
struct Caught {
    bed: Bed,
    journal: PathBuf,
}

impl Caught {
    /// Makes the journal look as if the save was killed with a temporary file of this tag.
    fn note(&self, temporaries: &str) {
        let text = fs::read_to_string(&self.journal).unwrap();
        assert!(text.contains("\"temporaries\":[]"), "{text}");
        fs::write(
            &self.journal,
            text.replace("\"temporaries\":[]", &format!("\"temporaries\":[{temporaries}]")),
        )
        .unwrap();
    }

    fn temporary(&self, tag: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.bed.folder().join(format!(".nb.ipynb.cellist-{tag}.tmp"));
        fs::write(&path, content).unwrap();
        path
    }
}

fn caught() -> Caught {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let journal = only(&bed.store.home().path().join("locks"));
    Caught { bed, journal }
}

fn revision(bytes: &[u8]) -> String {
    cellist_notebook::Revision::of([bytes]).to_string()
}

#[test]
fn a_half_written_temporary_file_is_removed() {
    let caught = caught();
    caught.temporary("0000abcd", "{\"cells\": [");
    caught.note(r#"{"tag":"0000abcd","step":"Writing"}"#);
    let changed = caught.bed.add("c").unwrap();
    assert_eq!(changed.notices, Vec::<String>::new());
    assert_eq!(caught.bed.sources(), ["a", "b", "c"]);
    caught.bed.assert_tidy();
    assert_eq!(caught.bed.recovered(), Vec::<PathBuf>::new());
}

#[test]
fn a_temporary_file_with_the_old_or_the_new_version_is_removed() {
    let (old, new, other) = (notebook(&["old"]), notebook(&["new"]), notebook(&["other"]));
    let step = format!(
        r#"{{"tag":"0000abcd","step":{{"Exchanging":{{"old":"{}","new":"{}"}}}}}}"#,
        revision(old.as_bytes()),
        revision(new.as_bytes())
    );
    for (content, kept) in [(&old, 0), (&new, 0), (&other, 1)] {
        let caught = caught();
        caught.temporary("0000abcd", content);
        caught.note(&step);
        let changed = caught.bed.add("c").unwrap();
        assert_eq!(caught.bed.sources(), ["a", "b", "c"]);
        caught.bed.assert_tidy();
        let recovered = caught.bed.recovered();
        assert_eq!((recovered.len(), changed.notices.len()), (kept, kept));
        if let ([file], [notice]) = (recovered.as_slice(), changed.notices.as_slice()) {
            assert_eq!(sources(file), ["other"]);
            assert!(notice.ends_with(&format!("is kept in {}", file.display())), "{notice}");
        }
    }
}

#[test]
fn an_unknown_temporary_file_with_new_text_is_moved_to_recovered() {
    let caught = caught();
    caught.temporary("00000001", notebook(&["other"]));
    caught.temporary("00000002", fs::read(&caught.bed.path).unwrap());
    // A process with another state folder could just have made them.
    caught.bed.store.change(&caught.bed.path, Missing::Refuse, |_| Ok(())).unwrap();
    assert_eq!(temporaries(caught.bed.folder()).len(), 2);
    wait_until("that cannot be so any more", || {
        caught.bed.store.change(&caught.bed.path, Missing::Refuse, |_| Ok(())).unwrap();
        temporaries(caught.bed.folder()).is_empty()
    });
    caught.bed.assert_tidy();
    let [kept] = caught.bed.recovered().try_into().unwrap();
    assert_eq!(sources(&kept), ["other"]);
}

#[test]
fn a_temporary_file_in_use_is_left_alone() {
    let caught = caught();
    let path = caught.temporary("0000abcd", "half");
    caught.note(r#"{"tag":"0000abcd","step":"Writing"}"#);
    let user = File::open(&path).unwrap();
    user.lock().unwrap();
    caught.bed.add("c").unwrap();
    assert_eq!(temporaries(caught.bed.folder()).len(), 1);
    drop(user);
    caught.bed.add("d").unwrap();
    caught.bed.assert_tidy();
}

#[test]
fn other_files_in_the_folder_are_left_alone() {
    let bed = Bed::new(&["a"]);
    let others = [
        ".nb.ipynb.cellist-0000abcd.tmp.bak",
        ".nb.ipynb.cellist-xyz.tmp",
        ".other.ipynb.cellist-0000abcd.tmp",
        "nb.ipynb.tmp",
    ];
    others.iter().for_each(|name| fs::write(bed.folder().join(name), "").unwrap());
    bed.add("b").unwrap();
    assert_eq!(names(bed.folder()).len(), others.len() + 1);
}

/// A notebook with two names whose save is interrupted. `leave` makes the file's content.
fn interrupted_in_place(leave: impl Fn(&[u8], &[u8]) -> Vec<u8>) -> (Bed, Vec<u8>) {
    let bed = Bed::new(&["a"]);
    fs::hard_link(&bed.path, bed.scratch.path().join("other.ipynb")).unwrap();
    bed.add("b").unwrap();
    let old = fs::read(&bed.path).unwrap();
    bed.add("a cell that makes the file longer").unwrap();
    let new = fs::read(&bed.path).unwrap();
    let journal = only(&bed.store.home().path().join("locks"));
    let key = journal.file_stem().unwrap().to_str().unwrap().to_owned();
    let recovery = bed.store.home().path().join("recovery");
    fs::write(recovery.join(format!("{key}.old.ipynb")), &old).unwrap();
    fs::write(recovery.join(format!("{key}.new.ipynb")), &new).unwrap();
    fs::write(&bed.path, leave(&old, &new)).unwrap();
    write_in_place(&journal, "\"in_place\":false", "\"in_place\":true");
    fs::remove_dir_all(bed.store.home().path().join("recent")).unwrap();
    (bed, new)
}

/// The new version over the old one, up to shortly after their first difference.
fn half(old: &[u8], new: &[u8]) -> Vec<u8> {
    let middle = old.iter().zip(new).take_while(|(old, new)| old == new).count() + 3;
    let found = [&new[..middle], &old[middle..]].concat();
    assert_ne!(found, old);
    found
}

const COMPLETED: &str = "an interrupted save was completed";

#[test]
fn an_interrupted_write_in_place_is_completed_by_the_next_reader() {
    for leave in [half, |_: &[u8], new: &[u8]| new[..new.len() - 3].to_vec()] {
        let (bed, new) = interrupted_in_place(leave);
        let opened = bed.store.open(&bed.path).unwrap();
        assert_eq!(opened.notices, [COMPLETED]);
        assert_eq!(fs::read(&bed.path).unwrap(), new);
        assert_eq!(names(&bed.store.home().path().join("recovery")), Vec::<String>::new());
        assert_eq!(bed.store.open(&bed.path).unwrap().notices, Vec::<String>::new());
    }
}

#[test]
fn an_interrupted_write_in_place_is_completed_by_the_next_change() {
    let (bed, _) = interrupted_in_place(half);
    let changed = bed.add("c").unwrap();
    assert_eq!(changed.notices, [COMPLETED]);
    assert_eq!(bed.sources(), ["a", "b", "a cell that makes the file longer", "c"]);
}

#[test]
fn an_interrupted_write_in_place_before_or_after_the_bytes_needs_no_repair() {
    for leave in [|old: &[u8], _: &[u8]| old.to_vec(), |_: &[u8], new: &[u8]| new.to_vec()] {
        let (bed, _) = interrupted_in_place(leave);
        let before = fs::read(&bed.path).unwrap();
        assert_eq!(bed.store.open(&bed.path).unwrap().notices, Vec::<String>::new());
        assert_eq!(fs::read(&bed.path).unwrap(), before);
        assert_eq!(names(&bed.store.home().path().join("recovery")), Vec::<String>::new());
    }
}

#[test]
fn a_foreign_write_after_an_interrupted_write_in_place_stays() {
    let (bed, new) = interrupted_in_place(|_, _| notebook(&["theirs"]).into_bytes());
    let changed = bed.store.change(&bed.path, Missing::Refuse, |_| Ok(())).unwrap();
    assert_eq!(bed.sources(), ["theirs"]);
    let [kept] = bed.recovered().try_into().unwrap();
    assert_eq!(fs::read(&kept).unwrap(), new);
    assert!(changed.notices[0].ends_with(&format!("is kept in {}", kept.display())));
}
