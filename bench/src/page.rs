//! The live page: bytes of a first visit, cost of a large notebook, and latency of keys and
//! changes. `bench/page/measure.mjs` drives the browser and shares code with the page's tests.

use crate::browser::Measured;
use crate::table::{Figure, Target};

pub(crate) fn run() -> Vec<Figure> {
    let measured = Measured::by("measure.mjs");
    let number = |name| measured.number(name);
    let at_most = |promise, other, ours, value, unit, most| Figure {
        promise,
        other,
        ours,
        value,
        unit,
        target: Target::AtMost(most),
    };
    let ms = |name| measured.ms(name);
    let (kilobytes, megabytes) = (number("script_bytes") / 1e3, number("heap_bytes") / 1e6);
    // Measured once, for another notebook page on another machine: an indication only.
    let component = |value: &str| ("JupyterLab's component, once", value.to_owned());
    vec![
        at_most(
            "scripts of a first visit without formulas, packed",
            component("471 KB"),
            format!("{kilobytes:.0} KB"),
            kilobytes,
            " KB",
            250.0,
        ),
        at_most(
            "1,000 cells are ready, time of the main thread",
            component("1478 ms"),
            ms("cpu_ms"),
            number("cpu_ms"),
            " ms",
            400.0,
        ),
        at_most(
            "1,000 cells, memory of the page's scripts",
            component("46 MB"),
            format!("{megabytes:.1} MB"),
            megabytes,
            " MB",
            20.0,
        ),
        at_most(
            "a key to the frame that shows it, in a notebook of 1,000 cells",
            ("a bare CodeMirror", ms("bare_key_ms")),
            ms("key_ms"),
            number("key_ratio"),
            "x",
            1.5,
        ),
        at_most(
            "an agent's call over MCP to the frame that shows its change",
            ("allowed", "100 ms".to_owned()),
            ms("change_ms"),
            number("change_ms"),
            " ms",
            100.0,
        ),
    ]
}
