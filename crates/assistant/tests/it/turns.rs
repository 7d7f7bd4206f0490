//! Whole answers: calls that run, are refused, stopped or undone, and providers that fail.

use cellist_assistant::{Account, AnswerEnding, Approval, ChatRequest, TranscriptEntry};
use cellist_settings::{Chat, ChatProvider, RunCode};
use cellist_tools::Mode;
use serde_json::{Value, json};
use testkit::Said;

use crate::test_bed::{TestBed, results, sent, words};

#[tokio::test]
async fn a_model_changes_and_runs_a_cell_and_reads_the_result() {
    let change = json!({ "cell": "a", "content": "print(6 * 7)", "run": true });
    let script = [
        Said::text(&["I change ", "it."]).and_call("update_notebook_cell", change),
        Said::text(&["It shows 42."]),
        Said::text(&["Again."]),
    ];
    let mut bed = TestBed::new(&["print(1)"], script);
    let (told, ending) = bed.answer(bed.message("make it 42")).await;
    assert_eq!((words(&told).as_str(), ending), ("I change it.It shows 42.", AnswerEnding::Done));
    assert!(results(&told)[0].0.contains("42") && !results(&told)[0].1, "{told:?}");
    assert_eq!(bed.sources(), ["print(6 * 7)"]);
    assert!(
        matches!(told.last(), Some(TranscriptEntry::Ended { usage, .. }) if (usage.input, usage.output) == (200, 40))
    );
    // The model reads the tool's result, also with the next message.
    assert!(sent(&bed, 1).contains("tool_result") && sent(&bed, 1).contains("42"));
    bed.answer(bed.message("and again")).await;
    let messages = bed.models.asked()[2].body["messages"].clone();
    assert_eq!(messages[0]["content"][0]["text"], "make it 42", "old state is not sent again");
    assert!(messages[4]["content"][0]["text"].as_str().unwrap().contains("print(6 * 7)"));
    bed.close().await;
}

