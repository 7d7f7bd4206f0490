//! What an agent waits for and reads: the start of the server, the list of its tools, a call, and ten tasks, beside
//! jupyter-mcp-server and the least that a server of the Python SDK can be.

pub(crate) mod client;
mod notebooks;
pub(crate) mod place;
mod tasks;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::measure::{Side, Took, in_mb, in_ms, in_turn, median, peer};
use crate::round_trip::Script;
use crate::table::{Figure, Target};
use client::Client;
use place::{Ours, Theirs, python};

const ROUNDS: usize = 15;
/// Those that take seconds.
const SLOW_ROUNDS: usize = 3;
const CALLS: usize = 100;

pub(crate) fn run() -> Vec<Figure> {
    let (ours, theirs) = (Ours::new(), Theirs::new());
    let mut figures = start(&ours, &theirs);
    figures.extend(sizes(&ours, &theirs));
    figures.extend(memory(&ours));
    figures.extend(round_trip(&ours, &theirs));
    figures.extend(tasks::figures(&ours, &theirs));
    figures
}

/// From the start of the process to the list of its tools.
fn start(ours: &Ours, theirs: &Theirs) -> Vec<Figure> {
    let listed = |command: &mut Command| {
        let start = Instant::now();
        let (mut client, _) = Client::start(command);
        assert!(!client.tools().is_empty());
        Took { wall: start.elapsed(), peak_bytes: 0 }
    };
    let mut us = |_| listed(&mut ours.mcp("runner"));
    let mut minimal = |_| listed(Command::new(python()).arg(peer("mcp_minimal.py")));
    let mut them = |_| listed(&mut theirs.mcp());
    let [sdk, beside_sdk] = in_turn(ROUNDS, [&mut minimal, &mut us]);
    let [jupyter, beside_jupyter] = in_turn(SLOW_ROUNDS, [&mut them, &mut us]);
    let faster = |promise, other, theirs: &Side, ours: &Side, least| Figure {
        promise,
        other: (other, in_ms(theirs.wall())),
        ours: in_ms(ours.wall()),
        value: theirs.ratio(ours),
        unit: "x",
        target: Target::AtLeast(least),
    };
    vec![
        Figure {
            promise: "from the start of the process to the list of tools",
            other: ("minimal Python server", in_ms(sdk.wall())),
            ours: in_ms(beside_sdk.wall()),
            value: beside_sdk.wall().as_secs_f64() * 1000.0,
            unit: " ms",
            target: Target::AtMost(20.0),
        },
        faster("the same, times faster", "minimal Python server", &sdk, &beside_sdk, 25.0),
        faster("the same, times faster", "jupyter-mcp-server", &jupyter, &beside_jupyter, 100.0),
    ]
}

/// What the list of tools is long.
fn sizes(ours: &Ours, theirs: &Theirs) -> Vec<Figure> {
    let size = |command: &mut Command| {
        let (mut client, _) = Client::start(command);
        Value::Array(client.tools()).to_string().len()
    };
    let them = size(&mut theirs.mcp());
    let kilobytes = |promise, bytes: usize, most| Figure {
        promise,
        other: ("jupyter-mcp-server", format!("{:.1} KB", them as f64 / 1e3)),
        ours: format!("{:.1} KB", bytes as f64 / 1e3),
        value: bytes as f64 / 1e3,
        unit: " KB",
        target: Target::AtMost(most),
    };
    vec![
        kilobytes("the list of tools", size(&mut ours.mcp("runner")), 12.0),
        kilobytes(
            "the list of tools with --tools all",
            size(ours.mcp("runner").args(["--tools", "all"])),
            18.0,
        ),
    ]
}

/// What a server that has been used, and the host that it uses, hold in memory while nothing happens.
fn memory(ours: &Ours) -> Vec<Figure> {
    let (mut client, _) = ours.client("runner");
    client.tools();
    client.call("create_notebook", &json!({ "notebook": "idle.ipynb" }));
    client.call("get_notebook_cells", &json!({ "notebook": "idle.ipynb" }));
    let figure = |promise, bytes: u64, most: f64| Figure {
        promise,
        other: ("allowed", format!("{most:.1} MB")),
        ours: in_mb(bytes),
        value: bytes as f64 / 1e6,
        unit: " MB",
        target: Target::AtMost(most),
    };
    vec![
        figure("memory of cellist mcp, attached to a host", resident(client.pid()), 15.0),
        figure("memory of the host", resident(ours.host()), 40.0),
    ]
}

fn resident(pid: u32) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a system that tells of processes");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line about memory");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024
}

/// `python` with `x=1`, beside what the kernel itself takes.
fn round_trip(ours: &Ours, theirs: &Theirs) -> Vec<Figure> {
    let (mut on_runner, _) = ours.client("runner");
    let (mut on_ipykernel, _) = ours.client("jupyter");
    let mut bare = Script::start(&python(), "ndjson_loop.py");
    let mut raw = Script::start(&python(), "raw_cells.py");
    let took = |wall| Took { wall, peak_bytes: 0 };
    let mut runner = |_| took(per_call(&mut on_runner, CALLS, "python"));
    let mut loop_floor = |_| took(bare.per_cell());
    let mut ipykernel = |_| took(per_call(&mut on_ipykernel, CALLS, "python"));
    let mut kernel = |_| took(raw.per_cell());
    let [runner, loop_floor, ipykernel, kernel] =
        in_turn(ROUNDS, [&mut runner, &mut loop_floor, &mut ipykernel, &mut kernel]);

    notebooks::make(&theirs.folder());
    let (mut peer, _) = Client::start(&mut theirs.mcp());
    let open = json!({ "notebook_name": "empty", "notebook_path": "empty.ipynb", "kernel_id": "NEW" });
    peer.call("use_notebook", &open);
    let peers = per_call(&mut peer, SLOW_ROUNDS, "execute_code");
    let ms = |side: &Side| format!("{:.3} ms", side.wall().as_secs_f64() * 1000.0);
    vec![
        Figure {
            promise: "runner: python with x=1, beyond a bare loop over lines of JSON",
            other: ("bare loop", ms(&loop_floor)),
            ours: ms(&runner),
            value: runner.beyond(&loop_floor) * 1000.0,
            unit: " ms",
            target: Target::AtMost(1.5),
        },
        Figure {
            promise: "ipykernel: python with x=1, as a multiple of a raw pyzmq client",
            other: ("raw pyzmq", ms(&kernel)),
            ours: ms(&ipykernel),
            value: ipykernel.ratio(&kernel),
            unit: "x",
            target: Target::AtMost(1.3),
        },
        Figure {
            promise: "ipykernel: python with x=1, times faster than execute_code",
            other: ("jupyter-mcp-server", in_ms(peers)),
            ours: ms(&ipykernel),
            value: peers.as_secs_f64() / ipykernel.wall().as_secs_f64(),
            unit: "x",
            target: Target::AtLeast(50.0),
        },
    ]
}

/// The median time of a call that runs a trivial piece of code.
fn per_call(client: &mut Client, calls: usize, tool: &str) -> Duration {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        client.call(tool, &json!({ "code": "x=1" }));
        times.push(start.elapsed().as_secs_f64());
    }
    // Once more, to see that it was done.
    let shown = client.call(tool, &json!({ "code": "print(x + 41)" }));
    assert!(Value::Array(shown.clone()).to_string().contains("42"), "{shown:?}");
    Duration::from_secs_f64(median(times.into_iter()).unwrap_or_default())
}
