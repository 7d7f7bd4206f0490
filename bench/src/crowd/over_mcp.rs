//! Trivial cells through one MCP server and its host: the host's processor time for each, and how many sixteen kernels run in
//! a second.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::SESSIONS;
use crate::mcp::client::Client;
use crate::mcp::place::{Ours, python};
use crate::measure::cpu_time;
use crate::round_trip::Script;
use crate::table::{Figure, Target};

/// Enough that the system's clock for processor time, which counts hundredths of a second, is exact to a few percent.
const CALLS: usize = 10_000;

pub(super) fn figures() -> Vec<Figure> {
    let ours = Ours::new();
    let (mut client, _) = Client::start(ours.mcp("runner").env("CELLIST_PYTHON_MAX_SESSIONS", "32"));
    let bare = Script::start(&python(), "ndjson_loop.py").per_cell();
    // Kernels are started, and code is loaded.
    run(&mut client, SESSIONS, 20 * SESSIONS);
    let before = cpu_time(ours.host());
    run(&mut client, 1, CALLS);
    let each = (cpu_time(ours.host()) - before) / CALLS as u32;
    let crowd = run(&mut client, SESSIONS, CALLS);
    let per_second = CALLS as f64 / crowd.as_secs_f64();
    vec![
        Figure {
            promise: "the host's processor time for a trivial call over MCP",
            other: ("bare loop, wall", format!("{:.3} ms", bare.as_secs_f64() * 1e3)),
            ours: format!("{:.3} ms", each.as_secs_f64() * 1e3),
            value: each.as_secs_f64() * 1e3,
            unit: " ms",
            target: Target::AtMost(0.2),
        },
        Figure {
            promise: "16 runner kernels through one MCP server, cells in a second",
            other: ("bare loop", format!("{:.0}", 1.0 / bare.as_secs_f64())),
            ours: format!("{per_second:.0}"),
            value: per_second,
            unit: "",
            target: Target::AtLeast(4000.0),
        },
    ]
}

/// Runs trivial cells in turn in so many sessions, one call per session under way at any moment.
fn run(client: &mut Client, sessions: usize, calls: usize) -> Duration {
    let start = Instant::now();
    let mut begun = 0;
    let mut begin = |client: &mut Client| {
        client.begin("python", &json!({ "code": "x = 1", "session": format!("s{}", begun % sessions) }));
        begun += 1;
    };
    (0..sessions).for_each(|_| begin(client));
    for done in 0..calls {
        let result = client.next_result();
        assert_eq!(result["isError"], Value::Bool(false), "{result}");
        if done + sessions < calls {
            begin(client);
        }
    }
    start.elapsed()
}
