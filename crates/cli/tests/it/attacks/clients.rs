//! Hostile clients of MCP, of the page and of the host's socket: a line, a body or a frame without end. Each is refused, in
//! little memory, and the server answers the next.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use cellist_output::wire::PAGE_MESSAGE;
use serde_json::{Value, json};

use super::servers::{ROOM, peak};
use crate::desk::Desk;

const LONG: Duration = Duration::from_secs(60);
const TOKEN: &str = "a-token-of-the-attacks";

/// Writes a body, as long as the server takes it.
type Sending = dyn FnMut(&mut TcpStream) -> std::io::Result<()>;

/// A program that ends with the test.
pub(super) struct Going(pub(super) Child);

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn greeting() -> String {
    let client = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

#[test]
fn a_line_without_end_is_refused_and_the_next_is_answered() {
    let desk = Desk::new();
    let mut command = desk.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut going = Going(command.spawn().unwrap());
    let (pid, mut input) = (u64::from(going.0.id()), going.0.stdin.take().unwrap());
    let mut output = BufReader::new(going.0.stdout.take().unwrap()).lines();
    let mut answer = || serde_json::from_str::<Value>(&output.next().unwrap().unwrap()).unwrap();
    writeln!(input, "{}", greeting()).unwrap();
    assert_eq!(answer()["id"], 1);
    let before = peak(pid);
    input.write_all(b"{\"jsonrpc\": \"").unwrap();
    for _ in 0..200 {
        input.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    writeln!(input).unwrap();
    let refused = answer();
    assert!(refused["error"]["message"].to_string().contains("longer than 12 MiB"), "{refused}");
    writeln!(input, r#"{{"jsonrpc":"2.0","id":2,"method":"ping"}}"#).unwrap();
    assert_eq!(answer()["id"], 2);
    let grown = peak(pid).saturating_sub(before);
    assert!(grown < ROOM, "{grown} bytes");
}

#[test]
fn a_body_without_end_is_refused_and_the_next_is_answered() {
    let desk = Desk::new();
    let mut command = desk.command(&["mcp", "--http", "127.0.0.1:0"]);
    command.env("CELLIST_MCP_TOKEN", TOKEN).stderr(Stdio::piped());
    let mut going = Going(command.spawn().unwrap());
    let mut said = BufReader::new(going.0.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    let host = first.strip_prefix("MCP at http://").unwrap().trim_end_matches("/mcp").to_owned();
    let pid = u64::from(going.0.id());
    let status = |head: &str, mut body: Box<Sending>| {
        let mut stream = TcpStream::connect(&host).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n{head}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // The server may answer and close before all is written.
        let _ = body(&mut stream);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let greet = || {
        let greeting = greeting();
        let head = format!("Content-Length: {}", greeting.len());
        status(&head, Box::new(move |stream| stream.write_all(greeting.as_bytes())))
    };
    assert_eq!(greet(), "200");
    let before = peak(pid);
    assert_eq!(status("Content-Length: 1099511627776", Box::new(|stream| stream.write_all(b"{"))), "413");
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let endless = move |stream: &mut TcpStream| {
        for _ in 0..2000 {
            stream.write_all(chunk.as_bytes())?;
        }
        Ok(())
    };
    // Its answer may be lost with the connection that it closes.
    let ended = status("Transfer-Encoding: chunked", Box::new(endless));
    assert!(ended == "413" || ended.is_empty(), "{ended}");
    let grown = peak(pid).saturating_sub(before);
    assert!(grown < ROOM, "{grown} bytes");
    assert_eq!(greet(), "200");
}

/// A page that a host serves, and a browser that it let in.
struct SignedIn {
    address: String,
    /// The words with which a socket is asked for.
    hello: String,
}

impl SignedIn {
    fn new(desk: &Desk) -> SignedIn {
        let opened = desk.json(&["open", "--no-browser", "nb.ipynb"]);
        let link = opened["link"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (address, path) = link.split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let cookie = page.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&page);
        let cookie = cookie.split(';').next().unwrap();
        let key = page.split("name=\"page-key\" content=\"").nth(1).expect(&page);
        let (browser, key) = key.split_once(' ').unwrap();
        let salt = &key[..32];
        let hello = format!(
            "GET /socket?browser={browser}&salt={salt}&challenge={salt} HTTP/1.1\r\nHost: {address}\r\n\
             Origin: http://{address}\r\nCookie: {cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        SignedIn { address: address.to_owned(), hello }
    }

    /// A socket on which both sides could speak now.
    fn socket(&self) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(self.hello.as_bytes()).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 101");
        stream
    }
}

#[test]
fn frames_without_end_on_the_page_and_on_the_hosts_socket_take_little_memory() {
    let desk = Desk::with(&["x = 1"]);
    let page = SignedIn::new(&desk);
    let pid = desk.json(&["status"])["pid"].as_u64().unwrap();
    let before = peak(pid);
    let check = |stream: &mut dyn Duplex, what: &str, bytes: &[u8]| {
        // The host may close before all is written.
        let _ = stream.write_all(bytes);
        // A reset ends it too, and a timeout means that it stays open.
        let ended = std::io::copy(stream, &mut std::io::sink()).map_err(|error| error.kind());
        assert!(!matches!(ended, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "{what}: {ended:?}");
        assert_eq!(desk.json(&["status"])["pid"].as_u64(), Some(pid), "{what}: the host goes on");
        let grown = peak(pid).saturating_sub(before);
        assert!(grown < ROOM, "{what}: {grown} bytes");
    };
    let masked = |first: u8, length: u64| [&[first, 0xff][..], &length.to_be_bytes(), &[0; 4]].concat();
    check(&mut page.socket(), "a terabyte", &masked(0x81, 1 << 40));
    check(&mut page.socket(), "a ping of a terabyte", &masked(0x89, 1 << 40));
    let socket = || {
        let stream = UnixStream::connect(desk.state().join("run/host.sock")).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    };
    check(&mut socket(), "a hello of 4 GiB", &[0xff; 4]);
    check(&mut socket(), "a hello of 512 MiB", &[&[0x20, 0, 0, 0][..], &[b' '; 1 << 20]].concat());

    // Fragments may come to the size of one message, and no further.
    let piece = [masked(0x00, 1 << 20), vec![0; 1 << 20]].concat();
    let mut stream = page.socket();
    stream.write_all(&[0x01, 0x80, 0, 0, 0, 0]).unwrap();
    let _ = (0..1_000).try_for_each(|_| stream.write_all(&piece));
    let grown = peak(pid).saturating_sub(before);
    assert!(grown < PAGE_MESSAGE as u64 + ROOM, "fragments: {grown} bytes");
}

trait Duplex: Read + Write {}
impl<T: Read + Write> Duplex for T {}
