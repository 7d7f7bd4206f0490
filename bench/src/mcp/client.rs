//! A minimal MCP client on standard streams, equal for all servers.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::measure::Aside;

/// A started server, killed when dropped.
pub(crate) struct Client {
    child: Child,
    requests: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    aside: Aside,
    next: u64,
}

impl Client {
    /// Starts a server and initializes it. Returns its instructions too.
    pub(crate) fn start(command: &mut Command) -> (Client, String) {
        let aside = Aside::new();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(aside.writer())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let requests = child.stdin.take().expect("it is piped");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut client = Client { child, requests, lines, aside, next: 1 };
        let greeting = client.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } }),
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let first = greeting["instructions"].as_str().unwrap_or_default().to_owned();
        (client, first)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The list of tools.
    pub(super) fn tools(&mut self) -> Vec<Value> {
        let listed = self.ask("tools/list", json!({}));
        listed["tools"].as_array().cloned().unwrap_or_else(|| panic!("no list: {listed}"))
    }

    /// The content blocks of a tool's answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Vec<Value> {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        result["content"].as_array().cloned().unwrap_or_else(|| panic!("no answer of {tool}: {result}"))
    }

    /// Sends a call without waiting for the answer.
    pub(crate) fn begin(&mut self, tool: &str, arguments: &Value) {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    }

    /// The result of the call that is answered next.
    pub(crate) fn next_result(&mut self) -> Value {
        self.answer(|message| message.get("id").is_some())
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(|message| message["id"] == id)
    }

    fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The result of the next matching answer. Servers also report progress, and some print lines
    /// that are not messages.
    fn answer(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        let mut messages =
            self.lines.by_ref().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
        let answer: Option<Value> =
            messages.find(|message: &Value| message.get("method").is_none() && is_meant(message));
        match answer {
            Some(mut answer) if answer.get("result").is_some() => answer["result"].take(),
            other => panic!("the answer is {other:?}:\n{}", self.aside.text()),
        }
    }

    fn send(&mut self, message: &Value) {
        let sent = writeln!(self.requests, "{message}").and_then(|()| self.requests.flush());
        sent.unwrap_or_else(|error| panic!("the server does not listen: {error}:\n{}", self.aside.text()));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
