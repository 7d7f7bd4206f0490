//! Trivial cells through one MCP server and its host: the host's CPU time per cell, and the cells
//! per second of sixteen kernels.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::SESSIONS;
use crate::mcp::client::Client;
use crate::mcp::workspaces::{OurWorkspace, python};
use crate::measure::cpu_time;
use crate::round_trip::Script;
use crate::table::{Figure, Target};

/// Enough for a precision of a few percent: the system counts CPU time in hundredths of a second.
const CALLS: usize = 10_000;

pub(super) fn figures() -> Vec<Figure> {
    let ours = OurWorkspace::new();
    let (mut client, _) = Client::start(ours.mcp("runner").env("CELLIST_PYTHON_MAX_SESSIONS", "32"));
    let bare = Script::start(&python(), "ndjson_loop.py").per_cell();
    // Starts kernels and loads code.
    run(&mut client, SESSIONS, 20 * SESSIONS);
    let before = cpu_time(ours.host());
    run(&mut client, 1, CALLS);
    let each = (cpu_time(ours.host()) - before) / CALLS as u32;
    let crowd = run(&mut client, SESSIONS, CALLS);
    let per_second = CALLS as f64 / crowd.as_secs_f64();
    vec![
        Figure {
            promise: "the host's CPU time for a trivial call over MCP",
            other: ("bare loop, wall", format!("{:.3} ms", bare.as_secs_f64() * 1e3)),
            ours: format!("{:.3} ms", each.as_secs_f64() * 1e3),
            value: each.as_secs_f64() * 1e3,
            unit: " ms",
            target: Target::AtMost(0.2),
        },
        Figure {
            promise: "16 runner kernels through one MCP server, cells per second",
            other: ("bare loop", format!("{:.0}", 1.0 / bare.as_secs_f64())),
            ours: format!("{per_second:.0}"),
            value: per_second,
            unit: "",
            target: Target::AtLeast(4000.0),
        },
    ]
}

/// Runs trivial cells in turn in the sessions, one call per session at a time.
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
