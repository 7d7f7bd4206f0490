//! Several of our processes change one notebook at the same time.

use std::process::Command;
use std::time::Duration;

use cellist_settings::Home;
use cellist_store::{ErrorKind, Store};

use crate::bed::{Bed, add, role, start};

#[test]
fn several_processes_lose_nothing() {
    let name = "locked::several_processes_lose_nothing";
    if let Some(role) = role() {
        let store = Store::new(Home::at(&role[0]));
        (0..10).for_each(|number| {
            add(&store, role[1].as_ref(), &format!("{} {number}", role[2])).unwrap();
        });
        return;
    }
    let bed = Bed::new(&[]);
    let home = bed.store.home().path().to_str().unwrap();
    let children: Vec<_> = (0..6)
        .map(|number| {
            let role = [home, bed.path.to_str().unwrap(), &number.to_string()];
            start(&mut Command::new("env"), name, &role)
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let mut found = bed.sources();
    found.sort();
    let mut expected: Vec<String> =
        (0..6).flat_map(|process| (0..10).map(move |number| format!("{process} {number}"))).collect();
    expected.sort();
    assert_eq!(found, expected);
    bed.assert_tidy();
}

#[test]
fn processes_with_different_state_folders_lose_nothing_either() {
    let name = "locked::processes_with_different_state_folders_lose_nothing_either";
    if let Some(role) = role() {
        let store = Store::new(Home::at(&role[0]));
        (0..20).for_each(|number| {
            add(&store, role[1].as_ref(), &format!("{} {number}", role[2])).unwrap();
        });
        return;
    }
    let bed = Bed::new(&[]);
    let children: Vec<_> = (0..2)
        .map(|number| {
            let home = bed.scratch.path().join(format!("home-{number}"));
            let role = [home.to_str().unwrap(), bed.path.to_str().unwrap(), &number.to_string()];
            start(&mut Command::new("env"), name, &role)
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(bed.sources().len(), 40);
    bed.assert_tidy();
}

#[test]
fn a_lock_timeout_names_the_holder() {
    let bed = Bed::new(&["a"]);
    let impatient = bed.store.clone().with_patience(Duration::from_millis(50));
    let mut errors = Vec::new();
    bed.add_while("b", || errors.push(add(&impatient, &bed.path, "c").unwrap_err())).unwrap();
    let (message, pid) = (errors[0].to_string(), std::process::id());
    let expected = format!("cannot be saved: another cellist process (pid {pid}) is changing it");
    assert_eq!(message, format!("{}: {expected}", bed.path.display()));
    assert_eq!(errors[0].kind(), ErrorKind::CannotSave);
    assert_eq!(errors[0].hint().unwrap(), "try again when it is done");
    // The process that timed out does not keep the lock.
    add(&impatient, &bed.path, "d").unwrap();
    assert_eq!(bed.sources(), ["a", "b", "d"]);
}

#[test]
fn reading_needs_no_lock() {
    let bed = Bed::new(&["a"]);
    let mut seen = 0;
    bed.add_while("b", || seen = bed.store.open(&bed.path).unwrap().notebook.cells().len()).unwrap();
    assert_eq!(seen, 1);
}
