//! The task that owns a runner's process: reads its pipes, keeps its output in order, writes requests. It never
//! waits for whoever listens: when they fall behind it stops reading, and then the program waits.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use cellist_output::StreamName;
use memchr::memchr;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::frames::{self, Ask, Frame, Hello, LARGEST_FRAME, Line, Reply, Widget, shortened};
use super::marks::Marks;
use super::order::{Item, Order};
use crate::bars::Bars;
use crate::error::{Error, Result};
use crate::event::{Death, Event};
use crate::kernel::{ExecutionId, Request, State};
use crate::process::{Process, Signal};
use crate::trace::Trace;

/// Events that a listener may be behind before they wait here.
pub(super) const EVENTS: usize = 64;

/// What may wait here, in bytes, before nothing more is read.
const WAITING: usize = 256 * 1024;

/// An event of this size is sent only to a listener that has taken all before it, so that few are in memory.
const LARGE: usize = 1024 * 1024;

/// Frames that may wait for their place among the text: their marks are in the pipes already.
const FRAMES: usize = 64;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// How much of what a runner says while it starts is kept for an error.
const START_WORDS: usize = 8 * 1024;

/// How long the runner may take to pass an interrupt on before it is sent past it: code that holds Python's lock
/// keeps the runner from hearing us.
const INTERRUPT: Duration = Duration::from_millis(100);

/// How long an idle runner may take to leave.
const LEAVE: Duration = Duration::from_secs(1);

/// What the task is told.
pub(super) enum Command {
    Execute {
        id: ExecutionId,
        request: Request,
        events: mpsc::Sender<Event>,
        begun: oneshot::Sender<Result<()>>,
    },
    Interrupt(ExecutionId),
    Question {
        id: u64,
        line: Vec<u8>,
        traced: Option<String>,
        answer: oneshot::Sender<Reply>,
    },
    Leave {
        gone: oneshot::Sender<()>,
    },
}

/// The process's ends of the pipes.
pub(super) struct Pipes {
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
    pub(super) frames: pipe::Receiver,
    pub(super) requests: pipe::Sender,
}

/// What a runner is talked to with from its first moment.
pub(super) struct Opening {
    pub(super) process: Process,
    pub(super) pipes: Pipes,
    /// What its marks begin with.
    pub(super) token: String,
    /// What it is told first.
    pub(super) first: Vec<u8>,
    /// How long it may take to get ready.
    pub(super) within: Duration,
    pub(super) state: Arc<watch::Sender<State>>,
    pub(super) trace: Option<Trace>,
}

pub(super) struct Link {
    process: Process,
    streams: [Stream; 2],
    frames: FrameReader,
    requests: pipe::Sender,
    to_write: BytesMut,
    order: Order<Frame>,
    start: Option<Start>,
    running: Option<Running>,
    events: Option<mpsc::Sender<Event>>,
    waiting: Waiting,
    answers: HashMap<u64, oneshot::Sender<Reply>>,
    interrupt: Option<(ExecutionId, Instant)>,
    bars: Bars,
    state: Arc<watch::Sender<State>>,
    trace: Option<Trace>,
    fault: Option<String>,
}

/// A runner that has not said hello yet.
struct Start {
    ready: oneshot::Sender<Result<Hello>>,
    within: Duration,
    deadline: Instant,
    words: Vec<u8>,
}

struct Running {
    id: ExecutionId,
    started: bool,
}

