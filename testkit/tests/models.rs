//! The scripted provider behaves like a real one: official clients understand it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::{Models, Said, python, repo_root};

fn seen(client: &str, script: Vec<Said>) -> Vec<Value> {
    let count = script.len();
    let models = Models::start(script);
    let seen = understood(client, &models.url(), count);
    assert_eq!(models.asked().len(), seen.len(), "{client}: no client asks again by itself");
    seen
}

/// The answers as a client understands them.
fn understood(client: &str, url: &str, count: usize) -> Vec<Value> {
    let mut command = Command::new(python("models"));
    command.arg(repo_root().join("testkit/python/models.py")).args([client, url, &count.to_string()]);
    // Settings of the user's environment must not redirect requests.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(name);
    }
    let ran = command.env("GOOGLE_API_KEY", "").env("NO_PROXY", "127.0.0.1").output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{client}: {told}");
    let seen: Value = serde_json::from_slice(&ran.stdout).unwrap();
    seen.as_array().unwrap().clone()
}

fn check(client: &str, [done, called, too_long]: [&str; 3]) {
    let script = vec![
        Said::text(&["Hé", "llo."]),
        Said::text(&["I look."]).and_call("look", json!({ "x": "1" })).and_call("look", json!({})),
        Said::text(&["As much as"]).too_long(),
        Said::refusal(429, "slow down").header("retry-after", "7"),
        Said::refusal(500, "oh"),
        Said::refusal(401, "who?"),
    ];
    let seen = seen(client, script);
    assert_eq!(
        seen[0],
        json!({ "text": "Héllo.", "calls": [], "finish": done, "tokens": [100, 20] }),
        "{client}"
    );
    let calls = json!([["look", { "x": "1" }], ["look", {}]]);
    assert_eq!((&seen[1]["text"], &seen[1]["calls"]), (&json!("I look."), &calls), "{client}");
    assert_eq!((&seen[1]["finish"], &seen[2]["finish"]), (&json!(called), &json!(too_long)), "{client}");
    let statuses: Vec<&Value> = seen[3..].iter().map(|seen| &seen["status"]).collect();
    assert_eq!(statuses, [429, 500, 401], "{client}: {seen:?}");
}

#[test]
fn the_client_of_openai_understands_it() {
    check("openai", ["stop", "tool_calls", "length"]);
}

#[test]
fn the_client_of_anthropic_understands_it() {
    check("anthropic", ["end_turn", "tool_use", "max_tokens"]);
}

#[test]
fn the_client_of_google_understands_it() {
    check("gemini", ["STOP", "STOP", "MAX_TOKENS"]);
}

#[test]
fn every_client_notices_an_answer_that_breaks_off() {
    for client in ["openai", "anthropic", "gemini"] {
        let half = || Said::text(&["half of "]);
        let seen = seen(client, vec![half().cut(), half().garbled()]);
        assert!(seen.iter().all(|seen| seen.get("broken").is_some()), "{client}: {seen:?}");
    }
}

/// A process that does not outlive the test.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn as_a_program_it_says_what_its_input_says_and_ends_with_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-models"));
    let mut program = Owned(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut orders = program.0.stdin.take().unwrap();
    let mut lines = BufReader::new(program.0.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let url = format!("http://127.0.0.1:{}", next()["port"]);
    let slow =
        json!({ "pieces": ["Sl", "ow."], "pace_ms": 5, "calls": [["look", { "x": "1" }]], "ending": "held" });
    let refused =
        json!({ "refused": { "status": 429, "headers": [["retry-after", "7"]], "words": "slow down" } });
    let given = [json!({ "say": slow }), json!({ "say": { "ending": refused } }), json!({ "release": 1 })];
    for (number, order) in (1..).zip(given) {
        writeln!(orders, "{order}").unwrap();
        assert_eq!(next(), json!({ "done": number }));
    }
    let seen = understood("anthropic", &url, 2);
    assert_eq!((&seen[0]["text"], &seen[0]["calls"]), (&json!("Slow."), &json!([["look", { "x": "1" }]])));
    assert_eq!(seen[1], json!({ "status": 429, "retry": "7" }));
    let told: Vec<Value> = (0..5).map(|_| next()).collect();
    assert_eq!(told[0]["asked"]["body"]["messages"][0]["content"], "hi", "{told:?}");
    let sent: Vec<&Value> = told[1..4].iter().map(|told| &told["sent"]["piece"]).collect();
    assert!(sent == [0, 1, 2] && told[4]["asked"]["path"] == "/v1/messages", "{told:?}");
    writeln!(orders, "\"wait\"").unwrap();
    assert_eq!(next(), json!({ "done": 4 }));
    drop(orders);
    assert!(program.0.wait().unwrap().success());
}
