//! Whole answers: calls that are carried out, refused, stopped and taken back, and providers that fail.

use cellist_assistant::{Account, Approval, Ask, Ending, Stop, Told};
use cellist_settings::{Chat, ChatProvider, RunCode};
use cellist_tools::Mode;
use serde_json::{Value, json};
use testkit::{Said, until};

use crate::bed::{Bed, results, words};

/// What a model was sent, as one text.
fn sent(bed: &Bed, request: usize) -> String {
    bed.models.asked()[request].body["messages"].to_string()
}

#[tokio::test]
async fn a_model_changes_and_runs_a_cell_and_says_what_came_of_it() {
    let change = json!({ "cell": "a", "content": "print(6 * 7)", "run": true });
    let script = [
        Said::text(&["I change ", "it."]).and_call("update_notebook_cell", change),
        Said::text(&["It shows 42."]),
        Said::text(&["Again."]),
    ];
    let mut bed = Bed::new(&["print(1)"], script);
    let (told, ending) = bed.answer(bed.message("make it 42")).await;
    assert_eq!((words(&told).as_str(), ending), ("I change it.It shows 42.", Ending::Done));
    assert!(results(&told)[0].0.contains("42") && !results(&told)[0].1, "{told:?}");
    assert_eq!(bed.sources(), ["print(6 * 7)"]);
    assert!(
        matches!(told.last(), Some(Told::Ended { usage, .. }) if (usage.input, usage.output) == (200, 40))
    );
    // What the tool said is what the model reads, and the next message knows of it.
    assert!(sent(&bed, 1).contains("tool_result") && sent(&bed, 1).contains("42"));
    bed.answer(bed.message("and again")).await;
    let messages = bed.models.asked()[2].body["messages"].clone();
    assert_eq!(messages[0]["content"][0]["text"], "make it 42", "old state is not sent again");
    assert!(messages[4]["content"][0]["text"].as_str().unwrap().contains("print(6 * 7)"));
    bed.close().await;
}

#[tokio::test]
async fn calls_that_a_provider_does_not_name_are_told_apart() {
    let look = || Said::call("get_notebook_cells", json!({}));
    let mut bed = Bed::new(&["x = 1"], [look(), look(), Said::text(&["Seen."])]);
    let chat = Chat {
        provider: ChatProvider::Gemini,
        model: Some("scripted".to_owned()),
        base_url: Some(bed.models.url()),
        ..Chat::default()
    };
    let account = Account::find(&chat, &Default::default()).unwrap();
    let (told, ending) = bed.answer(Ask { account, ..bed.message("look twice") }).await;
    let names = told.iter().filter_map(|told| match told {
        Told::Call { id, .. } => Some(id),
        _ => None,
    });
    let names: Vec<&String> = names.collect();
    assert_eq!((names.len(), ending), (2, Ending::Done));
    assert_ne!(names[0], names[1]);
    bed.close().await;
}

#[tokio::test]
async fn forbidden_tools_are_refused_in_each_mode_and_do_nothing() {
    for mode in [Mode::Ask, Mode::Edit] {
        let script = [
            Said::call("update_notebook_cell", json!({ "cell": "a", "content": "gone" }))
                .and_call("run_notebook_cells", json!({}))
                .and_call("write", json!({ "path": "nb.ipynb", "content": "" }))
                .and_call("python", json!({ "code": "open('made', 'w')" }))
                .and_call("fly", json!({}))
                .and_call("write", json!({ "path": "notes.txt", "content": "x" })),
            Said::text(&["I may not."]),
        ];
        let mut bed = Bed::new(&["x = 1"], script);
        let (told, ending) = bed.answer(bed.in_mode(mode, "change it")).await;
        assert_eq!(ending, Ending::Done);
        let results = results(&told);
        for (text, is_failure) in &results[..4] {
            assert!(*is_failure && text.contains("needs Agent mode"), "{mode}: {text}");
        }
        assert!(results[4].0.starts_with("Error: there is no tool `fly`"), "{}", results[4].0);
        assert_eq!(results[5].1, mode == Mode::Ask, "{mode}: {}", results[5].0);
        let needed: Vec<Option<Mode>> = told
            .iter()
            .filter_map(|told| match told {
                Told::Result { needs_mode, deeds, .. } if deeds.is_empty() => Some(*needs_mode),
                _ => None,
            })
            .collect();
        let agent = Some(Mode::Agent);
        let edit = Some(Mode::Edit).filter(|_| mode == Mode::Ask);
        assert_eq!(needed, [agent, agent, agent, agent, None, edit], "{mode}");
        assert_eq!(bed.sources(), ["x = 1"]);
        assert!(!bed.scratch.path().join("desk/made").exists());
        let offered = bed.models.asked()[0].body["tools"].to_string();
        assert!(offered.contains("get_notebook_cells") && !offered.contains("run_notebook_cells"));
        bed.close().await;
    }
}

