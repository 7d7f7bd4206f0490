use cellist_output::StreamName;
use serde_json::{Value, json};

use super::*;

fn message(kind: &str, parent: &str, content: &Value) -> Message {
    let content = content.to_string().into();
    Message { kind: kind.into(), id: "m".into(), parent: Some(parent.into()), content, ..Message::default() }
}

/// The events for the execution of request `r` from these messages: those of kind `execute_reply` are replies.
fn told(messages: &[(&str, &str, Value)], interrupted: bool, give_up: bool) -> Vec<Event> {
    let mut reading = Reading::default();
    reading.begin("r".into(), None, false, true);
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

fn events(item: OutputItem) -> Vec<Event> {
    match item {
        OutputItem::Event(event) => vec![event],
        OutputItem::Text { name, mut text, late } => {
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
    assert_eq!(told(&[busy(), ("execute_reply", "x", json!({"status": "ok"})), idle()], false, false), []);
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
fn an_error_that_only_the_reply_tells_is_no_output() {
    let raised =
        json!({"status": "error", "ename": "E", "evalue": "m", "traceback": ["t"], "execution_count": 3});
    let (name, message, traceback) = ("E".to_owned(), "m".to_owned(), vec!["t".to_owned()]);
    let failure = Event::Failure { name: name.clone(), message: message.clone(), traceback: Vec::new() };
    assert_eq!(
        told(&[input(), reply(raised.clone()), idle()], false, false),
        [started(Some(3)), failure, done(Status::Error, Some(3), false)]
    );
    assert_eq!(
        told(&[input(), ("error", "r", raised.clone()), reply(raised), idle()], false, false),
        [started(Some(3)), Event::Error { name, message, traceback }, done(Status::Error, Some(3), false)]
    );
    let bare = [started(Some(3)), done(Status::Error, None, false)];
    assert_eq!(told(&[input(), reply(json!({"status": "error"})), idle()], false, false), bare);
    assert_eq!(told(&[input(), reply(json!("?")), idle()], false, false), bare);
}

#[test]
fn a_message_to_a_widget_is_told_with_the_request_that_it_belongs_to() {
    let comm =
        |parent: &'static str| ("comm_msg", parent, json!({"comm_id": "c", "data": {"state": {"value": 1}}}));
    let heard: Vec<Event> = {
        let mut reading = Reading::default();
        reading.begin("earlier".into(), None, false, true);
        reading.hear(&message("status", "earlier", &json!({"execution_state": "idle"})));
        reading.reply(&message("execute_reply", "earlier", &json!({"status": "ok"})));
        reading.finish(false, false);
        reading.begin("r".into(), None, false, true);
        let messages = [comm("r"), comm("earlier"), comm("of another client")];
        let heard =
            |(kind, parent, content): &(&str, &str, Value)| reading.hear(&message(kind, parent, content));
        messages.iter().flat_map(heard).flat_map(events).collect()
    };
    let told: Vec<(Option<&str>, bool)> = heard
        .iter()
        .map(|event| match event {
            Event::Comm(message) => (message.request.as_deref(), message.late),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [(Some("r"), false), (Some("earlier"), true)]);
}

#[test]
fn a_message_that_gets_no_reply_ends_with_its_output() {
    let mut reading = Reading::default();
    reading.begin("r".into(), None, true, true);
    reading.expect_no_reply();
    reading.hear(&message("status", "r", &json!({"execution_state": "busy"})));
    assert!(!reading.is_ending() && reading.finish(false, false).is_none());
    reading.hear(&message("status", "r", &json!({"execution_state": "idle"})));
    let end: Vec<Event> = reading.finish(false, false).unwrap().into_iter().flat_map(events).collect();
    assert_eq!(end, [done(Status::Ok, None, false)]);
}

#[test]
fn only_what_the_interrupt_raised_is_cancelled() {
    let end = |name: &str, interrupted| {
        let raised = json!({"status": "error", "ename": name});
        match told(&[input(), ("error", "r", json!({})), reply(raised), idle()], interrupted, false).pop() {
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
    reading.begin("r".into(), None, false, true);
    for (kind, _, content) in [input(), idle()] {
        reading.hear(&message(kind, "r", &content));
    }
    reading.reply(&message("execute_reply", "r", &ok().2));
    reading.finish(false, false).unwrap();
    let long = json!({"name": "stderr", "text": "x".repeat(LATE / 2)});
    for _ in 0..5 {
        assert!(reading.hear(&message("stream", "r", &long)).is_empty());
    }
    reading.begin("hidden".into(), None, true, true);
    let hidden = reading.hear(&message("status", "hidden", &busy().2));
    assert_eq!(hidden.into_iter().flat_map(events).collect::<Vec<_>>(), [started(None)]);
    reading.begin("next".into(), None, false, true);
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
