//! `cellist chat` on a terminal and through a pipe, with a scripted provider.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Models, Said, Terminal, wait_until};

use crate::bench::{Backend, Mark};
use crate::desk::{Desk, Ran};

/// The key of a user, which nobody may see.
const KEY: &str = "sk-hush-hush-hush-9876543210";

struct Bed {
    desk: Desk,
    models: Models,
    mark: Mark,
}

impl Bed {
    /// A notebook with these cells, and a provider that says this.
    fn new(sources: &[&str], script: impl IntoIterator<Item = Said>) -> Bed {
        let (desk, models) = (Desk::with(sources), Models::start(script));
        let config = format!(
            "[chat]\nprovider = \"openai\"\nmodel = \"scripted\"\nbase_url = \"{}/v1\"\napi_key = \"{KEY}\"\n",
            models.url()
        );
        fs::write(desk.state().join("config.toml"), config).unwrap();
        Bed { desk, models, mark: Mark::new() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let flags = Backend::BareRunner.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = self.desk.command(&[&["chat", "nb.ipynb"], words, flags.as_slice()].concat());
        self.mark.put_on(&mut command);
        command
    }

    fn ask(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    fn screen(&self, words: &[&str]) -> Terminal {
        Terminal::start(&self.command(words), (80, 30))
    }

    /// All that was sent to the provider but for its headers.
    fn sent(&self) -> String {
        self.models.asked().iter().map(|asked| format!("{} {}", asked.path, asked.body)).collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.desk.command(&["stop"]).output();
        if !std::thread::panicking() {
            self.mark.assert_gone(Duration::from_secs(60));
        }
    }
}

fn text(ran: &Ran) -> String {
    String::from_utf8(ran.out.clone()).unwrap()
}

#[test]
fn a_question_through_a_pipe_is_answered_once_in_plain_text() {
    let bed =
        Bed::new(&["x = 1"], [Said::text(&["It sets ", "**x**.\n\nThat is all."]), Said::text(&["Yes."])]);
    let ran = Ran::fed(&mut bed.command(&["--mode", "ask"]), b"What does it do?\n");
    assert_eq!((ran.exit, text(&ran)), (0, "It sets **x**.\n\nThat is all.\n".to_owned()), "{}", ran.err);
    assert!(bed.sent().contains("x = 1") && bed.sent().contains("What does it do?"));
    // The host keeps the conversation: the next one knows of the first.
    let told = bed.ask(&["Sure?", "--json"]).json();
    assert_eq!((&told["text"], &told["ending"]), (&json!("Yes."), &json!("done")));
    assert_eq!(told["usage"]["input"], 100);
    assert!(bed.models.asked()[1].body["messages"].to_string().contains("That is all."));
    let nothing = Ran::fed(&mut bed.command(&[]), b" \n");
    assert_eq!(nothing.exit, 2);
}

#[test]
fn who_has_no_model_is_told_how_to_get_one() {
    let desk = Desk::with(&["x = 1"]);
    let mut command = desk.command(&["chat", "nb.ipynb", "hello"]);
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        command.env_remove(name);
    }
    let ran = Ran::of(&mut command);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("no AI model configured") && ran.err.contains("OPENAI_API_KEY"), "{}", ran.err);
    let ran = Ran::of(command.env("OPENAI_API_KEY", "k"));
    assert!(ran.err.contains("no model is set for openai") && ran.err.contains("--model"), "{}", ran.err);
}

#[test]
fn code_is_not_run_where_nobody_can_be_asked_unless_that_was_allowed() {
    let run =
        || Said::call("update_notebook_cell", json!({ "cell": "a", "content": "print(6 * 7)", "run": true }));
    let bed = Bed::new(&["x = 1"], [run(), Said::text(&["No."]), run(), Said::text(&["It is 42."])]);
    let ran = bed.ask(&["run it"]);
    assert_eq!((ran.exit, text(&ran)), (0, "No.\n".to_owned()), "{}", ran.err);
    assert!(ran.err.contains("because it needs approval") && bed.desk.sources() == ["x = 1"], "{}", ran.err);
    let told = bed.ask(&["run it", "--yes", "--json"]).json();
    assert_eq!(told["calls"][0]["is_failure"], false, "{told}");
    assert!(told["calls"][0]["result"].as_str().unwrap().contains("42"), "{told}");
    assert_eq!(bed.desk.sources(), ["print(6 * 7)"]);
}

