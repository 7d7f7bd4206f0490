//! `cellist man`.

use std::fs;

use crate::desk::Desk;

#[test]
fn every_command_has_a_page() {
    let desk = Desk::new();
    let said = desk.run(&["man", "--dir", "pages"]).ok();
    let pages: Vec<String> = fs::read_dir(desk.path().join("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(said, format!("Wrote {} pages to pages.\n", pages.len()));
    let help = desk.run(&["--help"]).ok();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut count = 1;
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        assert!(pages.contains(&format!("cellist-{command}.1")), "no page for {command}");
        count += 1;
    }
    assert_eq!(pages.len(), count, "{pages:?}");
}

#[test]
fn a_page_is_printed_and_a_command_that_is_none_is_refused() {
    let desk = Desk::new();
    let page = desk.run(&["man", "run"]).ok();
    assert!(page.contains(".TH cellist-run 1") && page.contains("\\-\\-allow\\-errors"), "{page}");
    assert!(desk.run(&["man"]).ok().contains("cellist\\-run"), "the commands are listed");
    assert!(desk.run(&["man", "nope"]).refused(2).contains("no such command: nope"));
}
