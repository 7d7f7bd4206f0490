//! The task that owns a runner's process: reads its pipes, keeps its output in order, writes requests. It never
//! waits for its listener: when that falls behind it stops reading, and then the program waits.

mod owners;
mod pipes;
mod start;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use cellist_output::StreamName;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::frames::{self, Ask, Hello, RunnerFrame, RunnerLine, RunnerReply, WidgetMessage, shortened};
use super::order::{OrderedItem, OutputOrder};
use crate::bars::Bars;
use crate::error::{Error, Result};
use crate::event::{Death, Event};
use crate::kernel::{ExecutionId, Request, State};
use crate::late::LateOutput;
use crate::process::{Process, Signal};
use crate::trace::Trace;
use crate::waiting::{Closed, Waiting, room};
use owners::Owners;
use pipes::{FrameReader, PipeStream};
use start::Start;

/// Frames that may wait for their place among the text: their marks are in the pipes already.
const FRAMES: usize = 64;

/// How long the runner may take to pass an interrupt on before it is sent past it: code that holds Python's lock
/// keeps the runner from hearing us.
const INTERRUPT: Duration = Duration::from_millis(100);

/// How long an idle runner may take to leave.
const LEAVE: Duration = Duration::from_secs(1);

/// A command for the task.
pub(super) enum RunnerCommand {
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
        answer: oneshot::Sender<RunnerReply>,
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

/// The first inputs of a runner.
pub(super) struct RunnerOpening {
    pub(super) process: Process,
    pub(super) pipes: Pipes,
    /// The prefix of its marks.
    pub(super) token: String,
    /// The first message to it.
    pub(super) first: Vec<u8>,
    /// How long it may take to get ready.
    pub(super) within: Duration,
    /// Where output goes that comes between executions.
    pub(super) late: LateOutput,
    pub(super) state: Arc<watch::Sender<State>>,
    pub(super) trace: Option<Trace>,
}

pub(super) struct RunnerTask {
    process: Process,
    streams: [PipeStream; 2],
    frames: FrameReader,
    requests: pipe::Sender,
    to_write: BytesMut,
    order: OutputOrder<RunnerFrame>,
    start: Option<Start>,
    running: Option<RunningCode>,
    events: Option<mpsc::Sender<Event>>,
    waiting: Waiting,
    owners: Owners,
    late: LateOutput,
    answers: HashMap<u64, oneshot::Sender<RunnerReply>>,
    interrupt: Option<(ExecutionId, Instant)>,
    bars: Bars,
    state: Arc<watch::Sender<State>>,
    trace: Option<Trace>,
    fault: Option<String>,
}

struct RunningCode {
    id: ExecutionId,
    /// Whether late output of others is told to its listener.
    takes_late: bool,
    started: bool,
}

impl RunnerTask {
    /// Starts the task. The returned receiver tells when the runner is ready, or why it is not.
    pub(super) fn spawn(
        opening: RunnerOpening,
        commands: mpsc::Receiver<RunnerCommand>,
    ) -> oneshot::Receiver<Result<Hello>> {
        let RunnerOpening { process, pipes, token, first, within, late, state, trace } = opening;
        let (start, hello) = Start::new(within);
        let link = RunnerTask {
            process,
            streams: [
                PipeStream::new(StreamName::Stdout, pipes.stdout, &token),
                PipeStream::new(StreamName::Stderr, pipes.stderr, &token),
            ],
            frames: FrameReader::new(pipes.frames),
            requests: pipes.requests,
            to_write: BytesMut::from(&first[..]),
            order: OutputOrder::new(),
            start: Some(start),
            running: None,
            events: None,
            waiting: Waiting::default(),
            owners: Owners::default(),
            late,
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

    async fn run(mut self, mut commands: mpsc::Receiver<RunnerCommand>) {
        let death = loop {
            // Between executions the program waits for the reader of late output. Code that runs never does.
            let late = self.late.clone();
            let has_late_room = self.running.is_some() || late.has_room();
            let has_room = self.waiting.has_room() && has_late_room;
            let reads_frames = has_room && self.order.waiting_frames() < FRAMES;
            let large = self.waiting.next_is_large();
            let (listener, has_events) = (self.events.clone(), !self.waiting.is_empty());
            let [stdout, stderr] = &self.streams;
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(RunnerCommand::Leave { gone }) => {
                        let death = self.leave().await;
                        self.die(death).await;
                        // The caller may have stopped waiting.
                        let _ = gone.send(());
                        return;
                    }
                    Some(command) => self.obey(command),
                    None => break self.process.kill_tree().await,
                },
                room = room(listener.as_ref(), large), if has_events => self.send(room),
                death = self.process.wait() => break death,
                () = late.until_room(), if !has_late_room => {}
                ready = stdout.readable(), if has_room => if ready { self.read(0); },
                ready = stderr.readable(), if has_room => if ready { self.read(1); },
                ready = self.frames.readable(), if reads_frames => if ready { self.read_frames(); },
                ready = self.requests.writable(), if !self.to_write.is_empty() => if ready.is_ok() { self.write(); },
                () = until(self.interrupt.map(|(_, at)| at)) => self.interrupt_directly(),
                () = until(self.start.as_ref().map(|start| start.deadline)) => {
                    self.process.kill_tree().await;
                    self.read_rest();
                    if let Some(start) = self.start.take() {
                        start.took_too_long();
                    }
                    break self.process.wait().await;
                }
            }
            if has_room && self.order.is_holding() {
                // The awaited frame is mostly there already. A stream that never pauses would keep it from being seen, until
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

    fn obey(&mut self, command: RunnerCommand) {
        match command {
            RunnerCommand::Execute { id, request, events, begun } => {
                let answer = match &self.running {
                    Some(_) => Err(Error::Busy),
                    None => {
                        self.begin(id, &request, events);
                        Ok(())
                    }
                };
                // A caller that is gone gets nothing; the code runs all the same.
                let _ = begun.send(answer);
            }
            RunnerCommand::Interrupt(id) => {
                if self.running.as_ref().is_some_and(|running| running.id == id) {
                    self.ask(&Ask::Interrupt { id: 0, execution: id.0 });
                    self.interrupt = Some((id, Instant::now() + INTERRUPT));
                }
            }
            RunnerCommand::Question { id, line, traced, answer } => {
                self.note(|| format!("> {}", traced.unwrap_or_default()));
                self.answers.retain(|_, answer| !answer.is_closed());
                self.answers.insert(id, answer);
                self.to_write.extend_from_slice(&line);
            }
            RunnerCommand::Leave { .. } => {}
        }
    }

    fn begin(&mut self, id: ExecutionId, request: &Request, events: mpsc::Sender<Event>) {
        // The last of an execution whose reader is slow; later output goes to the new one.
        self.end_of_events();
        self.events = Some(events);
        let takes_late = request.takes_late();
        self.running = Some(RunningCode { id, takes_late, started: false });
        self.owners.begin(id, request);
        if takes_late {
            self.late.take().into_iter().for_each(|event| self.waiting.event(event));
        }
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
        if let Some(pieces) = stream.read() {
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
                Ok(RunnerLine::Placed { mark, frame }) => self.order.frame(mark, frame),
                Ok(RunnerLine::Reply(reply)) => self.answered(reply),
                Err(error) => self.fault = Some(format!("a frame cannot be read: {error}")),
            }
        }
        self.pass_on();
    }

    fn answered(&mut self, reply: RunnerReply) {
        if reply.reply_to == 0 {
            self.interrupt = None;
        } else if let Some(answer) = self.answers.remove(&reply.reply_to) {
            // The caller may have stopped waiting.
            let _ = answer.send(reply);
        }
    }

    /// Turns the next items into events.
    fn pass_on(&mut self) {
        while let Some(item) = self.order.next() {
            match item {
                OrderedItem::Text(name, bytes) => match &mut self.start {
                    Some(start) => start.hear(name, &bytes),
                    None => self.wrote(name, bytes),
                },
                OrderedItem::Frame(frame) => self.happened(frame),
            }
        }
    }

    /// Hands text to the execution that runs, or as late output to the one that it belongs to.
    fn wrote(&mut self, name: StreamName, bytes: Bytes) {
        let running = self.running.as_ref().filter(|running| running.started);
        let late = self.owners.is_late(running.map(|running| running.id));
        match self.owners.tag().filter(|_| late) {
            Some(owner) => self.late(owner, Event::Stream { name, bytes, late }),
            None => self.waiting.text(name, bytes, late),
        }
    }

    fn late(&mut self, owner: Arc<str>, event: Event) {
        let event = Event::Late { owner, event: Box::new(event) };
        match self.running.as_ref().is_some_and(|running| running.takes_late) {
            true => self.waiting.event(event),
            false => self.late.push(event),
        }
        if self.running.is_some() {
            self.late.shorten();
        }
    }

    fn happened(&mut self, frame: RunnerFrame) {
        match frame {
            RunnerFrame::Hello(hello) => {
                if let Some(start) = self.start.take() {
                    start.said_hello(hello);
                }
            }
            RunnerFrame::Started { execution, execution_count } => {
                if let Some(running) = &mut self.running
                    && running.id.0 == execution
                    && !running.started
                {
                    running.started = true;
                    self.waiting.event(Event::Started { execution_count });
                }
            }
            RunnerFrame::Owner(execution) => self.owners.set_writer(execution),
            RunnerFrame::Late { execution, event } => match self.owners.tag_of(execution) {
                Some(owner) if is_placed(&event) => self.late(owner, event),
                _ => self.waiting.event(event),
            },
            RunnerFrame::Event(event) => {
                let is_between = !self.running.as_ref().is_some_and(|running| running.started);
                match self.owners.tag().filter(|_| is_between && is_placed(&event)) {
                    Some(owner) => self.late(owner, event),
                    None => self.waiting.event(event),
                }
            }
            RunnerFrame::Widget(widget) => {
                let progress = match *widget {
                    WidgetMessage::Open(comm) => self.bars.open(comm),
                    WidgetMessage::Message(comm) => {
                        let progress = self.bars.update(&comm);
                        if let Some(text) = self.bars.shown(&comm) {
                            self.waiting.event(text);
                        }
                        progress
                    }
                    WidgetMessage::Close(comm) => {
                        self.bars.close(&comm);
                        None
                    }
                };
                if let Some(progress) = progress {
                    self.waiting.event(progress);
                }
            }
            RunnerFrame::Done { execution, outcome } => {
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

    /// An execution is over: its listener gets the rest of its events, and nothing else.
    fn end_of_events(&mut self) {
        if let Some(events) = self.events.take() {
            std::mem::take(&mut self.waiting).hand_over(events);
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
                    // Its output while it leaves must not keep it.
                    ready = stdout.readable() => if ready { self.read(0) },
                    ready = stderr.readable() => if ready { self.read(1) },
                    ready = self.requests.writable(), if !self.to_write.is_empty() => if ready.is_ok() { self.write() },
                }
                if self.events.is_none() {
                    self.waiting = Waiting::default();
                }
                self.late.shorten();
            }
        }
        self.process.kill_tree().await
    }

    /// The process is gone: reports its last output, and how it ended.
    async fn die(&mut self, death: Death) {
        self.read_rest();
        self.state.send_replace(State::Dead(death.clone()));
        self.answers.clear();
        if let Some(start) = self.start.take() {
            start.died(death.clone());
        }
        if self.running.take().is_some() {
            self.waiting.event(Event::Died(death));
        }
        self.end_of_events();
    }

    fn read_rest(&mut self) {
        for stream in &mut self.streams {
            while let Some(pieces) = stream.read() {
                self.order.read(stream.name, pieces);
            }
            self.order.read(stream.name, stream.finish());
        }
        while let Ok(true) = self.frames.read() {
            while let Some(line) = self.frames.line() {
                if let Ok(RunnerLine::Placed { mark, frame }) = frames::read(&line) {
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

/// Whether an output has a place in one cell.
fn is_placed(event: &Event) -> bool {
    matches!(event, Event::Display { .. } | Event::ClearOutput { .. } | Event::Error { .. })
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