impl Link {
    /// Starts the task. What it returns tells when the runner is ready, or why it is not.
    pub(super) fn spawn(
        opening: Opening,
        commands: mpsc::Receiver<Command>,
    ) -> oneshot::Receiver<Result<Hello>> {
        let Opening { process, pipes, token, first, within, state, trace } = opening;
        let (ready, hello) = oneshot::channel();
        let link = Link {
            process,
            streams: [
                Stream::new(StreamName::Stdout, pipes.stdout, &token),
                Stream::new(StreamName::Stderr, pipes.stderr, &token),
            ],
            frames: FrameReader { pipe: Some(pipes.frames), buffer: BytesMut::new(), looked: 0 },
            requests: pipes.requests,
            to_write: BytesMut::from(&first[..]),
            order: Order::new(),
            start: Some(Start { ready, within, deadline: Instant::now() + within, words: Vec::new() }),
            running: None,
            events: None,
            waiting: Waiting::default(),
            answers: HashMap::new(),
            interrupt: None,
            bars: Bars::default(),
            state,
            trace,
            fault: None,
        };
        tokio::spawn(link.run(commands));
        hello
    }

    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let death = loop {
            let has_room = self.waiting.bytes < WAITING && self.waiting.events.len() < EVENTS;
            let reads_frames = has_room && self.order.waiting_frames() < FRAMES;
            let large = self.waiting.next_is_large();
            let (listener, has_events) = (self.events.clone(), !self.waiting.events.is_empty());
            let [stdout, stderr] = &self.streams;
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(Command::Leave { gone }) => {
                        let death = self.leave().await;
                        self.die(death).await;
                        // Whoever asked may have stopped waiting.
                        let _ = gone.send(());
                        return;
                    }
                    Some(command) => self.obey(command),
                    None => break self.process.kill_tree().await,
                },
                room = room(listener.as_ref(), large), if has_events => self.send(room),
                death = self.process.wait() => break death,
                ready = stdout.readable(), if has_room => if ready { self.read(0); },
                ready = stderr.readable(), if has_room => if ready { self.read(1); },
                ready = self.frames.readable(), if reads_frames => if ready { self.read_frames(); },
                ready = self.requests.writable(), if !self.to_write.is_empty() => if ready.is_ok() { self.write(); },
                () = until(self.interrupt.map(|(_, at)| at)) => self.interrupt_directly(),
                () = until(self.start.as_ref().map(|start| start.deadline)) => {
                    self.process.kill_tree().await;
                    self.read_rest();
                    if let Some(start) = self.start.take() {
                        let stderr = start.said();
                        // Whoever waited may have gone.
                        let _ = start.ready.send(Err(Error::NotReady { within: start.within, stderr }));
                    }
                    break self.process.wait().await;
                }
            }
            if has_room && self.order.is_holding() {
                // What is waited for is mostly there already. A stream that never pauses would keep it from being seen, until
                // so much is held that it is passed on before its cell has begun.
                tokio::task::yield_now().await;
                self.read(1);
                self.read_frames();
            }
            if let Some(what) = self.fault.take() {
                self.note(|| format!("! {what}"));
                break self.process.kill_tree().await;
            }
        };
        self.die(death).await;
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Execute { id, request, events, begun } => {
                let answer = match &self.running {
                    Some(_) => Err(Error::Busy),
                    None => {
                        self.begin(id, &request, events);
                        Ok(())
                    }
                };
                // A caller who has gone away hears nothing; the code runs all the same.
                let _ = begun.send(answer);
            }
            Command::Interrupt(id) => {
                if self.running.as_ref().is_some_and(|running| running.id == id) {
                    self.ask(&Ask::Interrupt { id: 0, execution: id.0 });
                    self.interrupt = Some((id, Instant::now() + INTERRUPT));
                }
            }
            Command::Question { id, line, traced, answer } => {
                self.note(|| format!("> {}", traced.unwrap_or_default()));
                self.answers.retain(|_, answer| !answer.is_closed());
                self.answers.insert(id, answer);
                self.to_write.extend_from_slice(&line);
            }
            Command::Leave { .. } => {}
        }
    }

    fn begin(&mut self, id: ExecutionId, request: &Request, events: mpsc::Sender<Event>) {
        if let Some(before) = self.events.replace(events) {
            // The last of an execution whose reader is slow; what came later is told to the new one.
            let rest = std::mem::take(&mut self.waiting);
            tokio::spawn(async move {
                for event in rest.events {
                    if before.send(event.into()).await.is_err() {
                        break;
                    }
                }
            });
        }
        self.running = Some(Running { id, started: false });
        self.ask(&Ask::execute(id, request));
        self.state.send_replace(State::Busy(id));
    }

    fn ask(&mut self, ask: &Ask<'_>) {
        self.note(|| format!("> {}", ask.traced()));
        self.to_write.extend_from_slice(&ask.line());
        self.write();
    }

    fn write(&mut self) {
        while !self.to_write.is_empty() {
            match self.requests.try_write(&self.to_write) {
                Ok(written) => self.to_write.advance(written),
                // Either it takes more later, or it is gone, and then its death is told.
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.to_write.clear();
                    }
                    break;
                }
            }
        }
    }

    fn read(&mut self, stream: usize) {
        let stream = &mut self.streams[stream];
        if let Some(bytes) = stream.read() {
            let mut pieces = VecDeque::new();
            stream.marks.push(bytes, &mut pieces);
            self.order.read(stream.name, pieces);
            self.pass_on();
        }
    }

    fn read_frames(&mut self) {
        match self.frames.read() {
            Ok(true) => {}
            Ok(false) => return,
            Err(what) => self.fault = Some(what),
        }
        while let Some(line) = self.frames.line() {
            self.note(|| format!("< {}", shortened(&String::from_utf8_lossy(&line))));
            match frames::read(&line) {
                Ok(Line::Placed { mark, frame }) => self.order.frame(mark, frame),
                Ok(Line::Reply(reply)) => self.answered(reply),
                Err(error) => self.fault = Some(format!("a frame cannot be read: {error}")),
            }
        }
        self.pass_on();
    }

    fn answered(&mut self, reply: Reply) {
        if reply.reply_to == 0 {
            self.interrupt = None;
        } else if let Some(answer) = self.answers.remove(&reply.reply_to) {
            // Whoever asked may have stopped waiting.
            let _ = answer.send(reply);
        }
    }

    /// Turns what comes next into events.
    fn pass_on(&mut self) {
        while let Some(item) = self.order.next() {
            match item {
                Item::Text(name, bytes) => match &mut self.start {
                    Some(start) => start.hear(name, &bytes),
                    None => {
                        let late = !self.running.as_ref().is_some_and(|running| running.started);
                        self.waiting.text(name, bytes, late);
                    }
                },
                Item::Frame(frame) => self.happened(frame),
            }
        }
    }

    fn happened(&mut self, frame: Frame) {
        match frame {
            Frame::Hello(hello) => {
                if let Some(start) = self.start.take() {
                    // Whoever waited may have gone; then the channel of commands is closed too.
                    let _ = start.ready.send(Ok(hello));
                }
            }
            Frame::Started { execution, execution_count } => {
                if let Some(running) = &mut self.running
                    && running.id.0 == execution
                    && !running.started
                {
                    running.started = true;
                    self.waiting.event(Event::Started { execution_count });
                }
            }
            Frame::Event(event) => self.waiting.event(event),
            Frame::Widget(widget) => {
                let progress = match *widget {
                    Widget::Open(comm) => self.bars.open(comm),
                    Widget::Message(comm) => self.bars.update(&comm),
                    Widget::Close(comm) => {
                        self.bars.close(&comm);
                        None
                    }
                };
                if let Some(progress) = progress {
                    self.waiting.event(progress);
                }
            }
            Frame::Done { execution, outcome } => {
                if self.running.as_ref().is_some_and(|running| running.id.0 == execution) {
                    self.running = None;
                    self.interrupt = None;
                    self.waiting.event(Event::Done(outcome));
                    self.end_of_events();
                    self.state.send_replace(State::Idle);
                }
            }
        }
    }

    /// An execution is over: its listener hears what is left of it, and nothing else.
    fn end_of_events(&mut self) {
        let Some(events) = self.events.take() else { return };
        let mut rest = std::mem::take(&mut self.waiting).events;
        while let Some(event) = rest.pop_front() {
            match events.try_send(event.into()) {
                Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
                Err(mpsc::error::TrySendError::Full(event)) => {
                    tokio::spawn(async move {
                        let mut next = Some(event);
                        while let Some(event) = next {
                            if events.send(event).await.is_err() {
                                break;
                            }
                            next = rest.pop_front().map(Event::from);
                        }
                    });
                    return;
                }
            }
        }
    }

    fn send(&mut self, room: std::result::Result<mpsc::OwnedPermit<Event>, Closed>) {
        match (room, self.waiting.next()) {
            (Ok(permit), Some(event)) => drop(permit.send(event)),
            // Nobody listens; the code goes on all the same.
            (Err(Closed), _) => self.waiting = Waiting::default(),
            (Ok(_), None) => {}
        }
    }

    fn interrupt_directly(&mut self) {
        if let Some((id, _)) = self.interrupt.take()
            && self.running.as_ref().is_some_and(|running| running.id == id)
        {
            self.note(|| "! SIGINT".into());
            self.process.signal(Signal::INT);
        }
    }

    /// Lets an idle runner end by itself; kills one that is busy.
    async fn leave(&mut self) -> Death {
        if self.running.is_none() && self.start.is_none() {
            self.process.look_at_tree();
            self.ask(&Ask::Exit);
            let deadline = Instant::now() + LEAVE;
            loop {
                let [stdout, stderr] = &self.streams;
                tokio::select! {
                    biased;
                    _ = self.process.wait() => break,
                    () = tokio::time::sleep_until(deadline) => break,
                    // What it says while it leaves must not keep it.
                    ready = stdout.readable() => if ready { self.read(0) },
                    ready = stderr.readable() => if ready { self.read(1) },
                    ready = self.requests.writable(), if !self.to_write.is_empty() => if ready.is_ok() { self.write() },
                }
                if self.events.is_none() {
                    self.waiting = Waiting::default();
                }
            }
        }
        self.process.kill_tree().await
    }

    /// The process is gone: tells what it had still said, and how it ended.
    async fn die(&mut self, death: Death) {
        self.read_rest();
        self.state.send_replace(State::Dead(death.clone()));
        self.answers.clear();
        if let Some(start) = self.start.take() {
            let stderr = start.said();
            // Whoever waited may have gone.
            let _ = start.ready.send(Err(Error::DiedAtStart { death: death.clone(), stderr }));
        }
        if self.running.take().is_some() {
            self.waiting.event(Event::Died(death));
        }
        self.end_of_events();
    }

    fn read_rest(&mut self) {
        for at in 0..self.streams.len() {
            while let Some(bytes) = self.streams[at].read() {
                let mut pieces = VecDeque::new();
                self.streams[at].marks.push(bytes, &mut pieces);
                self.order.read(self.streams[at].name, pieces);
            }
            let mut pieces = VecDeque::new();
            self.streams[at].marks.finish(&mut pieces);
            self.order.read(self.streams[at].name, pieces);
        }
        while let Ok(true) = self.frames.read() {
            while let Some(line) = self.frames.line() {
                if let Ok(Line::Placed { mark, frame }) = frames::read(&line) {
                    self.order.frame(mark, frame);
                }
            }
        }
        self.order.finish();
        self.pass_on();
    }

    fn note(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            trace.line(&line());
        }
    }
}

