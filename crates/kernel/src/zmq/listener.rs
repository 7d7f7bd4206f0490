//! The task that hears everything a kernel publishes, at any rate, and passes it on to the execution that runs.
//! What its reader has no room for yet waits here, up to a limit; past it the kernel waits.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;
use zeromq::{Socket, SocketEvent, SocketRecv, SubSocket};

use super::connection::Channel;
use super::lanes::Lane;
use super::reading::{Item, Reading};
use super::trace::Tracer;
use super::wire::{Message, Session, parse};
use crate::event::{Death, Event};
use crate::kernel::{ExecutionId, State};
use crate::process::{Process, Signal};

/// Events that an execution's reader may be behind before they wait here: enough that a reader that keeps up is
/// never waited for, little enough that pieces of a large text stay small in sum.
pub(super) const EVENTS: usize = 64;

/// What may wait here when the kernel waits for us, which loses nothing.
pub(super) const SMALL: usize = 4 * 1024 * 1024;

/// What may wait here when the kernel would throw away what we do not take.
pub(super) const LARGE: usize = 64 * 1024 * 1024;

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

/// What the listener is told.
pub(super) enum Command {
    /// A request to send, and whoever listens to what it does.
    Begin(Begin),
    /// The answer to an execution.
    Reply(Message),
    /// The kernel asked for input.
    InputRequested,
    /// Interrupt this, if it runs.
    Interrupt(ExecutionId),
    /// The kernel waits for us from now on: little needs to be kept here.
    KernelWaits,
    /// A kernel that is not our child is gone.
    Gone,
    /// We let go of the kernel.
    Leave,
}

pub(super) struct Begin {
    pub(super) id: ExecutionId,
    pub(super) request: String,
    /// The request, and before it what must be done first.
    pub(super) messages: Vec<Vec<Bytes>>,
    pub(super) hidden: bool,
    pub(super) python: bool,
    pub(super) events: mpsc::Sender<Event>,
}

/// How a kernel is interrupted.
pub(super) enum Interrupter {
    Signal(Arc<Process>),
    Message(Lane),
}

pub(super) struct Listener {
    pub(super) socket: SubSocket,
    pub(super) session: Arc<Session>,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) shell: Lane,
    pub(super) interrupter: Interrupter,
    pub(super) state: Arc<watch::Sender<State>>,
    /// The process, if it is ours, and where signs for it are left.
    pub(super) child: Option<(Arc<Process>, PathBuf)>,
    /// Whether anything was heard yet.
    pub(super) heard: watch::Sender<bool>,
    /// Whether the kernel works for someone else.
    pub(super) taken: watch::Sender<bool>,
    /// Told when the connection ends.
    pub(super) lost: Arc<Notify>,
    pub(super) tracer: Tracer,
}

impl Listener {
    /// Listens until the kernel is gone or nobody can give commands any more.
    pub(super) async fn run(mut self) {
        let monitor = self.socket.monitor();
        let mut task = Task {
            reading: Reading::default(),
            delivery: None,
            interrupt: Interrupt::No,
            begun: None,
            limit: LARGE,
            shell: self.shell,
            session: self.session,
            interrupter: self.interrupter,
            state: self.state,
            taken: self.taken,
            lost: self.lost,
            said_all: false,
            child: self.child,
        };
        task.serve(self.socket, monitor, self.commands, &self.heard, &self.tracer).await;
    }
}

struct Task {
    reading: Reading,
    delivery: Option<Delivery>,
    interrupt: Interrupt,
    /// When the kernel said that it begins.
    begun: Option<Instant>,
    limit: usize,
    shell: Lane,
    session: Arc<Session>,
    interrupter: Interrupter,
    state: Arc<watch::Sender<State>>,
    taken: watch::Sender<bool>,
    lost: Arc<Notify>,
    /// Whether the last that was heard is that there is nothing more to hear.
    said_all: bool,
    child: Option<(Arc<Process>, PathBuf)>,
}

/// Whether the execution that runs was interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    No,
    /// It was asked for, but the kernel has not begun yet and would not notice.
    Wanted,
    Done,
}

