//! A process is killed while it saves. The notebook must be the old or the new one, complete.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use cellist_settings::Home;
use cellist_store::{Missing, Store};
use testkit::wait_until;

use crate::bed::{Bed, notebook, role, say, start, temporaries};

fn set(store: &Store, path: &Path, number: usize) {
    let set = store.change(path, Missing::Refuse, |notebook| {
        notebook.set_source(0, &number.to_string());
        Ok(())
    });
    set.unwrap();
}

/// Saves in a loop until killed. The first cell has the number of the save.
fn save_for_ever(role: &[String]) {
    let (store, path) = (Store::new(Home::at(&role[0])), Path::new(&role[1]));
    say("ready");
    for number in 1.. {
        set(&store, path, number);
    }
}

/// A notebook that takes long to write, with a number in its first cell.
struct Template {
    before: String,
    after: String,
}

impl Template {
    fn new() -> Template {
        let line = "x".repeat(78) + "\\n";
        let stream = format!(
            "\"outputs\": [{{\"name\": \"stdout\", \"output_type\": \"stream\", \"text\": \"{}\"}}]",
            line.repeat(20_000)
        );
        let text = notebook(&["number", "print()"]);
        let at = text.rfind("\"outputs\": []").unwrap();
        let text = format!("{}{stream}{}", &text[..at], &text[at + "\"outputs\": []".len()..]);
        let (before, after) = text.split_once("number").unwrap();
        Template { before: before.to_owned(), after: after.to_owned() }
    }

    /// The number in a file, if the file is complete.
    fn number(&self, path: &Path) -> Option<usize> {
        let text = fs::read_to_string(path).ok()?;
        text.strip_prefix(&self.before)?.strip_suffix(&self.after)?.parse().ok()
    }
}

/// Kills processes until `enough` of them died during a save. `has_trace` tells whether a save was
/// at work.
fn kill_again_and_again(
    test: &str,
    bed: &Bed,
    template: &Template,
    enough: usize,
    has_trace: impl Fn() -> bool,
    is_in_the_middle: impl Fn() -> bool,
) {
    let home = bed.store.home().path().to_str().unwrap();
    let (mut counted, mut kills) = (0, 0_u32);
    while counted < enough {
        assert!(kills < 1000, "only {counted} of {kills} kills were in the middle of a save");
        let mut child = start(&mut Command::new("env"), test, &[home, bed.path.to_str().unwrap()]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")));
        // One kill in four comes at a random time, the others during a save. No test waits for this
        // sleep.
        let moment = if kills.is_multiple_of(4) {
            100_000
        } else {
            wait_until("a save is at work", &has_trace);
            6_000
        };
        sleep(Duration::from_micros(u64::from(kills.wrapping_mul(2_654_435_761) % moment)));
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        counted += usize::from(is_in_the_middle());
        set(&bed.store, &bed.path, 0);
        assert_eq!(template.number(&bed.path), Some(0));
        assert!(!has_trace(), "something is left after the next save");
        assert_eq!(bed.recovered(), Vec::<PathBuf>::new());
    }
    testkit::assert_valid(&bed.path);
    say(&format!("{counted} of {kills} kills were in the middle of a save"));
}

#[test]
fn a_killed_save_leaves_the_old_or_the_new_notebook() {
    if let Some(role) = role() {
        return save_for_ever(&role);
    }
    let (bed, template) = (Bed::new(&[]), Template::new());
    fs::write(&bed.path, format!("{}0{}", template.before, template.after)).unwrap();
    testkit::assert_valid(&bed.path);
    let is_before_the_exchange = || {
        let number = template.number(&bed.path).expect("the notebook is whole after a kill");
        let temporaries = temporaries(bed.folder());
        // After the exchange the temporary file has the old content.
        temporaries
            .iter()
            .any(|name| template.number(&bed.folder().join(name)).is_none_or(|temporary| temporary > number))
    };
    kill_again_and_again(
        "killed::a_killed_save_leaves_the_old_or_the_new_notebook",
        &bed,
        &template,
        50,
        || !temporaries(bed.folder()).is_empty(),
        is_before_the_exchange,
    );
    bed.assert_tidy();
}

#[test]
fn a_killed_save_in_place_leaves_the_old_version_or_is_completed() {
    if let Some(role) = role() {
        return save_for_ever(&role);
    }
    let (bed, template) = (Bed::new(&[]), Template::new());
    fs::write(&bed.path, format!("{}0{}", template.before, template.after)).unwrap();
    fs::hard_link(&bed.path, bed.scratch.path().join("other.ipynb")).unwrap();
    let locks = bed.store.home().path().join("locks");
    let is_noted = || {
        let Ok(mut entries) = fs::read_dir(&locks) else { return false };
        entries.any(|entry| fs::read_to_string(entry.unwrap().path()).unwrap().contains("\"in_place\":true"))
    };
    let in_the_middle = || {
        let noted = is_noted();
        // The next open repairs the file.
        bed.store.open(&bed.path).unwrap();
        assert!(template.number(&bed.path).is_some());
        noted
    };
    kill_again_and_again(
        "killed::a_killed_save_in_place_leaves_the_old_version_or_is_completed",
        &bed,
        &template,
        25,
        is_noted,
        in_the_middle,
    );
}