impl Start {
    /// Keeps the end of what is said on standard error before the runner is ready; the rest is nobody's output.
    fn hear(&mut self, name: StreamName, bytes: &[u8]) {
        if name == StreamName::Stderr {
            self.words.extend_from_slice(bytes);
            let over = self.words.len().saturating_sub(START_WORDS);
            self.words.drain(..over);
        }
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.words).into_owned()
    }
}

struct Closed;

/// Waits until the listener has room for one more; for a large event, until it has taken all before it.
async fn room(
    events: Option<&mpsc::Sender<Event>>,
    large: bool,
) -> std::result::Result<mpsc::OwnedPermit<Event>, Closed> {
    let Some(events) = events else { return std::future::pending().await };
    if large {
        drop(events.reserve_many(events.max_capacity()).await.map_err(|_| Closed)?);
    }
    events.clone().reserve_owned().await.map_err(|_| Closed)
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// One of the output pipes.
struct Stream {
    name: StreamName,
    pipe: Option<pipe::Receiver>,
    buffer: BytesMut,
    marks: Marks,
}

impl Stream {
    fn new(name: StreamName, pipe: pipe::Receiver, token: &str) -> Stream {
        Stream { name, pipe: Some(pipe), buffer: BytesMut::new(), marks: Marks::new(token) }
    }

    /// Waits until there is something to read; for ever, once the pipe has ended.
    async fn readable(&self) -> bool {
        readable(self.pipe.as_ref()).await
    }

    /// Reads what is there, up to one chunk.
    fn read(&mut self) -> Option<Bytes> {
        let pipe = self.pipe.as_ref()?;
        if self.buffer.capacity() < CHUNK / 2 {
            self.buffer.reserve(CHUNK);
        }
        match pipe.try_read_buf(&mut self.buffer) {
            Ok(0) => {
                self.pipe = None;
                None
            }
            // A short text must not keep a whole chunk in memory.
            Ok(read) if read < CHUNK / 16 => {
                let bytes = Bytes::copy_from_slice(&self.buffer);
                self.buffer.clear();
                Some(bytes)
            }
            Ok(_) => Some(self.buffer.split().freeze()),
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    self.pipe = None;
                }
                None
            }
        }
    }
}