impl Task {
    async fn serve(
        &mut self,
        mut socket: SubSocket,
        mut monitor: impl Stream<Item = SocketEvent> + Unpin,
        mut commands: mpsc::Receiver<Command>,
        heard: &watch::Sender<bool>,
        tracer: &Tracer,
    ) {
        let mut death = self.child.as_ref().map(|(process, _)| process.death());
        let mut dying: Option<Death> = None;
        let mut hung_up = false;
        loop {
            let has_room = self.delivery.as_ref().is_none_or(|delivery| delivery.held < self.limit);
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
                    Some(Command::Gone) => dying = dying.or(Some(Death::Unknown)),
                    Some(Command::Leave) => break,
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
                    // Nobody listens: what waits for them goes.
                    Err(_) => if let Some(delivery) = &mut self.delivery { delivery.clear() },
                },
                received = socket.recv(), if has_room => match received {
                    Ok(frames) => {
                        let frames = frames.into_vec();
                        if let Some(message) = tracer.received(Channel::Iopub, parse(&frames, self.session.key())) {
                            drop(frames);
                            heard.send_if_modified(|heard| !std::mem::replace(heard, true));
                            self.hear(&message);
                        }
                    }
                    Err(error) => tracer.failed(Channel::Iopub, &error),
                },
                Some(event) = monitor.next() => {
                    match event {
                        SocketEvent::Disconnected(_) => {
                            hung_up = true;
                            self.lost.notify_one();
                        }
                        SocketEvent::Connected(..) => hung_up = false,
                        _ => {}
                    }
                }
                () = until_time(interrupt_at) => self.interrupt_now().await,
                death = until_dead(&mut death), if dying.is_none() => dying = Some(death),
                // All that a dead kernel had said was read before its connection ended; what it said to nobody
                // need not be read.
                () = std::future::ready(()), if dying.is_some() && (!self.reading.is_running() || hung_up && has_room) => {
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
            let death = dying.unwrap_or(Death::Unknown);
            if self.may_have_lost(&death) {
                self.tell(Item::Event(Event::OutputLost), 0);
            }
            self.tell(Item::Event(Event::Died(death)), 0);
        }
        self.release();
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Begin(Begin { id, request, messages, hidden, python, events }) => {
                (self.interrupt, self.begun) = (Interrupt::No, None);
                self.reading.begin(request, hidden, python);
                self.release();
                self.delivery = Some(Delivery { id, events, backlog: VecDeque::new(), held: 0 });
                for message in messages {
                    self.shell.send(message).await;
                }
            }
            Command::Reply(message) => {
                self.reading.reply(&message);
                self.finish(false);
            }
            Command::InputRequested => {
                for item in self.reading.input_requested() {
                    self.tell(item, 0);
                }
            }
            Command::Interrupt(id) => {
                if self.delivery.as_ref().is_some_and(|delivery| delivery.id == id) {
                    self.interrupt = Interrupt::Wanted;
                }
            }
            Command::KernelWaits => self.limit = SMALL,
            Command::Gone | Command::Leave => {}
        }
    }

    fn hear(&mut self, message: &Message) {
        self.said_all = message.kind == LEAVING;
        if self.said_all {
            self.let_go(message);
            return;
        }
        self.notice_others(message);
        let size = message.content.len();
        for item in self.reading.hear(message) {
            let size = item.size(size);
            self.tell(item, size);
        }
        if self.begun.is_none() && self.reading.has_started() {
            self.begun = Some(Instant::now());
        }
        self.finish(false);
    }

    /// A kernel that is about to end itself waits to be told that all it said was heard.
    fn let_go(&self, message: &Message) {
        #[derive(serde::Deserialize)]
        struct Leaving {
            turn: u64,
        }
        if let (Some((_, heard)), Ok(Leaving { turn })) = (&self.child, message.read()) {
            let mut sign = heard.clone().into_os_string();
            sign.push(format!("-{turn}"));
            // Without the sign the kernel leaves a little later.
            let _ = std::fs::write(sign, "");
        }
    }

    /// Whether a kernel of ours that died had more to say, as far as can be known.
    fn may_have_lost(&self, death: &Death) -> bool {
        let by_itself = self.child.as_ref().is_some_and(|(process, _)| !process.was_killed());
        by_itself && !self.said_all && *death != Death::Exit(0)
    }

    async fn interrupt_now(&mut self) {
        self.interrupt = Interrupt::Done;
        match &self.interrupter {
            Interrupter::Signal(process) => process.signal(Signal::INT),
            Interrupter::Message(control) => {
                let (_, frames) = self.session.build("interrupt_request", None, &serde_json::json!({}));
                control.send(frames).await;
            }
        }
        self.wake();
    }

    /// A kernel of Python that awaits something hears of a signal only when something else happens: ipykernel's
    /// handler puts the cancellation into a loop that sleeps. Any request wakes it.
    fn wake(&self) {
        let (session, shell) = (self.session.clone(), self.shell.clone());
        tokio::spawn(async move {
            for pause in WAKE {
                tokio::time::sleep(pause).await;
                let (_, frames) = session.build("kernel_info_request", None, &serde_json::json!({}));
                shell.send(frames).await;
            }
        });
    }

    /// Whether a kernel that we share works for someone else can only be heard.
    fn notice_others(&self, message: &Message) {
        #[derive(serde::Deserialize)]
        struct Status {
            execution_state: String,
        }
        if message.kind == "status"
            && message.parent.as_ref().is_some_and(|parent| !parent.starts_with(self.session.id()))
            && let Ok(Status { execution_state }) = message.read()
        {
            let busy = execution_state == "busy";
            self.taken.send_if_modified(|taken| std::mem::replace(taken, busy) != busy);
        }
    }

    fn tell(&mut self, item: Item, size: usize) {
        if let Some(delivery) = &mut self.delivery {
            delivery.push(item, size);
        }
    }

    fn finish(&mut self, give_up: bool) {
        let interrupted = self.interrupt == Interrupt::Done;
        let Some(items) = self.reading.finish(interrupted, give_up) else { return };
        // Whoever reads the end may ask for the next thing at once.
        if let Some(delivery) = &self.delivery {
            let id = delivery.id;
            self.state.send_if_modified(|state| {
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

    /// Lets go of an execution that is over; what its reader has not taken yet is passed on beside us.
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

/// The way to one execution's reader, and what waits for it.
struct Delivery {
    id: ExecutionId,
    events: mpsc::Sender<Event>,
    backlog: VecDeque<(Item, usize)>,
    held: usize,
}

impl Delivery {
    fn push(&mut self, item: Item, size: usize) {
        if self.events.is_closed() {
            return;
        }
        self.backlog.push_back((item, size));
        self.held += size;
        while let Ok(permit) = self.events.clone().try_reserve_owned() {
            match self.next() {
                Some(event) => drop(permit.send(event)),
                None => break,
            }
        }
    }

    fn next(&mut self) -> Option<Event> {
        loop {
            let event = match &mut self.backlog.front_mut()?.0 {
                Item::Text { name, text, late } => {
                    text.next_piece().map(|bytes| Event::Stream { name: *name, bytes, late: *late })
                }
                Item::Event(_) => None,
            };
            if event.is_some() {
                return event;
            }
            let (item, size) = self.backlog.pop_front()?;
            self.held -= size;
            if let Item::Event(event) = item {
                return Some(event);
            }
        }
    }

    fn waits_for(&self) -> Option<mpsc::Sender<Event>> {
        (!self.backlog.is_empty()).then(|| self.events.clone())
    }

    fn clear(&mut self) {
        self.backlog.clear();
        self.held = 0;
    }
}

type Room = Result<mpsc::OwnedPermit<Event>, mpsc::error::SendError<()>>;

async fn until_room(events: Option<mpsc::Sender<Event>>) -> Room {
    match events {
        Some(events) => events.reserve_owned().await,
        None => std::future::pending().await,
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
