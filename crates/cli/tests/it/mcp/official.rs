//! The official Python client, over standard streams and over HTTP, in both lives of the protocol.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::LONG;
use crate::desk::Desk;

/// How a client reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
}

/// All ways, each with the handshake of older clients and with requests that stand alone.
pub(crate) const WAYS: [(Way, &str); 4] =
    [(Way::Stdio, "legacy"), (Way::Stdio, "2026-07-28"), (Way::Http, "legacy"), (Way::Http, "2026-07-28")];

/// A client with a server of its own.
pub(crate) struct Official {
    client: Child,
    input: Option<ChildStdin>,
    said: Receiver<Value>,
    server: Option<Server>,
}

/// A server over HTTP.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

pub(crate) const TOKEN: &str = "a-token-for-tests";

impl Server {
    /// Starts `cellist mcp` with these words and a token that is known, at a port of its own.
    pub(crate) fn start(mut command: Command) -> Server {
        command.env("CELLIST_MCP_TOKEN", TOKEN);
        let (server, said) = Server::spawn(command);
        // Further output is shown in the log of the test.
        thread::spawn(move || said.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        server
    }

    /// The same without a token. Returns the output after its address.
    pub(crate) fn spawn(mut command: Command) -> (Server, Lines<BufReader<ChildStderr>>) {
        let mut child = command.args(["--http", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        // From here on it ends with the test, however that ends.
        let mut server = Server { child, url: String::new() };
        let first = said.next().unwrap().unwrap();
        server.url = first.strip_prefix("MCP at ").unwrap_or_else(|| panic!("{first}")).to_owned();
        (server, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Official {
    /// Starts a server with these words and a client of it.
    pub(crate) fn start(desk: &Desk, words: &[&str], (way, mode): (Way, &str)) -> Official {
        Official::with(desk, desk.command(&[&["mcp"], words].concat()), (way, mode))
    }

    /// A client of a server that is there.
    pub(crate) fn to(desk: &Desk, url: &str, token: &str, mode: &str) -> Official {
        let mut client = Official::program(desk, mode);
        client.args(["http", url, token]);
        Official::run(client, None)
    }

    fn program(desk: &Desk, mode: &str) -> Command {
        let mut client = Command::new(testkit::python("mcp"));
        desk.prepare(&mut client);
        client.arg(testkit::repo_root().join("crates/cli/tests/mcp/official.py")).arg(mode);
        client
    }

    pub(crate) fn with(desk: &Desk, command: Command, (way, mode): (Way, &str)) -> Official {
        let mut client = Official::program(desk, mode);
        let server = match way {
            Way::Http => {
                let server = Server::start(command);
                client.args(["http", &server.url, TOKEN]);
                Some(server)
            }
            Way::Stdio => {
                client.arg("stdio").arg(command.get_program()).args(command.get_args());
                // The environment of the command passes through the client.
                for (name, value) in command.get_envs() {
                    match value {
                        Some(value) => client.env(name, value),
                        None => client.env_remove(name),
                    };
                }
                None
            }
        };
        Official::run(client, server)
    }

    fn run(mut client: Command, server: Option<Server>) -> Official {
        let client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, said) = channel();
        let mut official = Official { client, input: None, said, server };
        official.input = official.client.stdin.take();
        let output = BufReader::new(official.client.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}")));
            }
        });
        official
    }

    /// Sends a request and waits for its result.
    #[track_caller]
    pub(crate) fn ask(&mut self, step: &Value) -> Value {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{step}").and_then(|()| input.flush()).expect("the client reads");
        self.said.recv_timeout(LONG).expect("the client answers")
    }

    /// Calls a tool; its text, and whether it failed.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask(&json!({ "do": "call", "name": tool, "arguments": arguments }));
        let content = answer["content"].as_array().unwrap_or_else(|| panic!("{tool}: no result: {answer}"));
        let texts = content.iter().filter_map(|block| block["text"].as_str());
        (texts.collect::<Vec<_>>().join("\n"), answer["isError"] == true)
    }

    /// The names of the tools that are offered.
    #[track_caller]
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.ask(&json!({ "do": "tools" }));
        let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("no list: {listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Official {
    fn drop(&mut self) {
        // It ends its server and then itself, or is ended.
        drop(self.input.take());
        let deadline = Instant::now() + LONG / 2;
        while Instant::now() < deadline && matches!(self.client.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.client.kill();
        let _ = self.client.wait();
        drop(self.server.take());
    }
}
