//! Real Jupyter servers on loopback. Tests with equal needs share one, and the last one stops it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Scratch, python};

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// Jupyter Kernel Gateway.
    KernelGateway,
    /// Jupyter Server.
    JupyterServer,
    /// Jupyter Enterprise Gateway.
    EnterpriseGateway,
    /// Jupyter Server with real-time collaboration, for benchmarks.
    Collaboration,
}

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Jupyter {
    child: Child,
    port: u16,
    scratch: Scratch,
}

/// The token of its clients.
pub const TOKEN: &str = "a-token-of-the-tests";

/// Time limit for the start on a busy machine.
const START: Duration = Duration::from_secs(120);

/// Exits with the process that started it.
const SCRIPT: &str = "import os, signal, sys, threading
def end_with_parent():
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(10)
    os._exit(1)
threading.Thread(target=end_with_parent, daemon=True).start()
";

impl Flavour {
    fn environment(self) -> &'static str {
        match self {
            Flavour::KernelGateway | Flavour::JupyterServer => "gateway",
            Flavour::EnterpriseGateway => "enterprise",
            Flavour::Collaboration => "bench-mcp",
        }
    }

    /// The environment of its kernels.
    fn kernels(self) -> &'static str {
        match self {
            Flavour::KernelGateway | Flavour::JupyterServer | Flavour::EnterpriseGateway => "kernels",
            Flavour::Collaboration => self.environment(),
        }
    }

    fn module(self) -> &'static str {
        match self {
            Flavour::KernelGateway => "kernel_gateway",
            Flavour::JupyterServer | Flavour::Collaboration => "jupyter_server",
            Flavour::EnterpriseGateway => "enterprise_gateway",
        }
    }

    fn arguments(self, port: u16, scratch: &Path) -> Vec<String> {
        let app = match self {
            Flavour::KernelGateway => "KernelGatewayApp",
            Flavour::JupyterServer | Flavour::Collaboration => "ServerApp",
            Flavour::EnterpriseGateway => "EnterpriseGatewayApp",
        };
        let mut arguments = vec![
            format!("--{app}.ip=127.0.0.1"),
            format!("--{app}.port={port}"),
            format!("--{app}.port_retries=0"),
        ];
        match self {
            Flavour::KernelGateway => arguments.extend([
                format!("--{app}.auth_token={TOKEN}"),
                "--JupyterWebsocketPersonality.list_kernels=True".to_owned(),
            ]),
            Flavour::JupyterServer | Flavour::Collaboration => arguments.extend([
                format!("--IdentityProvider.token={TOKEN}"),
                format!("--{app}.root_dir={}", scratch.join("root").display()),
                format!("--{app}.allow_root=True"),
                format!("--{app}.open_browser=False"),
            ]),
            Flavour::EnterpriseGateway => {
                arguments
                    .extend([format!("--{app}.auth_token={TOKEN}"), format!("--{app}.list_kernels=True")]);
            }
        }
        arguments
    }
}

impl Jupyter {
    /// Starts a server with more arguments. Counts the calling test as a user of its environment.
    pub fn start(flavour: Flavour, more: &[&str]) -> Jupyter {
        Jupyter::start_at(flavour, "", more)
    }

    /// Starts a Jupyter Server below a path, as a Hub does.
    pub fn start_below(flavour: Flavour, path: &str) -> Jupyter {
        Jupyter::start_at(flavour, path, &[&format!("--ServerApp.base_url={path}/")])
    }

    fn start_at(flavour: Flavour, base: &str, more: &[&str]) -> Jupyter {
        // Another process may take the free port before the server does.
        for _ in 0..5 {
            if let Some(server) = Jupyter::try_start(flavour, base, more) {
                return server;
            }
        }
        panic!("{flavour:?} does not start");
    }

    /// The shared server of this process, for tests that need no special limits.
    pub fn shared(flavour: Flavour) -> Arc<Jupyter> {
        static SHARED: Mutex<Vec<(Flavour, Weak<Jupyter>)>> = Mutex::new(Vec::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        // Counted for each test that uses it.
        python(flavour.environment());
        if let Some(server) =
            shared.iter().find(|(known, _)| *known == flavour).and_then(|(_, it)| it.upgrade())
        {
            return server;
        }
        let server = Arc::new(Jupyter::start(flavour, flavour.without_limits()));
        shared.retain(|(known, _)| *known != flavour);
        shared.push((flavour, Arc::downgrade(&server)));
        server
    }

    fn try_start(flavour: Flavour, base: &str, more: &[&str]) -> Option<Jupyter> {
        let scratch = Scratch::new();
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        let kernel = python(flavour.kernels());
        let spec = serde_json::json!({
            "argv": [kernel, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "Python 3", "language": "python",
        });
        scratch.write("share/kernels/python3/kernel.json", spec.to_string());
        scratch.write("root/here", "");
        let log = scratch.path().join("log");
        let file = fs::File::create(&log).expect("the scratch folder is writable");
        let script = format!(
            "{SCRIPT}import runpy\nrunpy.run_module('{}', run_name='__main__', alter_sys=True)\n",
            flavour.module()
        );
        let mut command = Command::new(python(flavour.environment()));
        command
            .arg("-c")
            .arg(script)
            .args(flavour.arguments(port, scratch.path()))
            .args(more)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("HOME", scratch.path())
            .env("IPYTHONDIR", scratch.path().join("ipython"))
            .env("JUPYTER_PATH", scratch.path().join("share"))
            .current_dir(scratch.path().join("root"))
            .stdin(Stdio::piped())
            .stdout(file.try_clone().expect("a file can be shared"))
            .stderr(file);
        let child = command.spawn().expect("a server can be started");
        let mut server = Jupyter { child, port, scratch };
        let began = Instant::now();
        while !answers(port, base) {
            if server.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                let said = fs::read_to_string(&log).unwrap_or_default();
                assert!(said.contains("Address already in use") || said.contains("available port"), "{said}");
                return None;
            }
            assert!(began.elapsed() < START, "{}", fs::read_to_string(&log).unwrap_or_default());
            thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The address of the listener.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// The folder that the server shows.
    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The log of the server.
    pub fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }

    /// Sends a request. Returns status and body of the response.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        ask(self.port, method, path, body, START).expect("the server answers")
    }

    /// Kills the server without warning.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Flavour {
    fn without_limits(self) -> &'static [&'static str] {
        match self {
            Flavour::KernelGateway | Flavour::JupyterServer | Flavour::Collaboration => {
                &["--ZMQChannelsWebsocketConnection.limit_rate=False"]
            }
            Flavour::EnterpriseGateway => &[],
        }
    }
}

impl Drop for Jupyter {
    fn drop(&mut self) {
        // It ends its kernels before it exits.
        drop(self.child.stdin.take());
        let began = Instant::now();
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if began.elapsed() > Duration::from_secs(20) {
                self.kill();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn answers(port: u16, base: &str) -> bool {
    ask(port, "GET", &format!("{base}/api/kernelspecs"), "", Duration::from_secs(5))
        .is_some_and(|(status, _)| status == 200)
}

fn ask(port: u16, method: &str, path: &str, body: &str, patience: Duration) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    // Another program on this port may never answer.
    stream.set_read_timeout(Some(patience)).ok()?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: token {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut rest = String::new();
    reader.read_to_string(&mut rest).ok()?;
    let body = rest.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Some((status, body))
}
