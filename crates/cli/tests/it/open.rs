//! `cellist open`: the link to the page of a notebook.

use crate::desk::Desk;

#[test]
fn opening_a_path_that_does_not_exist_makes_an_empty_notebook() {
    let desk = Desk::new();
    let made = desk.json(&["open", "--no-browser", "fresh.ipynb"]);
    assert_eq!(made["made"], true, "{made}");
    assert!(made["link"].as_str().unwrap().contains("fresh.ipynb"), "{made}");
    let first = desk.read("fresh.ipynb");
    testkit::validate_bytes(&first).unwrap();
    let again = desk.json(&["open", "--no-browser", "fresh.ipynb"]);
    assert_eq!(again["made"], false, "{again}");
    assert_eq!(desk.read("fresh.ipynb"), first);
    let told = desk.run(&["open", "--no-browser", "other.ipynb"]).ok();
    assert!(told.starts_with("Created other.ipynb: an empty notebook of format 4.5\n"), "{told}");
}

#[test]
fn opening_makes_no_folder_and_no_notebook_under_another_name() {
    let desk = Desk::new();
    for (path, told) in [("missing/fresh.ipynb", "missing"), ("fresh.txt", "must end in .ipynb")] {
        let refused = desk.run(&["open", "--no-browser", path]).refused(2);
        assert!(refused.contains(told), "{refused}");
        assert!(!desk.path().join(path).exists());
    }
}
