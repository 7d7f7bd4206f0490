//! Stopped answers, and code that an answer leaves running.

use cellist_assistant::{AnswerEnding, StopScope, TranscriptEntry};
use serde_json::json;
use testkit::{Said, until};

use crate::test_bed::{TestBed, results, sent, words};

#[tokio::test]
async fn an_answer_can_be_stopped_in_the_middle_and_the_next_one_continues() {
    let script = [Said::text(&["This is", " long."]).held(), Said::text(&["Fine."])];
    let mut bed = TestBed::new(&["x = 1"], script);
    bed.send(bed.message("talk"));
    bed.until(|told| matches!(told, TranscriptEntry::Text(_))).await;
    assert!(bed.chat.stop(StopScope::Answer));
    let (_, ending) = bed.end().await;
    assert_eq!(ending, AnswerEnding::Stopped);
    let (told, ending) = bed.answer(bed.message("go on")).await;
    assert_eq!((words(&told).as_str(), ending), ("Fine.", AnswerEnding::Done));
    let messages = sent(&bed, 1);
    assert!(messages.contains("This is") && messages.contains("The user stopped this answer"), "{messages}");
    bed.close().await;
}

#[tokio::test]
async fn an_answer_stopped_before_its_task_runs_sends_no_request() {
    let mut bed = TestBed::new(&["x = 1"], [Said::text(&["One", "."]).held(), Said::text(&["Fine."])]);
    // The stop comes before the answer's task is polled.
    bed.send(bed.message("never mind"));
    let heard = bed.chat.update_since(0);
    assert!(heard.answering.is_some() && heard.waiting.is_empty(), "{heard:?}");
    assert!(bed.chat.stop(StopScope::Answer));
    let (told, ending) = bed.end().await;
    assert_eq!((words(&told).as_str(), ending), ("", AnswerEnding::Stopped));
    assert!(bed.models.asked().is_empty(), "{:?}", bed.models.asked());
    // A stop applies to one answer only.
    bed.send(bed.message("first"));
    bed.until(|told| matches!(told, TranscriptEntry::Text(_))).await;
    bed.send(bed.message("second"));
    bed.chat.stop(StopScope::Answer);
    assert_eq!(bed.end().await.1, AnswerEnding::Stopped);
    let (told, ending) = bed.end().await;
    assert_eq!((words(&told).as_str(), ending), ("Fine.", AnswerEnding::Done));
    bed.close().await;
}

#[tokio::test]
async fn a_stop_interrupts_the_kernel_only_if_its_scope_includes_it() {
    let code = "import os, time\nopen('begun', 'a').write('x')\nwhile not os.path.exists('go'): time.sleep(0.01)\nopen('done', 'w').close()";
    let run = || Said::call("python", json!({ "code": code, "timeout": 100 }));
    let mut bed = TestBed::new(&["x = 1"], [run(), run()]);
    let desk = bed.scratch.path().join("desk");
    bed.send(bed.message("run it"));
    bed.until(|told| matches!(told, TranscriptEntry::Call { .. })).await;
    until(|| desk.join("begun").exists()).await;
    bed.chat.stop(StopScope::Answer);
    let (told, ending) = bed.end().await;
    assert_eq!(ending, AnswerEnding::Stopped);
    assert!(results(&told)[0].0.contains("the code of this call keeps running"), "{told:?}");
    std::fs::write(desk.join("go"), "").unwrap();
    until(|| desk.join("done").exists()).await;
    std::fs::remove_file(desk.join("go")).unwrap();
    std::fs::remove_file(desk.join("begun")).unwrap();
    bed.send(bed.message("run it again"));
    bed.until(|told| matches!(told, TranscriptEntry::Call { .. })).await;
    until(|| desk.join("begun").exists()).await;
    bed.chat.stop(StopScope::Kernel);
    let (told, ending) = bed.end().await;
    assert_eq!(ending, AnswerEnding::Stopped);
    assert!(
        results(&told)[0].0.contains("KeyboardInterrupt") || results(&told)[0].0.contains("cancelled"),
        "{told:?}"
    );
    bed.close().await;
}

/// A call that starts code in the background, which only an interrupt ends.
fn starts(mark: &str) -> Said {
    let code = format!(
        "import time\nopen('{mark}-begun', 'w').close()\ntry:\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n    open('{mark}-ended', 'w').close()"
    );
    Said::call("python", json!({ "code": code, "soft_wait": 0 }))
}

#[tokio::test]
async fn code_left_running_by_an_earlier_answer_can_be_interrupted() {
    let script = [starts("one"), Said::text(&["It runs."]), Said::text(&["Only words."])];
    let mut bed = TestBed::new(&["x = 1"], script);
    let desk = bed.scratch.path().join("desk");
    bed.answer(bed.message("run it")).await;
    until(|| desk.join("one-begun").exists()).await;
    bed.answer(bed.message("talk")).await;
    assert!(bed.chat.update_since(0).runs_on);
    assert!(bed.chat.stop(StopScope::Kernel));
    until(|| desk.join("one-ended").exists()).await;
    // Clients are notified of the end.
    let resting = async {
        let mut heard = bed.chat.update_since(0);
        while heard.runs_on {
            bed.chat.wait_for_update(heard.next, heard.mark).await;
            heard = bed.chat.update_since(0);
        }
    };
    tokio::time::timeout(crate::test_bed::LONG, resting).await.expect("timed out");
    assert!(!bed.chat.stop(StopScope::Kernel), "nothing is left");
    bed.close().await;
}

#[tokio::test]
async fn a_stop_with_the_kernel_also_interrupts_code_of_earlier_calls() {
    let script = [starts("one"), Said::text(&["It runs", "."]).held()];
    let mut bed = TestBed::new(&["x = 1"], script);
    let desk = bed.scratch.path().join("desk");
    bed.send(bed.message("run it"));
    bed.until(|told| matches!(told, TranscriptEntry::Text(_))).await;
    until(|| desk.join("one-begun").exists()).await;
    bed.chat.stop(StopScope::Kernel);
    assert_eq!(bed.end().await.1, AnswerEnding::Stopped);
    until(|| desk.join("one-ended").exists()).await;
    bed.close().await;
}
