//! The task that owns a runner's process: reads its pipes, keeps its output in order, writes requests. It never
//! waits for its listener: when that falls behind it stops reading, and then the program waits.

mod delivery;
mod owners;
mod pipes;
mod start;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cellist_output::StreamName;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::frames::{self, Ask, Hello, RunnerFrame, RunnerLine, RunnerReply, shortened};
use super::order::{OrderedItem, OutputOrder};
use crate::comm::CommMessage;
use crate::error::{Error, Result};
use crate::event::{Death, Event};
use crate::kernel::{ExecutionId, Request, State};
use crate::late::LateOutput;
use crate::process::{Process, Signal};
use crate::trace::Trace;
use crate::waiting::room;
use delivery::RunnerDelivery;
use pipes::{FrameReader, Incoming, PipeStream, RequestWriter};
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
        work: RunnerWork,
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

/// The work of an execution.
pub(super) enum RunnerWork {
    Code(Request),
    /// A message of a widget, which handlers of the program may take up.
    Comm(CommMessage),
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
    incoming: Incoming,
    requests: RequestWriter,
    start: Option<Start>,
    delivery: RunnerDelivery,
    answers: HashMap<u64, oneshot::Sender<RunnerReply>>,
    interrupt: Option<(ExecutionId, Instant)>,
    state: Arc<watch::Sender<State>>,
    trace: Option<Trace>,
    fault: Option<String>,
}