async fn readable(pipe: Option<&pipe::Receiver>) -> bool {
    match pipe {
        Some(pipe) => pipe.readable().await.is_ok(),
        None => std::future::pending().await,
    }
}

/// The pipe of frames.
struct FrameReader {
    pipe: Option<pipe::Receiver>,
    buffer: BytesMut,
    // How much of the buffer has no end of line in it.
    looked: usize,
}

impl FrameReader {
    async fn readable(&self) -> bool {
        readable(self.pipe.as_ref()).await
    }

    /// Reads what is there, up to one chunk; false when there is nothing.
    fn read(&mut self) -> std::result::Result<bool, String> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        if self.buffer.len() > LARGEST_FRAME {
            return Err(format!("a frame is longer than {LARGEST_FRAME} bytes"));
        }
        self.buffer.reserve(CHUNK);
        match pipe.try_read_buf(&mut self.buffer) {
            Ok(0) => {
                // It closed the pipe and may still run: without it there is no way to know what it does.
                self.pipe = None;
                Err("the pipe of frames was closed".into())
            }
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn line(&mut self) -> Option<Bytes> {
        match memchr(b'\n', &self.buffer[self.looked..]) {
            Some(at) => {
                let mut line = self.buffer.split_to(self.looked + at + 1);
                line.truncate(line.len() - 1);
                self.looked = 0;
                if line.len() >= LARGE {
                    // The room that a large frame took goes with it.
                    self.buffer = BytesMut::from(&self.buffer[..]);
                }
                Some(line.freeze())
            }
            None => {
                self.looked = self.buffer.len();
                None
            }
        }
    }
}

/// Events that the listener has no room for yet. Text of one stream is put together.
#[derive(Default)]
struct Waiting {
    events: VecDeque<Unsent>,
    bytes: usize,
}

enum Unsent {
    Text { name: StreamName, late: bool, bytes: Bytes, more: BytesMut },
    Event(Event, usize),
}

impl Waiting {
    fn text(&mut self, name: StreamName, bytes: Bytes, late: bool) {
        self.bytes += bytes.len();
        if let Some(Unsent::Text { name: last, late: last_late, bytes: first, more }) = self.events.back_mut()
            && (*last, *last_late) == (name, late)
            && first.len() + more.len() + bytes.len() <= CHUNK
        {
            if more.is_empty() {
                more.extend_from_slice(first);
                first.clear();
            }
            more.extend_from_slice(&bytes);
            return;
        }
        self.events.push_back(Unsent::Text { name, late, bytes, more: BytesMut::new() });
    }

