//! Hostile clients of MCP: a line without end, a body without end. Each is refused, in little memory, and the server
//! answers the next.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::servers::{ROOM, peak};
use crate::desk::Desk;

const LONG: Duration = Duration::from_secs(60);
const TOKEN: &str = "a-token-of-the-attacks";

/// Writes a body, as long as the server takes it.
type Sending = dyn FnMut(&mut TcpStream) -> std::io::Result<()>;

/// A program that ends with the test.
struct Going(Child);

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
