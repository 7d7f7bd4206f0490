//! Status lines: shown on a terminal during long steps, erased afterwards, never in a pipe.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::bench::bare_python;
use crate::desk::Desk;
use crate::screen;

/// A Python in `slow` that starts when there is a file `go`.
fn slow_python(desk: &Desk) {
    let python = bare_python();
    let script =
        format!("#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\nexec {} \"$@\"\n", python.display());
    let slow = desk.write("slow", script);
    fs::set_permissions(slow, Permissions::from_mode(0o755)).unwrap();
}

const EXEC: [&str; 7] =
    ["exec", "--standalone", "--backend", "runner", "--python", "./slow", "print('done', 'now')"];

#[test]
fn a_kernel_that_starts_slowly_is_waited_for_with_a_word_that_goes_again() {
    let desk = Desk::new();
    slow_python(&desk);
    let terminal = screen::open(&desk, (30, 10), &EXEC, &[("NO_COLOR", "1")]);
    terminal.wait("what is waited for", |shown| shown.contains("starting Python…") && shown.contains("1 s"));
    desk.write("go", "");
    let (exit, ended) = terminal.end();
    assert_eq!(exit, 0, "{}", ended.raw);
    assert!(ended.screen.contains("done now") && !ended.screen.contains("starting"), "{}", ended.screen);
}

#[test]
fn an_interrupt_while_something_is_waited_for_leaves_a_clean_line() {
    let desk = Desk::new();
    slow_python(&desk);
    let mut terminal = screen::open(&desk, (80, 10), &EXEC, &[]);
    terminal.wait_for("starting Python…");
    terminal.keys("\u{3}");
    let (exit, ended) = terminal.end();
    assert_eq!(exit, 130, "{}", ended.raw);
    assert!(ended.screen.contains("error: interrupted before anything ran"), "{}", ended.screen);
    assert!(!ended.screen.contains("starting"), "{}", ended.screen);
}

#[test]
fn a_pipe_gets_no_word_of_what_is_waited_for() {
    let desk = Desk::new();
    slow_python(&desk);
    // Long enough for a word on a terminal.
    desk.write("code.py", "import time\ntime.sleep(1)\nprint('done')");
    desk.write("go", "");
    let ran = desk.run(&["exec", "--backend", "runner", "--python", "./slow", "-f", "code.py"]);
    assert_eq!((ran.exit, ran.out.as_slice()), (0, &b"done\n"[..]), "{}", ran.err);
    assert!(!ran.err.contains('…') && !ran.err.contains('\u{1b}'), "{}", ran.err);
}