#[test]
fn a_conversation_on_a_terminal_streams_asks_and_takes_back() {
    let change = json!({ "cell": "a", "content": "print(6 * 7)", "run": true });
    let script = [
        Said::text(&["I **change** it."]).and_call("update_notebook_cell", change),
        Said::text(&["It shows *42*", " now."]).held(),
        Said::text(&["This is", " long."]).held(),
    ];
    let bed = Bed::new(&["x = 1"], script);
    let mut screen = bed.screen(&[]);
    screen.wait_for("agent>");
    screen.keys("make it 42\r");
    screen.wait_for("Run this?");
    screen.keys("y\r");
    // Pieces of an answer appear as they arrive, as Markdown.
    screen.wait("the first piece", |shown| shown.contains("It shows 42") && !shown.contains("now."));
    bed.models.release();
    let shown = screen.wait("the end", |shown| shown.contains("now.") && shown.contains("tokens read"));
    assert!(shown.contains("I change it.") && shown.contains("✓ update_notebook_cell a"), "{shown}");
    assert_eq!(bed.desk.sources(), ["print(6 * 7)"]);
    screen.keys("/undo\r");
    screen.wait_for("Restored 1 cell of nb.ipynb");
    assert_eq!(bed.desk.sources(), ["x = 1"]);
    screen.keys("talk\r");
    screen.wait_for("This is");
    screen.keys("\u{3}");
    screen.wait_for("stopped");
    screen.keys("/undo\r");
    screen.wait_for("Nothing to undo");
    // The conversation is complete after leaving and coming back.
    screen.keys("\u{4}");
    assert_eq!(screen.end().0, 0);
    let mut screen = bed.screen(&["--mode", "ask"]);
    screen.wait("what was said before", |shown| shown.contains("> talk") && shown.contains("ask>"));
    screen.keys("/mode edit\r");
    screen.wait_for("edit>");
    screen.keys("/quit\r");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn a_file_that_other_programs_run_is_named_on_the_terminal_and_changes_only_after_yes() {
    let write = |content: &str| {
        let arguments = json!({ "path": ".vscode/tasks.json", "content": content });
        Said::call("write", arguments)
    };
    let script = [
        write("first"),
        Said::text(&["Not changed."]),
        write("second"),
        write("third"),
        Said::text(&["Changed."]),
    ];
    let bed = Bed::new(&["x = 1"], script);
    let file = bed.desk.path().canonicalize().unwrap().join(".vscode/tasks.json");
    fs::create_dir(file.parent().unwrap()).unwrap();
    // The whole path is in one line.
    let mut screen = Terminal::start(&bed.command(&["--yes"]), (200, 40));
    screen.wait_for("agent>");
    screen.keys("write the tasks\r");
    let shown = screen.wait_for("Change this file? [y] yes, for this conversation, [n] no:");
    let named = format!("other programs run or obey {}", file.display());
    assert!(shown.contains(&named) && shown.contains("first") && !shown.contains("Run this?"), "{shown}");
    screen.keys("n\r");
    screen.wait_for("Not changed.");
    assert!(!file.exists());
    screen.keys("write them again\r");
    screen
        .wait("the next question", |shown| shown.contains("second") && shown.trim_end().ends_with("[n] no:"));
    screen.keys("y\r");
    // The third call does not ask again.
    screen.wait("the end", |shown| shown.lines().any(|line| line.trim() == "Changed."));
    assert_eq!(fs::read_to_string(&file).unwrap(), "third");
    screen.keys("/quit\r");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn a_provider_that_fails_is_named_and_its_failure_is_the_exit_status() {
    let bed = Bed::new(&["x = 1"], [Said::refusal(401, "no such key")]);
    let ran = bed.ask(&["hello"]);
    assert_eq!(ran.exit, 3, "{}", ran.err);
    assert!(ran.err.contains("rejected the API key (401): no such key"), "{}", ran.err);
}

#[test]
fn the_key_is_in_no_request_log_notebook_or_answer() {
    let look = "import os; print({**os.environ})";
    let script = [
        Said::call("python", json!({ "code": look })).and_call("read", json!({ "path": ".env" })),
        Said::text(&["Fine."]),
    ];
    let bed = Bed::new(&["x = 1"], script);
    bed.desk.write(".env", "WORD=very-secret");
    let mut command = bed.command(&["look", "--yes", "--json"]);
    command.env("CELLIST_CHAT_API_KEY", KEY).env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY);
    let ran = Ran::of(&mut command);
    let told: Value = ran.json();
    assert_eq!(told["calls"][0]["is_failure"], false, "{told}");
    assert!(told["calls"][1]["result"].as_str().unwrap().contains("is kept from models"), "{told}");
    assert!(
        bed.models.asked()[0].headers.iter().any(|(_, value)| value.ends_with(KEY)),
        "the key does let in"
    );
    let settings = bed.desk.run(&["settings"]);
    let mut places = vec![
        ("requests", bed.sent()),
        ("answer", told.to_string()),
        ("notebook", bed.desk.text("nb.ipynb")),
        ("settings", text(&settings)),
    ];
    for entry in walk(bed.desk.state()) {
        if entry.file_name().is_some_and(|name| name != "config.toml") {
            places
                .push(("state", String::from_utf8_lossy(&fs::read(&entry).unwrap_or_default()).into_owned()));
        }
    }
    for (place, text) in places {
        assert!(!text.contains(KEY) && !text.contains("very-secret"), "{place}: {text}");
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => walk(&entry.path()),
        Ok(kind) if kind.is_file() => vec![entry.path()],
        _ => Vec::new(),
    });
    files.collect()
}

