//! Twenty processes and one program that knows of none of them, all changing one notebook.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::thread;

use serde_json::Value;

use crate::desk::{Desk, notebook, source};

const PROCESSES: usize = 20;
const CELLS: usize = 50;

/// Lines that the foreign program may change, one at each of its turns.
const TURNS: usize = 400;

#[test]
fn no_cell_and_no_foreign_edit_is_lost() {
    let desk = Desk::new();
    let lines: Vec<String> = (0..TURNS).map(|turn| format!("turn_{turn} = 'open'")).collect();
    let path = desk.write("nb.ipynb", notebook(&[&lines.join("\n"), "last"]));
    let progress = Progress::default();
    let foreign = thread::scope(|scope| {
        let foreign = scope.spawn(|| write_in_place(&path, &progress));
        let inserting: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let (desk, progress) = (&desk, &progress);
                scope.spawn(move || {
                    for number in 0..CELLS {
                        let source = format!("cell_{process}_{number}");
                        let ran = desk.run(&["cell", "insert", "nb.ipynb", "1", "--source", &source]);
                        progress.step();
                        assert_eq!(ran.exit, 0, "{}", ran.err);
                    }
                })
            })
            .collect();
        let finished: Vec<_> = inserting.into_iter().map(|thread| thread.join()).collect();
        progress.end();
        let foreign = foreign.join().unwrap();
        finished.into_iter().for_each(|thread| thread.unwrap());
        foreign
    });

    let sources = desk.sources();
    assert_eq!(sources.len(), PROCESSES * CELLS + 2);
    for process in 0..PROCESSES {
        for number in 0..CELLS {
            let wanted = format!("cell_{process}_{number}");
            let found = sources.iter().filter(|source| **source == wanted).count();
            assert_eq!(found, 1, "{wanted}");
        }
    }
    assert_eq!(foreign.turns, TURNS);
    for (turn, line) in sources[0].lines().enumerate() {
        assert_eq!(line, format!("turn_{turn} = 'done'"), "{foreign:?}");
    }
    assert_eq!(sources.last().unwrap(), "last");
    let strays: Vec<_> = fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(strays, ["nb.ipynb"]);
}

/// How many cells were inserted, so that the foreign program's turns are spread over all of them.
#[derive(Default)]
struct Progress {
    steps: Mutex<usize>,
    changed: Condvar,
}

impl Progress {
    fn step(&self) {
        *self.steps.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    /// Also after a failure, or the foreign program would wait for ever.
    fn end(&self) {
        *self.steps.lock().unwrap() = PROCESSES * CELLS;
        self.changed.notify_all();
    }

    fn wait_for(&self, steps: usize) {
        drop(self.changed.wait_while(self.steps.lock().unwrap(), |now| *now < steps).unwrap());
    }
}

/// How the foreign program fared.
#[derive(Debug, Default)]
struct Foreign {
    /// Edits that it made.
    turns: usize,
    /// How many of them it found in a file that had been put aside meanwhile.
    displaced: usize,
}

/// Changes the notebook as Jupyter does, without locks and in place: at each turn another line of its own cell.
fn write_in_place(path: &Path, progress: &Progress) -> Foreign {
    let mut foreign = Foreign::default();
    while foreign.turns < TURNS {
        progress.wait_for(foreign.turns * PROCESSES * CELLS / TURNS);
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(path) else { continue };
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        if !leads_to(path, &file) {
            continue;
        }
        let mut notebook: Value = serde_json::from_str(&text).unwrap();
        let cell = &mut notebook["cells"][0]["source"];
        let turn = foreign.turns;
        let edited = source(cell).replace(&format!("turn_{turn} = 'open'"), &format!("turn_{turn} = 'done'"));
        *cell = edited.split_inclusive('\n').collect::<Vec<_>>().into();
        let mut text = serde_json::to_string_pretty(&notebook).unwrap();
        text.push('\n');
        file.rewind().unwrap();
        file.set_len(0).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        foreign.turns += 1;
        if !leads_to(path, &file) {
            foreign.displaced += 1;
        }
    }
    foreign
}

/// Whether the path still leads to the file that was opened by it.
fn leads_to(path: &Path, file: &File) -> bool {
    fs::metadata(path).is_ok_and(|now| now.ino() == file.metadata().unwrap().ino())
}
