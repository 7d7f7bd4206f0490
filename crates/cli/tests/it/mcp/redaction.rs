//! Credentials in notebooks and files: agents over MCP read marks in their place, whichever way they ask, and the files
//! stay as they are.

use serde_json::{Value, json};

use super::official::{Official, Way};
use crate::desk::Desk;

/// Nobody's, put together so that nobody takes them for real ones.
const BODY: &str = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5bC7dE9fG2hJ4kL6m";

fn token() -> String {
    format!("ghp_{}", &BODY[..36])
}

fn key() -> String {
    let lines: Vec<String> = (0..9).map(|turn| format!("{}{}", &BODY[turn..], &BODY[..turn + 12])).collect();
    format!("-----BEGIN RSA PRIVATE KEY-----\n{}\nQ2w=\n-----END RSA PRIVATE KEY-----\n", lines.join("\n"))
}

#[test]
fn agents_read_marks_in_place_of_credentials_and_the_files_keep_them() {
    for way in [(Way::Stdio, "legacy"), (Way::Http, "2026-07-28")] {
        let desk = Desk::new();
        let stream =
            json!({ "output_type": "stream", "name": "stdout", "text": format!("The key:\n{}", key()) });
        let cell = json!({
            "cell_type": "code", "execution_count": 1, "id": "a", "metadata": {}, "outputs": [stream],
            "source": format!("token = '{}'\nprint(key)", token()),
        });
        let file = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        desk.write("nb.ipynb", file.to_string());
        desk.write("deploy.txt", key());
        let before = (desk.read("nb.ipynb"), desk.read("deploy.txt"));
        let mut client = Official::start(&desk, &["--tools", "all", "--standalone"], way);
        let call =
            |tool: &str, arguments: Value| json!({ "do": "call", "name": tool, "arguments": arguments });
        let look = |arguments: Value| call("get_notebook_cells", arguments);
        let (token_mark, key_mark) = ("[redacted: GitHub token]", "[redacted: private key]");
        let steps = [
            (look(json!({ "notebook": "nb.ipynb" })), token_mark),
            (look(json!({ "notebook": "nb.ipynb", "cells": ["a"] })), token_mark),
            (call("get_cell_outputs", json!({ "notebook": "nb.ipynb", "cell": "a" })), key_mark),
            (call("read", json!({ "path": "nb.ipynb" })), token_mark),
            (call("read", json!({ "path": "nb.ipynb:raw" })), key_mark),
            (call("read", json!({ "path": "deploy.txt" })), key_mark),
            // Without the header and without the end.
            (call("read", json!({ "path": "deploy.txt:4-" })), key_mark),
            (call("read", json!({ "path": "deploy.txt:1-6" })), key_mark),
            (
                json!({ "do": "prompt", "name": "notebook", "arguments": { "notebook": "nb.ipynb" } }),
                token_mark,
            ),
        ];
        for (step, mark) in steps {
            let answer = client.ask(&step).to_string();
            assert!(answer.contains(mark), "{way:?}: {step}: {answer}");
            let lines = key();
            let secrets = lines.lines().filter(|line| !line.starts_with('-')).chain([&BODY[..36]]);
            for secret in secrets {
                assert!(!answer.contains(secret), "{way:?}: {step}: {secret}: {answer}");
            }
        }
        assert_eq!((desk.read("nb.ipynb"), desk.read("deploy.txt")), before);
        // Text beside a mark does not change the secret behind the mark.
        let (told, failed) = client
            .call("edit", &json!({ "path": "nb.ipynb", "old": "print(key)", "new": "print(len(key))" }));
        assert!(!failed, "{told}");
        assert_eq!(desk.sources(), [format!("token = '{}'\nprint(len(key))", token())]);
    }
}
