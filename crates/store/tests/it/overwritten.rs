//! A program read the notebook before we saved, and writes its own version afterwards.

use std::fs::{self, File, FileTimes};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use cellist_store::Missing;

use crate::bed::Bed;

/// The notice about a restored source.
fn mended(bed: &Bed, index: usize) -> String {
    let notebook: serde_json::Value = serde_json::from_slice(&fs::read(&bed.path).unwrap()).unwrap();
    let id = notebook["cells"][index]["id"].as_str().unwrap();
    format!("another program overwrote changes that it had not read; they are back in cell {index} ({id})")
}

/// Saves `b` after `a`, while a foreign program reads `a` before and writes `to` instead of it
/// afterwards.
fn overwritten(to: &str) -> Bed {
    let bed = Bed::new(&["a"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    bed.add("b").unwrap();
    fs::write(&bed.path, read.replace("\"a\"", to)).unwrap();
    bed
}

#[test]
fn the_next_change_restores_overwritten_sources() {
    let bed = overwritten("\"A\"");
    let changed = bed.add("c").unwrap();
    assert_eq!(changed.notices, [mended(&bed, 1)]);
    assert_eq!(bed.sources(), ["A", "b", "c"]);
    assert_eq!(bed.add("d").unwrap().notices, Vec::<String>::new());
    assert_eq!(bed.recovered(), Vec::<PathBuf>::new());
}

#[test]
fn a_read_shows_the_file_unchanged_and_warns() {
    let bed = overwritten("\"A\"");
    let before = fs::read(&bed.path).unwrap();
    let opened = bed.store.open(&bed.path).unwrap();
    assert_eq!(
        opened.notices,
        ["another program overwrote changes that it had not read, in 1 cell; the next change restores them"]
    );
    assert_eq!(opened.notebook.to_bytes(), before);
    assert_eq!(fs::read(&bed.path).unwrap(), before);
}

#[test]
fn a_change_that_changes_nothing_writes_nothing() {
    let bed = overwritten("\"A\"");
    let before = fs::read(&bed.path).unwrap();
    let changed = bed.store.change(&bed.path, Missing::Refuse, |_| Ok(())).unwrap();
    assert_eq!((changed.written, changed.notices), (false, Vec::new()));
    assert_eq!(changed.notebook.to_bytes(), before);
    assert_eq!(fs::read(&bed.path).unwrap(), before);
}

#[test]
fn sources_overwritten_long_ago_are_restored() {
    let bed = overwritten("\"A\"");
    shift_kept(&bed, 1800);
    let time = SystemTime::now() - Duration::from_secs(1799);
    let file = File::options().append(true).open(&bed.path).unwrap();
    file.set_times(FileTimes::new().set_modified(time)).unwrap();
    // A save of another notebook in between has no effect.
    let other = bed.scratch.write("other/nb.ipynb", crate::bed::notebook(&[]));
    crate::bed::add(&bed.store, &other, "x").unwrap();
    bed.add("c").unwrap();
    assert_eq!(bed.sources(), ["A", "b", "c"]);
}

#[test]
fn a_version_that_was_in_the_file_for_long_may_have_been_read() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let read = fs::read_to_string(&bed.path).unwrap();
    shift_kept(&bed, 1800);
    bed.add("c").unwrap();
    let other = bed.scratch.write("other/nb.ipynb", crate::bed::notebook(&[]));
    crate::bed::add(&bed.store, &other, "x").unwrap();
    fs::write(&bed.path, read.replace("\"a\"", "\"A\"")).unwrap();
    bed.add("d").unwrap();
    assert_eq!(bed.sources(), ["A", "b", "c", "d"]);
}

#[test]
fn only_sources_are_restored() {
    let bed = Bed::new(&["a", "b"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    let change = |notebook: &mut cellist_notebook::Notebook| {
        let output = cellist_output::Output::stream(cellist_output::StreamName::Stdout, "1\n");
        notebook.set_outputs(1, &[output], Some(1));
        notebook.set_cell_metadata(1, "tags", &serde_json::json!(["x"]));
        notebook.set_source(0, "ours");
        notebook.insert(2, cellist_notebook::CellType::Code, "c");
        let output = cellist_output::Output::stream(cellist_output::StreamName::Stdout, "2\n");
        notebook.set_outputs(2, &[output], Some(2));
        Ok(())
    };
    bed.store.change(&bed.path, Missing::Refuse, change).unwrap();
    fs::write(&bed.path, read.replace("\"b\"", "\"B\"")).unwrap();
    bed.add("d").unwrap();
    assert_eq!(bed.sources(), ["ours", "B", "c", "d"]);
    let text = fs::read_to_string(&bed.path).unwrap();
    assert!(!text.contains("tags") && !text.contains("stream") && !text.contains("\"execution_count\": 1"));
}

#[test]
fn the_restoring_change_wins_over_restored_sources() {
    let bed = Bed::new(&["a", "b"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    let set = |source: &str| {
        let change = |notebook: &mut cellist_notebook::Notebook| {
            notebook.set_source(0, source);
            Ok(())
        };
        bed.store.change(&bed.path, Missing::Refuse, change).unwrap()
    };
    set("ours");
    fs::write(&bed.path, read.replace("\"b\"", "\"B\"")).unwrap();
    let changed = set("ours again");
    assert_eq!(bed.sources(), ["ours again", "B"]);
    let [kept] = bed.recovered().try_into().unwrap();
    assert_eq!(crate::bed::sources(&kept), ["ours", "b"]);
    assert!(changed.notices[0].ends_with(&format!("is kept in {}", kept.display())), "{:?}", changed.notices);
}

#[test]
fn a_repeated_foreign_write_stands() {
    let bed = overwritten("\"A\"");
    let theirs = fs::read(&bed.path).unwrap();
    bed.add("c").unwrap();
    fs::write(&bed.path, theirs).unwrap();
    assert_eq!(bed.add("d").unwrap().notices, Vec::<String>::new());
    assert_eq!(bed.sources(), ["A", "d"]);
}

#[test]
fn several_overwritten_saves_are_restored() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let read = fs::read_to_string(&bed.path).unwrap();
    ["c", "d", "e"].into_iter().for_each(|source| drop(bed.add(source).unwrap()));
    fs::write(&bed.path, read.replace("\"a\"", "\"A\"")).unwrap();
    bed.add("f").unwrap();
    assert_eq!(bed.sources(), ["A", "b", "c", "d", "e", "f"]);
}

#[test]
fn sources_overwritten_during_a_save_are_restored() {
    let bed = Bed::new(&["a"]);
    let read = fs::read_to_string(&bed.path).unwrap();
    bed.add("b").unwrap();
    bed.add_while("c", || fs::write(&bed.path, read.replace("\"a\"", "\"A\"")).unwrap()).unwrap();
    assert_eq!(bed.sources(), ["A", "b", "c"]);
}

#[test]
fn a_foreign_edit_of_our_source_stands() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let read = fs::read_to_string(&bed.path).unwrap();
    fs::write(&bed.path, read.replace("\"b\"", "\"B\"")).unwrap();
    let changed = bed.add("c").unwrap();
    assert_eq!(changed.notices, Vec::<String>::new());
    assert_eq!(bed.sources(), ["a", "B", "c"]);
}

#[test]
fn a_program_that_renames_our_cells_has_read_them() {
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
fn a_replaced_file_restores_nothing() {
    // Like a git checkout: removes the old file and creates a new one.
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
fn an_exact_earlier_version_stands() {
    let bed = overwritten("\"a\"");
    assert_eq!(bed.add("c").unwrap().notices, Vec::<String>::new());
    assert_eq!(bed.sources(), ["a", "c"]);
}

#[test]
fn later_deletions_and_copied_files_stand() {
    for offset in [-3600, 16] {
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
fn in_a_conflict_theirs_stays_and_ours_goes_to_recovered() {
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
    let clash = "another program overwrote a change that it had not read; a later edit of the same lines wins, and \
                 the earlier version is kept in";
    assert_eq!(changed.notices, [mended(&bed, 1), format!("{clash} {}", kept.display())]);
}

#[test]
fn a_refused_change_is_not_restored() {
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
fn expired_versions_are_removed() {
    let bed = Bed::new(&["a"]);
    bed.add("b").unwrap();
    let folder = shift_kept(&bed, 7200);
    // A save of any notebook removes the expired versions of all.
    let other = bed.scratch.write("other/nb.ipynb", crate::bed::notebook(&[]));
    crate::bed::add(&bed.store, &other, "x").unwrap();
    assert!(!folder.exists());
}

/// Makes the kept versions of the only notebook older by some seconds. Returns their folder.
fn shift_kept(bed: &Bed, seconds: u64) -> PathBuf {
    let recent = bed.store.home().path().join("recent");
    let folder = recent.join(&crate::bed::names(&recent)[0]);
    for name in crate::bed::names(&folder) {
        let (at, rest) = name.split_once('-').unwrap();
        let earlier = at.parse::<u64>().unwrap() - seconds * 1_000_000_000;
        fs::rename(folder.join(&name), folder.join(format!("{earlier:020}-{rest}"))).unwrap();
    }
    folder
}
