//! MCP over HTTP: access and limits.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::client::LONG;
use super::official::{Official, Server, TOKEN, WAYS};
use crate::desk::Desk;

/// Sends a request to a server by hand; the status and the rest.
fn send(server: &Server, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    send_to(&server.url, method, headers, body)
}

/// Sends a request to an address by hand; the status and the rest.
fn send_to(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let place = url.strip_prefix("http://").unwrap();
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

/// The first message of a client.
fn greeting() -> String {
    let client = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

/// Checks access to MCP.
fn check_door(url: &str, token: &str) {
    let bearer = format!("Bearer {token}");
    let check = |headers: &[(&str, &str)], expected: u16| {
        let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let (status, answer) = send_to(url, "POST", &[&usual, headers].concat(), &greeting());
        assert_eq!(status, expected, "{headers:?}: {answer}");
        assert_eq!(answer.contains("serverInfo"), expected == 200, "{answer}");
    };
    check(&[("authorization", &bearer)], 200);
    check(&[("authorization", &bearer), ("origin", "http://localhost:3000")], 200);
    check(&[], 401);
    check(&[("authorization", "Bearer wrong-token-tests")], 401);
    check(&[("authorization", token)], 401);
    check(&[("authorization", "Basic YTpi")], 401);
    check(&[("authorization", &bearer), ("origin", "http://evil.example")], 403);
    check(&[("authorization", &bearer), ("origin", "null")], 403);
    check(&[("authorization", &bearer), ("host", "evil.example")], 403);
    check(&[("authorization", &bearer), ("host", "evil.example:80")], 403);
}

#[test]
fn only_whoever_shows_the_token_and_comes_from_this_machine_is_let_in() {
    let desk = Desk::new();
    let server = Server::start(desk.command(&["mcp", "--standalone"]));
    check_door(&server.url, TOKEN);
}

/// A host that serves the page, and with it programs.
struct Host<'a> {
    desk: &'a Desk,
    token: String,
    port: u16,
}

impl Host<'_> {
    fn start(desk: &Desk) -> Host<'_> {
        // From here on a host may be there; it ends with the desk.
        desk.run(&["open", "--no-browser"]).ok();
        let token = desk.run(&["status", "--token"]).ok().trim().to_owned();
        let port = desk.json(&["status"])["page"].as_u64().unwrap();
        Host { desk, token, port: u16::try_from(port).unwrap() }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sends an editor's report. Returns the status and the body.
    fn report(&self, said: &Value) -> (u16, Value) {
        let bearer = format!("Bearer {}", self.token);
        let (status, answer) =
            send_to(&self.url("/editor"), "POST", &[("authorization", &bearer)], &said.to_string());
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}")))
    }
}

#[test]
fn the_host_serves_agents_at_the_address_of_its_page() {
    let desk = Desk::with(&["x = 1"]);
    let refused = desk.run(&["status", "--token"]).refused(2);
    assert!(refused.contains("cellist serve --port"), "{refused}");
    let host = Host::start(&desk);
    assert!(desk.run(&["status"]).ok().contains(&host.url("/mcp")));
    check_door(&host.url("/mcp"), &host.token);
    for mode in ["legacy", "2026-07-28"] {
        let mut client = Official::to(host.desk, &host.url("/mcp"), &host.token, mode);
        assert!(client.tools().contains(&"run_notebook_cells".to_owned()));
        let (text, failed) = client.call("get_notebook_cells", &json!({ "notebook": "nb.ipynb" }));
        assert!(!failed && text.contains("x = 1"), "{text}");
    }
    // The token of programs opens nothing of the page.
    let bearer = format!("Bearer {}", host.token);
    assert_eq!(send_to(&host.url("/"), "GET", &[("authorization", &bearer)], "").0, 401);
}

#[test]
fn an_editor_reports_over_http_what_is_in_front_of_a_person() {
    let desk = Desk::with(&["x = 1"]);
    let host = Host::start(&desk);
    let path = std::fs::canonicalize(desk.path().join("nb.ipynb")).unwrap();
    let (status, told) =
        host.report(&json!({ "notebook": path, "attach": true, "select": ["a"], "editing": 0 }));
    assert_eq!((status, &told["notebookMode"]), (200, &json!(true)), "{told}");
    assert_eq!(told, desk.json(&["editor"]));
    let context = desk.json(&["context"]);
    assert_eq!(context["selectedCells"][0]["selectionStatus"], "active", "{context}");
    let before = desk.json(&["editor"]);
    for wrong in [
        json!({}),
        json!(7),
        json!({ "notebook": 3 }),
        json!({ "notebook": "nb.ipynb" }),
        json!({ "notebook": desk.path() }),
        json!({ "notebook": path, "select": "a" }),
        json!({ "notebook": path, "editing": -1 }),
        json!({ "notebook": path, "cells": [] }),
    ] {
        let (status, told) = host.report(&wrong);
        assert_eq!((status, &told["error"]["kind"]), (400, &json!("bad_report")), "{wrong}: {told}");
        assert!(told["error"]["hint"].as_str().unwrap().contains("/path/to/nb.ipynb"), "{told}");
    }
    let bearer = format!("Bearer {}", host.token);
    let none = json!({ "notebook": null }).to_string();
    for (headers, expected) in [
        (vec![], 401),
        (vec![("authorization", "Bearer wrong")], 401),
        (vec![("authorization", bearer.as_str()), ("origin", "http://evil.example")], 403),
        (vec![("authorization", bearer.as_str()), ("host", "evil.example")], 403),
    ] {
        let (status, _) = send_to(&host.url("/editor"), "POST", &headers, &none);
        assert_eq!(status, expected, "{headers:?}");
    }
    assert_eq!(desk.json(&["editor"]), before);
    let (status, told) = host.report(&json!({ "notebook": null }));
    assert_eq!((status, &told["notebookMode"]), (200, &json!(false)), "{told}");
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
fn a_port_that_is_taken_is_said_to_be_and_fails() {
    let desk = Desk::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for words in [["mcp", "--http", &port], ["serve", "--port", &port]] {
        let refused = desk.run(&words).refused(3);
        assert!(refused.contains(&port) && refused.contains("in use"), "{refused}");
        assert!(refused.contains("another port") && !refused.contains("os error"), "{refused}");
    }
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