#[tokio::test]
async fn without_a_notebook_that_is_attached_and_active_its_tools_are_not_there() {
    let script = [Said::call("get_notebook_cells", json!({ "notebook": "nb.ipynb" })), Said::text(&["Hm."])];
    let mut bed = Bed::new(&["x = 1"], script);
    let mut ask = bed.message("what is in it? #getCellOutputs");
    ask.caller.front.as_mut().unwrap().attached.clear();
    let (told, _) = bed.answer(ask).await;
    assert!(matches!(&told[0], Told::Asked { notebook_mode: false, .. }), "{:?}", told[0]);
    assert!(results(&told)[0].0.contains("is in the active editor, but not attached"), "{told:?}");
    let asked = bed.models.asked()[0].clone();
    assert!(!asked.body["tools"].to_string().contains("get_notebook_cells"));
    let message = asked.body["messages"].to_string();
    assert!(
        !message.contains("x = 1") && message.contains("it needs a notebook that is attached and active")
    );
    bed.close().await;
}

#[tokio::test]
async fn code_runs_after_a_question_and_no_means_that_nothing_runs() {
    let run = || Said::call("python", json!({ "code": "open('made', 'a').write('x')" }));
    let script = [run(), Said::text(&["No?"]), run(), run(), Said::text(&["Done."])];
    let mut bed = Bed::new(&["x = 1"], script);
    let asking = |bed: &Bed| {
        let mut ask = bed.message("run it");
        ask.rules.run_code = RunCode::Ask;
        ask
    };
    bed.send(asking(&bed));
    let told = bed.until(|told| matches!(told, Told::Question { .. })).await;
    let Some(Told::Question { id, .. }) = told.last() else { panic!("{told:?}") };
    assert!(bed.chat.approve(id, Approval::No) && !bed.chat.approve(id, Approval::Once));
    let (told, _) = bed.end().await;
    assert!(results(&told)[0].0.contains("did not allow this to run, and nothing was done"), "{told:?}");
    assert!(!bed.scratch.path().join("desk/made").exists());
    // Always means that nobody is asked again.
    bed.send(asking(&bed));
    let told = bed.until(|told| matches!(told, Told::Question { .. })).await;
    let Some(Told::Question { id, .. }) = told.last() else { panic!("{told:?}") };
    bed.chat.approve(id, Approval::Always);
    let (told, ending) = bed.end().await;
    assert_eq!((ending, results(&told).len()), (Ending::Done, 2), "{told:?}");
    assert_eq!(std::fs::read_to_string(bed.scratch.path().join("desk/made")).unwrap(), "xx");
    bed.close().await;
}

#[tokio::test]
async fn a_tool_that_fails_is_told_as_it_is_and_the_model_goes_on() {
    let script = [
        Said::call("update_notebook_cell", json!({ "cell": "nowhere", "content": "1" }))
            .and_call("read", json!("?")),
        Said::text(&["I see."]),
    ];
    let mut bed = Bed::new(&["x = 1"], script);
    let (told, ending) = bed.answer(bed.message("change it")).await;
    assert_eq!((ending, words(&told).as_str()), (Ending::Done, "I see."));
    assert!(
        results(&told).iter().all(|(text, is_failure)| *is_failure && text.starts_with("Error: ")),
        "{told:?}"
    );
    let messages = bed.models.asked()[1].body["messages"].clone();
    assert_eq!(messages[2]["content"][0]["is_error"], true);
    bed.close().await;
}

