//! What a kernel's messages mean for the code that runs: pure, from messages to events.

use std::borrow::Cow;
use std::collections::VecDeque;

use bytes::Bytes;
use cellist_output::{MimeBundle, RawJson, StreamName};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::Message;
use super::text::Text;
use crate::bars::{Bars, Comm};
use crate::event::{Event, Outcome, Status};

/// How many earlier executions are known, to tell their late output from what others made the kernel do.
const REMEMBERED: usize = 1000;

/// How much output of earlier executions waits for the next one; past it the oldest goes.
const LATE: usize = 256 * 1024;

/// Something to tell, in order. A stream's text is turned into events when there is room for them.
#[derive(Debug)]
pub(super) enum Item {
    Event(Event),
    Text { name: StreamName, text: Text, late: bool },
}

impl Item {
    /// Roughly what it holds in memory, for a message of that size.
    pub(super) fn size(&self, message: usize) -> usize {
        // A short text keeps the whole message that it stands in, headers and all.
        const AROUND: usize = 1024;
        match self {
            Item::Event(_) => message + AROUND,
            Item::Text { text, .. } => text.len() + AROUND,
        }
    }
}

/// Follows one kernel process.
#[derive(Debug, Default)]
pub(super) struct Reading {
    running: Option<Running>,
    earlier: VecDeque<String>,
    late: VecDeque<(StreamName, Bytes)>,
    bars: Bars,
}

#[derive(Debug)]
struct Running {
    request: String,
    hidden: bool,
    python: bool,
    started: bool,
    raised: bool,
    idle: bool,
    reply: Option<Reply>,
}

#[derive(Debug, Deserialize)]
struct Reply {
    status: String,
    execution_count: Option<u64>,
    ename: Option<String>,
    evalue: Option<String>,
    #[serde(default)]
    traceback: Vec<String>,
}

impl Reply {
    fn without_words(status: &str) -> Reply {
        let status = status.to_owned();
        Reply { status, execution_count: None, ename: None, evalue: None, traceback: Vec::new() }
    }
}

impl Reading {
    /// A request of ours was sent.
    pub(super) fn begin(&mut self, request: String, hidden: bool, python: bool) {
        self.running = Some(Running {
            request,
            hidden,
            python,
            started: false,
            raised: false,
            idle: false,
            reply: None,
        });
    }

