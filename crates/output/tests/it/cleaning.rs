use cellist_output::{Ansi, Cleaner, clean};
use proptest::prelude::*;

fn check(raw: &str, expected: &str) {
    assert_eq!(clean(raw.as_bytes(), Ansi::Remove), expected, "{raw:?}");
}

fn check_coloured(raw: &str, expected: &str) {
    assert_eq!(clean(raw.as_bytes(), Ansi::KeepColour), expected, "{raw:?}");
}

#[test]
fn plain_text_is_left_as_it_is() {
    check("", "");
    check("a\tb\n\nc é█😀", "a\tb\n\nc é█😀");
}

#[test]
fn control_characters_go_but_for_line_ends_and_tabs() {
    check("a\0b\x07c\x0bd\x0ce\x7ff\u{85}g\u{9b}h", "abcdefgh");
    check("non\u{a0}breaking ·", "non\u{a0}breaking ·");
}

#[test]
fn invalid_bytes_become_replacement_characters() {
    assert_eq!(clean(b"a\xffb\xe2\x96", Ansi::Remove), "a\u{fffd}b\u{fffd}");
}

#[test]
fn escape_sequences_go_whatever_their_kind() {
    check("\x1b[1;31mred\x1b[0m", "red");
    check("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink");
    check("\x1bPq#0;2;0;0;0#0~~@@\x1b\\after", "after");
    check("\x1b_Gf=100;AAAA\x1b\\after", "after");
    check("\x1b(Ba\x1b7b\x1b=c", "abc");
    check("\x1b[?25lhidden\x1b[?25h", "hidden");
}

#[test]
fn an_unfinished_sequence_ends_with_its_line() {
    check("\x1b]0;never ended\nnext", "\nnext");
    check("\x1b[12\nnext", "\nnext");
    check("a\x1b", "a");
}

#[test]
fn a_windows_line_end_is_a_line_end() {
    check("a\r\nb\r\r\nc\r\n", "a\nb\nc\n");
}

#[test]
fn a_carriage_return_overwrites_as_far_as_the_new_text_goes() {
    check("hello\rJ", "Jello");
    check("10%\r20%\r100%\n", "100%\n");
    check("100%\r5%\n", "5%0%\n");
    check("done\r", "done");
    check("a\n\rb", "a\nb");
}

#[test]
fn overwriting_counts_characters_not_bytes() {
    check("|█████|\r|░░|", "|░░|██|");
    check("abc\r█", "█bc");
    check("█bc\rx", "xbc");
}

#[test]
fn a_backspace_takes_the_last_character_back() {
    check("abc\x08\x08X", "aX");
    check("abc\x08", "ab");
    check("a\n\x08b", "a\nb");
    check("|\x08/\x08-\x08", "");
    check("abc\rxy\x08z", "xzc");
}

#[test]
fn erasing_and_moving_inside_the_line_work_as_in_a_terminal() {
    check("downloading 10%\r\x1b[Kdone\n", "done\n");
    check("downloading\x1b[2K\rdone\n", "done\n");
    check("abc\x1b[2Kx", "   x");
    check("abcdef\x1b[3D\x1b[1Kx", "   xef");
    check("abc\x1b[1GX", "Xbc");
    check("a\x1b[3Cb", "a   b");
    check("abc\x1b[2DX", "aXc");
    check("abc\x1b[99999999C", "abc");
}

#[test]
fn moving_up_never_touches_a_finished_line() {
    check("one\ntwo\x1b[1A\rONE", "one\nONE");
}

#[test]
fn colours_are_kept_in_one_spelling_and_end_with_their_line() {
    check_coloured(
        "\x1b[31mred\nstill\x1b[m plain\n",
        "\x1b[0;31mred\x1b[0m\n\x1b[0;31mstill\x1b[0m plain\n",
    );
    check_coloured("\x1b[1m\x1b[31mx\x1b[22my", "\x1b[0;1;31mx\x1b[0;31my\x1b[0m");
    check_coloured("plain\n", "plain\n");
    check_coloured("\x1b[31m\x1b[0m\n", "\n");
}

#[test]
fn overwritten_text_takes_its_colours_with_it() {
    check_coloured("\x1b[31mredred\x1b[0m\rok", "ok\x1b[0;31mdred\x1b[0m");
    check_coloured("plain\r\x1b[32mok\x1b[0m", "\x1b[0;32mok\x1b[0main");
    check_coloured("\x1b[31mab\x1b[32mcd\x1b[0m\x1b[2D\x1b[K", "\x1b[0;31mab\x1b[0m");
    check_coloured("\x1b[31mé\x1b[0mbc\rxy", "xyc");
}

#[test]
fn a_line_of_many_megabytes_is_kept_in_bounded_memory() {
    let mut cleaner = Cleaner::new(Ansi::Remove);
    let chunk = vec![b'x'; 1 << 20];
    let mut total = 0;
    let mut settled = String::new();
    for _ in 0..50 {
        cleaner.push(&chunk, &mut settled);
        assert!(cleaner.open_line().len() < 64 * 1024);
        total += settled.len();
        settled.clear();
    }
    cleaner.finish(&mut settled);
    assert_eq!(total + settled.len(), 50 << 20);
}

#[test]
fn a_stream_that_ended_leaves_nothing_to_the_next() {
    let mut cleaner = Cleaner::new(Ansi::KeepColour);
    let mut text = String::new();
    cleaner.push(b"\x1b[31mred\x1b]0;open\xe2\x96", &mut text);
    cleaner.finish(&mut text);
    cleaner.push(b"\nplain", &mut text);
    cleaner.finish(&mut text);
    assert_eq!(text, "\x1b[0;31mred\x1b[0m\nplain");
}

/// Folding as its rule says it, one character at a time.
fn folded_simply(text: &str) -> String {
    let fold = |line: &str| {
        let mut cells: Vec<char> = Vec::new();
        let mut cursor = 0;
        for c in line.chars() {
            match c {
                '\r' => cursor = 0,
                '\u{8}' if cursor < cells.len() => cursor = cursor.saturating_sub(1),
                '\u{8}' => {
                    cells.pop();
                    cursor = cells.len();
                }
                c => {
                    if cursor < cells.len() {
                        cells[cursor] = c;
                    } else {
                        cells.push(c);
                    }
                    cursor += 1;
                }
            }
        }
        cells.into_iter().collect::<String>()
    };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

proptest! {
    #[test]
    fn folding_agrees_with_its_rule(text in "[ab█é\r\u{8}\n]{0,40}") {
        prop_assert_eq!(clean(text.as_bytes(), Ansi::Remove), folded_simply(&text));
    }
}