#[tokio::test]
async fn what_a_person_wrote_meanwhile_is_not_lost() {
    let change =
        |content: &str| Said::call("update_notebook_cell", json!({ "cell": "a", "content": content }));
    let script = [
        Said::text(&["I think", "."]).held(),
        change("one\ntwo\nthree by the model"),
        Said::text(&["Done."]),
    ];
    let mut bed = Bed::new(&["one\ntwo\nthree"], script);
    bed.send(bed.message("change the last line"));
    bed.until(|told| matches!(told, Told::Text(_))).await;
    // The first answer ends without a call; the next message is answered on what the person sees now.
    bed.models.release();
    bed.end().await;
    bed.send(bed.message("go on"));
    bed.end().await;
    assert_eq!(bed.sources(), ["one\ntwo\nthree by the model"]);
    bed.models.say([
        Said::text(&["Hm", "."]).held().and_call(
            "update_notebook_cell",
            json!({ "cell": "a", "content": "by the model\ntwo\nthree by the model" }),
        ),
        Said::text(&["Done."]),
    ]);
    bed.send(bed.message("the first one, too"));
    bed.until(|told| matches!(told, Told::Text(_))).await;
    bed.person_writes("a", "one\ntwo\nby the person").await;
    bed.models.release();
    let (told, _) = bed.end().await;
    assert_eq!(bed.sources(), ["by the model\ntwo\nby the person"], "{told:?}");
    bed.close().await;
}

