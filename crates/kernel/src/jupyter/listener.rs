//! The task that hears everything a kernel publishes, at any rate, and passes it on to the execution that runs.
//! Events that its reader has no room for yet wait here, up to a limit; past it the kernel waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::delivery::{Delivery, until_room};
use super::lane::Lane;
use super::message::{Message, Session};
use super::reading::{OutputItem, Reading};
use super::setup;
use crate::event::{Death, Event};
use crate::kernel::{ExecutionId, State};
use crate::late::LateOutput;
use crate::process::{Process, Signal};

/// Events that an execution's reader may be behind before they wait here: enough that a reader that keeps up is
/// never waited for, little enough that pieces of a large text stay small in sum.
pub(crate) const EVENTS: usize = 64;

/// The bytes that may wait here when the kernel waits for us, which loses nothing.
pub(crate) const SMALL: usize = 4 * 1024 * 1024;

/// The bytes that may wait here when the kernel would drop messages that we do not take.
pub(crate) const LARGE: usize = 64 * 1024 * 1024;

/// How long it may be silent between the two signs of the end, before the second one is taken for lost.
const SILENCE: Duration = Duration::from_secs(5);

/// The same where the kernel waits for us and so loses nothing: a large message may take its time.
const SILENCE_OF_ONE_THAT_WAITS: Duration = Duration::from_secs(60);

/// The same for code that was interrupted, which may never have begun.
const SILENCE_AFTER_INTERRUPT: Duration = Duration::from_secs(1);

/// How long after a kernel has said that it begins the code runs for sure, so that an interrupt reaches it.
const BEGUN: Duration = Duration::from_millis(30);

/// The kind of message with which a kernel of Python announces that it is about to end itself.
const LEAVING: &str = "cellist_leaving";

/// How long to look for the last messages of a kernel that is gone.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// When to wake a kernel that was interrupted: once it will have seen the signal, and once more to be sure.
const WAKE: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];

/// A command for the listener.
pub(crate) enum ListenerCommand {
    /// A request to send, and the receiver of its events.
    Begin(Begin),
    /// The answer to an execution.
    Reply(Message),
    /// The kernel asked for input.
    InputRequested,
    /// Interrupt this, if it runs.
    Interrupt(ExecutionId),
    /// The kernel waits for us from now on: little needs to be kept here.
    KernelWaits,
    /// A kernel is gone, in a way that its process does not tell.
    Gone(Death),
    /// We let go of the kernel.
    Leave,
}

pub(crate) struct Begin {
    pub(crate) id: ExecutionId,
    pub(crate) request: String,
    /// The request, and the work before it.
    pub(crate) messages: Vec<Vec<Bytes>>,
    pub(crate) tag: Option<Arc<str>>,
    pub(crate) hidden: bool,
    pub(crate) python: bool,
    /// Whether the kernel replies to it, as it does to code.
    pub(crate) has_reply: bool,
    pub(crate) events: mpsc::Sender<Event>,
}

/// How a kernel is interrupted.
pub(crate) enum Interrupter {
    Signal(Arc<Process>),
    /// By a message on its control channel.
    Message,
    /// By whatever this does, without waiting for it.
    Call(Box<dyn Fn() + Send + Sync>),
}

/// How a kernel that is about to end itself is told that all it said was heard.
pub(crate) enum Farewell {
    /// It does not ask.
    None,
    /// By a file of this name, with the number of the turn behind it.
    Sign(PathBuf),
    /// By a message on its control channel.
    Message,
}

/// The kernel's end of a connection.
pub(crate) struct Peer {
    pub(crate) shell: Lane,
    pub(crate) control: Lane,
    pub(crate) interrupter: Interrupter,
    pub(crate) farewell: Farewell,
    /// The process, if it is ours.
    pub(crate) child: Option<Arc<Process>>,
    pub(crate) state: Arc<watch::Sender<State>>,
}

