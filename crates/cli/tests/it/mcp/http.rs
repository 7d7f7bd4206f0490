//! Over HTTP: who is let in, and what is too much.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::client::LONG;
use super::official::{Official, Server, TOKEN, WAYS};
use crate::desk::Desk;

/// Sends a request by hand; the status and the rest.
fn send(server: &Server, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let place = server.url.strip_prefix("http://").unwrap();
    let (host, path) = place.split_at(place.find('/').unwrap());
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut request =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        request.push_str(&format!("host: {host}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    // A server that refuses early may close before it has read everything.
    let _ = stream.write_all(format!("{request}\r\n{body}").as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.unwrap_or_else(|| panic!("no status: {answer:?}")), answer)
}

#[test]
fn only_whoever_shows_the_token_and_comes_from_this_machine_is_let_in() {
    let desk = Desk::new();
    let server = Server::start(desk.command(&["mcp", "--standalone"]));
    let bearer = format!("Bearer {TOKEN}");
    let greeting = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } },
    });
    let check = |headers: &[(&str, &str)], expected: u16| {
        let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let (status, answer) = send(&server, "POST", &[&usual, headers].concat(), &greeting.to_string());
        assert_eq!(status, expected, "{headers:?}: {answer}");
        assert_eq!(answer.contains("serverInfo"), expected == 200, "{answer}");
    };
    check(&[("authorization", &bearer)], 200);
    check(&[("authorization", &bearer), ("origin", "http://localhost:3000")], 200);
    check(&[], 401);
    check(&[("authorization", "Bearer wrong-token-tests")], 401);
    check(&[("authorization", TOKEN)], 401);
    check(&[("authorization", "Basic YTpi")], 401);
    check(&[("authorization", &bearer), ("origin", "http://evil.example")], 403);
    check(&[("authorization", &bearer), ("origin", "null")], 403);
    check(&[("authorization", &bearer), ("host", "evil.example")], 403);
    check(&[("authorization", &bearer), ("host", "evil.example:80")], 403);
}

#[test]
fn a_request_that_is_too_large_is_refused_and_the_server_goes_on() {
    let desk = Desk::new();
    for way in WAYS {
        let mut client = Official::start(&desk, &["--standalone"], way);
        let (text, failed) = client.call("python", &json!({ "code": "x".repeat(10_000_000) }));
        assert!(failed && text.starts_with("Error: the arguments of python are 9 MB"), "{text}");
        assert!(client.tools().contains(&"python".to_owned()));
    }
    let server = Server::start(desk.command(&["mcp", "--standalone"]));
    let bearer = format!("Bearer {TOKEN}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let (status, _) = send(&server, "POST", &headers, &" ".repeat(20 << 20));
    assert_eq!(status, 413);
    let (status, _) = send(&server, "GET", &[("authorization", &bearer)], "");
    assert!((400..500).contains(&status), "{status}");
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let desk = Desk::new();
    let refused = desk.run(&["mcp", "--http", "0.0.0.0:0"]).refused(2);
    assert!(refused.contains("127.0.0.1"), "{refused}");
}

#[test]
fn a_token_is_made_and_told_where_none_is_given() {
    let desk = Desk::new();
    let (server, mut said) = Server::spawn(desk.command(&["mcp", "--standalone"]));
    let header = said.next().unwrap().unwrap();
    let (name, value) = header.split_once(": ").unwrap();
    let token = value.strip_prefix("Bearer ").unwrap();
    assert!(name == "Authorization" && token.len() >= 32, "{header}");
    // Without a session there is nothing to hear, but the token is known.
    assert_eq!(send(&server, "GET", &[("authorization", value), ("accept", "text/event-stream")], "").0, 400);
}
