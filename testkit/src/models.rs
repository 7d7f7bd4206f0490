//! A scripted provider of models. It speaks the protocol of each request and records all requests.

mod dialect;
mod said;
mod strict;

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};

use dialect::ModelProtocol;
pub use said::Said;
use said::ScriptedEnding;

/// A timeout for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval of checks whether the client is still connected.
const LOOK: Duration = Duration::from_millis(50);

/// A recorded request.
#[derive(Clone, Debug, Serialize)]
pub struct ModelRequest {
    /// The path of the request.
    pub path: String,
    /// All headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

/// A provider on this machine. It stops when it is dropped.
pub struct Models {
    port: u16,
    shared: Arc<ModelsShared>,
    listener: Option<JoinHandle<()>>,
}

/// Events for an observer of the provider.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum News<'a> {
    /// A request arrived.
    Asked(&'a ModelRequest),
    /// A piece of an answer was written to the socket.
    Sent {
        /// The number of the request, from 1.
        request: usize,
        /// The number of the piece, from 0.
        piece: usize,
        /// Unix time in milliseconds.
        at: f64,
    },
}

struct ModelsShared {
    state: Mutex<ModelsState>,
    news: Condvar,
    tell: Box<dyn Fn(News<'_>) + Send + Sync>,
}

#[derive(Default)]
struct ModelsState {
    script: VecDeque<Said>,
    asked: Vec<ModelRequest>,
    released: usize,
    is_closed: bool,
    connections: Vec<JoinHandle<()>>,
}

impl Models {
    /// Starts a provider with a script of answers. After the last one it answers with an error.
    pub fn start(script: impl IntoIterator<Item = Said>) -> Models {
        Models::start_telling(script, |_| {})
    }

    /// [`Models::start`] with an observer of requests and sent pieces.
    pub fn start_telling(
        script: impl IntoIterator<Item = Said>,
        tell: impl Fn(News<'_>) + Send + Sync + 'static,
    ) -> Models {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let port = listener.local_addr().expect("it listens").port();
        let state = ModelsState { script: script.into_iter().collect(), ..ModelsState::default() };
        let shared = ModelsShared { state: Mutex::new(state), news: Condvar::new(), tell: Box::new(tell) };
        let shared = Arc::new(shared);
        let serving = Arc::clone(&shared);
        let listening = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.lock().is_closed {
                    return;
                }
                let at = Arc::clone(&serving);
                let connection = thread::spawn(move || drop(at.serve(stream)));
                serving.lock().connections.push(connection);
            }
        });
        Models { port, shared, listener: Some(listening) }
    }

    /// Appends answers to the script.
    pub fn say(&self, said: impl IntoIterator<Item = Said>) {
        self.shared.lock().script.extend(said);
    }

    /// Clears the rest of the script, and resets surplus releases.
    pub fn forget(&self) {
        let mut state = self.shared.lock();
        state.script.clear();
        state.released = 0;
    }

    /// The URL without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<ModelRequest> {
        self.shared.lock().asked.clone()
    }

    /// Waits for a number of requests.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<ModelRequest> {
        let until = Instant::now() + PATIENCE;
        let mut state = self.shared.lock();
        while state.asked.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "asked {} times, not {count}", state.asked.len());
            state = self.shared.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.asked.clone()
    }

    /// The port of the URL.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Lets one held answer continue.
    pub fn release(&self) {
        self.shared.lock().released += 1;
        self.shared.news.notify_all();
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.news.notify_all();
        // Wakes the listener, which waits for a connection.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let connections = std::mem::take(&mut self.shared.lock().connections);
        connections.into_iter().for_each(|connection| drop(connection.join()));
    }
}

impl ModelsShared {
    fn lock(&self) -> MutexGuard<'_, ModelsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let Some(asked) = read(&stream)? else { return Ok(()) };
        let (path, body) = (asked.path.clone(), asked.body.clone());
        let (said, number) = {
            let mut state = self.lock();
            // In the order in which answers are taken from the script.
            (self.tell)(News::Asked(&asked));
            state.asked.push(asked);
            (state.script.pop_front(), state.asked.len())
        };
        self.news.notify_all();
        let Some(dialect) = ModelProtocol::of(&path) else {
            return refuse(
                &mut stream,
                404,
                &[],
                &json!({ "error": { "message": "there is no such path" } }),
            );
        };
        if let Err(problem) = strict::check(dialect, &body) {
            return refuse(&mut stream, 400, &[], &dialect.failure(400, &problem));
        }
        let said = said.unwrap_or_else(|| Said::refusal(500, "the script has ended"));
        if let ScriptedEnding::Refused { status, headers, words } = &said.ending {
            return refuse(&mut stream, *status, headers, &dialect.failure(*status, words));
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        )?;
        let is_too_long = matches!(said.ending, ScriptedEnding::TooLong);
        let answer = dialect.answer(&said.pieces, &said.calls, is_too_long, number);
        send(&mut stream, &answer.before)?;
        let last = answer.pieces.len().saturating_sub(1);
        for (piece, text) in answer.pieces.iter().enumerate() {
            self.pause(said.pause());
            if matches!(said.ending, ScriptedEnding::Held) && piece == last {
                self.hold(&stream)?;
            }
            let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0;
            send(&mut stream, text)?;
            (self.tell)(News::Sent { request: number, piece, at });
        }
        match said.ending {
            ScriptedEnding::Cut => return Ok(()),
            ScriptedEnding::Garbled => {
                send(&mut stream, "event: content_block_delta\ndata: {\"what is\": this?\n\n")?;
            }
            ScriptedEnding::Held if answer.pieces.is_empty() => self.hold(&stream)?,
            ScriptedEnding::Whole
            | ScriptedEnding::Held
            | ScriptedEnding::TooLong
            | ScriptedEnding::Refused { .. } => {}
        }
        send(&mut stream, &answer.after)?;
        stream.write_all(b"0\r\n\r\n")
    }

    /// Waits until an answer may continue, or its client has disconnected.
    fn hold(&self, stream: &TcpStream) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut state = self.lock();
        while !state.is_closed && Instant::now() < until {
            if is_gone(stream)? {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if state.released > 0 {
                state.released -= 1;
                break;
            }
            state = self.news.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Pauses, unless the provider stops meanwhile.
    fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        while !state.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Whether the client has closed the connection.
fn is_gone(stream: &TcpStream) -> io::Result<bool> {
    stream.set_nonblocking(true)?;
    let seen = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    match seen {
        Ok(bytes) => Ok(bytes == 0),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(_) => Ok(true),
    }
}

fn read(stream: &TcpStream) -> io::Result<Option<ModelRequest>> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let path = first.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(ModelRequest { path, headers, body }))
}

fn send(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    write!(stream, "{:x}\r\n{text}\r\n", text.len())?;
    stream.flush()
}

fn refuse(stream: &mut TcpStream, status: u16, headers: &[(String, String)], body: &Value) -> io::Result<()> {
    let body = body.to_string();
    write!(stream, "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\nconnection: close\r\n")?;
    for (name, value) in headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(stream, "content-length: {}\r\n\r\n{body}", body.len())
}