#[tokio::test]
async fn calls_without_ids_get_unique_ones() {
    let look = || Said::call("get_notebook_cells", json!({}));
    let mut bed = TestBed::new(&["x = 1"], [look(), look(), Said::text(&["Seen."])]);
    let chat = Chat {
        provider: ChatProvider::Gemini,
        model: Some("scripted".to_owned()),
        base_url: Some(bed.models.url()),
        ..Chat::default()
    };
    let account = Account::find(&chat, &Default::default()).unwrap();
    let (told, ending) = bed.answer(ChatRequest { account, ..bed.message("look twice") }).await;
    let names = told.iter().filter_map(|told| match told {
        TranscriptEntry::Call { id, .. } => Some(id),
        _ => None,
    });
    let names: Vec<&String> = names.collect();
    assert_eq!((names.len(), ending), (2, AnswerEnding::Done));
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
        let mut bed = TestBed::new(&["x = 1"], script);
        let (told, ending) = bed.answer(bed.in_mode(mode, "change it")).await;
        assert_eq!(ending, AnswerEnding::Done);
        let results = results(&told);
        for (text, is_failure) in &results[..4] {
            assert!(*is_failure && text.contains("needs Agent mode"), "{mode}: {text}");
        }
        assert!(results[4].0.starts_with("Error: no tool is called `fly`"), "{}", results[4].0);
        assert_eq!(results[5].1, mode == Mode::Ask, "{mode}: {}", results[5].0);
        let needed: Vec<Option<Mode>> = told
            .iter()
            .filter_map(|told| match told {
                TranscriptEntry::Result { needs_mode, deeds, .. } if deeds.is_empty() => Some(*needs_mode),
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
async fn notebook_tools_need_an_attached_and_active_notebook() {
    let script = [Said::call("get_notebook_cells", json!({ "notebook": "nb.ipynb" })), Said::text(&["Hm."])];
    let mut bed = TestBed::new(&["x = 1"], script);
    let mut ask = bed.message("what is in it? #getCellOutputs");
    ask.caller.front.as_mut().unwrap().attached.clear();
    let (told, _) = bed.answer(ask).await;
    assert!(matches!(&told[0], TranscriptEntry::Asked { notebook_mode: false, .. }), "{:?}", told[0]);
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
async fn code_runs_only_after_approval() {
    let run = || Said::call("python", json!({ "code": "open('made', 'a').write('x')" }));
    let script = [run(), Said::text(&["No?"]), run(), run(), Said::text(&["Done."])];
    let mut bed = TestBed::new(&["x = 1"], script);
    let asking = |bed: &TestBed| {
        let mut ask = bed.message("run it");
        ask.rules.run_code = RunCode::Ask;
        ask
    };
    bed.send(asking(&bed));
    let told = bed.until(|told| matches!(told, TranscriptEntry::Question { .. })).await;
    let Some(TranscriptEntry::Question { id, .. }) = told.last() else { panic!("{told:?}") };
    assert!(bed.chat.approve(id, Approval::No) && !bed.chat.approve(id, Approval::Once));
    let (told, _) = bed.end().await;
    assert!(
        results(&told)[0].0.contains("nothing was done: the user did not allow this call to run"),
        "{told:?}"
    );
    assert!(!bed.scratch.path().join("desk/made").exists());
    // After "always" there is no further question.
    bed.send(asking(&bed));
    let told = bed.until(|told| matches!(told, TranscriptEntry::Question { .. })).await;
    let Some(TranscriptEntry::Question { id, .. }) = told.last() else { panic!("{told:?}") };
    bed.chat.approve(id, Approval::Always);
    let (told, ending) = bed.end().await;
    assert_eq!((ending, results(&told).len()), (AnswerEnding::Done, 2), "{told:?}");
    assert_eq!(std::fs::read_to_string(bed.scratch.path().join("desk/made")).unwrap(), "xx");
    bed.close().await;
}

#[tokio::test]
async fn a_failed_call_is_reported_to_the_model_and_the_answer_continues() {
    let script = [
        Said::call("update_notebook_cell", json!({ "cell": "nowhere", "content": "1" }))
            .and_call("read", json!("?")),
        Said::text(&["I see."]),
    ];
    let mut bed = TestBed::new(&["x = 1"], script);
    let (told, ending) = bed.answer(bed.message("change it")).await;
    assert_eq!((ending, words(&told).as_str()), (AnswerEnding::Done, "I see."));
    assert!(
        results(&told).iter().all(|(text, is_failure)| *is_failure && text.starts_with("Error: ")),
        "{told:?}"
    );
    let messages = bed.models.asked()[1].body["messages"].clone();
    assert_eq!(messages[2]["content"][0]["is_error"], true);
    bed.close().await;
}

#[tokio::test]
async fn the_users_edits_during_an_answer_are_not_lost() {
    let change =
        |content: &str| Said::call("update_notebook_cell", json!({ "cell": "a", "content": content }));
    let script = [
        Said::text(&["I think", "."]).held(),
        change("one\ntwo\nthree by the model"),
        Said::text(&["Done."]),
    ];
    let mut bed = TestBed::new(&["one\ntwo\nthree"], script);
    bed.send(bed.message("change the last line"));
    bed.until(|told| matches!(told, TranscriptEntry::Text(_))).await;
    // The first answer ends without a call. The next one starts from the current text.
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
    bed.until(|told| matches!(told, TranscriptEntry::Text(_))).await;
    bed.person_writes("a", "one\ntwo\nby the person").await;
    bed.models.release();
    let (told, _) = bed.end().await;
    assert_eq!(bed.sources(), ["by the model\ntwo\nby the person"], "{told:?}");
    bed.close().await;
}

#[tokio::test]
async fn an_answer_can_be_undone_and_the_model_is_informed() {
    let script = [
        Said::call("update_notebook_cell", json!({ "cell": "a", "content": "x = 2" }))
            .and_call("add_notebook_cell", json!({ "type": "code", "content": "y = 3" })),
        Said::text(&["Done."]),
        Said::text(&["Oh."]),
    ];
    let mut bed = TestBed::new(&["x = 1"], script);
    let (told, _) = bed.answer(bed.message("change it")).await;
    let TranscriptEntry::Asked { turn, .. } = &told[0] else { panic!("{told:?}") };
    assert_eq!(bed.sources(), ["x = 2", "y = 3"]);
    assert_eq!(bed.undo(turn).await, "Restored 2 cells of nb.ipynb");
    assert_eq!(bed.sources(), ["x = 1"]);
    assert_eq!(bed.undo(turn).await, "Nothing to undo");
    bed.answer(bed.message("why?")).await;
    assert!(sent(&bed, 2).contains("has undone the changes"), "{}", sent(&bed, 2));
    bed.close().await;
}

#[tokio::test]
async fn an_undo_does_not_claim_more_than_it_restored() {
    let script = [
        // Reads, a run and a change of a text file: an undo restores none of them.
        Said::call("get_notebook_cells", json!({}))
            .and_call("run_notebook_cells", json!({ "cells": ["a"] }))
            .and_call("write", json!({ "path": "notes.txt", "content": "x" }))
            .and_call("edit", json!({ "path": "nowhere.txt", "old": "a", "new": "b" })),
        Said::text(&["Done."]),
        Said::text(&["Yes."]),
    ];
    let mut bed = TestBed::new(&["print(1)"], script);
    let (told, _) = bed.answer(bed.message("look, run and note")).await;
    let TranscriptEntry::Asked { turn, .. } = &told[0] else { panic!("{told:?}") };
    let failed: Vec<bool> = results(&told).into_iter().map(|(_, is_failure)| is_failure).collect();
    assert_eq!(failed, [false, false, false, true], "{told:?}");
    let said = bed.undo(turn).await;
    assert_eq!(said, "Nothing to undo; other files were not restored: notes.txt");
    assert!(bed.scratch.path().join("desk/notes.txt").exists());
    // Nothing was undone, so the model gets no note.
    bed.answer(bed.message("still there?")).await;
    assert!(!sent(&bed, 2).contains("has undone"), "{}", sent(&bed, 2));
    bed.close().await;
}

#[tokio::test]
async fn transient_failures_are_retried_and_lasting_ones_end_the_answer() {
    let script = [
        Said::refusal(429, "slow down").header("retry-after", "0"),
        Said::text(&["half"]).cut(),
        Said::text(&["Whole."]),
        Said::refusal(429, "come tomorrow").header("retry-after", "86400"),
        Said::refusal(401, "no such key"),
    ];
    let mut bed = TestBed::new(&["x = 1"], script);
    let (told, ending) = bed.answer(bed.message("hello")).await;
    assert_eq!(ending, AnswerEnding::Done);
    let again: Vec<&String> = told
        .iter()
        .filter_map(|told| match told {
            TranscriptEntry::Again { message, .. } => Some(message),
            _ => None,
        })
        .collect();
    assert!(
        again[0].contains("rate limited by ")
            && again[0].contains(": slow down")
            && again[1].contains("was interrupted"),
        "{again:?}"
    );
    // The text of the failed try is not sent again.
    assert!(!sent(&bed, 2).contains("half"));
    for (fact, words) in
        [("rate limited by ", ": come tomorrow"), (" rejected the API key (401)", ": no such key")]
    {
        let (_, ending) = bed.answer(bed.message("hello")).await;
        assert!(
            matches!(&ending, AnswerEnding::Failed { message, .. } if message.contains(fact) && message.ends_with(words)),
            "{ending:?}"
        );
    }
    bed.close().await;
}

#[tokio::test]
async fn an_answer_ends_at_its_limit_of_steps() {
    let look = || Said::call("get_notebook_cells", json!({}));
    let mut bed = TestBed::new(&["x = 1"], [look(), look(), look(), Said::text(&["Fine."])]);
    let mut ask = bed.message("look");
    ask.rules.max_steps = 3;
    let (told, ending) = bed.answer(ask).await;
    assert_eq!((ending, results(&told).len()), (AnswerEnding::TooManySteps, 3));
    let (_, ending) = bed.answer(bed.message("go on")).await;
    assert_eq!(ending, AnswerEnding::Done);
    bed.close().await;
}

#[tokio::test]
async fn messages_are_queued_and_a_late_client_reads_the_whole_transcript() {
    let script = [Said::text(&["One", "."]).held(), Said::text(&["Two."])];
    let mut bed = TestBed::new(&["x = 1"], script);
    bed.send(bed.message("first"));
    bed.until(|told| matches!(told, TranscriptEntry::Text(_))).await;
    bed.send(bed.message("second"));
    bed.models.release();
    bed.end().await;
    bed.end().await;
    let all = bed.chat.update_since(0);
    let asked: Vec<&str> = all
        .told
        .iter()
        .filter_map(|told| match told {
            TranscriptEntry::Asked { words, .. } => Some(words.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!((asked, words(&all.told).as_str()), (vec!["first", "second"], "One.Two."));
    let sent = serde_json::to_value(&all).unwrap();
    assert_eq!(serde_json::from_value::<cellist_assistant::ConversationUpdate>(sent).unwrap(), all);
    bed.close().await;
}

#[tokio::test]
async fn an_answer_may_contain_two_hundred_calls() {
    let calls = |count: usize| {
        (0..count)
            .fold(Said::text(&[]), |said, _| said.and_call("get_notebook_cells", json!({ "cells": [0] })))
    };
    let mut bed = TestBed::new(&["x = 1"], (0..10).map(|_| calls(20)).chain([Said::text(&["Done."])]));
    let (told, ending) = bed.answer(bed.message("look hard")).await;
    assert_eq!((ending, results(&told).len()), (AnswerEnding::Done, 200));
    let last: Value = bed.models.asked()[10].body.clone();
    assert_eq!(last["messages"].as_array().unwrap().len(), 21);
    bed.close().await;
}
