//! A display that fills memory: the host holds it little more than twice, also in an open notebook.

use super::servers::peak;
use crate::bench::Backend;
use crate::desk::Desk;
use crate::notebooks::Page;

/// Bytes of the display.
const SIZE: u64 = 80_000_000;

/// The memory that the host may use in addition.
const ROOM: u64 = SIZE * 5 / 2;

#[test]
fn a_large_display_is_held_little_more_than_twice() {
    // Without escapes, and as lines that are escaped.
    for text in [format!("'A' * {SIZE}"), format!("('<b>x</b>' * 100 + '\\n') * {}", SIZE / 801)] {
        let code = format!("display({{'text/html': {text}, 'text/plain': 'large'}}, raw=True)");
        let desk = Desk::with(&[&code, "6 * 7"]);
        let page = Page::open(&desk);
        let pid = desk.json(&["status"])["pid"].as_u64().unwrap();
        let before = peak(pid);
        desk.run_on(Backend::Ipykernel, &["run", "nb.ipynb"]).ok();
        let grown = peak(pid).saturating_sub(before);
        assert!(grown < ROOM, "{} MB for {} MB", grown / 1_000_000, SIZE / 1_000_000);
        drop(page);
        let length = std::fs::metadata(desk.path().join("nb.ipynb")).unwrap().len();
        assert!(length > SIZE * 9 / 10, "{length} bytes: it is not in the notebook");
    }
}
