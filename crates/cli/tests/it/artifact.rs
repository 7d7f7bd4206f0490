//! `cellist artifact`, and artifacts in `cellist read`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use cellist_settings::Home;
use cellist_store::artifact::{ArtifactOrigin, Artifacts, Retention};
use insta::assert_snapshot;

use crate::desk::{Desk, Ran};

impl Desk {
    /// Keeps an output and returns the id of its artifact.
    pub(crate) fn artifact(&self, what: &str, bytes: &[u8]) -> String {
        let artifacts = Artifacts::new(&Home::at(self.state()), Retention::default());
        let mut writer =
            artifacts.begin(ArtifactOrigin { what: what.into(), ..ArtifactOrigin::default() }, 0);
        writer.write(bytes.to_vec());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(writer.finish()).id.unwrap().to_string()
    }
}

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn a_part_is_chosen_by_lines_tail_or_search() {
    let desk = Desk::new();
    let id = desk.artifact("many lines", numbered(1000).as_bytes());
    let read = |arguments: &[&str]| desk.run(&[&["artifact", "read", &id], arguments].concat());
    assert_eq!(read(&[]).ok(), numbered(1000));
    assert_eq!(read(&["--lines", "5-6"]).ok(), "line 5\nline 6\n");
    assert_eq!(read(&["--lines", "1,999-"]).ok(), "line 1\nline 999\nline 1000\n");
    assert_eq!(read(&["--tail", "2"]).ok(), "line 999\nline 1000\n");
    assert_eq!(read(&["--search", "^line 10.$"]).ok().lines().count(), 10);
    assert_snapshot!(read(&["--search", "99", "--max", "2"]).all(), @r"
    99:line 99
    199:line 199
    --- stderr
    note: 19 of 1000 lines match, showing the first 2; use --max N for more
    --- exit 0
    ");
    assert_snapshot!(read(&["--search", "nothing"]).all(), @r"
    --- stderr
    note: no match in 1000 lines
    --- exit 0
    ");
    let address = format!("artifact://{id}");
    assert_eq!(desk.run(&["read", &address]).ok(), numbered(1000));
    assert_eq!(desk.run(&["read", &format!("{address}:7-8")]).ok(), "line 7\nline 8\n");
    assert_eq!(desk.run(&["artifact", "read", &address, "--tail", "1"]).ok(), "line 1000\n");
}

#[test]
fn a_pipe_and_a_file_get_the_very_bytes() {
    let desk = Desk::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let id = desk.artifact("bytes", &bytes);
    assert_eq!(desk.run(&["artifact", "read", &id]).out, bytes);
    let said = desk.run(&["artifact", "read", &id, "-o", "all.bin"]).ok();
    assert_eq!(said, "wrote 100000 bytes to all.bin\n");
    assert_eq!(desk.read("all.bin"), bytes);
    // A failed read leaves the file unchanged.
    let refused = desk.run(&["artifact", "read", &id, "--lines", "9999999", "-o", "all.bin"]).refused(2);
    assert!(refused.contains("out of range"), "{refused}");
    assert_eq!(desk.read("all.bin"), bytes);
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let desk = Desk::new();
    let id = desk.artifact("long", numbered(200_000).as_bytes());
    let mut command = desk.command(&["artifact", "read", &id]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), String::from_utf8(done.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_list_shows_the_newest_first() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["artifact", "list"]).all(), @r"
    --- stderr
    note: no artifacts
    --- exit 0
    ");
    let first = desk.artifact("print(1)", b"1\n");
    let second = desk.artifact("train()", numbered(5000).as_bytes());
    // An artifact is held for a moment after its last byte.
    let deadline = Instant::now() + Duration::from_secs(60);
    let listed = loop {
        let listed = desk.run(&["artifact", "list"]).ok();
        if !listed.contains("being written") || Instant::now() > deadline {
            break listed;
        }
    };
    let expected = format!(
        "{second}  train()  47.7 KiB · 5000 lines · just now\n{first}  print(1)  2 bytes · 1 line · just now\n"
    );
    // Two of one millisecond have no order.
    let mut lines: [Vec<&str>; 2] = [listed.lines().collect(), expected.lines().collect()];
    lines.iter_mut().for_each(|lines| lines.sort_unstable());
    assert_eq!(lines[0], lines[1]);
    let json = desk.json(&["artifact", "list"]);
    let rows = json["artifacts"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for key in ["id", "path", "bytes", "lines", "created_ms", "is_whole", "what", "session", "notebook"] {
        assert!(rows[0].get(key).is_some(), "{key}");
    }
}

#[test]
fn json_holds_a_part_and_says_what_it_left_out() {
    let desk = Desk::new();
    let id = desk.artifact("long", "x".repeat(1_100_000).as_bytes());
    let json = desk.json(&["artifact", "read", &id]);
    assert_eq!(json["text"].as_str().unwrap().len(), 1024 * 1024);
    assert_eq!(json["left_out_bytes"], 1_100_000 - 1024 * 1024);
    let found = desk.json(&["artifact", "read", &id, "--search", "x"]);
    assert_eq!((found["matching_lines"].as_u64(), found["hits"][0]["line"].as_u64()), (Some(1), Some(1)));
}

#[test]
fn what_cannot_be_read_is_said() {
    let desk = Desk::new();
    let id = desk.artifact("short", b"one\ntwo\n");
    let mut told = String::new();
    for arguments in [
        &["artifact", "read", "nonsense!"][..],
        &["artifact", "read", "01234567"],
        &["artifact", "read", &id, "--lines", "2-3"],
        &["artifact", "read", &id, "--lines", "two"],
        &["artifact", "read", &id, "--search", "["],
        &["read", "artifact://../x"],
    ] {
        told.push_str(&desk.run(arguments).refused(2).replace(&id, "ID"));
    }
    assert_snapshot!(told, @r"
    error: `nonsense!` is not the id of an artifact
    hint: use an id from `cellist artifact list`: eight letters and digits
    error: artifact 01234567 does not exist
    hint: it may have expired; `cellist artifact list` shows all artifacts
    error: lines 2-3 are out of range: artifact ID has 2 lines
    hint: lines 1-2 can be read
    error: `two` is not a range of lines
    hint: use 5-9, 5- or several ranges: 5-9,30-44
    error: `[` is not a regular expression: unclosed character class
    hint: put a backslash before special characters to match them literally
    error: `../x` is not the id of an artifact
    hint: use an id from `cellist artifact list`: eight letters and digits
    ");
}

#[test]
fn a_terminal_is_not_taken_over() {
    let desk = Desk::new();
    let id = desk.artifact("rude", b"\x1b]0;title\x07\x1b[2Jcleared 10%\r100%\n\x1b[31mred\x1b[0m");
    let mut command = std::process::Command::new("script");
    let program = format!("{} artifact read {id}", env!("CARGO_BIN_EXE_cellist"));
    command.args(["-qec", &program, "/dev/null"]);
    desk.prepare(&mut command);
    let ran = Ran::of(command.env("NO_COLOR", "1"));
    assert_eq!(String::from_utf8_lossy(&ran.out), "100%red 10%\r\nred\r\n");
}
