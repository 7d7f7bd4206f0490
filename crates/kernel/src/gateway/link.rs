//! The task that owns the websocket: outgoing and incoming messages, over successive connections. A connection
//! that breaks is made anew under the same name, so that the server sends missed messages.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{self, Bytes as Payload, Message as Frame};

use super::address::Gateway;
use super::continuity::{Numbers, Requests, is_idle};
use super::frames::Form;
use super::rest::Trouble;
use super::socket::{Socket, trouble_of, violation};
use crate::event::Death;
use crate::jupyter::client::Answering;
use crate::jupyter::lane::{Channel, Outgoing};
use crate::jupyter::listener::{Heard, ListenerCommand, Source};
use crate::jupyter::message::{Message, Session};
use crate::jupyter::pending::Pending;
use crate::jupyter::trace::Tracer;
use crate::kernel::State;

/// Messages on their way to the listener: few, since each may be large.
const HEARD: usize = 2;

/// After how much silence the other side is asked for a sign of life, and after how much it is taken for gone.
const QUIET: Duration = Duration::from_secs(15);
const SILENT: Duration = Duration::from_secs(45);

/// How long to try to reach a server that hung up.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long one try may take. A server may wait for a kernel that is only just starting.
const TRY: Duration = Duration::from_secs(10);

/// How much must come of a message that is half-read, each time the connection is looked at. A server that sends less
/// holds it up.
const DRIP: u64 = 16 * 1024;

/// How often a server may break the protocol before its kernel is given up, and within which time.
const REFUSALS: usize = 3;
/// The pause before such a server is asked for a new connection; longer each time.
const REFUSED: Duration = Duration::from_millis(250);
const REFUSAL_WINDOW: Duration = Duration::from_secs(60);

/// Pauses between tries, in milliseconds; the last one again and again.
const PAUSES: [u64; 5] = [0, 50, 200, 500, 1000];

/// The listener's end of the link.
pub(super) struct Arriving(mpsc::Receiver<Heard>);

impl Source for Arriving {
    async fn next(&mut self, room: bool) -> Heard {
        if !room {
            return std::future::pending().await;
        }
        match self.0.recv().await {
            Some(heard) => heard,
            None => std::future::pending().await,
        }
    }
}

/// The inputs of the task besides its connection.
pub(super) struct GatewayLink {
    pub(super) gateway: Gateway,
    pub(super) kernel: String,
    pub(super) session: Arc<Session>,
    pub(super) outgoing: mpsc::Receiver<Outgoing>,
    pub(super) answering: Answering,
    pub(super) pending: Arc<Pending>,
    pub(super) commands: mpsc::Sender<ListenerCommand>,
    pub(super) state: Arc<watch::Sender<State>>,
    pub(super) tracer: Tracer,
}

impl GatewayLink {
    /// Its two ends: the future that does the work, and the listener's source.
    pub(super) fn begin(self, socket: Socket) -> (impl Future<Output = ()> + Send, Arriving) {
        let (heard, arriving) = mpsc::channel(HEARD);
        let task = GatewayTask {
            link: self,
            heard,
            waiting: VecDeque::new(),
            requests: Requests::default(),
            numbers: Numbers::default(),
            form: None,
            code: None,
            idle: None,
            refusals: VecDeque::new(),
        };
        (task.run(socket), Arriving(arriving))
    }
}

struct GatewayTask {
    link: GatewayLink,
    heard: mpsc::Sender<Heard>,
    /// Messages that the listener has no room for yet. Nothing is read meanwhile.
    waiting: VecDeque<Heard>,
    requests: Requests,
    numbers: Numbers,
    form: Option<Form>,
    /// The end of code that ran while a connection broke: whether its answer and its last output were seen.
    code: Option<(bool, bool)>,
    /// The second of them, held back until the first has come.
    idle: Option<Message>,
    /// When the server broke the protocol.
    refusals: VecDeque<Instant>,
}

/// How a connection ended.
enum ConnectionEnd {
    /// It broke.
    Broke(String),
    /// It was ended here, because the server sent this.
    Refused(String),
    /// The kernel is gone.
    Gone(Death),
    /// Nobody needs it any more.
    Left,
}

