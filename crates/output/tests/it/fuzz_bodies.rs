//! Drives the bodies that the fuzzer runs, with input made to reach them quickly.

use proptest::prelude::*;

#[path = "../../../../fuzz/bodies/ansi.rs"]
#[expect(unreachable_pub, reason = "public for the fuzzer, which is a crate of its own")]
mod ansi;

/// Streams that are mostly pieces of escape sequences, control characters and broken UTF-8.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            &b"\x1b"[..], b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b\\", b"\x07", b"\x1b[0m", b"\x1b[1;31m",
            b"\x1b[38;5;200m", b"\x1b[48;2;1;2;3m", b"\x1b[K", b"\x1b[1K", b"\x1b[2K", b"\x1b[3C", b"\x1b[2D",
            b"\x1b[4G", b"\x1b[?25l", b"\x1b(B", b"\r", b"\r\n", b"\x08", b"\n", b"\t", b"\0", b"\x7f", b"\xc2\x9b",
            b"\xc2\x9c", b"\xc2\xa0", b"\xc2", b"\xe2\x96\x88", b"\xe2\x96", b"\xf0\x9f\x98\x80", b"\xf0\x9f",
            b"\xff", b"\x18",
        ]).prop_map(<[u8]>::to_vec),
        2 => "[a-z0-9;m\\[ ]{0,12}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn cleaning_holds_on_pieces_of_sequences(sizes in any::<[u8; 4]>(), stream in streams()) {
        ansi::ansi(&[&sizes[..], &stream].concat());
    }

    #[test]
    fn cleaning_holds_on_any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        ansi::ansi(&data);
    }
}

#[test]
fn cleaning_holds_where_a_long_line_is_settled_in_pieces() {
    let mut stream = vec![7, 200, 3, 90];
    stream.extend("x".repeat(65_530).bytes());
    stream.extend("ééé\x1b[31mred█\rover\x08\x1b[Kend\n".repeat(3).bytes());
    stream.extend("█".repeat(50_000).bytes());
    stream.extend(b"\x1b[31m\rback\x1b[2Kagain\r\n");
    ansi::ansi(&stream);
}
