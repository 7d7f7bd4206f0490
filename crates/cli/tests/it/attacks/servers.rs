//! Hostile servers: gateways, kernels and providers that send more than a client can hold. The host uses
//! little memory for them, reports their messages, and keeps its other sessions running.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::Backend;
use crate::desk::{Desk, Ran};

/// How much memory an attack may cost, in bytes.
pub(super) const ROOM: u64 = 20_000_000;

/// The most memory that a process has had.
pub(super) fn peak(pid: u64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// A server that a test wrote by hand.
struct Hostile {
    url: String,
    /// How many websockets were opened.
    sockets: Arc<AtomicUsize>,
}

type Sending = std::io::Result<()>;

impl Hostile {
    /// `answer` gets the first line of a request and the stream, and may fail as soon as the client has had enough.
    fn start(answer: impl Fn(&str, &mut TcpStream) -> Sending + Send + Sync + 'static) -> Hostile {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (answer, sockets) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
        let counted = sockets.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, counted) = (answer.clone(), counted.clone());
                thread::spawn(move || {
                    let stream = stream.unwrap();
                    let mut reading = BufReader::new(stream.try_clone().unwrap());
                    let mut stream = stream;
                    let (mut first, mut key, mut length) = (String::new(), None, 0);
                    let _ = reading.read_line(&mut first);
                    loop {
                        let mut line = String::new();
                        if reading.read_line(&mut line).unwrap_or(0) <= 2 {
                            break;
                        }
                        let (name, value) = line.split_once(':').unwrap();
                        match name.to_lowercase().as_str() {
                            "sec-websocket-key" => key = Some(value.trim().to_owned()),
                            "content-length" => length = value.trim().parse().unwrap(),
                            _ => {}
                        }
                    }
                    let mut body = vec![0; length];
                    let _ = reading.read_exact(&mut body);
                    if let Some(key) = key {
                        // From the second connection on, the attack arrives with the answer to the handshake.
                        let together = counted.fetch_add(1, Ordering::SeqCst) > 0;
                        rustix::net::sockopt::set_tcp_cork(&stream, together).unwrap();
                        let _ = stream.write_all(upgraded(&key).as_bytes());
                    }
                    let _ = answer(first.trim(), &mut stream);
                    let _ = rustix::net::sockopt::set_tcp_cork(&stream, false);
                    // Until the client hangs up.
                    let _ = std::io::copy(&mut reading, &mut std::io::sink());
                });
            }
        });
        Hostile { url, sockets }
    }

    /// A gateway that starts kernels normally and attacks each websocket client.
    fn gateway(attack: impl Fn(&mut TcpStream) -> Sending + Send + Sync + 'static) -> Hostile {
        Hostile::start(move |first, stream| match first {
            _ if first.contains("/channels") => attack(stream),
            _ => stream.write_all(usual(first).as_bytes()),
        })
    }
}