impl GatewayTask {
    async fn run(mut self, mut socket: Socket) {
        loop {
            self.form = Some(socket.form());
            let why = match self.talk(&mut socket).await {
                ConnectionEnd::Left => {
                    let _ = tokio::time::timeout(TRY, socket.stream.close(None)).await;
                    return;
                }
                ConnectionEnd::Gone(death) => Err(death),
                ConnectionEnd::Broke(why) => Ok(why),
                ConnectionEnd::Refused(what) => {
                    // Now, not when there is another one: until then the server would send into this one.
                    drop(socket);
                    self.refuse(what).await
                }
            };
            let death = match why {
                Err(death) => death,
                Ok(why) => {
                    self.link.tracer.line(|| format!("! the connection broke: {why}"));
                    self.requests.cut();
                    if self.requests.is_running() {
                        self.numbers.cut();
                        self.code.get_or_insert((false, false));
                    }
                    match self.connect_again().await {
                        Ok(again) => {
                            socket = again;
                            continue;
                        }
                        Err(death) => death,
                    }
                }
            };
            self.tell_death(death).await;
            return;
        }
    }

    /// A server broke the protocol: once it may have been one output, again and again it is the server.
    async fn refuse(&mut self, what: String) -> Result<String, Death> {
        let what = format!("{what}, over {}", self.link.gateway.url());
        self.link.tracer.line(|| format!("! refused: {what}"));
        let now = Instant::now();
        self.refusals.retain(|at| now.duration_since(*at) < REFUSAL_WINDOW);
        self.refusals.push_back(now);
        if self.refusals.len() >= REFUSALS {
            return Err(Death::Refused(what));
        }
        self.waiting.push_back(Heard::Refused(what.clone()));
        tokio::time::sleep(REFUSED * self.refusals.len() as u32).await;
        Ok(what)
    }

    async fn talk(&mut self, socket: &mut Socket) -> ConnectionEnd {
        let mut last_heard = Instant::now();
        let mut look_at = last_heard + QUIET;
        let mut seen = 0;
        loop {
            let reading = self.waiting.is_empty();
            tokio::select! {
                biased;
                place = self.heard.clone().reserve_owned(), if !reading => match place {
                    Ok(place) => {
                        if let Some(heard) = self.waiting.pop_front() {
                            drop(place.send(heard));
                        }
                        last_heard = Instant::now();
                    }
                    Err(_) => return ConnectionEnd::Left,
                },
                outgoing = self.link.outgoing.recv() => {
                    let Some(outgoing) = outgoing else { return ConnectionEnd::Left };
                    self.requests.send(&outgoing);
                    if let Err(error) = self.send(socket, outgoing).await {
                        return ended(&error);
                    }
                }
                received = socket.stream.next(), if reading => {
                    last_heard = Instant::now();
                    match received {
                        Some(Ok(frame)) => match self.take(socket, frame).await {
                            Ok(None) => {}
                            Ok(Some(death)) => return ConnectionEnd::Gone(death),
                            Err(error) => return ended(&error),
                        },
                        Some(Err(error)) => return ended(&error),
                        None => return ConnectionEnd::Broke("the server hung up".into()),
                    }
                }
                () = tokio::time::sleep_until(look_at), if reading => {
                    let (received, is_inside) = socket.stream.get_ref().progress();
                    let came = received - std::mem::replace(&mut seen, received);
                    if is_inside && came >= DRIP {
                        // A large message may take its time.
                        last_heard = Instant::now();
                    }
                    if last_heard.elapsed() >= SILENT {
                        return ConnectionEnd::Broke("the server is silent".into());
                    }
                    if last_heard.elapsed() >= QUIET
                        && let Err(error) = in_time(socket.stream.send(Frame::Ping(Payload::new()))).await
                    {
                        return ended(&error);
                    }
                    look_at = Instant::now() + QUIET;
                }
            }
        }
    }

    async fn send(&self, socket: &mut Socket, outgoing: Outgoing) -> Result<(), tungstenite::Error> {
        self.link.tracer.sent(outgoing.channel, &outgoing.frames);
        in_time(socket.stream.send(socket.form().write(&outgoing))).await
    }