#[tokio::test]
async fn what_an_answer_changed_can_be_taken_back_and_the_model_is_told() {
    let script = [
        Said::call("update_notebook_cell", json!({ "cell": "a", "content": "x = 2" }))
            .and_call("add_notebook_cell", json!({ "type": "code", "content": "y = 3" })),
        Said::text(&["Done."]),
        Said::text(&["Oh."]),
    ];
    let mut bed = Bed::new(&["x = 1"], script);
    let (told, _) = bed.answer(bed.message("change it")).await;
    let Told::Asked { turn, .. } = &told[0] else { panic!("{told:?}") };
    assert_eq!(bed.sources(), ["x = 2", "y = 3"]);
    assert_eq!(bed.undo(turn).await, "Restored 2 cells of nb.ipynb");
    assert_eq!(bed.sources(), ["x = 1"]);
    assert_eq!(bed.undo(turn).await, "Nothing was to be taken back");
    bed.answer(bed.message("why?")).await;
    assert!(sent(&bed, 2).contains("has taken back what you changed"), "{}", sent(&bed, 2));
    bed.close().await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_not_said_to_be() {
    let script = [
        // Looks, runs and changes a file: nothing of that is taken back.
        Said::call("get_notebook_cells", json!({}))
            .and_call("run_notebook_cells", json!({ "cells": ["a"] }))
            .and_call("write", json!({ "path": "notes.txt", "content": "x" }))
            .and_call("edit", json!({ "path": "nowhere.txt", "old": "a", "new": "b" })),
        Said::text(&["Done."]),
        Said::text(&["Yes."]),
    ];
    let mut bed = Bed::new(&["print(1)"], script);
    let (told, _) = bed.answer(bed.message("look, run and note")).await;
    let Told::Asked { turn, .. } = &told[0] else { panic!("{told:?}") };
    let failed: Vec<bool> = results(&told).into_iter().map(|(_, is_failure)| is_failure).collect();
    assert_eq!(failed, [false, false, false, true], "{told:?}");
    let said = bed.undo(turn).await;
    assert_eq!(said, "Nothing was to be taken back; files that are no notebooks stay as they are: notes.txt");
    assert!(bed.scratch.path().join("desk/notes.txt").exists());
    // The model is not told of what did not happen.
    bed.answer(bed.message("still there?")).await;
    assert!(!sent(&bed, 2).contains("has taken back"), "{}", sent(&bed, 2));
    bed.close().await;
}

#[tokio::test]
async fn stop_ends_an_answer_in_the_middle_and_the_next_one_goes_on() {
    let script = [Said::text(&["This is", " long."]).held(), Said::text(&["Fine."])];
    let mut bed = Bed::new(&["x = 1"], script);
    bed.send(bed.message("talk"));
    bed.until(|told| matches!(told, Told::Text(_))).await;
    assert!(bed.chat.stop(Stop::Answer));
    let (_, ending) = bed.end().await;
    assert_eq!(ending, Ending::Stopped);
    let (told, ending) = bed.answer(bed.message("go on")).await;
    assert_eq!((words(&told).as_str(), ending), ("Fine.", Ending::Done));
    let messages = sent(&bed, 1);
    assert!(
        messages.contains("This is") && messages.contains("The person stopped this answer"),
        "{messages}"
    );
    bed.close().await;
}

#[tokio::test]
async fn stop_ends_an_answer_that_has_not_begun_yet_and_no_model_is_asked_for_it() {
    let mut bed = Bed::new(&["x = 1"], [Said::text(&["One", "."]).held(), Said::text(&["Fine."])]);
    // The task that answers has not had its first turn when the wish comes.
    bed.send(bed.message("never mind"));
    let heard = bed.chat.heard(0);
    assert!(heard.answering.is_some() && heard.waiting.is_empty(), "{heard:?}");
    assert!(bed.chat.stop(Stop::Answer));
    let (told, ending) = bed.end().await;
    assert_eq!((words(&told).as_str(), ending), ("", Ending::Stopped));
    assert!(bed.models.asked().is_empty(), "{:?}", bed.models.asked());
    // The wish counts for that answer alone.
    bed.send(bed.message("first"));
    bed.until(|told| matches!(told, Told::Text(_))).await;
    bed.send(bed.message("second"));
    bed.chat.stop(Stop::Answer);
    assert_eq!(bed.end().await.1, Ending::Stopped);
    let (told, ending) = bed.end().await;
    assert_eq!((words(&told).as_str(), ending), ("Fine.", Ending::Done));
    bed.close().await;
}

#[tokio::test]
async fn stop_leaves_the_kernel_alone_unless_it_is_meant_too() {
    let code = "import os, time\nopen('begun', 'a').write('x')\nwhile not os.path.exists('go'): time.sleep(0.01)\nopen('done', 'w').close()";
    let run = || Said::call("python", json!({ "code": code, "timeout": 100 }));
    let mut bed = Bed::new(&["x = 1"], [run(), run()]);
    let desk = bed.scratch.path().join("desk");
    bed.send(bed.message("run it"));
    bed.until(|told| matches!(told, Told::Call { .. })).await;
    until(|| desk.join("begun").exists()).await;
    bed.chat.stop(Stop::Answer);
    let (told, ending) = bed.end().await;
    assert_eq!(ending, Ending::Stopped);
    assert!(results(&told)[0].0.contains("what this call has begun goes on"), "{told:?}");
    std::fs::write(desk.join("go"), "").unwrap();
    until(|| desk.join("done").exists()).await;
    std::fs::remove_file(desk.join("go")).unwrap();
    std::fs::remove_file(desk.join("begun")).unwrap();
    bed.send(bed.message("run it again"));
    bed.until(|told| matches!(told, Told::Call { .. })).await;
    until(|| desk.join("begun").exists()).await;
    bed.chat.stop(Stop::Kernel);
    let (told, ending) = bed.end().await;
    assert_eq!(ending, Ending::Stopped);
    assert!(
        results(&told)[0].0.contains("KeyboardInterrupt") || results(&told)[0].0.contains("cancelled"),
        "{told:?}"
    );
    bed.close().await;
}

/// A call that begins something which only an interrupt ends, and does not wait for it.
fn begins(mark: &str) -> Said {
    let code = format!(
        "import time\nopen('{mark}-begun', 'w').close()\ntry:\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n    open('{mark}-ended', 'w').close()"
    );
    Said::call("python", json!({ "code": code, "soft_wait": 0 }))
}

#[tokio::test]
async fn what_any_earlier_answer_left_running_can_be_interrupted_later() {
    let script = [begins("one"), Said::text(&["It runs."]), Said::text(&["Only words."])];
    let mut bed = Bed::new(&["x = 1"], script);
    let desk = bed.scratch.path().join("desk");
    bed.answer(bed.message("run it")).await;
    until(|| desk.join("one-begun").exists()).await;
    bed.answer(bed.message("talk")).await;
    assert!(bed.chat.heard(0).runs_on);
    assert!(bed.chat.stop(Stop::Kernel));
    until(|| desk.join("one-ended").exists()).await;
    // Whoever listens hears of it.
    let resting = async {
        let mut heard = bed.chat.heard(0);
        while heard.runs_on {
            bed.chat.more_than(heard.next, heard.mark).await;
            heard = bed.chat.heard(0);
        }
    };
    tokio::time::timeout(crate::bed::LONG, resting).await.expect("it takes too long");
    assert!(!bed.chat.stop(Stop::Kernel), "nothing is left");
    bed.close().await;
}

#[tokio::test]
async fn stop_with_the_kernel_ends_also_what_a_call_before_has_begun() {
    let script = [begins("one"), Said::text(&["It runs", "."]).held()];
    let mut bed = Bed::new(&["x = 1"], script);
    let desk = bed.scratch.path().join("desk");
    bed.send(bed.message("run it"));
    bed.until(|told| matches!(told, Told::Text(_))).await;
    until(|| desk.join("one-begun").exists()).await;
    bed.chat.stop(Stop::Kernel);
    assert_eq!(bed.end().await.1, Ending::Stopped);
    until(|| desk.join("one-ended").exists()).await;
    bed.close().await;
}

#[tokio::test]
async fn a_provider_that_is_busy_or_breaks_off_is_asked_again_and_a_dead_one_is_named() {
    let script = [
        Said::refusal(429, "slow down").header("retry-after", "0"),
        Said::text(&["half"]).cut(),
        Said::text(&["Whole."]),
        Said::refusal(429, "come tomorrow").header("retry-after", "86400"),
        Said::refusal(401, "no such key"),
    ];
    let mut bed = Bed::new(&["x = 1"], script);
    let (told, ending) = bed.answer(bed.message("hello")).await;
    assert_eq!(ending, Ending::Done);
    let again: Vec<&String> = told
        .iter()
        .filter_map(|told| match told {
            Told::Again { message, .. } => Some(message),
            _ => None,
        })
        .collect();
    assert!(
        again[0].contains("rate limited by ")
            && again[0].contains(": slow down")
            && again[1].contains("broke off"),
        "{again:?}"
    );
    // What broke off is neither kept nor sent again.
    assert!(!sent(&bed, 2).contains("half"));
    for (fact, words) in
        [("rate limited by ", ": come tomorrow"), (" rejected the API key (401)", ": no such key")]
    {
        let (_, ending) = bed.answer(bed.message("hello")).await;
        assert!(
            matches!(&ending, Ending::Failed { message, .. } if message.contains(fact) && message.ends_with(words)),
            "{ending:?}"
        );
    }
    bed.close().await;
}

#[tokio::test]
async fn an_answer_ends_after_as_many_steps_as_it_may_have() {
    let look = || Said::call("get_notebook_cells", json!({}));
    let mut bed = Bed::new(&["x = 1"], [look(), look(), look(), Said::text(&["Fine."])]);
    let mut ask = bed.message("look");
    ask.rules.max_steps = 3;
    let (told, ending) = bed.answer(ask).await;
    assert_eq!((ending, results(&told).len()), (Ending::TooManySteps, 3));
    let (_, ending) = bed.answer(bed.message("go on")).await;
    assert_eq!(ending, Ending::Done);
    bed.close().await;
}

#[tokio::test]
async fn messages_wait_for_their_turn_and_who_comes_late_hears_everything() {
    let script = [Said::text(&["One", "."]).held(), Said::text(&["Two."])];
    let mut bed = Bed::new(&["x = 1"], script);
    bed.send(bed.message("first"));
    bed.until(|told| matches!(told, Told::Text(_))).await;
    bed.send(bed.message("second"));
    bed.models.release();
    bed.end().await;
    bed.end().await;
    let all = bed.chat.heard(0);
    let asked: Vec<&str> = all
        .told
        .iter()
        .filter_map(|told| match told {
            Told::Asked { words, .. } => Some(words.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!((asked, words(&all.told).as_str()), (vec!["first", "second"], "One.Two."));
    let sent = serde_json::to_value(&all).unwrap();
    assert_eq!(serde_json::from_value::<cellist_assistant::Heard>(sent).unwrap(), all);
    bed.close().await;
}

#[tokio::test]
async fn two_hundred_calls_make_one_answer() {
    let calls = |count: usize| {
        (0..count)
            .fold(Said::text(&[]), |said, _| said.and_call("get_notebook_cells", json!({ "cells": [0] })))
    };
    let mut bed = Bed::new(&["x = 1"], (0..10).map(|_| calls(20)).chain([Said::text(&["Done."])]));
    let (told, ending) = bed.answer(bed.message("look hard")).await;
    assert_eq!((ending, results(&told).len()), (Ending::Done, 200));
    let last: Value = bed.models.asked()[10].body.clone();
    assert_eq!(last["messages"].as_array().unwrap().len(), 21);
    bed.close().await;
}
