use cellist_output::{Ansi, Limits, LineRange, Part, Shown, Sink, Truncation};
use insta::assert_snapshot;

fn sink(max_bytes: usize, max_lines: usize, head_bytes: usize) -> Sink {
    Sink::new(Limits { max_bytes, max_lines, cut_lines: max_lines, head_bytes }, Ansi::Remove)
}

fn numbered(count: usize) -> String {
    (1..=count).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn text_within_the_limits_is_shown_as_it_is() {
    let mut sink = sink(100, 10, 20);
    sink.push(b"a\nb");
    assert_eq!(sink.finish(Some("7")), Shown { text: "a\nb".into(), truncated: None });
}

#[test]
fn text_over_the_line_limit_keeps_head_and_tail_and_says_what_was_cut() {
    let mut sink = sink(1000, 5, 400);
    sink.push(numbered(100).as_bytes());
    let shown = sink.finish(Some("7"));
    assert_snapshot!(shown.text, @r"
    line 1
    line 2
    […]
    line 98
    line 99
    line 100
    [Output cut: 5 of 100 lines and 39 of 792 bytes are shown, lines 1-2 and 98-100. All of it: artifact://7]
    ");
    assert_eq!(
        shown.truncated,
        Some(Truncation {
            total_lines: 100,
            shown_lines: 5,
            total_bytes: 792,
            shown_bytes: 39,
            head: Some(LineRange { first: 1, last: 2 }),
            tail: Some(LineRange { first: 98, last: 100 }),
        })
    );
}

#[test]
fn text_over_the_byte_limit_is_cut_at_line_ends_where_they_are_near() {
    let mut sink = sink(100, 1000, 30);
    sink.push(numbered(100).as_bytes());
    assert_snapshot!(sink.finish(None).text, @r"
    line 1
    line 2
    line 3
    line 4
    […]
    line 93
    line 94
    line 95
    line 96
    line 97
    line 98
    line 99
    line 100
    [Output cut: 12 of 100 lines and 93 of 792 bytes are shown, lines 1-4 and 93-100.]
    ");
}

#[test]
fn one_long_line_is_cut_between_characters() {
    let mut sink = sink(40, 10, 11);
    sink.push("é".repeat(1000).as_bytes());
    assert_snapshot!(sink.finish(Some("7")).text, @r"
    ééééé
    […]
    ééééééééééééééé
    [Output cut: 1 of 1 lines and 40 of 2000 bytes are shown, the ends of line 1. All of it: artifact://7]
    ");
}

#[test]
fn a_progress_bar_of_many_megabytes_is_one_short_line() {
    let mut sink = sink(1000, 10, 100);
    for step in 0..100_000 {
        sink.push(format!("\r{step:>6} |█████     |").as_bytes());
    }
    sink.push(b"\n");
    assert_eq!(sink.total_lines(), 1);
    let shown = sink.finish(None);
    assert_eq!((shown.text.as_str(), shown.truncated), (" 99999 |█████     |\n", None));
}

#[test]
fn a_block_stands_on_lines_of_its_own_and_the_artifact_gets_the_same() {
    let mut sink = sink(1000, 100, 100);
    let mut artifact = String::from("no line end");
    sink.push(artifact.as_bytes());
    artifact += &sink.block("a display", None);
    artifact += &sink.block("another\n", None);
    artifact += &sink.block("", None);
    sink.push(b"more");
    artifact += "more";
    assert_eq!(artifact, "no line end\na display\nanother\nmore");
    assert_eq!(sink.total_bytes(), artifact.len() as u64);
    assert_eq!(sink.finish(None).text, artifact);
}

#[test]
fn a_block_does_not_inherit_what_a_stream_left_unfinished() {
    let mut sink = Sink::new(Limits::default(), Ansi::KeepColour);
    sink.push(b"\x1b[31mred\x1b]0;open\xe2");
    sink.block("plain", None);
    assert_eq!(sink.finish(None).text, "\x1b[0;31mred\x1b[0m\nplain\n");
}

#[test]
fn clearing_removes_the_text_and_keeps_the_artifacts_line_numbers() {
    let mut sink = sink(1000, 3, 0);
    sink.push(b"1\n2\n3\n4\n5\n");
    sink.clear(false);
    assert_eq!(sink.snapshot(None), Shown::default());
    sink.push(b"6\n7\n8\n9\n10\n");
    assert_snapshot!(sink.finish(None).text, @r"
    […]
    8
    9
    10
    [Output cut: 3 of 10 lines and 7 of 21 bytes are shown, lines 8-10.]
    ");
}

#[test]
fn clearing_with_wait_happens_when_more_comes() {
    let mut sink = sink(1000, 100, 0);
    sink.push(b"old");
    sink.clear(true);
    assert_eq!(sink.snapshot(None).text, "old");
    sink.push(b"");
    assert_eq!(sink.snapshot(None).text, "old");
    sink.push(b"new");
    assert_eq!(sink.finish(None).text, "new");
}

#[test]
fn a_block_after_a_clear_has_no_blank_line_before_it() {
    let mut sink = sink(1000, 100, 0);
    sink.push(b"no line end");
    sink.clear(false);
    assert_eq!(sink.block("display", None), "\ndisplay\n");
    assert_eq!(sink.finish(None).text, "display\n");
}

#[test]
fn an_update_replaces_a_display_where_it_stands() {
    let mut sink = sink(1000, 100, 0);
    sink.push(b"before\n");
    sink.block("step 1", Some("x"));
    sink.push(b"between\n");
    sink.block("step 1", Some("x"));
    sink.push(b"after\n");
    assert_eq!(sink.update("x", "step\n2"), "step\n2\n");
    sink.update("unknown", "nothing");
    assert_eq!(sink.finish(None).text, "before\nstep\n2\nbetween\nstep\n2\nafter\n");
}

#[test]
fn a_display_without_text_can_be_given_some() {
    let mut sink = sink(1000, 100, 0);
    sink.block("", Some("x"));
    sink.push(b"after\n");
    sink.update("x", "now");
    assert_eq!(sink.finish(None).text, "now\nafter\n");
}

#[test]
fn line_numbers_are_those_of_the_artifact_after_updates_too() {
    let mut sink = sink(10_000, 4, 0);
    let mut artifact = sink.block("one line", Some("x"));
    for step in 0..5 {
        artifact += &sink.update("x", &format!("step\n{step}"));
    }
    let more = numbered(20);
    artifact += &more;
    sink.push(more.as_bytes());
    artifact += &sink.update("x", "end");
    let shown = sink.finish(None);
    let tail = shown.truncated.and_then(|cut| cut.tail).unwrap();
    let first = artifact.lines().nth(usize::try_from(tail.first).unwrap() - 1);
    assert_eq!((first, shown.text.lines().nth(1)), (Some("line 17"), Some("line 17")));
    let last = artifact.lines().nth(usize::try_from(tail.last).unwrap() - 1);
    assert_eq!(last, Some("line 20"));
    assert_eq!(shown.truncated.unwrap().total_lines, artifact.lines().count() as u64);
}

#[test]
fn an_update_of_a_display_long_gone_changes_nothing_shown() {
    let mut sink = sink(100, 100, 0);
    sink.block("display", Some("x"));
    sink.push(numbered(1000).as_bytes());
    let before = sink.snapshot(None).text;
    sink.update("x", "new");
    let (before, after) = (before.lines().nth(1).map(str::to_owned), sink.snapshot(None).text);
    assert_eq!(before.as_deref(), after.lines().nth(1));
}

#[test]
fn colours_are_never_cut_in_two() {
    for max_bytes in 40..140 {
        let limits = Limits { head_bytes: max_bytes / 3, ..Limits::new(max_bytes, 1000) };
        let mut sink = Sink::new(limits, Ansi::KeepColour);
        for step in 0..100 {
            sink.push(format!("\x1b[1;38;2;{step};2;3m{step}").as_bytes());
        }
        let shown = sink.finish(None).text;
        for part in shown.split('\u{1b}').skip(1) {
            let params = part.strip_prefix('[').unwrap();
            assert!(
                params.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'),
                "{shown:?}"
            );
        }
        for line in shown.lines().filter(|line| line.starts_with('[')) {
            assert!(line.starts_with("[…]") || line.starts_with("[Output cut"), "{shown:?}");
        }
    }
}

#[test]
fn limits_of_nothing_show_only_the_notice() {
    for (max_bytes, max_lines) in [(0, 0), (0, 10), (10, 0)] {
        let mut sink = sink(max_bytes, max_lines, 4);
        sink.push(b"a\nb\nc\n");
        assert_eq!(sink.finish(None).text, "[…]\n[Output cut: 0 of 3 lines and 0 of 6 bytes are shown.]");
    }
}

#[test]
fn the_usual_limits_are_those_of_the_settings() {
    let limits =
        |max_bytes, max_lines, cut_lines, head_bytes| Limits { max_bytes, max_lines, cut_lines, head_bytes };
    assert_eq!(Limits::default(), limits(51_200, 2000, 2000, 4096));
    assert_eq!(Limits::for_model(), limits(16_384, 2000, 2000, 4096));
    assert_eq!(Limits::new(1000, 10), limits(1000, 10, 10, 500));
    assert_eq!(Limits::new(1000, 10).cut_to(4), limits(1000, 10, 4, 500));
    assert_eq!(Limits::new(1000, 10).cut_to(40), limits(1000, 10, 10, 500));
}

#[test]
fn a_text_that_exceeds_its_limits_is_cut_to_fewer_lines_than_would_be_shown_whole() {
    let sink = |count| {
        let mut sink = Sink::new(Limits::new(1000, 12).cut_to(4), Ansi::Remove);
        sink.push(numbered(count).as_bytes());
        sink.finish(None).text
    };
    assert_eq!(sink(12), numbered(12));
    assert_eq!(sink(200_000).lines().count(), 4 + 2);
    assert_eq!(sink(13).lines().count(), 4 + 2);
}

#[test]
fn what_is_left_out_of_a_text_counts_where_lines_are_numbered() {
    let mut sink = sink(1000, 5, 200);
    sink.push(b"open");
    let left_out = numbered(100);
    let notice = "[100 lines left out]\n".to_owned();
    let parts = [Part::Shown("one\n"), Part::LeftOut { text: &left_out, notice }, Part::Shown("two\nthree")];
    assert_eq!(sink.parts(&parts), format!("\none\n{left_out}two\nthree\n"));
    sink.push(b"end\n");
    assert_snapshot!(sink.finish(Some("7")).text, @r"
    open
    […]
    [100 lines left out]
    two
    three
    end
    [Output cut: 5 of 105 lines and 40 of 815 bytes are shown, line 1 and 3-105. All of it: artifact://7]
    ");
}
