//! Reads a file while another program writes it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use cellist_store::{ErrorKind, Missing};

use crate::bed::{Bed, make_old, notebook};

#[test]
fn a_read_waits_for_an_unfinished_write() {
    let bed = Bed::new(&["a"]);
    let whole = notebook(&["a", "b"]);
    fs::write(&bed.path, &whole[..whole.len() / 2]).unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(|| bed.store.open(&bed.path).unwrap());
        let writer = scope.spawn(|| {
            // Truncated and rewritten repeatedly; complete only at the end.
            for end in (0..whole.len()).step_by(whole.len() / 20) {
                fs::write(&bed.path, &whole[..end]).unwrap();
            }
            fs::write(&bed.path, &whole).unwrap();
        });
        writer.join().unwrap();
        assert_eq!(reader.join().unwrap().notebook.cells().len(), 2);
    });
}

#[test]
fn an_old_broken_file_is_an_error_at_once() {
    let bed = Bed::new(&["a"]);
    fs::write(&bed.path, "{\"cells\": [").unwrap();
    make_old(&bed.path);
    let start = Instant::now();
    let error = bed.store.open(&bed.path).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(error.kind(), ErrorKind::NotANotebook);
    assert!(error.to_string().starts_with(&format!("{}: invalid JSON at line 1", bed.path.display())));
}

#[test]
fn a_broken_file_is_an_error_after_two_seconds() {
    let bed = Bed::new(&["a"]);
    fs::write(&bed.path, "{\"cells\": [").unwrap();
    let start = Instant::now();
    let error = bed.add("b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotANotebook);
    let waited = start.elapsed();
    assert!(waited > Duration::from_millis(1500) && waited < Duration::from_secs(10), "{waited:?}");
    assert_eq!(fs::read(&bed.path).unwrap(), b"{\"cells\": [");
}

#[test]
fn a_change_can_start_from_a_missing_or_blank_file() {
    let bed = Bed::new(&["a"]);
    let (missing, blank) = (bed.folder().join("missing.ipynb"), bed.scratch.write("work/blank.ipynb", ""));
    make_old(&blank);
    for path in [missing, blank] {
        let changed = bed.store.change(&path, Missing::StartEmpty, |notebook| {
            notebook.insert(0, cellist_notebook::CellType::Markdown, "first");
            Ok(())
        });
        assert!(changed.unwrap().written);
        assert_eq!(crate::bed::sources(&path), ["first"]);
    }
    let unchanged = bed.folder().join("unchanged.ipynb");
    assert!(bed.store.change(&unchanged, Missing::StartEmpty, |_| Ok(())).unwrap().written);
    assert_eq!(crate::bed::sources(&unchanged), Vec::<String>::new());
}
