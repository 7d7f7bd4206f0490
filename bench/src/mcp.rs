//! MCP from an agent's view: start of the server, its list of tools, a call, and ten tasks. Peers
//! are jupyter-mcp-server and a minimal server of the Python SDK.

pub(crate) mod client;
mod notebooks;
mod tasks;
pub(crate) mod workspaces;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::measure::{Side, Took, in_mb, in_ms, in_turn, median, peer};
use crate::round_trip::Script;
use crate::table::{Figure, Target};
use client::Client;
use workspaces::{OurWorkspace, PeerWorkspace, python};

const ROUNDS: usize = 15;
/// Rounds of measurements that take seconds.
const SLOW_ROUNDS: usize = 3;
const CALLS: usize = 100;

pub(crate) fn run() -> Vec<Figure> {
    let (ours, theirs) = (OurWorkspace::new(), PeerWorkspace::new());
    let mut figures = start(&ours, &theirs);
    figures.extend(sizes(&ours, &theirs));
    figures.extend(memory(&ours));
    figures.extend(round_trip(&ours, &theirs));
    figures.extend(tasks::figures(&ours, &theirs));
    figures
}

/// Time from the start of the process to its list of tools.
fn start(ours: &OurWorkspace, theirs: &PeerWorkspace) -> Vec<Figure> {
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

/// Size of the list of tools.
fn sizes(ours: &OurWorkspace, theirs: &PeerWorkspace) -> Vec<Figure> {
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

/// Memory of an idle server and its host after use.
fn memory(ours: &OurWorkspace) -> Vec<Figure> {
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

/// `python` with `x=1`, beside the kernel's own time.
fn round_trip(ours: &OurWorkspace, theirs: &PeerWorkspace) -> Vec<Figure> {
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

/// The median time of a call with trivial code.
fn per_call(client: &mut Client, calls: usize, tool: &str) -> Duration {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        client.call(tool, &json!({ "code": "x=1" }));
        times.push(start.elapsed().as_secs_f64());
    }
    // One more call, to verify the result.
    let shown = client.call(tool, &json!({ "code": "print(x + 41)" }));
    assert!(Value::Array(shown.clone()).to_string().contains("42"), "{shown:?}");
    Duration::from_secs_f64(median(times.into_iter()).unwrap_or_default())
}
