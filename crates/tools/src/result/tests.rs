use cellist_output::{MimeBundle, Output, RawJson, StreamName};
use cellist_session::Home;
use cellist_session::artifact::{Artifacts, Origin, Retention};
use cellist_session::execution::{KernelState, Picture, Raised};
use insta::assert_snapshot;

use super::*;
use crate::answer::{Answer, Block};

/// A red dot.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8Dwn4GBgQEADgMB/6sX7yIAAAAASUVORK5CYII=";

fn report(status: Status, text: &str, notices: &[&str]) -> Report {
    let json = serde_json::json!({
        "status": status, "exit_code": 0, "text": "", "outputs": [], "error": null, "execution_count": 1,
        "duration_ms": 5, "cancelled": false, "stdin_requested": false, "truncated": null, "artifact": null,
        "kernel": { "backend": "runner", "python": "/v/bin/python", "state": "kept", "restarted": false },
        "notices": notices,
    });
    let mut report: Report = serde_json::from_value(json).unwrap();
    report.text = text.to_owned();
    for notice in notices {
        if !report.text.is_empty() && !report.text.ends_with('\n') {
            report.text.push('\n');
        }
        report.text.push_str(notice);
    }
    report
}

fn raised(text: &str, name: &str, message: &str, notices: &[&str]) -> Report {
    let error =
        Raised { ename: name.to_owned(), evalue: message.to_owned(), traceback: vec![text.to_owned()] };
    Report { error: Some(error), ..report(Status::Error, text, notices) }
}

fn told(ran: Vec<Ran>) -> String {
    compose(Vec::new(), ran, Vec::new()).text
}

#[test]
fn code_that_ran_is_told_by_what_it_showed() {
    assert_eq!(told(vec![Ran::new(report(Status::Ok, "a\nb\n", &[]))]), "a\nb");
    assert_eq!(told(vec![Ran::new(report(Status::Ok, "", &[]))]), "[No output]");
    assert_eq!(told(vec![Ran::new(report(Status::Ok, "x", &["[New kernel]"]))]), "x\n[New kernel]");
}

#[test]
fn what_was_raised_without_a_traceback_is_said_once() {
    let bare = |text: &str| {
        let mut report = raised(text, "CommandFailed", "exit code 3", &[]);
        report.error.as_mut().unwrap().traceback.clear();
        Ran::new(report)
    };
    assert_eq!(
        told(vec![bare("half\nCommandFailed: exit code 3\n")]),
        "Error: CommandFailed: exit code 3\nhalf"
    );
    assert_eq!(
        told(vec![bare("CommandFailed: exit code 3")]),
        "Error: CommandFailed: exit code 3\n[No output]"
    );
    // Where it may fail nothing else says it.
    assert_eq!(told(vec![bare("CommandFailed: exit code 3").expected()]), "CommandFailed: exit code 3");
}

