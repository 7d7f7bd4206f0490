//! Detects messages lost in a broken connection, from those before and after it: pure.

use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;

use crate::comm::CommKind;
use crate::jupyter::lane::{Channel, Outgoing};
use crate::jupyter::message::Message;

/// Numbers that are known to be missing, at most.
const MISSING: usize = 1000;

/// Requests on their way, until they are answered. A kernel answers the requests of one client in order, so the answer
/// to a question that is asked after a break decides the fate of those before it.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: VecDeque<SentRequest>,
    probe: Option<String>,
}

#[derive(Debug)]
struct SentRequest {
    id: String,
    runs_code: bool,
    /// Whether the kernel replies to it. The others end with their output.
    has_reply: bool,
    /// None once the kernel is known to have it.
    outgoing: Option<Outgoing>,
    /// Whether it was sent before the connection broke.
    before: bool,
    idle: bool,
}

/// The fate of the requests before a break.
#[derive(Debug, Default)]
pub(super) struct Aftermath {
    /// Requests that never arrived.
    pub(super) again: Vec<Outgoing>,
    /// Code that ran, and whose answer was lost.
    pub(super) unanswered: Vec<String>,
}

impl Requests {
    /// A message goes out.
    pub(super) fn send(&mut self, outgoing: &Outgoing) {
        #[derive(Deserialize)]
        struct ParentHeader {
            msg_id: String,
            msg_type: String,
        }
        if outgoing.channel != Channel::Shell {
            return;
        }
        let Some(header) = outgoing.frames.get(2) else { return };
        let Ok(header) = serde_json::from_slice::<ParentHeader>(header) else { return };
        self.open.push_back(SentRequest {
            id: header.msg_id,
            runs_code: header.msg_type == "execute_request",
            has_reply: CommKind::named(&header.msg_type).is_none(),
            outgoing: Some(Outgoing { channel: outgoing.channel, frames: outgoing.frames.clone() }),
            before: false,
            idle: false,
        });
    }

    /// The connection broke. Whether anything needs to be asked over the next one.
    pub(super) fn cut(&mut self) {
        self.open.iter_mut().for_each(|request| request.before = true);
    }

    /// A question over the new connection, whose answer will tell.
    pub(super) fn probe(&mut self, id: String) {
        self.probe = Some(id);
    }

    /// Whether code runs.
    pub(super) fn is_running(&self) -> bool {
        self.open.iter().any(|request| request.runs_code)
    }

    /// Whether a message is about code whose answer has not come.
    pub(super) fn is_unanswered(&self, message: &Message) -> bool {
        let parent = message.parent.as_deref();
        self.open.iter().any(|request| request.runs_code && Some(request.id.as_str()) == parent)
    }

    /// A message came in. `Some` when it is the answer that tells.
    pub(super) fn hear(&mut self, channel: Channel, message: &Message) -> Option<Aftermath> {
        let parent = message.parent.as_deref()?;
        if self.probe.as_deref() == Some(parent) && channel == Channel::Shell {
            self.probe = None;
            return Some(self.aftermath());
        }
        let at = self.open.iter().position(|request| request.id == parent)?;
        for request in self.open.iter_mut().take(at + 1) {
            request.outgoing = None;
        }
        let is_over = is_idle(message) && !self.open[at].has_reply;
        if channel == Channel::Shell || is_over {
            self.open.remove(at);
        } else if is_idle(message) {
            self.open[at].idle = true;
        }
        None
    }

    fn aftermath(&mut self) -> Aftermath {
        let mut aftermath = Aftermath::default();
        self.open.retain_mut(|request| {
            if !request.before {
                return true;
            }
            match request.outgoing.take() {
                Some(outgoing) => aftermath.again.push(outgoing),
                None if request.runs_code => aftermath.unanswered.push(request.id.clone()),
                None => {}
            }
            false
        });
        aftermath
    }
}

pub(super) fn is_idle(message: &Message) -> bool {
    #[derive(Deserialize)]
    struct StatusMessage {
        execution_state: String,
    }
    message.kind == "status"
        && message
            .read::<StatusMessage>()
            .is_ok_and(|StatusMessage { execution_state }| execution_state == "idle")
}

/// The outputs of a kernel that counts them, so that a gap after a break is output that was lost with the connection;
/// and the kernel process itself, by the name that Jupyter's library puts into its messages.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    process: Option<String>,
    highest: u64,
    watching: bool,
    missing: BTreeSet<u64>,
}