    fn event(&mut self, event: Event) {
        let size = size(&event);
        self.bytes += size;
        self.events.push_back(Unsent::Event(event, size));
    }

    fn next_is_large(&self) -> bool {
        matches!(self.events.front(), Some(Unsent::Event(_, size)) if *size >= LARGE)
    }

    fn next(&mut self) -> Option<Event> {
        let next = self.events.pop_front()?;
        self.bytes -= match &next {
            Unsent::Text { bytes, more, .. } => bytes.len() + more.len(),
            Unsent::Event(_, size) => *size,
        };
        Some(next.into())
    }
}

impl From<Unsent> for Event {
    fn from(unsent: Unsent) -> Event {
        match unsent {
            Unsent::Text { name, late, bytes, more } => {
                let bytes = if more.is_empty() { bytes } else { more.freeze() };
                Event::Stream { name, bytes, late }
            }
            Unsent::Event(event, _) => event,
        }
    }
}

/// About how much memory an event takes.
fn size(event: &Event) -> usize {
    match event {
        Event::Display { data, .. } | Event::UpdateDisplay { data, .. } | Event::Result { data, .. } => data
            .iter()
            .map(|(_, data)| match data {
                cellist_output::MimeData::Text(text) => text.len(),
                cellist_output::MimeData::Json(json) => json.get().len(),
            })
            .sum(),
        Event::Error { message, traceback, .. } => {
            message.len() + traceback.iter().map(String::len).sum::<usize>()
        }
        Event::Stream { bytes, .. } => bytes.len(),
        Event::Started { .. }
        | Event::ClearOutput { .. }
        | Event::InputRequested
        | Event::Progress { .. }
        | Event::OutputLost
        | Event::Done(_)
        | Event::Died(_) => 0,
    }
}
