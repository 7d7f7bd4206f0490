//! A frame that announces 2⁴⁰ bytes, on each protocol of the host: time until the connection ends,
//! and memory that the host uses.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use serde_json::Value;
use testkit::HostileKernel;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::idle::BenchHost;
use crate::made::code_cells;
use crate::measure::{in_mb, median, peak_so_far};
use crate::table::{Figure, Target};

const ROUNDS: usize = 15;
const LENGTH: [u8; 8] = (1_u64 << 40).to_be_bytes();

/// The cost of one frame for the host.
struct FrameCost {
    ms: f64,
    bytes: u64,
}

/// A protocol: its two promises, and an attack on it.
type Wire = (&'static str, &'static str, fn(&BenchHost<'_>) -> Vec<FrameCost>);

/// Sends a frame, and measures until the peer closes the connection.
fn attack(pid: u32, stream: &mut (impl Read + Write), frame: &[u8]) -> FrameCost {
    let before = peak_so_far(pid).expect("the host runs");
    let begun = Instant::now();
    // The peer may close before all bytes are written.
    let _ = stream.write_all(frame);
    let _ = io::copy(stream, &mut io::sink());
    let ms = begun.elapsed().as_secs_f64() * 1000.0;
    // The system updates the counters of a process with a delay, so a peak may look smaller than
    // before.
    FrameCost { ms, bytes: peak_so_far(pid).expect("the host runs").saturating_sub(before) }
}

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    code_cells(&folder.path().join("nb.ipynb"), &["1"]);
    let host = BenchHost::start(folder.path());
    let wires: [Wire; 4] = [
        ("gateway, until the connection ends", "gateway, peak memory", gateway),
        ("ZeroMQ, until the connection ends", "ZeroMQ, peak memory", kernel),
        ("page, until the connection ends", "page, peak memory", page),
        ("host's socket, until the connection ends", "host's socket, peak memory", socket),
    ];
    wires
        .into_iter()
        .flat_map(|(time, memory, attacked)| {
            let costs = attacked(&host);
            let ms = median(costs.iter().map(|cost| cost.ms)).expect("there were rounds");
            let bytes = costs.iter().map(|cost| cost.bytes).max().unwrap_or(0);
            [
                figure(time, format!("{ms:.1} ms"), ms, " ms", 100.0),
                figure(memory, in_mb(bytes), bytes as f64 / 1e6, " MB", 20.0),
            ]
        })
        .collect()
}

fn figure(promise: &'static str, ours: String, value: f64, unit: &'static str, most: f64) -> Figure {
    Figure { promise, other: ("announced", "1 TiB".into()), ours, value, unit, target: Target::AtMost(most) }
}

/// Runs code in its own session. It fails when its kernel is refused.
fn exec(host: &BenchHost<'_>, words: &[&str], jupyter: &Path, round: usize) {
    let session = format!("{}{round}", words[0].trim_start_matches('-'));
    let mut command = host.command();
    command.args(["exec", "--session", &session]).args(words).arg("1").env("JUPYTER_PATH", jupyter);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().expect("it starts");
    assert_eq!(status.code(), Some(3), "a hostile peer is refused");
}

/// The costs from another thread.
fn received(costs: &Receiver<FrameCost>) -> Vec<FrameCost> {
    let all: Vec<FrameCost> = costs.try_iter().collect();
    assert!(all.len() >= ROUNDS, "only {} connections were attacked", all.len());
    all
}

fn gateway(host: &BenchHost<'_>) -> Vec<FrameCost> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("a port"));
    let (sender, costs) = channel();
    let pid = host.pid();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            // The client may disconnect at any moment.
            thread::spawn(move || drop(answer(stream, pid, &sender)));
        }
    });
    (0..ROUNDS).for_each(|round| exec(host, &["--gateway", &url], Path::new(""), round));
    received(&costs)
}

/// Answers as a gateway, and attacks on the WebSocket of a kernel.
fn answer(mut stream: TcpStream, pid: u32, costs: &Sender<FrameCost>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut key, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        match name.to_lowercase().as_str() {
            "sec-websocket-key" => value.trim().clone_into(&mut key),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
    }
    io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    if first.contains("/channels") {
        let accept = derive_accept_key(key.as_bytes());
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                    Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org\r\nSec-WebSocket-Accept: ";
        stream.write_all(format!("{head}{accept}\r\n\r\n").as_bytes())?;
        let cost = attack(pid, &mut stream, &[&[0x82, 127][..], &LENGTH].concat());
        // The benchmark may be over.
        let _ = costs.send(cost);
        return Ok(());
    }
    let body = match first.split(' ').take(2).collect::<Vec<_>>().as_slice() {
        ["GET", "/api/kernelspecs"] => {
            r#"{"default":"python3","kernelspecs":{"python3":{"name":"python3","spec":{"language":"python"}}}}"#
        }
        ["POST", "/api/kernels"] => r#"{"id":"k","name":"python3"}"#,
        _ => "{}",
    };
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn kernel(host: &BenchHost<'_>) -> Vec<FrameCost> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hostile = HostileKernel::new(folder.path());
    let (sender, costs) = channel();
    let pid = host.pid();
    for round in 0..ROUNDS {
        let sender = sender.clone();
        hostile.serve(move |stream| {
            let cost = attack(pid, stream, &[&[2][..], &LENGTH].concat());
            // The benchmark may be over.
            let _ = sender.send(cost);
        });
        exec(host, &["--kernel", "hostile"], hostile.jupyter_path(), round);
    }
    received(&costs)
}

fn page(host: &BenchHost<'_>) -> Vec<FrameCost> {
    let opened = host.command().args(["open", "--no-browser", "--json", "nb.ipynb"]).output();
    let opened: Value = serde_json::from_slice(&opened.expect("it starts").stdout).expect("an answer");
    let link = opened["link"].as_str().and_then(|link| link.strip_prefix("http://")).expect("a link");
    let (address, path) = link.split_once('/').expect("a path");
    let connect = |head: &str| {
        let mut stream = TcpStream::connect(address).expect("the host listens");
        write!(stream, "{head}\r\nHost: {address}\r\n\r\n").expect("the host reads");
        stream
    };
    let mut text = String::new();
    connect(&format!("GET /{path} HTTP/1.1\r\nConnection: close")).read_to_string(&mut text).expect("a page");
    let cookie = text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = cookie.split(';').next().expect("a value");
    let key = text.split("name=\"page-key\" content=\"").nth(1).expect("a key");
    let (browser, key) = key.split_once(' ').expect("a browser");
    let salt = &key[..32];
    let attacked = |_| {
        let mut stream = connect(&format!(
            "GET /socket?browser={browser}&salt={salt}&challenge={salt} HTTP/1.1\r\nOrigin: http://{address}\r\n\
             Cookie: {cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
        ));
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        assert_eq!(&head, b"HTTP/1.1 101", "the page's socket is open");
        attack(host.pid(), &mut stream, &[&[0x81, 0xff][..], &LENGTH, &[0; 4]].concat())
    };
    (0..ROUNDS).map(attacked).collect()
}

fn socket(host: &BenchHost<'_>) -> Vec<FrameCost> {
    let text = fs::read(host.state().join("run/host.json")).expect("a host runs");
    let said: Value = serde_json::from_slice(&text).expect("JSON");
    let socket = said["socket"].as_str().expect("a socket").to_owned();
    let attacked = |_| {
        let mut stream = UnixStream::connect(&socket).expect("the host listens");
        attack(host.pid(), &mut stream, &[0xff; 4])
    };
    (0..ROUNDS).map(attacked).collect()
}