/// The source of a kernel's published messages.
pub(crate) trait Source: Send {
    /// The next of it; nothing is lost when this is dropped. Without `room`, messages stay where they are.
    fn next(&mut self, room: bool) -> impl Future<Output = Heard> + Send;
}

/// An item of a source.
#[derive(Debug)]
pub(crate) enum Heard {
    Message(Message),
    /// Output was lost on the way.
    Lost,
    /// Output was too large to be taken.
    Refused(String),
    /// The connection ended; more may come over another one.
    HungUp,
    /// There is a connection again.
    Back,
    /// The kernel is gone, in a way that its process does not tell.
    Gone(Death),
    /// Nothing that matters.
    Nothing,
}

pub(crate) struct Listener<S> {
    pub(super) source: S,
    pub(super) session: Arc<Session>,
    pub(super) commands: mpsc::Receiver<ListenerCommand>,
    pub(super) peer: Peer,
    /// Whether anything was heard yet.
    pub(super) heard: watch::Sender<bool>,
    /// Whether the kernel is busy for another client.
    pub(super) taken: watch::Sender<bool>,
    /// Where output goes that comes between executions.
    pub(super) late: LateOutput,
}

impl<S: Source> Listener<S> {
    /// Listens until the kernel is gone or nobody can give commands any more.
    pub(crate) async fn run(self) {
        let mut task = ListenerTask {
            reading: Reading::default(),
            delivery: None,
            late: self.late,
            interrupt: Interrupt::No,
            begun: None,
            limit: LARGE,
            peer: self.peer,
            session: self.session,
            taken: self.taken,
            said_all: false,
        };
        task.serve(self.source, self.commands, &self.heard).await;
    }
}

struct ListenerTask {
    reading: Reading,
    delivery: Option<Delivery>,
    late: LateOutput,
    interrupt: Interrupt,
    /// When the kernel said that it begins.
    begun: Option<Instant>,
    limit: usize,
    peer: Peer,
    session: Arc<Session>,
    taken: watch::Sender<bool>,
    /// Whether the last that was heard is that there is nothing more to hear.
    said_all: bool,
}

/// Whether the execution that runs was interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    No,
    /// It was asked for, but the kernel has not begun yet and would not notice.
    Wanted,
    Done,
}