#[test]
fn a_failure_says_first_what_went_wrong_and_where() {
    let failed =
        raised("1\nTraceback…\nKeyError: 'b'\n", "KeyError", "'b'", &["The kernel's state was kept."]);
    assert_eq!(failed.kernel.state, KernelState::Kept);
    let composed = compose(Vec::new(), vec![Ran::new(failed).at("nb.ipynb: cell 3 (abc)")], Vec::new());
    assert!(composed.is_failure);
    assert_snapshot!(composed.text, @r"
    Error: nb.ipynb: cell 3 (abc): KeyError: 'b'
    1
    Traceback…
    KeyError: 'b'
    The kernel's state was kept.
    ");
    let late =
        report(Status::Timeout, "1\n", &["[New kernel]", "Command timed out after 3 seconds", "Kept."]);
    assert_snapshot!(told(vec![Ran::new(late)]), @r"
    Error: Command timed out after 3 seconds
    1
    [New kernel]
    Kept.
    ");
    let long = raised("", "ValueError", &"x".repeat(100_000), &[]);
    assert!(told(vec![Ran::new(long)]).len() < 300);
}

#[test]
fn several_pieces_stand_under_their_headings_with_what_is_said_around_them() {
    let ran = |text, heading: &str| Ran::new(report(Status::Ok, text, &[])).under(heading);
    let before = vec!["[runner /v/bin/python]".to_owned()];
    let composed =
        compose(before, vec![ran("a\n", "[1/2]"), ran("", "[2/2] load")], vec!["session s".to_owned()]);
    assert_snapshot!(composed.text, @r"
    [runner /v/bin/python]
    [1/2]
    a
    [2/2] load
    session s
    ");
    assert_eq!(introduced(&report(Status::Ok, "", &[]).kernel).as_deref(), Some("[runner /v/bin/python]"));
}

#[test]
fn a_long_output_that_is_the_same_again_is_not_repeated() {
    let long = "x".repeat(500);
    let same = |text: &str| told(vec![Ran::new(report(Status::Ok, text, &["[said]"])).unchanged()]);
    assert_eq!(same(&long), "[Output unchanged since the run before]\n[said]");
    assert_eq!(same("short"), "short\n[said]");
    let failed = Ran::new(raised(&long, "E", "m", &[])).unchanged();
    assert!(told(vec![failed]).contains(&long));
}

#[test]
fn no_answer_is_larger_than_its_budget() {
    for asked in [256, 300, 5000, 1 << 20] {
        let budget = Budget(asked);
        assert!(budget.reading().limits.max_bytes < budget.bytes());
        let text = "é€𝄞\n".repeat(200_000);
        let ran = vec![Ran::new(report(Status::Ok, &text, &["notice"])).under("heading"); 3];
        let answer = compose(vec!["before".to_owned()], ran, Vec::new()).into_answer(budget);
        assert!(answer.all_text().len() <= budget.bytes(), "{asked}");
        assert!(answer.all_text().starts_with("before") && answer.all_text().ends_with("notice"));
    }
}

fn gallery() -> (tempfile::TempDir, Artifacts, Gallery) {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = Artifacts::new(&Home::at(folder.path().to_owned()), Retention::default());
    (folder, artifacts.clone(), Gallery::new(artifacts))
}

fn images(answer: &Answer) -> usize {
    answer.blocks.iter().filter(|block| matches!(block, Block::Image { .. })).count()
}

#[tokio::test]
async fn pictures_follow_the_text_as_they_came_and_only_so_many() {
    let (_folder, artifacts, gallery) = gallery();
    let dot = Picture { mime: "image/png".to_owned(), data: DOT.to_owned() };
    let mut composed = Composed { text: "<Figure>".to_owned(), ..Composed::default() };
    composed.pictures = Pictures { list: vec![dot.clone(); 2], left_out: 0 };
    let answer = gallery.answer(composed.clone(), Budget(16 * 1024), &Origin::default()).await;
    assert_eq!(answer.blocks[0], Block::Text("<Figure>".to_owned()));
    assert_eq!(answer.blocks[2], Block::Image { mime: "image/png".to_owned(), data: DOT.to_owned() });
    assert!(artifacts.list().unwrap().is_empty());

    composed.pictures = Pictures { list: vec![dot; 40], left_out: 3 };
    let answer = gallery.answer(composed, Budget(16 * 1024), &Origin::default()).await;
    assert_eq!(images(&answer), 8);
    let text = answer.all_text();
    assert!(text.contains("[Image 9: not shown, too many. It is in artifact://"), "{text}");
    assert!(text.ends_with("[19 more images are not shown]"), "{text}");
    assert_eq!(artifacts.list().unwrap().len(), 16);
}

#[tokio::test]
async fn a_picture_that_cannot_be_shown_is_named_and_kept() {
    let (_folder, artifacts, gallery) = gallery();
    let broken = Picture { mime: "image/png".to_owned(), data: "AAAA".to_owned() };
    let pictures = Pictures { list: vec![broken], left_out: 0 };
    let origin = Origin { what: "plot()".to_owned(), ..Origin::default() };
    let answer =
        gallery.answer(Composed { pictures, ..Composed::default() }, Budget(16 * 1024), &origin).await;
    let rows = artifacts.list().unwrap();
    assert_eq!((rows.len(), rows[0].origin.what.as_str(), rows[0].bytes), (1, "image/png of plot()", 3));
    let text = answer.all_text();
    assert!(text.starts_with("[Image 1: not shown, it cannot be read: "), "{text}");
    assert!(text.ends_with(&format!("Original: artifact://{}]", rows[0].id)), "{text}");
}

#[tokio::test]
async fn outputs_of_a_notebook_are_told_as_those_of_a_run_are() {
    let (_folder, artifacts, gallery) = gallery();
    let json = RawJson::new(r#"{"a": [1, 2]}"#).unwrap();
    let status = RawJson::new(r#"{"op": "read"}"#).unwrap();
    let outputs = [
        Output::stream(StreamName::Stdout, "10%\r100%\n\u{1b}[31mred\u{1b}[0m"),
        Output::display(MimeBundle::text("text/plain", "<Figure>").with("image/png", DOT)),
        Output::display(MimeBundle::new().with("application/json", json)),
        Output::display(MimeBundle::new().with("application/x-cellist-status", status)),
        Output::Error {
            name: "KeyError".to_owned(),
            message: "1".to_owned(),
            traceback: vec!["Traceback (most recent call last):".to_owned(), "KeyError: 1".to_owned()],
        },
    ];
    let composed = shown(&outputs, Budget(16 * 1024), &artifacts, &Origin::default()).await;
    let answer = gallery.answer(composed, Budget(16 * 1024), &Origin::default()).await;
    assert_snapshot!(answer.all_text(), @r"
    100%
    red
    <Figure>
    object, 1 key
      a: array, 2 items
        0: 1
        1: 2
    Traceback (most recent call last):
    KeyError: 1
    ");
    assert_eq!(images(&answer), 1);

    let long: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
    let composed = shown(
        &[Output::stream(StreamName::Stdout, long.as_str())],
        Budget(2000),
        &artifacts,
        &Origin::default(),
    )
    .await;
    let row = &artifacts.list().unwrap()[0];
    assert_eq!(row.bytes, long.len() as u64);
    assert!(composed.text.contains("line 9999\n[Output cut: "), "{}", composed.text);
    assert!(composed.text.ends_with(&format!("All of it: artifact://{}]", row.id)), "{}", composed.text);
    let answer = composed.into_answer(Budget(2000));
    assert!(answer.all_text().len() <= 2000);
    let link = Block::Link {
        uri: format!("artifact://{}", row.id),
        name: format!("output {}", row.id),
        mime: "text/plain".to_owned(),
    };
    assert_eq!(answer.blocks[1], link);
}