    /// Interprets a frame from the server. Returns a death when it reports that the kernel is gone.
    async fn take(&mut self, socket: &mut Socket, frame: Frame) -> Result<Option<Death>, tungstenite::Error> {
        let Some((channel, message)) = socket.form().read(frame) else { return Ok(None) };
        let Some(message) = self.link.tracer.received(channel, message) else { return Ok(None) };
        self.numbers.see(&message);
        if let Some(aftermath) = self.requests.hear(channel, &message) {
            if self.numbers.is_other(&message) {
                return Ok(Some(Death::Restarted));
            }
            for outgoing in aftermath.again {
                self.requests.send(&outgoing);
                self.send(socket, outgoing).await?;
            }
            for request in aftermath.unanswered {
                self.answer_in_its_place(request).await;
            }
            return Ok(None);
        }
        match channel {
            Channel::Shell | Channel::Control => {
                self.numbers.learn(&message);
                if message.kind == "execute_reply" {
                    self.notice_end(|(answered, _)| *answered = true);
                }
                self.link.answering.take(message).await;
            }
            Channel::Stdin if message.kind == "input_request" => {
                let _ = self.link.commands.send(ListenerCommand::InputRequested).await;
                let value = json!({ "value": "" });
                let (_, frames) = self.link.session.build("input_reply", Some(&message), &value);
                self.send(socket, Outgoing { channel: Channel::Stdin, frames }).await?;
            }
            Channel::Stdin | Channel::Heartbeat => {}
            Channel::Iopub => {
                if let Some(death) = death_in(&message) {
                    return Ok(Some(death));
                }
                if is_idle(&message) {
                    self.notice_end(|(_, idle)| *idle = true);
                    // With its answer it would end the code, before it is known whether anything is missing.
                    if self.code.is_some() && self.requests.is_unanswered(&message) {
                        self.idle = Some(message);
                        return Ok(None);
                    }
                }
                let lost = self.is_notice_of_loss(&message);
                self.waiting.push_back(Heard::Message(message));
                if lost {
                    self.waiting.push_back(Heard::Lost);
                }
            }
        }
        Ok(None)
    }

    /// One of the two signs that code has ended which ran while a connection broke.
    fn notice_end(&mut self, note: impl Fn(&mut (bool, bool))) {
        let Some(signs) = &mut self.code else { return };
        note(signs);
        if *signs == (true, true) {
            self.code = None;
            if self.numbers.settle() {
                self.waiting.push_back(Heard::Lost);
            }
            self.waiting.extend(self.idle.take().map(Heard::Message));
        }
    }

    /// Code has run to its end, and its answer went down with a connection.
    async fn answer_in_its_place(&mut self, request: String) {
        let message = |kind: &str, content: serde_json::Value| Message {
            kind: kind.into(),
            id: String::new(),
            parent: Some(request.clone()),
            content: content.to_string().into(),
            ..Message::default()
        };
        let error = json!({
            "status": "error",
            "ename": "ConnectionLost",
            "evalue": "the connection to the gateway broke, and how this code ended was not heard",
        });
        (self.code, self.idle) = (None, None);
        self.numbers.settle();
        self.waiting.push_back(Heard::Lost);
        self.waiting.push_back(Heard::Message(message("error", error.clone())));
        self.waiting.push_back(Heard::Message(message("status", json!({ "execution_state": "idle" }))));
        self.link.answering.take(message("execute_reply", error)).await;
    }

    /// Whether a server says here that it throws output away: it does so in the kernel's name.
    fn is_notice_of_loss(&self, message: &Message) -> bool {
        #[derive(Deserialize)]
        struct TextContent {
            text: String,
        }
        const SAID: [&str; 2] = ["IOPub message rate exceeded", "IOPub data rate exceeded"];
        message.kind == "stream"
            && (self.numbers.is_other(message) || !self.numbers.knows())
            && message.content.len() < 4096
            && message
                .read::<TextContent>()
                .is_ok_and(|TextContent { text }| SAID.iter().any(|said| text.starts_with(said)))
    }