    /// Whether a request of ours is not answered yet.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the kernel has said that it works on the request.
    pub(super) fn has_started(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.started)
    }

    /// Whether one of the two signs of the end was seen, and not the other.
    pub(super) fn is_ending(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.reply.is_some() != running.idle)
    }

    /// A message that everyone gets.
    pub(super) fn hear(&mut self, message: &Message) -> Vec<Item> {
        let mut items = Vec::new();
        let parent = message.parent.as_deref();
        let own = self.running.as_ref().is_some_and(|running| Some(running.request.as_str()) == parent);
        if own {
            self.hear_own(message, &mut items);
        } else if self.earlier.iter().any(|earlier| Some(earlier.as_str()) == parent) {
            self.hear_late(message, &mut items);
        }
        if let "comm_open" | "comm_msg" | "comm_close" = message.kind.as_str() {
            self.hear_comm(message, &mut items);
        }
        items
    }

    fn hear_own(&mut self, message: &Message, items: &mut Vec<Item>) {
        match message.kind.as_str() {
            "status" => match message.read() {
                Ok(StatusContent { execution_state }) if execution_state == "idle" => {
                    if let Some(running) = &mut self.running {
                        running.idle = true;
                    }
                }
                // Hidden code is not announced in any other way.
                Ok(_) if self.running.as_ref().is_some_and(|running| running.hidden) => {
                    self.start(None, items)
                }
                Ok(_) | Err(_) => {}
            },
            "execute_input" => {
                let count = message.read::<InputContent>().ok().and_then(|input| input.execution_count);
                self.start(count, items);
            }
            kind => {
                let heard = output(kind, message);
                if !heard.is_empty() {
                    self.start(None, items);
                }
                for item in &heard {
                    let Item::Event(Event::Error { name, .. }) = item else { continue };
                    if let Some(running) = &mut self.running {
                        running.raised = true;
                    }
                    // What ipykernel raises in place of asking someone who said that nobody can be asked.
                    if name == "StdinNotImplementedError" {
                        items.push(Item::Event(Event::InputRequested));
                    }
                }
                items.extend(heard);
            }
        }
    }

    /// What an earlier execution of ours still does: its text is kept, its displays may be updated, and the rest
    /// has no place any more.
    fn hear_late(&mut self, message: &Message, items: &mut Vec<Item>) {
        match message.kind.as_str() {
            "stream" => {
                let Some(Item::Text { name, mut text, .. }) = stream(message) else { return };
                if self.running.as_ref().is_some_and(|running| !running.hidden) {
                    self.start(None, items);
                    items.push(Item::Text { name, text, late: true });
                } else {
                    while let Some(piece) = text.next_piece() {
                        self.late.push_back((name, piece));
                    }
                    let mut held: usize = self.late.iter().map(|(_, piece)| piece.len()).sum();
                    while held > LATE && self.late.len() > 1 {
                        held -= self.late.pop_front().map_or(0, |(_, piece)| piece.len());
                    }
                }
            }
            "update_display_data" if self.running.is_some() => {
                items.extend(output("update_display_data", message))
            }
            _ => {}
        }
    }

    fn hear_comm(&mut self, message: &Message, items: &mut Vec<Item>) {
        let Ok(comm) = message.read::<Comm>() else { return };
        let event = match message.kind.as_str() {
            "comm_open" => self.bars.open(comm),
            "comm_msg" => self.bars.update(&comm),
            _ => {
                self.bars.close(&comm);
                None
            }
        };
        if self.running.is_some() {
            items.extend(event.map(Item::Event));
        }
    }

    fn start(&mut self, execution_count: Option<u64>, items: &mut Vec<Item>) {
        let Some(running) = &mut self.running else { return };
        if running.started {
            return;
        }
        running.started = true;
        items.push(Item::Event(Event::Started { execution_count }));
        if !running.hidden {
            let late = self.late.drain(..);
            items.extend(late.map(|(name, bytes)| Item::Event(Event::Stream { name, bytes, late: true })));
        }
    }

    /// The answer to the request that runs.
    pub(super) fn reply(&mut self, message: &Message) {
        let Some(running) = &mut self.running else { return };
        if message.parent.as_deref() == Some(&running.request) {
            running.reply = Some(message.read().unwrap_or_else(|_| Reply::without_words("error")));
        }
    }

    /// Somebody was asked for input all the same.
    pub(super) fn input_requested(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        if self.running.is_some() {
            self.start(None, &mut items);
            items.push(Item::Event(Event::InputRequested));
        }
        items
    }

    /// The end, when both the reply and the end of the output were seen, or when the other one is given up.
    pub(super) fn finish(&mut self, interrupted: bool, give_up: bool) -> Option<Vec<Item>> {
        let over =
            self.running.as_ref().is_some_and(|running| match (running.reply.is_some(), running.idle) {
                (true, true) => true,
                (true, false) | (false, true) => give_up,
                (false, false) => false,
            });
        if !over {
            return None;
        }
        let mut items = Vec::new();
        self.start(None, &mut items);
        let running = self.running.take()?;
        // An interrupt that comes before the code has begun makes ipykernel forget the request.
        let reply = running.reply.unwrap_or_else(|| Reply::without_words("aborted"));
        if !running.idle {
            items.push(Item::Event(Event::OutputLost));
        }
        let status = match reply.status.as_str() {
            "ok" => Status::Ok,
            "error" => Status::Error,
            _ => Status::Aborted,
        };
        let name = reply.ename.unwrap_or_default();
        // Python says by the exception that it was the interrupt; of other languages only the failure is known.
        let by_interrupt =
            status == Status::Aborted || !running.python || INTERRUPTS.contains(&name.as_str());
        let cancelled = interrupted && status != Status::Ok && by_interrupt;
        // IPython tells of a magic that does not exist on standard error, and of nothing else there.
        let told = running.python && name == "UsageError";
        if status == Status::Error && !running.raised && !name.is_empty() && !told {
            let message = reply.evalue.unwrap_or_default();
            items.push(Item::Event(Event::Error { name, message, traceback: reply.traceback }));
        }
        let execution_count = if running.hidden { None } else { reply.execution_count };
        items.push(Item::Event(Event::Done(Outcome { status, execution_count, cancelled })));
        self.remember(running.request);
        Some(items)
    }

    /// The kernel is gone: whether something ran.
    pub(super) fn die(&mut self) -> bool {
        self.running.take().is_some()
    }

    fn remember(&mut self, request: String) {
        if self.earlier.len() == REMEMBERED {
            self.earlier.pop_front();
        }
        self.earlier.push_back(request);
    }
}

