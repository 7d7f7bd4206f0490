//! The tests' provider of models speaks as real ones do: their official clients understand it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::process::Command;

use serde_json::{Value, json};
use testkit::{Models, Said, python, repo_root};

fn seen(client: &str, script: Vec<Said>) -> Vec<Value> {
    let count = script.len().to_string();
    let models = Models::start(script);
    let mut command = Command::new(python("models"));
    command.arg(repo_root().join("testkit/python/models.py")).args([client, &models.url(), &count]);
    // Nothing of whoever runs the tests decides where they ask.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(name);
    }
    let ran = command.env("GOOGLE_API_KEY", "").env("NO_PROXY", "127.0.0.1").output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{client}: {told}");
    let seen: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(
        models.asked().len(),
        seen.as_array().unwrap().len(),
        "{client}: no client asks again by itself"
    );
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
        let seen = seen(client, vec![Said::text(&["half of "]).cut()]);
        assert!(seen[0].get("broken").is_some(), "{client}: {seen:?}");
    }
}