    async fn connect_again(&mut self) -> Result<Socket, Death> {
        let began = Instant::now();
        let mut pauses = PAUSES.iter().chain(std::iter::repeat(&PAUSES[PAUSES.len() - 1]));
        loop {
            let pause = pauses.next().copied().unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let session = self.link.session.id();
            let open = Socket::open(&self.link.gateway, &self.link.kernel, session, self.form);
            let trouble = match tokio::time::timeout(TRY, open).await {
                Ok(Ok(mut socket)) => match self.probe(&mut socket).await {
                    Ok(()) => return Ok(socket),
                    Err(error) => trouble_of(error),
                },
                Ok(Err(trouble)) => trouble,
                Err(_) => Trouble::TimedOut(TRY),
            };
            self.link.tracer.line(|| format!("! no new connection: {trouble:?}"));
            match trouble {
                Trouble::Refused(refused) if refused.status == StatusCode::NOT_FOUND => {
                    return Err(Death::Removed);
                }
                Trouble::Refused(refused) if refused.status.is_client_error() => {
                    return Err(Death::OutOfReach(refused.to_string()));
                }
                Trouble::Unreachable(cause) if began.elapsed() > PATIENCE => {
                    return Err(Death::OutOfReach(cause));
                }
                Trouble::Refused(refused) if began.elapsed() > PATIENCE => {
                    return Err(Death::OutOfReach(refused.to_string()));
                }
                _ if began.elapsed() > PATIENCE => {
                    return Err(Death::OutOfReach("it does not answer".into()));
                }
                // A hostile frame may arrive together with the answer to the handshake.
                Trouble::Forbidden(frame) => {
                    self.refuse(frame).await?;
                }
                Trouble::Unreachable(_)
                | Trouble::Refused(_)
                | Trouble::TimedOut(_)
                | Trouble::Distrusted(_)
                | Trouble::Garbled(_) => {}
            }
        }
    }

    /// Sends the request whose reply decides the fate of all earlier ones.
    async fn probe(&mut self, socket: &mut Socket) -> Result<(), tungstenite::Error> {
        let (id, frames) = self.link.session.build("kernel_info_request", None, &json!({}));
        self.requests.probe(id);
        self.send(socket, Outgoing { channel: Channel::Shell, frames }).await
    }

    /// Nobody may wait for a kernel that is gone.
    async fn tell_death(mut self, death: Death) {
        self.link.state.send_if_modified(|state| match state {
            State::Idle | State::Busy(_) => {
                *state = State::Dead(death.clone());
                true
            }
            State::Starting | State::Dead(_) => false,
        });
        self.link.pending.close_with(death.clone());
        self.waiting.push_back(Heard::Gone(death));
        for heard in self.waiting {
            if self.heard.send(heard).await.is_err() {
                return;
            }
        }
    }
}

/// A connection ended with an error.
fn ended(error: &tungstenite::Error) -> ConnectionEnd {
    match violation(error) {
        Some(what) => ConnectionEnd::Refused(what),
        None => ConnectionEnd::Broke(error.to_string()),
    }
}

/// Sends to a server that must take it before it counts as silent.
async fn in_time<T>(
    sending: impl Future<Output = Result<T, tungstenite::Error>>,
) -> Result<T, tungstenite::Error> {
    match tokio::time::timeout(SILENT, sending).await {
        Ok(sent) => sent,
        Err(_) => Err(tungstenite::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

/// How the kernel died, if the server says here that it did.
fn death_in(message: &Message) -> Option<Death> {
    #[derive(Deserialize)]
    struct StatusFrame {
        execution_state: String,
    }
    #[derive(Deserialize)]
    struct Shutdown {
        #[serde(default)]
        restart: bool,
    }
    match message.kind.as_str() {
        "status" => match message.read::<StatusFrame>().ok()?.execution_state.as_str() {
            "restarting" | "autorestarting" => Some(Death::Restarted),
            "dead" => Some(Death::Unknown),
            _ => None,
        },
        // Another client ends it or restarts it.
        "shutdown_reply" => match message.read::<Shutdown>().ok()?.restart {
            true => Some(Death::Restarted),
            false => Some(Death::Removed),
        },
        _ => None,
    }
}