const INTERRUPTS: [&str; 2] = ["KeyboardInterrupt", "CancelledError"];

/// The output in a message, if it is one.
fn output(kind: &str, message: &Message) -> Vec<Item> {
    let item = match kind {
        "stream" => stream(message),
        "display_data" => display(message).map(|Displayed { data, metadata, display_id, .. }| {
            Item::Event(Event::Display { data, metadata, display_id })
        }),
        "execute_result" => {
            display(message).map(|Displayed { data, metadata, display_id, execution_count }| {
                Item::Event(Event::Result { execution_count, data, metadata, display_id })
            })
        }
        "update_display_data" => {
            display(message).and_then(|Displayed { data, metadata, display_id, .. }| {
                Some(Item::Event(Event::UpdateDisplay { display_id: display_id?, data, metadata }))
            })
        }
        "clear_output" => {
            message.read().ok().map(|ClearContent { wait }| Item::Event(Event::ClearOutput { wait }))
        }
        "error" => message.read().ok().map(|ErrorContent { ename, evalue, traceback }| {
            Item::Event(Event::Error { name: ename, message: evalue, traceback })
        }),
        _ => return Vec::new(),
    };
    // Output that cannot be read is output that is lost.
    vec![item.unwrap_or(Item::Event(Event::OutputLost))]
}

/// A display or a result, or what one is to look like from now on.
struct Displayed {
    data: MimeBundle,
    metadata: RawJson,
    display_id: Option<String>,
    execution_count: Option<u64>,
}

fn display(message: &Message) -> Option<Displayed> {
    let DisplayContent { data, metadata, transient, execution_count } = message.read().ok()?;
    let data = MimeBundle::read(data).ok()?;
    Some(Displayed { data, metadata, display_id: transient.display_id, execution_count })
}

fn stream(message: &Message) -> Option<Item> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow, default)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        text: &'a RawValue,
    }
    let content: Content<'_> = serde_json::from_slice(&message.content).ok()?;
    let name = if content.name == "stderr" { StreamName::Stderr } else { StreamName::Stdout };
    let json = content.text.get();
    json.starts_with('"').then(|| Item::Text {
        name,
        text: Text::new(message.content.slice_ref(json.as_bytes())),
        late: false,
    })
}

#[derive(Deserialize)]
struct StatusContent {
    execution_state: String,
}

#[derive(Deserialize)]
struct InputContent {
    execution_count: Option<u64>,
}

#[derive(Deserialize)]
struct DisplayContent<'a> {
    // A picture may be large; what is borrowed is copied once.
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(default)]
    metadata: RawJson,
    #[serde(default)]
    transient: Transient,
    #[serde(default)]
    execution_count: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Transient {
    display_id: Option<String>,
}

#[derive(Deserialize)]
struct ClearContent {
    #[serde(default)]
    wait: bool,
}

