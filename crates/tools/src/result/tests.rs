use cellist_output::{MimeBundle, Output, RawJson, StreamName};
use cellist_session::execution::{KernelState, Picture, Raised};
use cellist_session::sessions::OwnerId;
use cellist_settings::Home;
use cellist_store::artifact::{ArtifactOrigin, Artifacts, Retention};
use insta::assert_snapshot;

use super::*;
use crate::agent::Agent;
use crate::answer::{AnswerBlock, ToolAnswer};
use crate::caller::Caller;
use crate::known_outputs::OutputMark;
use crate::mode::Mode;

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

fn agent() -> Agent {
    Agent::new(caller(), OwnerId("robot".to_owned()))
}

fn caller() -> Caller {
    Caller::new("robot", "robot-1", Mode::Agent, "/")
}

const USUAL: Budget = budget_of(16 * 1024);

const fn budget_of(bytes: usize) -> Budget {
    Budget { bytes, is_asked: false, images: true }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn text_of(composed: ReplyDraft) -> String {
    now(ToolReply::new(composed, Vec::new()).answer(USUAL, &agent())).all_text()
}

fn told(ran: Vec<CodeResult>) -> String {
    text_of(compose(Vec::new(), ran, Vec::new()))
}

#[test]
fn output_is_the_reply() {
    assert_eq!(told(vec![CodeResult::new(report(Status::Ok, "a\nb\n", &[]))]), "a\nb");
    assert_eq!(told(vec![CodeResult::new(report(Status::Ok, "", &[]))]), "[No output]");
    assert_eq!(told(vec![CodeResult::new(report(Status::Ok, "x", &["[New kernel]"]))]), "x\n[New kernel]");
}

#[test]
fn an_exception_without_traceback_appears_once() {
    let bare = |text: &str| {
        let mut report = raised(text, "CommandFailed", "exit code 3", &[]);
        report.error.as_mut().unwrap().traceback.clear();
        CodeResult::new(report)
    };
    assert_eq!(
        told(vec![bare("half\nCommandFailed: exit code 3\n")]),
        "Error: CommandFailed: exit code 3\nhalf"
    );
    assert_eq!(
        told(vec![bare("CommandFailed: exit code 3")]),
        "Error: CommandFailed: exit code 3\n[No output]"
    );
    // A cell that may fail has no other line about the error.
    assert_eq!(
        told(vec![bare("CommandFailed: exit code 3").allowed_to_fail()]),
        "CommandFailed: exit code 3"
    );
}

#[test]
fn a_failure_starts_with_the_error_and_its_location() {
    let failed =
        raised("1\nTraceback…\nKeyError: 'b'\n", "KeyError", "'b'", &["The kernel's state was kept."]);
    assert_eq!(failed.kernel.state, KernelState::Kept);
    let composed = compose(
        Vec::new(),
        vec![CodeResult::new(failed).with_location("nb.ipynb: cell 3 (abc)")],
        Vec::new(),
    );
    assert!(composed.is_failure);
    // The message appears once.
    assert_snapshot!(text_of(composed), @r"
    Error: nb.ipynb: cell 3 (abc): KeyError: 'b'
    1
    Traceback…
    The kernel's state was kept.
    ");
    // Also where the traceback names the module of the exception.
    let failed = raised("Traceback…\njson.decoder.JSONDecodeError: no\n", "JSONDecodeError", "no", &[]);
    assert_eq!(told(vec![CodeResult::new(failed)]), "Error: JSONDecodeError: no\nTraceback…");
    let late =
        report(Status::Timeout, "1\n", &["[New kernel]", "Command timed out after 3 seconds", "Kept."]);
    assert_snapshot!(told(vec![CodeResult::new(late)]), @r"
    Error: Command timed out after 3 seconds
    1
    [New kernel]
    Kept.
    ");
    let long = raised("", "ValueError", &"x".repeat(100_000), &[]);
    assert!(told(vec![CodeResult::new(long)]).len() < 300);
}

#[test]
fn several_pieces_have_headings_between_notices() {
    let ran = |text, heading: &str| CodeResult::new(report(Status::Ok, text, &[])).with_heading(heading);
    let before = vec!["[runner /v/bin/python]".to_owned()];
    let composed =
        compose(before, vec![ran("a\n", "[1/2]"), ran("", "[2/2] load")], vec!["session s".to_owned()]);
    assert_snapshot!(text_of(composed), @r"
    [runner /v/bin/python]
    [1/2]
    a
    [2/2] load
    session s
    ");
    assert_eq!(introduction(&report(Status::Ok, "", &[]).kernel).as_deref(), Some("[runner /v/bin/python]"));
}

#[test]
fn an_output_is_skipped_only_for_a_caller_that_has_it() {
    let reply = |text: &str| {
        let outputs = [Output::stream(StreamName::Stdout, text)];
        let mark = OutputMark::new("/nb.ipynb".into(), "a".into(), &outputs);
        let ran = CodeResult::new(report(Status::Ok, text, &["[said]"])).with_outputs(mark);
        ToolReply::new(compose(Vec::new(), vec![ran], Vec::new()), Vec::new())
    };
    let (one, other) = (agent(), agent());
    let read = |reply: &ToolReply, agent| now(reply.answer(USUAL, agent)).all_text();
    let long = "x".repeat(500);
    let whole = format!("{long}\n[said]");
    let (first, second) = (reply(&long), reply(&long));
    assert_eq!(read(&first, &one), whole);
    // Reading the same reply again is not a new run.
    assert_eq!(read(&first, &one), whole);
    assert_eq!(read(&second, &one), "[Output unchanged since you last saw it]\n[said]");
    assert_eq!(read(&second, &other), whole);
    // Conversations that share an agent may not have seen the output.
    let shared = Agent::new(Caller { is_shared: true, ..caller() }, OwnerId("shared".to_owned()));
    assert_eq!((read(&first, &shared), read(&second, &shared)), (whole.clone(), whole.clone()));
    // A short output is shown again, and so is one that changed and changed back.
    assert_eq!(read(&reply("short"), &one), "short\n[said]");
    assert_eq!(read(&reply("short"), &one), "short\n[said]");
    assert_eq!(read(&reply(&long), &one), whole);
}

#[test]
fn a_cut_reply_names_omitted_cells_and_shows_all_errors_and_the_summary() {
    let cell = |index: usize| {
        let heading = format!("[{index}] id=c{index}");
        let ran = match index {
            3 | 20 => CodeResult::new(raised(
                &format!("{}\nValueError: bad {index}\n", "frame\n".repeat(60)),
                "ValueError",
                &format!("bad {index}"),
                &[],
            )),
            _ => CodeResult::new(report(Status::Ok, &format!("{index} {}\n", "x".repeat(150)), &[])),
        };
        ran.with_heading(heading).with_location(format!("nb: cell {index}")).with_number(index)
    };
    let ran: Vec<CodeResult> = (0..=36).map(cell).collect();
    let mut endings = summary(&ran);
    (37..40).for_each(|index| endings.add(CellEnding::NotRun, index));
    let mut composed = compose(Vec::new(), ran, vec!["Revision 1.".to_owned()]);
    composed.summary = Some(endings);
    let (_folder, artifacts, gallery) = gallery();
    let small = budget_of(2500);
    let reply = now(gallery.reply(composed, &ArtifactOrigin::default()));
    let text = now(reply.answer(small, &agent())).all_text();
    let id = artifacts.list().unwrap()[0].id.to_string();
    assert!(text.len() <= 2500, "{}", text.len());
    assert!(text.starts_with("Error: nb: cell 3: ValueError: bad 3\n"), "{text}");
    assert!(text.contains("\nValueError: bad 20\n"), "{text}");
    let last: Vec<&str> = text.lines().rev().take(3).collect();
    assert_eq!(last[..2], ["35 ok, 2 failed: 3, 20; not run: 37–39", "Revision 1."]);
    assert!(last[2].starts_with("[Not shown in full: cells ") && last[2].contains(&id), "{text}");
    // The list names only cells that are not in the text.
    let listed = last[2];
    assert!(text.contains("\n[36] id=c36\n36 x") && !listed.contains("36"), "{text}");
    let whole = std::fs::read_to_string(artifacts.path(&artifacts.list().unwrap()[0].id)).unwrap();
    assert!((0..=36).all(|index| whole.contains(&format!("[{index}] id=c{index}\n"))), "{whole}");
    // A caller with more room gets all of it from the same reply.
    let text = now(reply.answer(USUAL, &agent())).all_text();
    assert!((0..=36).all(|index| text.contains(&format!("[{index}] id=c{index}\n"))), "{text}");
}

#[test]
fn no_answer_is_larger_than_its_budget() {
    for asked in [256, 300, 5000, 1 << 17] {
        let budget = budget_of(asked);
        assert!(budget.reading().limits.max_bytes < budget.bytes);
        let text = "é€𝄞\n".repeat(2_000);
        let one = || CodeResult::new(report(Status::Ok, &text, &["notice"])).with_heading("heading");
        for count in [1, 3, 200] {
            let ran: Vec<CodeResult> = (0..count).map(|index| one().with_number(index * 2)).collect();
            let endings = summary(&ran);
            let mut composed = compose(vec!["before".to_owned()], ran, vec!["behind".to_owned()]);
            composed.summary = Some(endings);
            let answer = now(ToolReply::new(composed, Vec::new()).answer(budget, &agent()));
            assert!(answer.all_text().len() <= budget.bytes, "{asked}: {}", answer.all_text().len());
            assert!(answer.all_text().starts_with("before"));
            assert!(answer.all_text().ends_with(&format!("behind\n{count} ok")), "{}", answer.all_text());
        }
    }
}

fn gallery() -> (tempfile::TempDir, Artifacts, Gallery) {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = Artifacts::new(&Home::at(folder.path().to_owned()), Retention::default());
    (folder, artifacts.clone(), Gallery::new(artifacts))
}

fn images(answer: &ToolAnswer) -> usize {
    answer.blocks.iter().filter(|block| matches!(block, AnswerBlock::Image { .. })).count()
}

/// The blocks of an answer, pictures as `image`.
fn blocks(answer: &ToolAnswer) -> Vec<String> {
    let block = |block: &AnswerBlock| match block {
        AnswerBlock::Text(text) => text.clone(),
        AnswerBlock::Image { .. } => "image".to_owned(),
        AnswerBlock::Link { uri, .. } => uri.clone(),
    };
    answer.blocks.iter().map(block).collect()
}

fn pictured(count: usize) -> Report {
    let dot = Picture { mime: "image/png".to_owned(), data: DOT.to_owned() };
    let pictures = Pictures { list: vec![dot; count], left_out: 0 };
    Report { pictures, ..report(Status::Ok, "<Figure>", &[]) }
}

#[tokio::test]
async fn pictures_follow_the_text_of_their_cell() {
    let (_folder, artifacts, gallery) = gallery();
    let cell = |index: usize, count| {
        CodeResult::new(pictured(count)).with_heading(format!("[{index}]")).with_number(index)
    };
    let composed = compose(Vec::new(), vec![cell(0, 1), cell(1, 0), cell(2, 2)], vec!["end".to_owned()]);
    let reply = gallery.reply(composed, &ArtifactOrigin::default()).await;
    let answer = reply.answer(USUAL, &agent()).await;
    assert_eq!(
        blocks(&answer),
        ["[0]\n<Figure>", "image", "[1]\n<Figure>\n[2]\n<Figure>", "image", "image", "end"]
    );
    assert!(artifacts.list().unwrap().is_empty());
    // Another caller of the same reply may decline pictures.
    let without = Budget { images: false, ..USUAL };
    let answer = reply.answer(without, &agent()).await;
    assert_eq!(blocks(&answer), ["[0]\n<Figure>\n[1]\n<Figure>\n[2]\n<Figure>\nend"]);
}

#[tokio::test]
async fn one_line_names_cells_with_more_pictures() {
    let (_folder, artifacts, gallery) = gallery();
    let cells: Vec<CodeResult> = (0..20)
        .map(|index| CodeResult::new(pictured(1)).with_heading(format!("[{index}]")).with_number(index))
        .collect();
    let mut composed = compose(Vec::new(), cells, Vec::new());
    composed.is_in_notebook = true;
    let reply = gallery.reply(composed, &ArtifactOrigin::default()).await;
    let answer = reply.answer(USUAL, &agent()).await;
    assert_eq!(images(&answer), 8);
    let text = answer.all_text();
    assert!(
        text.ends_with("\n[12 more images not shown: cells 8–19; get_cell_outputs shows them]"),
        "{text}"
    );
    assert_eq!(text.matches("not shown").count(), 1, "{text}");
    assert!(artifacts.list().unwrap().is_empty());
    // Pictures outside of notebooks are stored.
    let composed = compose(Vec::new(), vec![CodeResult::new(pictured(40))], Vec::new());
    let answer = gallery.reply(composed, &ArtifactOrigin::default()).await.answer(USUAL, &agent()).await;
    let text = answer.all_text();
    assert!(text.contains("[32 more images not shown (artifact://") && text.ends_with(", …)]"), "{text}");
    assert_eq!((images(&answer), artifacts.list().unwrap().len()), (8, 16));
}

#[tokio::test]
async fn an_unshowable_picture_is_named_and_stored() {
    let (_folder, artifacts, gallery) = gallery();
    let broken = Picture { mime: "image/png".to_owned(), data: "AAAA".to_owned() };
    let pictures = Pictures { list: vec![broken], left_out: 0 };
    let origin = ArtifactOrigin { what: "plot()".to_owned(), ..ArtifactOrigin::default() };
    let composed = ReplyDraft::one(Section { pictures, ..Section::default() });
    let answer = gallery.reply(composed, &origin).await.answer(USUAL, &agent()).await;
    let rows = artifacts.list().unwrap();
    assert_eq!((rows.len(), rows[0].origin.what.as_str(), rows[0].bytes), (1, "image/png of plot()", 3));
    let text = answer.all_text();
    assert!(text.starts_with("[Image 1: not shown: cannot be read: "), "{text}");
    assert!(text.ends_with(&format!("Original: artifact://{}]", rows[0].id)), "{text}");
}

#[tokio::test]
async fn saved_outputs_read_like_those_of_a_run() {
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
    let ShownOutputs { section, .. } =
        shown(&outputs, USUAL.reading(), &artifacts, &ArtifactOrigin::default()).await;
    let reply = gallery.reply(ReplyDraft::one(section), &ArtifactOrigin::default()).await;
    let answer = reply.answer(USUAL, &agent()).await;
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
    let asked = Budget { is_asked: true, ..budget_of(2000) };
    let stream = [Output::stream(StreamName::Stdout, long.as_str())];
    let ShownOutputs { section, artifact } =
        shown(&stream, asked.reading(), &artifacts, &ArtifactOrigin::default()).await;
    let row = &artifacts.list().unwrap()[0];
    assert_eq!((row.bytes, artifact.as_deref()), (long.len() as u64, Some(row.id.as_str())));
    assert!(section.text.contains("line 9999\n[Output cut: "), "{}", section.text);
    let how = format!("All of it: artifact://{} (read_artifact)]", row.id);
    assert!(section.text.ends_with(&how), "{}", section.text);
    let composed = ReplyDraft { artifacts: artifact.into_iter().collect(), ..ReplyDraft::one(section) };
    let answer = ToolReply::new(composed, Vec::new()).answer(asked, &agent()).await;
    assert!(answer.all_text().len() <= 2000);
    let link = AnswerBlock::Link {
        uri: format!("artifact://{}", row.id),
        name: format!("output {}", row.id),
        mime: "text/plain".to_owned(),
    };
    assert_eq!(answer.blocks[1], link);
}