fn upgraded(key: &str) -> String {
    let accept = tokio_tungstenite::tungstenite::handshake::derive_accept_key(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
}

/// A harmless gateway's responses.
fn usual(first: &str) -> String {
    let body = match first.split(' ').take(2).collect::<Vec<_>>().join(" ").as_str() {
        "GET /api/kernelspecs" => {
            r#"{"default":"python3","kernelspecs":{"python3":{"name":"python3","spec":{"language":"python"}}}}"#
        }
        "POST /api/kernels" => r#"{"id":"k","name":"python3"}"#,
        _ => "{}",
    };
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// A host with a session of another user, whose memory is watched.
struct Victim {
    desk: Desk,
    pid: u64,
}

impl Victim {
    fn new() -> Victim {
        let desk = Desk::new();
        let victim = Victim { pid: 0, desk };
        victim.other("kept = 41");
        let pid = victim.desk.json(&["status"])["pid"].as_u64().unwrap();
        Victim { pid, ..victim }
    }

    /// Runs code in the other session.
    fn other(&self, code: &str) -> String {
        let flags = Backend::BareRunner.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let ran = self.desk.run(&[&["exec", "--session", "other", code], flags.as_slice()].concat());
        assert_eq!(ran.exit, 0, "{}", ran.err);
        String::from_utf8(ran.out).unwrap()
    }

    /// Attacks the host by a command. Returns the command's output.
    #[track_caller]
    fn attacked(&self, words: &[&str]) -> Ran {
        self.attacked_by(&mut self.desk.command(words))
    }

    #[track_caller]
    fn attacked_by(&self, words: &mut Command) -> Ran {
        let (before, began) = (peak(self.pid), Instant::now());
        let ran = Ran::of(words);
        let (grown, took) = (peak(self.pid).saturating_sub(before), began.elapsed());
        assert!(grown < ROOM, "{words:?} took {grown} bytes: {}", ran.err);
        assert!(took < Duration::from_secs(15), "{words:?} took {took:?}: {}", ran.err);
        assert_eq!(self.other("print(kept + 1)"), "42\n", "others go on");
        ran
    }

    #[track_caller]
    fn gateway(&self, attack: impl Fn(&mut TcpStream) -> Sending + Send + Sync + 'static, says: &str) {
        let server = Hostile::gateway(attack);
        let ran = self.attacked(&["exec", "--session", &server.url, "--gateway", &server.url, "1"]);
        assert_eq!(ran.exit, 3, "{}", ran.err);
        assert!(ran.err.contains(says) && ran.err.contains(&server.url), "{says}: {}", ran.err);
        let sockets = server.sockets.load(Ordering::SeqCst);
        assert!(sockets <= 4, "{sockets} connections to a hostile server");
    }
}

fn long(first: u8, length: u64) -> Vec<u8> {
    [&[first, 127][..], &length.to_be_bytes()].concat()
}

#[test]
fn a_hostile_gateway_ends_its_own_connection_and_nothing_else() {
    let victim = Victim::new();
    let frames: [(Vec<u8>, &str); 6] = [
        (long(0x82, 1 << 40), "a frame of 1 TiB, where at most 512 MiB are taken"),
        (long(0x81, 1_000_000_000), "a frame of 953.7 MiB, where at most 512 MiB are taken"),
        (long(0x89, 1 << 40), "a control frame that is too long"),
        (vec![0xf2, 0], "a frame with reserved bits"),
        (vec![0x82, 0x85, 0, 0, 0, 0], "a masked frame"),
        ([0x89, 1, b'x'].repeat(2000), "more than 1000 pings in 10 seconds"),
    ];
    for (bytes, says) in frames {
        victim.gateway(move |stream| stream.write_all(&bytes), says);
    }
    // Fragments without end, large ones and empty ones.
    let large = [long(0x00, 1 << 20), vec![b'x'; 1 << 20]].concat();
    victim.gateway(
        move |stream| {
            stream.write_all(&[0x02, 0])?;
            loop {
                stream.write_all(&large)?;
            }
        },
        "a message in fragments of 17 MiB, where at most 16 MiB are taken",
    );
    victim.gateway(
        |stream| {
            stream.write_all(&[0x02, 0])?;
            loop {
                stream.write_all(&[0, 0].repeat(1000))?;
            }
        },
        "a message in more than 4096 fragments",
    );
}

#[test]
fn answers_of_a_gateway_without_end_are_given_up() {
    let victim = Victim::new();
    let asked = |answer: fn(&mut TcpStream) -> Sending, says: &str| {
        let server = Hostile::start(move |_, stream| answer(stream));
        let ran = victim.attacked(&["exec", "--session", &server.url, "--gateway", &server.url, "1"]);
        assert_eq!(ran.exit, 3, "{}", ran.err);
        assert!(ran.err.contains(says) && ran.err.contains(&server.url), "{says}: {}", ran.err);
    };
    asked(
        |stream| stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n[1, 2"),
        "an answer of 1 TiB, where at most 8 MiB are taken",
    );
    asked(
        |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
            loop {
                stream.write_all(chunk.as_bytes())?;
            }
        },
        "where at most 8 MiB are taken",
    );
    asked(
        |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(b"X-More: and more\r\n")?;
            }
        },
        "message head is too large",
    );
    asked(|stream| stream.write_all(&[0xff; 100_000]), "invalid HTTP");
}

