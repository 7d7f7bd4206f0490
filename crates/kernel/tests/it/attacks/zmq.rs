//! A kernel that speaks ZeroMQ's protocol and breaks it: a client that joins it reports that at once, and takes no memory for it.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use cellist_kernel::{Death, Error, zmq};
use testkit::{Scratch, greet_as_zmq};

/// A kernel's five sockets; each gets these bytes once it was greeted, and then nothing.
struct Hostile {
    scratch: Scratch,
}

impl Hostile {
    /// `send` writes a socket's messages. It may fail: a client that hangs up is the expectation.
    fn start(send: impl Fn(&mut TcpStream) -> std::io::Result<()> + Clone + Send + 'static) -> Hostile {
        let scratch = Scratch::new();
        let ports: Vec<u16> = (0..5)
            .map(|_| {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let port = listener.local_addr().unwrap().port();
                let send = send.clone();
                std::thread::spawn(move || {
                    for stream in listener.incoming() {
                        let send = send.clone();
                        std::thread::spawn(move || {
                            let mut stream = stream.unwrap();
                            let _ = send(&mut stream);
                            // Until the other side hangs up.
                            let _ = std::io::copy(&mut stream, &mut std::io::sink());
                        });
                    }
                });
                port
            })
            .collect();
        let [shell, iopub, stdin, control, heartbeat] = ports[..] else { unreachable!() };
        let file = format!(
            r#"{{"ip":"127.0.0.1","transport":"tcp","shell_port":{shell},"iopub_port":{iopub},"stdin_port":{stdin},
                "control_port":{control},"hb_port":{heartbeat},"key":"k","signature_scheme":"hmac-sha256"}}"#
        );
        scratch.write("kernel.json", file);
        Hostile { scratch }
    }

    async fn joined(&self) -> Error {
        zmq::join(&self.scratch.path().join("kernel.json"), None).await.err().expect("nobody can join it")
    }
}

#[tokio::test]
async fn a_frame_that_no_kernel_sends_is_told_at_once() {
    let parts = [1, 1, 0].repeat(1 << 12);
    let commands = [4, 1, 0].repeat(1 << 12);
    let long = |flags: u8, length: u64| [&[flags | 2][..], &length.to_be_bytes()].concat();
    let attacks = [
        (long(0, 1 << 40), "of 1 TiB"),
        (long(0, 1 << 63), "of 8388608 TiB"),
        (long(4, 1 << 40), "a command of 1 TiB"),
        (parts, "parts without a delimiter"),
        (commands, "1000 commands and no message"),
        (vec![0xff; 100], "unknown flags"),
    ];
    for (bytes, says) in attacks {
        let hostile = Hostile::start(move |stream| {
            greet_as_zmq(stream)?;
            stream.write_all(&bytes)
        });
        let began = Instant::now();
        match hostile.joined().await {
            Error::Dead { death: Death::Refused(what) } => assert!(what.contains(says), "{what}"),
            other => panic!("{says}: {other}"),
        }
        assert!(began.elapsed() < Duration::from_secs(3), "{says}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_greeting_that_is_not_zeromqs_is_told_and_one_without_end_is_given_up() {
    let hostile = Hostile::start(|stream| {
        loop {
            stream.write_all(b"HTTP/1.1 200 OK\r\nX: and more of it\r\n")?;
        }
    });
    match hostile.joined().await {
        Error::Dead { death: Death::Refused(what) } => assert!(what.contains("greeting"), "{what}"),
        other => panic!("{other}"),
    }
    let hostile = Hostile::start(|stream| stream.write_all(&[0xff]));
    assert!(matches!(hostile.joined().await, Error::NoAnswer { .. }));
}