impl ListenerTask {
    async fn serve(
        &mut self,
        mut source: impl Source,
        mut commands: mpsc::Receiver<ListenerCommand>,
        heard: &watch::Sender<bool>,
    ) {
        let mut death = self.peer.child.as_ref().map(|process| process.death());
        let mut dying: Option<Death> = None;
        let mut hung_up = false;
        loop {
            // Between executions the kernel waits for the reader of late output, unless it is about to end.
            let late = self.late.clone();
            let has_late_room = self.reading.is_running() || dying.is_some() || late.has_room();
            let has_room =
                self.delivery.as_ref().is_none_or(|delivery| delivery.held < self.limit) && has_late_room;
            let waiting = self.delivery.as_ref().and_then(Delivery::waits_for);
            let silence = match (&dying, self.interrupt) {
                (Some(_), _) => LAST_WORDS,
                (None, Interrupt::Done) => SILENCE_AFTER_INTERRUPT,
                (None, Interrupt::No | Interrupt::Wanted) if self.limit == SMALL => SILENCE_OF_ONE_THAT_WAITS,
                (None, Interrupt::No | Interrupt::Wanted) => SILENCE,
            };
            let interrupt_at =
                self.begun.filter(|_| self.interrupt == Interrupt::Wanted).map(|begun| begun + BEGUN);
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(ListenerCommand::Gone(death)) => dying = dying.or(Some(death)),
                    Some(ListenerCommand::Leave) => break,
                    Some(command) => self.obey(command).await,
                    None => break,
                },
                room = until_room(waiting) => match room {
                    Ok(permit) => {
                        let events = self.delivery.as_mut().and_then(Delivery::next);
                        if let Some(event) = events {
                            permit.send(event);
                        }
                    }
                    // No reader: its waiting events are dropped.
                    Err(_) => if let Some(delivery) = &mut self.delivery { delivery.clear() },
                },
                () = late.until_room(), if !has_late_room => {}
                next = source.next(has_room) => match next {
                    Heard::Message(message) => {
                        heard.send_if_modified(|heard| !std::mem::replace(heard, true));
                        self.hear(&message).await;
                    }
                    Heard::Lost => self.tell(OutputItem::Event(Event::OutputLost), 0),
                    Heard::Refused(what) => self.tell(OutputItem::Event(Event::OutputRefused { what }), 0),
                    Heard::HungUp => hung_up = true,
                    Heard::Back => hung_up = false,
                    Heard::Gone(death) => (dying, hung_up) = (dying.or(Some(death)), true),
                    Heard::Nothing => {}
                },
                () = until_time(interrupt_at) => self.interrupt_now().await,
                death = until_dead(&mut death), if dying.is_none() => dying = Some(death),
                // All that a dead kernel had said was read before its connection ended; output without a reader
                // need not be read.
                () = std::future::ready(()), if dying.is_some() && (!self.reading.may_be_heard() || hung_up && has_room) => {
                    break;
                }
                () = tokio::time::sleep(silence), if has_room && (dying.is_some() || self.reading.is_ending()) => {
                    if dying.is_some() {
                        break;
                    }
                    self.finish(true);
                }
            }
        }
        if self.reading.die() {
            if dying.as_ref().is_some_and(|death| self.may_have_lost(death)) {
                self.tell(OutputItem::Event(Event::OutputLost), 0);
            }
            let death = dying.unwrap_or(Death::Unknown);
            self.tell(OutputItem::Event(Event::Died(death)), 0);
        }
        self.release();
    }

    async fn obey(&mut self, command: ListenerCommand) {
        match command {
            ListenerCommand::Begin(Begin {
                id,
                request,
                tag,
                messages,
                hidden,
                python,
                has_reply,
                events,
            }) => {
                (self.interrupt, self.begun) = (Interrupt::No, None);
                self.reading.begin(request, tag, hidden, python);
                if !has_reply {
                    self.reading.expect_no_reply();
                }
                self.release();
                self.delivery = Some(Delivery::new(id, events));
                if self.reading.takes_late() {
                    self.late.take().into_iter().for_each(|event| self.tell(OutputItem::Event(event), 0));
                }
                for message in messages {
                    self.peer.shell.send(message).await;
                }
            }
            ListenerCommand::Reply(message) => {
                self.reading.reply(&message);
                self.finish(false);
            }
            ListenerCommand::InputRequested => {
                for item in self.reading.input_requested() {
                    self.tell(item, 0);
                }
            }
            ListenerCommand::Interrupt(id) => {
                if self.delivery.as_ref().is_some_and(|delivery| delivery.id == id) {
                    self.interrupt = Interrupt::Wanted;
                }
            }
            ListenerCommand::KernelWaits => self.limit = SMALL,
            ListenerCommand::Gone(_) | ListenerCommand::Leave => {}
        }
    }

    async fn hear(&mut self, message: &Message) {
        // Its status proves nothing about its output.
        if message.kind != "status" {
            self.said_all = message.kind == LEAVING;
        }
        if message.kind == LEAVING {
            self.let_go(message).await;
            return;
        }
        self.notice_others(message);
        let size = message.size();
        for item in self.reading.hear(message) {
            let size = item.size(size);
            self.tell(item, size);
        }
        if self.begun.is_none() && self.reading.has_started() {
            self.begun = Some(Instant::now());
        }
        self.finish(false);
    }

    /// A kernel that is about to end itself waits to be told that all it said was heard. Without that it leaves a
    /// little later.
    async fn let_go(&self, message: &Message) {
        #[derive(serde::Deserialize)]
        struct Leaving {
            turn: u64,
        }
        let Ok(Leaving { turn }) = message.read() else { return };
        match &self.peer.farewell {
            Farewell::None => {}
            Farewell::Sign(file) => {
                let mut sign = file.clone().into_os_string();
                sign.push(format!("-{turn}"));
                let _ = std::fs::write(sign, "");
            }
            Farewell::Message => {
                let content = serde_json::json!({ "turn": turn });
                self.peer.control.send(self.session.build(setup::HEARD, None, &content).1).await;
            }
        }
    }

    /// Whether a kernel of ours that died had more to say, as far as can be known.
    fn may_have_lost(&self, death: &Death) -> bool {
        let by_itself = match &self.peer.child {
            Some(process) => !process.was_killed() && *death != Death::Exit(0),
            None => matches!(self.peer.farewell, Farewell::Message),
        };
        by_itself && !self.said_all
    }

    async fn interrupt_now(&mut self) {
        self.interrupt = Interrupt::Done;
        match &self.peer.interrupter {
            Interrupter::Signal(process) => process.signal(Signal::INT),
            Interrupter::Message => {
                let (_, frames) = self.session.build("interrupt_request", None, &serde_json::json!({}));
                self.peer.control.send(frames).await;
            }
            Interrupter::Call(interrupt) => interrupt(),
        }
        self.wake();
    }

    /// A kernel of Python that awaits something hears of a signal only when something else happens: ipykernel's
    /// handler puts the cancellation into a loop that sleeps. Any request wakes it.
    fn wake(&self) {
        let (session, shell) = (self.session.clone(), self.peer.shell.clone());
        tokio::spawn(async move {
            for pause in WAKE {
                tokio::time::sleep(pause).await;
                let (_, frames) = session.build("kernel_info_request", None, &serde_json::json!({}));
                shell.send(frames).await;
            }
        });
    }

    /// A shared kernel's work for other clients is known by its messages alone.
    fn notice_others(&self, message: &Message) {
        #[derive(serde::Deserialize)]
        struct SharedStatus {
            execution_state: String,
        }
        if message.kind == "status"
            && message.parent.as_ref().is_some_and(|parent| !parent.starts_with(self.session.id()))
            && let Ok(SharedStatus { execution_state }) = message.read()
        {
            let busy = execution_state == "busy";
            self.taken.send_if_modified(|taken| std::mem::replace(taken, busy) != busy);
        }
    }

    fn tell(&mut self, item: OutputItem, size: usize) {
        let item = match item {
            OutputItem::Event(event @ Event::Late { .. }) if !self.reading.takes_late() => {
                self.late.push(event);
                if self.reading.is_running() {
                    self.late.shorten();
                }
                return;
            }
            item => item,
        };
        if let Some(delivery) = &mut self.delivery {
            delivery.push(item, size);
        }
    }

    fn finish(&mut self, give_up: bool) {
        let interrupted = self.interrupt == Interrupt::Done;
        let Some(items) = self.reading.finish(interrupted, give_up) else { return };
        // The reader of the end may send the next request at once.
        if let Some(delivery) = &self.delivery {
            let id = delivery.id;
            self.peer.state.send_if_modified(|state| {
                let over = *state == State::Busy(id);
                if over {
                    *state = State::Idle;
                }
                over
            });
        }
        items.into_iter().for_each(|item| self.tell(item, 0));
        self.release();
    }

    /// Lets go of an execution that is over; events that its reader has not taken yet are passed on by another task.
    fn release(&mut self) {
        if let Some(mut delivery) = self.delivery.take()
            && !delivery.backlog.is_empty()
        {
            tokio::spawn(async move {
                while let Some(event) = delivery.next() {
                    if delivery.events.send(event).await.is_err() {
                        break;
                    }
                }
            });
        }
    }
}

async fn until_time(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

async fn until_dead(death: &mut Option<watch::Receiver<Option<Death>>>) -> Death {
    match death {
        Some(death) => match death.wait_for(Option::is_some).await {
            Ok(death) => death.clone().unwrap_or(Death::Unknown),
            Err(_) => Death::Unknown,
        },
        None => std::future::pending().await,
    }
}