#[derive(Deserialize)]
struct ErrorContent {
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(kind: &str, parent: &str, content: &Value) -> Message {
        let content = Bytes::from(content.to_string());
        Message { kind: kind.into(), id: "m".into(), parent: Some(parent.into()), content, number: None }
    }

    /// What is told of these messages to the execution of request `r`: those of kind `execute_reply` are replies.
    fn told(messages: &[(&str, &str, Value)], interrupted: bool, give_up: bool) -> Vec<Event> {
        let mut reading = Reading::default();
        reading.begin("r".into(), false, true);
        let mut items = Vec::new();
        for (kind, parent, content) in messages {
            let message = message(kind, parent, content);
            if *kind == "execute_reply" {
                reading.reply(&message);
            } else {
                items.extend(reading.hear(&message));
            }
            items.extend(reading.finish(interrupted, false).into_iter().flatten());
        }
        items.extend(reading.finish(interrupted, give_up).into_iter().flatten());
        items.into_iter().flat_map(events).collect()
    }

    fn events(item: Item) -> Vec<Event> {
        match item {
            Item::Event(event) => vec![event],
            Item::Text { name, mut text, late } => {
                let pieces = std::iter::from_fn(move || text.next_piece());
                pieces.map(|bytes| Event::Stream { name, bytes, late }).collect()
            }
        }
    }

    fn busy() -> (&'static str, &'static str, Value) {
        ("status", "r", json!({"execution_state": "busy"}))
    }

    fn idle() -> (&'static str, &'static str, Value) {
        ("status", "r", json!({"execution_state": "idle"}))
    }

    fn input() -> (&'static str, &'static str, Value) {
        ("execute_input", "r", json!({"code": "1", "execution_count": 3}))
    }

    fn print(parent: &'static str) -> (&'static str, &'static str, Value) {
        ("stream", parent, json!({"name": "stdout", "text": "hi"}))
    }

    fn reply(content: Value) -> (&'static str, &'static str, Value) {
        ("execute_reply", "r", content)
    }

    fn ok() -> (&'static str, &'static str, Value) {
        reply(json!({"status": "ok", "execution_count": 3}))
    }

    fn started(execution_count: Option<u64>) -> Event {
        Event::Started { execution_count }
    }

    fn hi() -> Event {
        Event::Stream { name: StreamName::Stdout, bytes: "hi".into(), late: false }
    }

    fn done(status: Status, execution_count: Option<u64>, cancelled: bool) -> Event {
        Event::Done(Outcome { status, execution_count, cancelled })
    }

    #[test]
    fn the_end_needs_both_its_signs_in_either_order() {
        let all = [started(Some(3)), hi(), done(Status::Ok, Some(3), false)];
        assert_eq!(told(&[busy(), input(), print("r"), ok(), idle()], false, false), all);
        assert_eq!(told(&[busy(), input(), ok(), print("r"), idle()], false, false), all);
        assert_eq!(told(&[busy(), input(), print("r"), idle(), ok()], false, false), all);
        assert_eq!(told(&[busy(), input(), print("r"), ok()], false, false), all[..2]);
        assert_eq!(told(&[busy(), input(), print("r"), idle()], false, false), all[..2]);
    }

    #[test]
    fn a_sign_that_never_comes_is_given_up() {
        let lost = [started(Some(3)), Event::OutputLost, done(Status::Ok, Some(3), false)];
        assert_eq!(told(&[busy(), input(), ok()], false, true), lost);
        let never_ran = [started(Some(3)), done(Status::Aborted, None, true)];
        assert_eq!(told(&[busy(), input(), idle()], true, true), never_ran);
        assert_eq!(told(&[busy(), input()], true, true), [started(Some(3))]);
    }

    #[test]
    fn what_belongs_to_others_is_not_heard() {
        let others = [
            print("x"),
            ("display_data", "x", json!({"data": {}})),
            ("status", "x", json!({"execution_state": "idle"})),
        ];
        assert_eq!(told(&others, false, true), []);
        assert_eq!(
            told(&[busy(), ("execute_reply", "x", json!({"status": "ok"})), idle()], false, false),
            []
        );
    }