impl Numbers {
    /// Remembers the identity of the kernel.
    pub(super) fn learn(&mut self, answer: &Message) {
        if self.process.is_none() {
            self.process = process(&answer.id).map(str::to_owned);
        }
    }

    /// Whether a message comes from another process than the kernel that we know.
    pub(super) fn is_other(&self, message: &Message) -> bool {
        match (&self.process, process(&message.id)) {
            (Some(known), Some(process)) => known != process,
            (None, _) | (_, None) => false,
        }
    }

    /// Whether the kernel's identity is known.
    pub(super) fn knows(&self) -> bool {
        self.process.is_some()
    }

    /// The connection broke while code ran.
    pub(super) fn cut(&mut self) {
        self.watching = true;
    }

    pub(super) fn see(&mut self, message: &Message) {
        let Some(number) = message.number else { return };
        if self.watching && number > self.highest {
            let room = MISSING.saturating_sub(self.missing.len());
            self.missing.extend((self.highest + 1..number).take(room));
        }
        self.missing.remove(&number);
        self.highest = self.highest.max(number);
    }

    /// The code that ran has ended: whether anything before its end is missing. Messages after it are not watched.
    pub(super) fn settle(&mut self) -> bool {
        self.watching = false;
        !std::mem::take(&mut self.missing).is_empty()
    }
}

/// The process in a message's name, which ends with a number.
fn process(id: &str) -> Option<&str> {
    let (process, number) = id.rsplit_once('_')?;
    number.parse::<u64>().ok().map(|_| process)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jupyter::message::{Key, Session};

    fn request(session: &Session, kind: &str) -> (String, Outgoing) {
        let (id, frames) = session.build(kind, None, &json!({}));
        (id, Outgoing { channel: Channel::Shell, frames })
    }

    fn message(id: &str, kind: &str, parent: &str) -> Message {
        let content = "{\"execution_state\": \"busy\"}".into();
        Message {
            kind: kind.into(),
            id: id.into(),
            parent: Some(parent.into()),
            content,
            ..Message::default()
        }
    }

    #[test]
    fn what_never_arrived_is_sent_again_and_what_ran_is_not() {
        let session = Session::new(Key::new("")).unwrap();
        let mut requests = Requests::default();
        let (answered, one) = request(&session, "execute_request");
        let (ran, two) = request(&session, "execute_request");
        let (lost, three) = request(&session, "execute_request");
        for outgoing in [&one, &two, &three] {
            requests.send(outgoing);
        }
        assert!(requests.hear(Channel::Shell, &message("k_1", "execute_reply", &answered)).is_none());
        assert!(requests.hear(Channel::Iopub, &message("k_2", "status", &ran)).is_none());
        requests.cut();
        let (probe, _) = request(&session, "kernel_info_request");
        requests.probe(probe.clone());
        assert!(requests.is_running());
        let aftermath = requests.hear(Channel::Shell, &message("k_3", "kernel_info_reply", &probe)).unwrap();
        assert_eq!(aftermath.unanswered, [ran]);
        assert_eq!(aftermath.again.len(), 1);
        assert_eq!(aftermath.again[0].frames, three.frames, "{lost}");
        assert!(!requests.is_running());
    }

    #[test]
    fn a_gap_after_a_break_is_noticed_and_one_before_it_is_nobodys() {
        let mut numbers = Numbers::default();
        let heard = |numbers: &mut Numbers, number| {
            numbers.see(&Message { number: Some(number), ..message("kernel_7_9", "stream", "r") });
        };
        numbers.learn(&message("kernel_7_1", "kernel_info_reply", "r"));
        heard(&mut numbers, 3);
        numbers.see(&message("server_1_900", "status", "r"));
        numbers.cut();
        heard(&mut numbers, 5);
        heard(&mut numbers, 4);
        assert!(!numbers.settle(), "it came a little later");
        numbers.cut();
        heard(&mut numbers, 7);
        assert!(numbers.settle(), "6 never came");
        assert!(!numbers.settle());
        assert!(numbers.is_other(&message("kernel_8_1", "kernel_info_reply", "r")));
        assert!(!numbers.is_other(&message("no-number", "kernel_info_reply", "r")));
    }
}
