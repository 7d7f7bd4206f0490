//! Many of our processes insert cells into one notebook while a program without locks writes it
//! too.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cellist_notebook::{CellType, Ids, Notebook};
use cellist_settings::Home;
use cellist_store::Store;

use crate::bed::{Bed, add, role, say, start};

/// Waits for `pause` changes of the notebook, then edits the content it has read and writes it in
/// place. Repeats, and returns the number of writes.
fn write_beside(
    path: &Path,
    over: &AtomicBool,
    pause: usize,
    change: impl Fn(&mut Notebook, usize),
) -> usize {
    let (mut written, mut seen) = (0, Vec::new());
    let mut news = 0;
    while !over.load(Ordering::Relaxed) {
        // We leave no half-written file, so a parse never fails.
        let bytes = fs::read(path).unwrap();
        news += usize::from(bytes != seen);
        if news < pause {
            seen = bytes;
            thread::yield_now();
            continue;
        }
        news = 0;
        let mut notebook = Notebook::parse(bytes, Ids::seeded(1_000_000 + written as u64)).unwrap();
        change(&mut notebook, written);
        seen = notebook.to_bytes();
        fs::write(path, &seen).unwrap();
        written += 1;
    }
    written
}

fn insert_cells(role: &[String]) {
    let store = Store::new(Home::at(&role[0]));
    for number in 0..role[3].parse().unwrap() {
        add(&store, role[1].as_ref(), &format!("cell {} {number}", role[2])).unwrap();
    }
}

/// Runs processes that insert cells. Returns the sources that are not ours, and the number of
/// foreign writes. Fails if a source of ours is lost.
fn work(
    test: &str,
    processes: usize,
    cells: usize,
    pause: usize,
    change: impl Fn(&mut Notebook, usize) + Sync,
) -> (Vec<String>, usize) {
    let bed = Bed::new(&["theirs"]);
    let over = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let other = scope.spawn(|| write_beside(&bed.path, &over, pause, &change));
        let home = bed.store.home().path().to_str().unwrap();
        let children: Vec<_> = (0..processes)
            .map(|number| {
                let role = [home, bed.path.to_str().unwrap(), &number.to_string(), &cells.to_string()];
                start(&mut Command::new("env"), test, &role)
            })
            .collect();
        let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        for output in outputs {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        other.join().unwrap()
    });
    // The foreign program may have written last.
    bed.add("last").unwrap();
    let (mut ours, theirs): (Vec<String>, Vec<String>) =
        (bed.sources().into_iter().filter(|source| source != "last"))
            .partition(|source| source.starts_with("cell "));
    let mut expected: Vec<String> = (0..processes)
        .flat_map(|process| (0..cells).map(move |number| format!("cell {process} {number}")))
        .collect();
    expected.sort();
    ours.sort();
    let lost: Vec<&String> = expected.iter().filter(|source| !ours.contains(source)).collect();
    assert_eq!(lost, Vec::<&String>::new());
    assert_eq!(ours, expected);
    bed.assert_tidy();
    say(&format!("{} cells of ours beside {written} writes", ours.len()));
    (theirs, written)
}

#[test]
fn twenty_processes_beside_a_program_that_edits_a_cell_lose_nothing() {
    if let Some(role) = role() {
        return insert_cells(&role);
    }
    let test = "crowd::twenty_processes_beside_a_program_that_edits_a_cell_lose_nothing";
    let (theirs, written) = work(test, 20, 50, 3, |notebook, number| {
        let at = notebook.cells().iter().position(|cell| cell.source().starts_with("theirs")).unwrap();
        notebook.set_source(at, &format!("theirs {number}"));
    });
    assert_eq!(theirs, [format!("theirs {}", written - 1)]);
}

#[test]
fn a_program_that_never_stops_writing_does_not_keep_us_from_saving() {
    if let Some(role) = role() {
        return insert_cells(&role);
    }
    let test = "crowd::a_program_that_never_stops_writing_does_not_keep_us_from_saving";
    let (theirs, written) = work(test, 4, 10, 0, |notebook, number| {
        let at = notebook.cells().iter().position(|cell| cell.source().starts_with("theirs")).unwrap();
        notebook.set_source(at, &format!("theirs {number}"));
    });
    assert_eq!(theirs, [format!("theirs {}", written - 1)]);
}

#[test]
fn several_processes_beside_a_program_that_adds_cells_lose_nothing() {
    if let Some(role) = role() {
        return insert_cells(&role);
    }
    let test = "crowd::several_processes_beside_a_program_that_adds_cells_lose_nothing";
    let (mut theirs, written) = work(test, 8, 20, 3, |notebook, number| {
        notebook.insert(0, CellType::Markdown, &format!("theirs {number:05}"));
    });
    theirs.sort();
    let mut expected = vec!["theirs".to_owned()];
    expected.extend((0..written).map(|number| format!("theirs {number:05}")));
    assert_eq!(theirs, expected);
}
