//! Standard input and output that are closed, endless, not text, or a terminal.

use std::io::{Read, Write};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::desk::{Desk, Ran};

#[test]
fn a_reader_that_has_enough_ends_the_output_quietly() {
    let desk = Desk::new();
    desk.fixture("valid/source-5000-lines");
    for arguments in [&["read", "nb.ipynb"][..], &["read", "nb.ipynb", "--json"], &["--help"]] {
        let mut child =
            desk.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0];
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut first).unwrap();
        drop(pipe);
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_change_is_made_though_nobody_reads_its_result() {
    let desk = Desk::with(&["x"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = desk.command(&["cell", "insert", "nb.ipynb", "0", "--source", "y"]);
    let status = command.stdout(writer).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(desk.sources(), ["y", "x"]);
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() {
    let desk = Desk::with(&["x"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = desk.command(&["read", "nb.ipynb"]);
    let ran = Ran::of(command.stdout(full));
    assert_snapshot!(ran.refused(4), @"error: standard output: the disk is full");
}

#[test]
fn input_that_is_not_utf8_is_refused_with_its_place() {
    let desk = Desk::with(&["x"]);
    let bytes = desk.read("nb.ipynb");
    assert_snapshot!(desk.feed(&["write", "nb.ipynb"], b"# %% [code]\n\xff\n").refused(2), @"error: standard input: not UTF-8: invalid byte at line 2, offset 12");
    assert_snapshot!(desk.feed(&["cell", "edit", "nb.ipynb", "0"], b"a\n\nb\xe9").refused(2), @"error: standard input: not UTF-8: invalid byte at line 3, offset 4");
    assert_snapshot!(desk.feed(&["cell", "batch", "nb.ipynb"], b"\x80").refused(2), @"error: standard input: not UTF-8: invalid byte at line 1, offset 0");
    desk.write("latin", b"caf\xe9");
    assert_snapshot!(desk.run(&["write", "nb.ipynb", "latin"]).refused(2), @"error: latin: not UTF-8: invalid byte at line 1, offset 3");
    assert_snapshot!(desk.feed(&["write", "nb.ipynb:raw"], b"{\"\xff").refused(2), @"error: standard input: not UTF-8: invalid byte at line 1, offset 2");
    assert_eq!(desk.read("nb.ipynb"), bytes);
}

#[test]
fn endless_input_is_refused() {
    let desk = Desk::with(&["x"]);
    let mut command = desk.command(&["cell", "edit", "nb.ipynb", "0"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let piece = vec![b'x'; 1 << 20];
    while input.write_all(&piece).is_ok() {}
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert_snapshot!(String::from_utf8(done.stderr).unwrap(), @"error: standard input is larger than 512 MiB");
    assert_eq!(desk.sources(), ["x"]);
}

#[test]
fn content_that_text_may_hold_just_works() {
    let desk = Desk::with(&["x"]);
    let source = "a\0b\u{1b}[31m\u{feff}\u{2028}\r\nc\td\u{7f}";
    desk.feed(&["write", "nb.ipynb"], format!("# %% [code] cell:0\n{source}\n")).ok();
    assert_eq!(desk.sources(), [source]);
    assert_eq!(desk.run(&["read", "nb.ipynb"]).ok(), format!("# %% [code] cell:0\n{source}\n"));
}

#[test]
fn a_terminal_on_standard_input_is_missing_content() {
    let desk = Desk::with(&["x"]);
    for (arguments, expected) in [
        ("cell edit nb.ipynb 0", "error: `edit` needs content"),
        ("cell insert nb.ipynb 0", "error: `insert` needs content"),
        ("write nb.ipynb", "error: `write` needs content"),
        ("cell batch nb.ipynb", "error: `batch` needs content"),
    ] {
        let said = on_a_terminal(&desk, arguments);
        assert!(said.starts_with(expected), "{said}");
        assert!(said.contains("hint: "), "{said}");
    }
}

#[test]
fn a_terminal_gets_colours_and_no_color_takes_them_away() {
    let desk = Desk::with(&["x"]);
    desk.write("other.ipynb", crate::desk::notebook(&["y"]));
    let coloured = on_a_terminal(&desk, "diff nb.ipynb other.ipynb");
    assert!(coloured.contains("\x1b[31m-x\x1b[m\r\n\x1b[32m+y\x1b[m"), "{coloured:?}");
    let arguments = ["diff", "nb.ipynb", "other.ipynb"];
    let plain = desk.run(&arguments).out;
    assert!(!plain.contains(&0x1b));
    let always = desk.run(&[&arguments[..], &["--color", "always"]].concat()).out;
    assert!(always.contains(&0x1b));
    let told = Ran::of(desk.command(&arguments).env("GIT_PAGER_IN_USE", "true")).out;
    assert_eq!(told, always);
    let asked = Ran::of(desk.command(&arguments).env("GIT_PAGER_IN_USE", "true").env("NO_COLOR", "1")).out;
    assert_eq!(asked, plain);
}

#[test]
fn what_a_notebook_holds_does_not_take_over_the_terminal() {
    let desk = Desk::with(&["a\u{1b}[2Jb\r\tc"]);
    let shown = on_a_terminal(&desk, "read nb.ipynb");
    assert_eq!(shown, "# %% [code] cell:0\r\na^[[2Jb^M\tc\r\n");
}

/// Runs the binary on its own terminal and returns the screen.
fn on_a_terminal(desk: &Desk, arguments: &str) -> String {
    const RUN: &str = "
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b''
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
";
    let mut python = std::process::Command::new(testkit::python("nbformat"));
    python.args(["-c", RUN, env!("CARGO_BIN_EXE_cellist")]).args(arguments.split(' '));
    desk.prepare(&mut python);
    python.env("TERM", "xterm");
    Ran::of(&mut python).ok()
}
