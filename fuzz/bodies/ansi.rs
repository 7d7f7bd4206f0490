//! Properties of the cleaner on any bytes: the result does not depend on chunks, and has no control
//! sequences.

use cellist_output::{Ansi, Cleaner, clean};

/// The first bytes choose the chunk sizes. The rest is the stream.
pub fn ansi(data: &[u8]) {
    let (sizes, stream) = data.split_at(data.len().min(4));
    for ansi in [Ansi::Remove, Ansi::KeepColour] {
        let whole = clean(stream, ansi);
        assert_eq!(in_chunks(sizes, stream, ansi), whole, "chunks changed the text");
        assert_eq!(line_ends(whole.as_bytes()), line_ends(stream), "a line end was lost or added");
        let text = match ansi {
            Ansi::Remove => whole,
            Ansi::KeepColour => without_styles(&whole),
        };
        let stray = text.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
        assert_eq!(stray, None, "a control character is left");
    }
    let coloured = clean(stream, Ansi::KeepColour);
    assert_eq!(without_styles(&coloured), clean(stream, Ansi::Remove), "colours changed the text");
}

fn in_chunks(sizes: &[u8], stream: &[u8], ansi: Ansi) -> String {
    let mut cleaner = Cleaner::new(ansi);
    let mut text = String::new();
    let mut rest = stream;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = usize::from(*sizes.next().unwrap_or(&0)) % 17 + 1;
        let (chunk, later) = rest.split_at(size.min(rest.len()));
        cleaner.push(chunk, &mut text);
        rest = later;
    }
    cleaner.finish(&mut text);
    text
}

fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Removes the only allowed sequences, `ESC [ digits and semicolons m`.
fn without_styles(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let params = part.strip_prefix('[').expect("only styles are left");
        let end = params.find(|c: char| !c.is_ascii_digit() && c != ';').expect("a style ends");
        plain.push_str(params[end..].strip_prefix('m').expect("only styles are left"));
    }
    plain
}
