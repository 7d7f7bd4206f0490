//! Code typed and run on a terminal.

use testkit::Terminal;

use crate::bench::Backend;
use crate::screen;
use crate::sessions::Bed;

fn repl(bed: &Bed, more: &[&str]) -> Terminal {
    let flags = Backend::BareRunner.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    screen::open(&bed.desk, (70, 24), &[&["repl"], more, flags.as_slice()].concat(), &[])
}

#[test]
fn a_person_looks_into_the_session_that_others_work_in() {
    let bed = Bed::new(Backend::BareRunner);
    bed.start("answer = 41");
    let mut screen = repl(&bed, &["--session", "s"]);
    screen.wait_for(">>> ");
    screen.keys("answer + 1\r");
    screen.wait("it has run", |shown| shown.contains('✓') && shown.contains("  42"));
    // Completion and help come from the kernel.
    screen.keys("answ\t");
    screen.wait_for(">>> answer");
    screen.keys(" = 7\r");
    screen.wait("it has run", |shown| shown.matches('✓').count() == 2);
    assert_eq!(bed.exec("print(answer)")["text"], "7\n");
    screen.keys("len?\r");
    screen.wait_for("Return the number of items");
    screen.keys("%notebook kept.ipynb\r");
    screen.wait_for("saved 2 cells as kept.ipynb");
    screen.keys("\u{4}");
    let (exit, ended) = screen.end();
    assert_eq!(exit, 0, "{}", ended.raw);
    assert!(ended.is_restored);
    assert!(ended.screen.contains("│ answer + 1"), "what was run stays to be read:\n{}", ended.screen);
    assert!(bed.desk.text("kept.ipynb").contains("answer + 1"));
}

#[test]
fn what_runs_is_interrupted_and_its_session_goes_on() {
    let bed = Bed::new(Backend::BareRunner);
    let mut screen = repl(&bed, &["--standalone"]);
    screen.wait_for(">>> ");
    screen.keys("x = 5\r");
    screen.wait("it has run", |shown| shown.contains('✓'));
    // Interrupted while it runs, not before: its output says so.
    screen.keys("import time; print('go' * 2); time.sleep(600)\r");
    screen.wait_for("gogo");
    screen.keys("\u{3}");
    screen.wait_for("⊘ In[2] interrupted");
    screen.keys("x * 2\r");
    screen.wait("it has run", |shown| shown.matches('✓').count() == 2 && shown.contains("  10"));
    screen.keys("exit\r");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn a_program_that_prints_without_end_leaves_the_keys_alone() {
    let bed = Bed::new(Backend::BareRunner);
    let mut screen = repl(&bed, &["--standalone"]);
    screen.wait_for(">>> ");
    screen.keys("for i in range(100_000): print('line', i)\r\r");
    screen.keys("typed = 1");
    screen.wait_for("typed = 1");
    // How it was cut is said when it has ended.
    screen.wait_for("artifact://");
    screen.keys("\u{3}\u{4}");
    assert_eq!(screen.end().0, 0);
}
