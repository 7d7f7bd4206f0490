//! The assistant on the page: latency of a piece of an answer, and memory after many calls.
//! `bench/page/chat.mjs` drives the browser.

use crate::browser::Measured;
use crate::table::{Figure, Target};

/// Allowed memory beside the kept results: names and arguments of calls, and memory that the
/// allocator has not returned. Ten kilobytes per call.
const BESIDE_MB: f64 = 2.0;
/// Each request repeats all results and is built in memory. That memory is needed once and reused.
const ROOM_MB: f64 = 40.0;

pub(crate) fn run() -> Vec<Figure> {
    let measured = Measured::by("chat.mjs");
    let at_most = |promise, name, most: f64| Figure {
        promise,
        other: ("allowed", format!("{most:.0} ms")),
        ours: measured.ms(name),
        value: measured.number(name),
        unit: " ms",
        target: Target::AtMost(most),
    };
    let megabytes = |name| measured.number(name) / 1e6;
    let (growth, results, room) =
        (megabytes("growth_bytes"), megabytes("result_bytes"), megabytes("room_bytes"));
    let memory = |promise, ours: f64, value, most| Figure {
        promise,
        other: ("their results", format!("{results:.1} MB")),
        ours: format!("{ours:.1} MB"),
        value,
        unit: " MB",
        target: Target::AtMost(most),
    };
    vec![
        at_most("a piece of an answer at the provider to the frame that shows it, median", "median_ms", 50.0),
        at_most("the same, of 95 in 100 pieces", "p95_ms", 100.0),
        memory(
            "200 calls in one answer, the host's memory beyond results",
            growth,
            growth - results,
            BESIDE_MB,
        ),
        memory("the first such answers, with the room that requests need", room, room, ROOM_MB),
    ]
}
