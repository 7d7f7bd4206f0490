//! A program that read the notebook before we saved, and writes its own version after that.

use std::fs::{self, File, FileTimes};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use cellist_session::Missing;

use crate::bed::Bed;

const MENDED: &str = "another program had written an older version; both are merged now";

/// Saves `b` behind `a`, between a foreign program's reading `a` and its writing `to` in place of it.
fn overwritten(to: &str) -> Bed {
    let bed = Bed::new(&["a"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    bed.add("b").unwrap();
    fs::write(&bed.path, read.replace("\"a\"", to)).unwrap();
    bed
}

#[test]
fn the_next_change_brings_back_what_was_overwritten() {
    let bed = overwritten("\"A\"");
    let changed = bed.add("c").unwrap();
    assert_eq!(changed.notices, [MENDED]);
    assert_eq!(bed.sources(), ["A", "b", "c"]);
    assert_eq!(bed.add("d").unwrap().notices, Vec::<String>::new());
    assert_eq!(bed.recovered(), Vec::<PathBuf>::new());
}

#[test]
fn the_next_reader_brings_it_back_too() {
    let bed = overwritten("\"A\"");
    let opened = bed.store.open(&bed.path).unwrap();
    assert_eq!(opened.notices, [MENDED]);
    assert_eq!(opened.notebook.cells().len(), 2);
    assert_eq!(bed.sources(), ["A", "b"]);
    assert_eq!(bed.store.open(&bed.path).unwrap().notices, Vec::<String>::new());
}

#[test]
fn several_saves_that_were_overwritten_come_back() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let read = fs::read_to_string(&bed.path).unwrap();
    ["c", "d", "e"].into_iter().for_each(|source| drop(bed.add(source).unwrap()));
    fs::write(&bed.path, read.replace("\"a\"", "\"A\"")).unwrap();
    bed.add("f").unwrap();
    assert_eq!(bed.sources(), ["A", "b", "c", "d", "e", "f"]);
}

#[test]
fn what_was_overwritten_while_another_save_was_at_work_comes_back() {
    let bed = Bed::new(&["a"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    bed.add("b").unwrap();
    bed.add_while("c", || fs::write(&bed.path, read.replace("\"a\"", "\"A\"")).unwrap()).unwrap();
    assert_eq!(bed.sources(), ["A", "b", "c"]);
}

#[test]
fn an_edit_of_what_we_saved_stays_as_it_is() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let read = fs::read_to_string(&bed.path).unwrap();
    fs::write(&bed.path, read.replace("\"b\"", "\"B\"")).unwrap();
    let changed = bed.add("c").unwrap();
    assert_eq!(changed.notices, Vec::<String>::new());
    assert_eq!(bed.sources(), ["a", "B", "c"]);
}

#[test]
fn who_gives_our_cells_other_names_has_seen_them() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let mut notebook: serde_json::Value = serde_json::from_slice(&fs::read(&bed.path).unwrap()).unwrap();
    notebook["cells"][1]["id"] = "another".into();
    fs::write(&bed.path, notebook.to_string()).unwrap();
    assert_eq!(bed.store.open(&bed.path).unwrap().notices, Vec::<String>::new());
    assert_eq!(bed.sources(), ["a", "b"]);
}

#[test]
fn our_own_deletions_stay_deleted() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let delete = |notebook: &mut cellist_notebook::Notebook| {
        notebook.remove(1);
        Ok(())
    };
    bed.store.change(&bed.path, Missing::Refuse, delete).unwrap();
    assert_eq!(bed.store.open(&bed.path).unwrap().notices, Vec::<String>::new());
    bed.add("c").unwrap();
    assert_eq!(bed.sources(), ["a", "c"]);
}

#[test]
fn another_file_in_its_place_has_nothing_to_do_with_ours() {
    // As git does it for another branch: the old file is removed, and a new one gets its name.
    let bed = Bed::new(&["a"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    bed.add("b").unwrap();
    fs::remove_file(&bed.path).unwrap();
    let other = read.replace("\"a\"", "\"A\"");
    fs::write(&bed.path, &other).unwrap();
    assert_eq!(bed.store.open(&bed.path).unwrap().notices, Vec::<String>::new());
    assert_eq!(fs::read_to_string(&bed.path).unwrap(), other);
    bed.add("c").unwrap();
    assert_eq!(bed.sources(), ["A", "c"]);
}

#[test]
fn an_exact_earlier_version_was_brought_back_on_purpose() {
    let bed = overwritten("\"a\"");
    assert_eq!(bed.add("c").unwrap().notices, Vec::<String>::new());
    assert_eq!(bed.sources(), ["a", "c"]);
}

#[test]
fn what_was_taken_away_later_or_put_there_from_elsewhere_was_so_on_purpose() {
    for offset in [-3600, 6] {
        let bed = overwritten("\"A\"");
        let now = SystemTime::now();
        let length = Duration::from_secs(i64::unsigned_abs(offset));
        let time = if offset < 0 { now - length } else { now + length };
        let file = File::options().append(true).open(&bed.path).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
        assert_eq!(bed.add("c").unwrap().notices, Vec::<String>::new());
        assert_eq!(bed.sources(), ["A", "c"]);
    }
}

#[test]
fn where_both_changed_the_same_cell_theirs_stays_and_ours_is_kept_elsewhere() {
    let bed = Bed::new(&["a"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    bed.store
        .change(&bed.path, Missing::Refuse, |notebook| {
            notebook.set_source(0, "ours");
            notebook.insert(1, cellist_notebook::CellType::Code, "b");
            Ok(())
        })
        .unwrap();
    fs::write(&bed.path, read.replace("\"a\"", "\"A\"")).unwrap();
    let changed = bed.add("c").unwrap();
    assert_eq!(bed.sources(), ["A", "b", "c"]);
    let [kept] = bed.recovered().try_into().unwrap();
    assert_eq!(crate::bed::sources(&kept), ["ours", "b"]);
    assert_eq!(
        changed.notices,
        [
            format!(
                "what another program has overwritten with an older version is kept in {}",
                kept.display()
            ),
            MENDED.to_owned()
        ]
    );
}

#[test]
fn a_refused_change_does_not_come_back() {
    let bed = Bed::new(&["a"]);
    bed.store
        .change(&bed.path, Missing::Refuse, |notebook| {
            notebook.set_source(0, "ours");
            crate::bed::write_unseen(&bed.path, "\"a\"", "\"A\"");
            Ok(())
        })
        .unwrap_err();
    crate::bed::write_in_place(&bed.path, "\"A\"", "\"AA\"");
    bed.add("c").unwrap();
    assert_eq!(bed.sources(), ["AA", "c"]);
}

#[test]
fn old_versions_are_not_kept_for_long() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let recent = bed.store.home().path().join("recent");
    let folder = recent.join(&crate::bed::names(&recent)[0]);
    for name in crate::bed::names(&folder) {
        let (at, rest) = name.split_once('-').unwrap();
        let earlier = at.parse::<u64>().unwrap() - 20_000_000_000;
        fs::rename(folder.join(&name), folder.join(format!("{earlier:020}-{rest}"))).unwrap();
    }
    // Those of any notebook go when any other is saved.
    let other = bed.scratch.write("other/nb.ipynb", crate::bed::notebook(&[]));
    crate::bed::add(&bed.store, &other, "x").unwrap();
    assert!(!folder.exists());
}