    #[test]
    fn a_kernel_that_announces_nothing_has_started_with_its_first_output() {
        assert_eq!(
            told(&[print("r"), idle(), ok()], false, false),
            [started(None), hi(), done(Status::Ok, Some(3), false)]
        );
        assert_eq!(told(&[idle(), ok()], false, false), [started(None), done(Status::Ok, Some(3), false)]);
    }

    #[test]
    fn an_error_that_only_the_reply_tells_is_told_once() {
        let raised =
            json!({"status": "error", "ename": "E", "evalue": "m", "traceback": ["t"], "execution_count": 3});
        let error = Event::Error { name: "E".into(), message: "m".into(), traceback: vec!["t".into()] };
        let expected = [started(Some(3)), error, done(Status::Error, Some(3), false)];
        assert_eq!(told(&[input(), reply(raised.clone()), idle()], false, false), expected);
        assert_eq!(
            told(&[input(), ("error", "r", raised.clone()), reply(raised), idle()], false, false),
            expected
        );
        let bare = [started(Some(3)), done(Status::Error, None, false)];
        assert_eq!(told(&[input(), reply(json!({"status": "error"})), idle()], false, false), bare);
        assert_eq!(told(&[input(), reply(json!("?")), idle()], false, false), bare);
    }

    #[test]
    fn only_what_the_interrupt_raised_is_cancelled() {
        let end = |name: &str, interrupted| {
            let raised = json!({"status": "error", "ename": name});
            match told(&[input(), ("error", "r", json!({})), reply(raised), idle()], interrupted, false).pop()
            {
                Some(Event::Done(outcome)) => outcome.cancelled,
                other => panic!("{other:?}"),
            }
        };
        assert!(end("KeyboardInterrupt", true) && end("CancelledError", true));
        assert!(!end("KeyboardInterrupt", false) && !end("ValueError", true));
        let aborted = told(&[input(), reply(json!({"status": "aborted"})), idle()], true, false);
        assert_eq!(aborted[1], done(Status::Aborted, None, true));
    }

    #[test]
    fn output_that_cannot_be_read_is_said_to_be_lost() {
        for (kind, content) in [
            ("stream", json!({"name": "stdout", "text": 7})),
            ("stream", json!([])),
            ("display_data", json!({"data": 3})),
            ("execute_result", json!({})),
            ("error", json!({"traceback": 3})),
        ] {
            assert_eq!(told(&[input(), (kind, "r", content)], false, false)[1], Event::OutputLost, "{kind}");
        }
        assert_eq!(told(&[input(), ("something_new", "r", json!({}))], false, false).len(), 1);
    }

    #[test]
    fn late_text_waits_for_the_next_execution_and_not_for_ever() {
        let mut reading = Reading::default();
        reading.begin("r".into(), false, true);
        for (kind, _, content) in [input(), idle()] {
            reading.hear(&message(kind, "r", &content));
        }
        reading.reply(&message("execute_reply", "r", &ok().2));
        reading.finish(false, false).unwrap();
        let long = json!({"name": "stderr", "text": "x".repeat(LATE / 2)});
        for _ in 0..5 {
            assert!(reading.hear(&message("stream", "r", &long)).is_empty());
        }
        reading.begin("hidden".into(), true, true);
        let hidden = reading.hear(&message("status", "hidden", &busy().2));
        assert_eq!(hidden.into_iter().flat_map(events).collect::<Vec<_>>(), [started(None)]);
        reading.begin("next".into(), false, true);
        let items = reading.hear(&message("execute_input", "next", &input().2));
        let told: Vec<Event> = items.into_iter().flat_map(events).collect();
        assert_eq!(told[0], started(Some(3)));
        let late: usize = told[1..]
            .iter()
            .map(|event| match event {
                Event::Stream { name: StreamName::Stderr, bytes, late: true } => bytes.len(),
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(late, LATE);
    }
}