impl RunnerTask {
    /// Starts the task. The returned receiver tells when the runner is ready, or why it is not.
    pub(super) fn spawn(
        opening: RunnerOpening,
        commands: mpsc::Receiver<RunnerCommand>,
    ) -> oneshot::Receiver<Result<Hello>> {
        let RunnerOpening { process, pipes, token, first, within, late, state, trace } = opening;
        let (start, hello) = Start::new(within);
        let streams = [
            PipeStream::new(StreamName::Stdout, pipes.stdout, &token),
            PipeStream::new(StreamName::Stderr, pipes.stderr, &token),
        ];
        let frames = FrameReader::new(pipes.frames);
        let link = RunnerTask {
            process,
            incoming: Incoming { streams, frames, order: OutputOrder::new() },
            requests: RequestWriter::new(pipes.requests, &first),
            start: Some(start),
            delivery: RunnerDelivery::new(late),
            answers: HashMap::new(),
            interrupt: None,
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
            let late = self.delivery.late.clone();
            let has_late_room = self.delivery.running().is_some() || late.has_room();
            let waiting = &self.delivery.waiting;
            let has_room = waiting.has_room() && has_late_room;
            let reads_frames = has_room && self.incoming.order.waiting_frames() < FRAMES;
            let (large, has_events) = (waiting.next_is_large(), !waiting.is_empty());
            let listener = self.delivery.events.clone();
            let [stdout, stderr] = &self.incoming.streams;
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
                room = room(listener.as_ref(), large), if has_events => self.delivery.send(room),
                death = self.process.wait() => break death,
                () = late.until_room(), if !has_late_room => {}
                ready = stdout.readable(), if has_room => if ready { self.read(0); },
                ready = stderr.readable(), if has_room => if ready { self.read(1); },
                ready = self.incoming.frames.readable(), if reads_frames => if ready { self.read_frames(); },
                ready = self.requests.writable(), if !self.requests.is_written() => if ready { self.requests.write(); },
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
            if has_room && self.incoming.order.is_holding() {
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
            RunnerCommand::Execute { id, work, events, begun } => {
                let answer = match self.delivery.running() {
                    Some(_) => Err(Error::Busy),
                    None => {
                        self.begin(id, &work, events);
                        Ok(())
                    }
                };
                // A caller that is gone gets nothing; the code runs all the same.
                let _ = begun.send(answer);
            }
            RunnerCommand::Interrupt(id) => {
                if self.delivery.running() == Some(id) {
                    self.ask(&Ask::Interrupt { id: 0, execution: id.0 });
                    self.interrupt = Some((id, Instant::now() + INTERRUPT));
                }
            }
            RunnerCommand::Question { id, line, traced, answer } => {
                self.note(|| format!("> {}", traced.unwrap_or_default()));
                self.answers.retain(|_, answer| !answer.is_closed());
                self.answers.insert(id, answer);
                self.requests.push(&line);
            }
            RunnerCommand::Leave { .. } => {}
        }
    }

    fn begin(&mut self, id: ExecutionId, work: &RunnerWork, events: mpsc::Sender<Event>) {
        match work {
            RunnerWork::Code(request) => {
                self.delivery.begin(id, request, events);
                self.ask(&Ask::execute(id, request));
            }
            RunnerWork::Comm(message) => {
                self.delivery.begin(id, &Request::hidden(""), events);
                self.ask(&Ask::comm(id, message));
            }
        }
        self.state.send_replace(State::Busy(id));
    }

    fn ask(&mut self, ask: &Ask<'_>) {
        self.note(|| format!("> {}", ask.traced()));
        self.requests.push(&ask.line());
        self.requests.write();
    }

    fn read(&mut self, stream: usize) {
        if self.incoming.read(stream) {
            self.pass_on();
        }
    }

    fn read_frames(&mut self) {
        match self.incoming.frames.read() {
            Ok(true) => {}
            Ok(false) => return,
            Err(what) => self.fault = Some(what),
        }
        while let Some(line) = self.incoming.frames.line() {
            self.note(|| format!("< {}", shortened(&String::from_utf8_lossy(&line))));
            match frames::read(&line) {
                Ok(RunnerLine::Placed { mark, frame }) => self.incoming.order.frame(mark, frame),
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
        while let Some(item) = self.incoming.order.next() {
            match item {
                OrderedItem::Text(name, bytes) => match &mut self.start {
                    Some(start) => start.hear(name, &bytes),
                    None => self.delivery.text(name, bytes),
                },
                OrderedItem::Frame(frame) => self.happened(frame),
            }
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
                self.delivery.started(execution, execution_count);
            }
            RunnerFrame::Owner(execution) => self.delivery.set_writer(execution),
            RunnerFrame::Late { execution, event } => self.delivery.late_event(execution, event),
            RunnerFrame::Event(event) => self.delivery.event(event),
            RunnerFrame::Comm { message, execution } => self.delivery.comm(*message, execution),
            RunnerFrame::Done { execution, outcome } => {
                if self.delivery.done(execution, outcome) {
                    self.interrupt = None;
                    // The reader of the end may send the next request at once.
                    self.state.send_replace(State::Idle);
                    self.delivery.hand_over();
                }
            }
        }
    }

    fn interrupt_directly(&mut self) {
        if let Some((id, _)) = self.interrupt.take()
            && self.delivery.running() == Some(id)
        {
            self.note(|| "! SIGINT".into());
            self.process.signal(Signal::INT);
        }
    }

    /// Lets an idle runner end by itself; kills one that is busy.
    async fn leave(&mut self) -> Death {
        if self.delivery.running().is_none() && self.start.is_none() {
            self.process.look_at_tree();
            self.ask(&Ask::Exit);
            let deadline = Instant::now() + LEAVE;
            loop {
                let [stdout, stderr] = &self.incoming.streams;
                tokio::select! {
                    biased;
                    _ = self.process.wait() => break,
                    () = tokio::time::sleep_until(deadline) => break,
                    // Its output while it leaves must not keep it.
                    ready = stdout.readable() => if ready { self.read(0) },
                    ready = stderr.readable() => if ready { self.read(1) },
                    ready = self.requests.writable(), if !self.requests.is_written() => if ready { self.requests.write() },
                }
                self.delivery.shed();
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
        self.delivery.die(death);
    }

    fn read_rest(&mut self) {
        self.incoming.read_rest();
        self.pass_on();
    }

    fn note(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            trace.line(&line());
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
