//! A client that speaks the protocol by hand, over standard streams.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A running server and its messages.
pub(crate) struct Client {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    answers: HashMap<u64, Value>,
    pub(crate) notifications: Vec<Value>,
    next: u64,
}

impl Client {
    /// Starts a server and says nothing yet.
    pub(crate) fn start(mut command: Command) -> Client {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let (answers, notifications) = (HashMap::new(), Vec::new());
        let mut client = Client { child, input: None, lines, answers, notifications, next: 1 };
        client.input = client.child.stdin.take();
        let output = BufReader::new(client.child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line)
                    .unwrap_or_else(|_| panic!("something else stands on standard output: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        client
    }

    /// Starts a server and shakes hands with it, as clients of this version do.
    pub(crate) fn greet(command: Command, version: &str) -> Client {
        let mut client = Client::start(command);
        let greeting = client.ask(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "tester", "version": "1" } }),
        );
        assert_eq!(greeting["result"]["protocolVersion"], version, "{greeting}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Begins a request and says its number.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Whether a request is answered.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.answers.contains_key(&id)
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.hear(|client| client.answers.contains_key(&id));
        self.answers.remove(&id).unwrap()
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Calls a tool that must be known; its text, and whether it failed.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let (content, failed) = self.blocks(tool, arguments);
        let texts = content.iter().filter_map(|block| block["text"].as_str());
        (texts.collect::<Vec<_>>().join("\n"), failed)
    }

    /// Calls a tool of a server that may be killed meanwhile; nothing when it is.
    pub(crate) fn try_call(&mut self, tool: &str, arguments: Value) -> Option<(String, bool)> {
        let id = self.next;
        self.next += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        writeln!(self.input.as_mut()?, "{request}").ok()?;
        let answer = loop {
            let message = self.lines.recv_timeout(LONG).ok()?;
            if message["id"] == id && message.get("method").is_none() {
                break message;
            }
        };
        let content = answer["result"]["content"].as_array()?;
        let text: Vec<&str> = content.iter().filter_map(|block| block["text"].as_str()).collect();
        Some((text.join("\n"), answer["result"]["isError"] == true))
    }

    /// Calls a tool that must be known; all that it answers, and whether it failed.
    #[track_caller]
    pub(crate) fn blocks(&mut self, tool: &str, arguments: Value) -> (Vec<Value>, bool) {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let content = answer["result"]["content"].take();
        let Value::Array(content) = content else { panic!("no result: {answer}") };
        (content, answer["result"]["isError"] == true)
    }

    /// Waits until something was heard.
    #[track_caller]
    pub(crate) fn hear(&mut self, is_heard: impl Fn(&Client) -> bool) {
        let deadline = Instant::now() + LONG;
        while !is_heard(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.lines.recv_timeout(left).expect("the server says what is waited for");
            match message["id"].as_u64() {
                Some(id) if message.get("method").is_none() => drop(self.answers.insert(id, message)),
                Some(_) | None => self.notifications.push(message),
            }
        }
    }

    /// Goes away, and waits until the server has ended by itself.
    pub(crate) fn leave(mut self) -> i32 {
        drop(self.input.take());
        self.end()
    }

    /// Waits until the server has ended by itself.
    pub(crate) fn end(mut self) -> i32 {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().expect("it ends by itself");
            }
            assert!(Instant::now() < deadline, "the server stays");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn send(&mut self, message: &Value) {
        self.write_line(message.to_string().as_bytes());
    }

    /// Sends a line as it is, whether it is a message or not.
    pub(crate) fn write_line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let written =
            input.write_all(line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush());
        written.expect("the server reads");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