#[test]
fn messages_are_written_with_all_that_a_line_editor_has() {
    let bed = Bed::new(
        &["x = 1"],
        [Said::text(&["One."]), Said::text(&["Two", " more."]).held(), Said::text(&["Three."])],
    );
    bed.desk.write("other.ipynb", bed.desk.text("nb.ipynb"));
    let mut screen = bed.screen(&["--mode", "ask"]);
    screen.wait_for("ask>");
    // Commands, notebooks and tools are completed; keys move the cursor and edit the text.
    screen.keys("/m\t ag\t\r");
    screen.wait_for("agent>");
    screen.keys("/mode ask\r");
    screen.wait("ask mode again", |shown| shown.trim_end().ends_with("ask>"));
    screen.keys("ook at @ot\t with #get\t");
    screen.wait("what could be meant", |shown| {
        shown.contains("#getCellOutputs") && shown.contains("#getNotebookCells")
    });
    screen.keys("\t\u{1}l\u{5}\u{1b}\rin two lines\r");
    let shown = screen.wait_for("One.");
    assert!(!shown.contains("#getNotebookCells"), "what could have been meant is gone:\n{shown}");
    let said = "look at @other.ipynb with #getCellOutputs\\nin two lines";
    assert!(bed.sent().contains(said), "{}", bed.sent());
    // Input typed during an answer waits for its end.
    screen.wait("the end", |shown| shown.trim_end().ends_with("ask>"));
    screen.keys("again\r");
    screen.wait_for("Two");
    screen.keys("thr");
    bed.models.release();
    screen.wait_for("ask> thr");
    screen.keys("ee\r");
    screen.wait_for("Three.");
    // An interrupt drops the current input and prints a hint.
    screen.wait("the end", |shown| shown.trim_end().ends_with("ask>"));
    screen.keys("begun");
    screen.wait_for("ask> begun");
    screen.keys("\u{3}\u{3}");
    screen.wait_for("press Ctrl-D to quit");
    screen.keys("\u{4}");
    let (exit, ended) = screen.end();
    assert_eq!(exit, 0, "{}", ended.raw);
    assert!(ended.is_restored);
    // The next time it is there again.
    let mut screen = bed.screen(&["--mode", "ask", "--new"]);
    screen.wait_for("ask>");
    screen.keys("\u{1b}[A\u{1b}[A");
    screen.wait_for("ask> again");
    screen.keys("\u{1b}[A");
    screen.wait_for("in two lines");
    screen.keys("\u{3}\u{4}");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn credentials_reach_no_model_and_stay_where_they_are() {
    let token = format!("ghp_{}", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5");
    let (source, value) = (format!("token = '{token}'"), "Wint3r-is-c0ld");
    let script = [
        Said::call("get_notebook_cells", json!({}))
            .and_call("read", json!({ "path": "notes.txt" }))
            .and_call("python", json!({ "code": "print(open('notes.txt').read())" })),
        Said::text(&["Fine."]),
        Said::text(&["Indeed."]),
    ];
    let bed = Bed::new(&[&source], script);
    bed.desk.write("notes.txt", format!("{token} and {value}"));
    let ask = |words: &str| {
        let mut command = bed.command(&[words, "--yes", "--json"]);
        Ran::of(command.env("SHOP_PASSWORD", value)).json()
    };
    let told = ask("is postgres://ann:hunter2@db right?");
    let marks =
        |text: &str| text.contains("[redacted: GitHub token]") && text.contains("[redacted: SHOP_PASSWORD]");
    for call in 1..3 {
        assert!(marks(told["calls"][call]["result"].as_str().unwrap()), "{told}");
    }
    ask("sure?");
    let sent = bed.sent();
    assert!(sent.contains("postgres://ann:[redacted: password]@db") && marks(&sent), "{sent}");
    for secret in [token.as_str(), value, "hunter2"] {
        assert!(!sent.contains(secret), "{secret}: {sent}");
    }
    assert_eq!(bed.desk.sources(), [source]);
}

#[test]
fn ctrl_c_withdraws_a_message_that_waits_and_the_other_answer_goes_on() {
    let bed = Bed::new(&["x = 1"], [Said::text(&["First", " answer."]).held(), Said::text(&["Later."])]);
    let (mut first, mut second) = (bed.screen(&[]), bed.screen(&["--mode", "ask"]));
    first.wait_for("agent>");
    second.wait_for("ask>");
    first.keys("one\r");
    first.wait_for("First");
    second.keys("two\r");
    second.wait_for("yours is next");
    second.wait_for("First");
    second.keys("\u{3}");
    second.wait("the prompt again", |shown| {
        shown.contains("your message was withdrawn") && shown.trim_end().ends_with("ask>")
    });
    // The same where one message is sent by a command.
    let mut third = bed.screen(&["three"]);
    third.wait_for("position 1 in the queue");
    third.keys("\u{3}");
    let (exit, ended) = third.end();
    assert_eq!(exit, 130, "{}", ended.raw);
    assert!(ended.raw.contains("withdrawn before it was answered"), "{}", ended.raw);
    bed.models.release();
    let shown = first.wait("the end", |shown| shown.contains("First answer.") && shown.contains("tokens"));
    assert!(!shown.contains("stopped"), "{shown}");
    second.keys("four\r");
    second.wait_for("Later.");
    assert_eq!(bed.models.asked().len(), 2, "what was withdrawn is never sent: {}", bed.sent());
    for mut screen in [first, second] {
        screen.wait("the prompt", |shown| shown.trim_end().ends_with('>'));
        screen.keys("\u{4}");
        assert_eq!(screen.end().0, 0);
    }
}

#[test]
fn what_answers_left_running_is_interrupted_by_a_word() {
    let code = "import time\nopen('begun', 'w').close()\ntry:\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n    open('ended', 'w').close()";
    let run = Said::call("python", json!({ "code": code, "timeout": 600 }));
    let bed = Bed::new(&["x = 1"], [run, Said::text(&["Only words."])]);
    let (begun, ended) = (bed.desk.path().join("begun"), bed.desk.path().join("ended"));
    let mut screen = bed.screen(&["--yes"]);
    screen.wait_for("agent>");
    screen.keys("/stop\r");
    screen.wait_for("no code from an answer is running");
    screen.keys("run it\r");
    wait_until("the code runs", || begun.exists());
    screen.keys("\u{3}");
    screen.wait_for("/stop interrupts it");
    // Another answer in between does not take the way to it.
    screen.wait("the prompt", |shown| shown.trim_end().ends_with("agent>"));
    screen.keys("talk\r");
    screen.wait("the end", |shown| {
        shown.contains("Only words.") && shown.matches("/stop interrupts it").count() == 2
    });
    assert!(!ended.exists());
    screen.keys("/stop\r");
    screen.wait("the word", |shown| shown.lines().any(|line| line.trim() == "interrupted"));
    wait_until("the code has ended", || ended.exists());
    screen.keys("\u{4}");
    assert_eq!(screen.end().0, 0);
}