#[test]
fn a_hostile_provider_ends_its_answer_and_not_the_chat() {
    let check = |answer: fn(&mut TcpStream) -> Sending, says: &str| {
        let server = Hostile::start(move |_, stream| answer(stream));
        let desk = Desk::with(&["1"]);
        let config = format!(
            "[chat]\nprovider = \"openai\"\nmodel = \"scripted\"\nbase_url = \"{}/v1\"\napi_key = \"k\"\n",
            server.url
        );
        std::fs::write(desk.state().join("config.toml"), config).unwrap();
        let pid = desk.json(&["serve", "--background"])["pid"].as_u64().unwrap();
        let before = peak(pid);
        let ran = desk.run(&["chat", "nb.ipynb", "hello"]);
        let grown = peak(pid).saturating_sub(before);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
        assert!(grown < ROOM, "{says}: {grown} bytes");
        assert_eq!(desk.json(&["status"])["pid"].as_u64(), Some(pid), "the host goes on");
    };
    const EVENTS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    check(
        |stream| {
            stream.write_all(EVENTS)?;
            stream.write_all(b"data: ")?;
            loop {
                stream.write_all(&[b'x'; 0x10000])?;
            }
        },
        "an event is too long",
    );
    check(
        |stream| {
            stream.write_all(EVENTS)?;
            loop {
                stream.write_all(&b": a comment\n".repeat(10_000))?;
            }
        },
        "an answer of 64",
    );
    check(|stream| stream.write_all(&[EVENTS, b"data: {{{{\n\n"].concat()), "not JSON");
    check(
        |stream| stream.write_all(b"HTTP/1.1 400 No\r\nContent-Length: 1099511627776\r\n\r\n{"),
        "refused the request (400)",
    );
}

#[test]
fn a_hostile_kernel_of_a_session_ends_that_session_and_takes_little_memory() {
    let victim = Victim::new();
    let hostile = testkit::HostileKernel::new(victim.desk.path());
    let long = |flags: u8, length: u64| [&[flags | 2][..], &length.to_be_bytes()].concat();
    let attacks = [
        (long(0, 1 << 40), "of 1 TiB"),
        (long(4, 1 << 40), "a command of 1 TiB"),
        ([1, 1, 0].repeat(1 << 20), "parts without a delimiter"),
        (vec![0xff; 100], "unknown flags"),
    ];
    for (number, (bytes, says)) in attacks.into_iter().enumerate() {
        hostile.serve(move |stream| {
            let _ = stream.write_all(&bytes);
            let _ = std::io::copy(stream, &mut std::io::sink());
        });
        let session = format!("hostile{number}");
        let words = ["exec", "--session", &session, "--kernel", "hostile", "1"];
        let ran = victim.attacked_by(victim.desk.command(&words).env("JUPYTER_PATH", hostile.jupyter_path()));
        assert_eq!(ran.exit, 3, "{says}: {}", ran.err);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
    }
}

/// The place of a socket in `/proc` is not needed here: the file says where a kernel is.
fn connection_file(folder: &Path, port: u16) {
    let file = format!(
        r#"{{"ip":"127.0.0.1","transport":"tcp","shell_port":{port},"iopub_port":{port},"stdin_port":{port},
            "control_port":{port},"hb_port":{port},"key":"k","signature_scheme":"hmac-sha256"}}"#
    );
    std::fs::write(folder.join("kernel.json"), file).unwrap();
}

#[test]
fn a_hostile_kernel_is_refused_with_what_it_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut greeting = [0; 64];
                (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
                greeting[12..16].copy_from_slice(b"NULL");
                let _ = stream.write_all(&greeting);
                let _ = stream.write_all(b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB");
                let _ = stream.write_all(&[&[2][..], &(1_u64 << 40).to_be_bytes()].concat());
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
    let desk = Desk::new();
    connection_file(desk.path(), port);
    let refused = desk.run(&["exec", "--existing", "kernel.json", "1"]).refused(3);
    assert!(refused.contains("of 1 TiB, where at most"), "{refused}");
}
