//! Runs as people watch them on a terminal.

use crate::desk::Desk;
use crate::screen;

/// Shows a picture of one red pixel, 20 cells wide on a terminal whose cells are 10 pixels wide.
const PICTURE: &str = r#"
import struct, zlib
from base64 import b64encode
def part(name, data): return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
rows = (b'\0' + b'\xff\0\0' * 200) * 100
file = b'\x89PNG\r\n\x1a\n' + part(b'IHDR', struct.pack('>IIBBBBB', 200, 100, 8, 2, 0, 0, 0)) + part(b'IDAT', zlib.compress(rows)) + part(b'IEND', b'')
class Picture:
    def _repr_png_(self): return file
Picture()
"#;

fn watch(desk: &Desk, images: &str) -> String {
    let python = testkit::python("kernels");
    let python = python.to_str().unwrap();
    let variables = [("CELLIST_TERMINAL_IMAGES", images), ("COLORTERM", "truecolor")];
    let screen = screen::open(desk, (80, 40), &["run", "nb.ipynb", "--python", python], &variables);
    let (exit, ended) = screen.end();
    assert_eq!(exit, 0, "{}", ended.raw);
    ended.raw
}

#[test]
fn a_run_is_seen_cell_by_cell_and_only_the_end_of_long_output() {
    let desk = Desk::with(&["# count\nfor i in range(30): print('row', i)", "6 * 7"]);
    let python = testkit::python("kernels");
    let screen =
        screen::open(&desk, (60, 40), &["run", "nb.ipynb", "--python", python.to_str().unwrap()], &[]);
    let (exit, ended) = screen.end();
    assert_eq!(exit, 0);
    let shown = ended.screen;
    for expected in [
        "✓ [0] count  ",
        "│ for i in range(30):",
        "… 10 earlier lines hidden (the file shows all)",
        "row 29",
        "│ 6 * 7",
        "  42",
    ] {
        assert!(shown.contains(expected), "{expected} in\n{shown}");
    }
    assert!(!shown.contains("row 9\n"), "{shown}");
    assert!(ended.is_restored);
}

#[test]
fn pictures_are_sent_as_the_terminal_takes_them() {
    for (images, expected) in [
        ("kitty", "\x1b_Ga=T,U=1,f=100,"),
        ("iterm", "\x1b]1337;File=inline=1;"),
        ("sixel", "\x1bP0;1;0q\"1;1;200;100#0;2;100;0;0"),
        ("blocks", "\x1b[38;2;255;0;0;48;2;255;0;0m▀"),
        ("off", "[image/png"),
    ] {
        let desk = Desk::with(&[PICTURE]);
        let shown = watch(&desk, images);
        assert!(shown.contains(expected), "{images}: {shown:?}");
    }
}
