//! Invalid and excessive requests: each is answered within its budget, the error names the valid form, and the
//! server keeps running.

use serde_json::{Value, json};

use super::client::Client;
use crate::bench::Backend;
use crate::desk::{Desk, notebook};

/// Invalid calls, and the valid form in their errors.
fn senseless() -> Vec<(&'static str, Value, &'static str)> {
    let nb = "nb.ipynb";
    let update = |more: Value| {
        let mut all = json!({ "notebook": nb, "cell": "alpha", "content": "q" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let outputs = |cell: Value| json!({ "notebook": nb, "cell": cell });
    let add = |index: i64| json!({ "notebook": nb, "type": "code", "content": "", "index": index });
    vec![
        // Wrong types.
        ("get_notebook_cells", json!({ "notebook": 7 }), "`notebook` must be text"),
        (
            "get_notebook_cells",
            json!({ "notebook": nb, "cells": {} }),
            "a list of cell ids, indexes or ranges",
        ),
        ("get_cell_outputs", outputs(json!(1.5)), "a cell id or a 0-based index"),
        ("get_cell_outputs", outputs(json!(true)), "a cell id or a 0-based index"),
        ("update_notebook_cell", update(json!({ "content": ["a"] })), "`content` must be text"),
        ("update_notebook_cell", update(json!({ "run": "maybe" })), "`run` must be true or false"),
        ("python", json!({ "code": "1", "timeout": "soon" }), "a number of seconds"),
        ("eval", json!({ "cells": "x" }), "a list of objects with language, code"),
        ("notebook_kernel", json!({ "notebook": nb, "action": "explode" }), "status, interrupt, restart"),
        // Missing fields.
        ("get_cell_outputs", json!({ "notebook": nb }), "`cell` is missing"),
        ("add_notebook_cell", json!({ "notebook": nb, "type": "code" }), "`content` is missing"),
        ("eval", json!({ "cells": [{ "code": "1" }] }), "`cells[0].language` is missing"),
        ("python", json!({}), "give `code` or `cells`"),
        ("get_notebook_cells", json!({}), "No active notebook found"),
        // Missing cells, and the nearest ones.
        ("get_cell_outputs", outputs(json!("gamma")), "by its id or its index"),
        ("get_cell_outputs", outputs(json!("alpah")), "the nearest id is `alpha`"),
        ("get_cell_outputs", outputs(json!(12)), "the notebook has 2 cells, 0 to 1"),
        ("get_cell_outputs", outputs(json!(-1)), "a 0-based index"),
        ("add_notebook_cell", add(-2), "a whole number of at least -1"),
        ("add_notebook_cell", add(3), "valid positions are 0 to 2"),
        ("delete_notebook_cells", json!({ "notebook": nb, "cells": [] }), "name the cells"),
        // Files that may not or cannot be used.
        ("read", json!({ "path": "../elsewhere.ipynb" }), "outside your folders"),
        ("read", json!({ "path": "/etc/passwd" }), "outside your folders"),
        ("get_notebook_cells", json!({ "notebook": "folder.ipynb" }), "name a notebook inside it"),
        ("write", json!({ "path": "folder.ipynb", "content": "" }), "name a notebook inside it"),
        ("get_notebook_cells", json!({ "notebook": "missing.ipynb" }), "create_notebook"),
        ("create_notebook", json!({ "notebook": "a.txt" }), "end in .ipynb"),
        // Revisions, executions and artifacts that nobody knows.
        ("update_notebook_cell", update(json!({ "revision": "0123456789abcdef" })), "read it again"),
        ("update_notebook_cell", update(json!({ "revision": "latest" })), "16 hexadecimal digits"),
        ("wait", json!({ "execution": "nope" }), "unknown execution nope"),
        ("read_artifact", json!({ "id": "nope" }), "eight letters and digits"),
        // More than is taken.
        ("update_notebook_cell", update(json!({ "content": "x".repeat(10 << 20) })), "the limit is 4 MB"),
    ]
}

#[test]
fn what_makes_no_sense_is_refused_with_the_valid_form_and_changes_nothing() {
    let desk = Desk::new();
    let text = notebook(&["x = 1", "y = 2"]).replace("\"id\": \"a\"", "\"id\": \"alpha\"");
    desk.write("nb.ipynb", text.replace("\"id\": \"b\"", "\"id\": \"12\""));
    std::fs::create_dir(desk.path().join("folder.ipynb")).unwrap();
    let before = desk.read("nb.ipynb");
    let mut client = Client::greet(desk.command(&["mcp", "--standalone"]), "2025-11-25");
    for (tool, arguments, valid) in senseless() {
        let (text, failed) = client.call(tool, arguments.clone());
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert!(failed && text.starts_with("Error: "), "{tool} {shown}: {text}");
        assert!(text.contains(valid) && text.len() < 2000, "{tool} {shown}: {text}");
    }
    // Ids of digits alone, and ids that are nearly right, are understood.
    for (cell, index) in [(json!("12"), 1), (json!("1"), 1), (json!("cell:ALPHA"), 0), (json!("'alpha'"), 0)]
    {
        let (text, failed) = client.call("get_cell_outputs", json!({ "notebook": "nb.ipynb", "cell": cell }));
        assert!(!failed && text.starts_with(&format!("[{index}] ")), "{cell}: {text}");
    }
    let unknown = client.ask("tools/call", json!({ "name": "get_notebook_cell", "arguments": {} }));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("get_notebook_cells, "), "{unknown}");
    assert_eq!(client.leave(), 0);
    assert_eq!(desk.read("nb.ipynb"), before);
    std::fs::remove_dir(desk.path().join("folder.ipynb")).unwrap();
}

#[test]
fn a_line_that_is_no_request_is_answered_with_an_error_and_its_id() {
    let desk = Desk::new();
    let mut client = Client::greet(desk.command(&["mcp", "--standalone"]), "2025-11-25");
    let request = |id: u64, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#).into_bytes()
    };
    for (id, line, code) in [
        (901, request(901, r#"{"name":"python","arguments":{"code":"\ud83d"}}"#), -32700),
        (902, request(902, r#"{"name":"python","arguments":{"timeout":1e400}}"#), -32700),
        (903, request(903, r#"{"name":"#), -32700),
        (904, request(904, r#""zz""#), -32602),
        (905, request(905, "[]"), -32602),
    ] {
        client.write_line(&line);
        assert_eq!(client.answer(id)["error"]["code"], code, "{}", String::from_utf8_lossy(&line));
    }
    // Without an id that can be read the error has none.
    for (line, code) in [(&b"hello"[..], -32700), (b"[1, 2]", -32600), (b"{\"id\": \xff}", -32700)] {
        client.notifications.clear();
        client.write_line(line);
        client.hear(|client| !client.notifications.is_empty());
        assert_eq!(client.notifications[0]["error"]["code"], code, "{}", client.notifications[0]);
    }
    assert!(client.ask("tools/list", json!({}))["result"]["tools"].is_array());
    assert_eq!(client.leave(), 0);
}

#[test]
fn what_is_far_too_much_is_told_within_the_budget() {
    Backend::Runner.tally();
    let desk = Desk::new();
    let flags = Backend::Runner.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let command = desk.command(&[&["mcp", "--standalone"], flags.as_slice()].concat());
    let mut client = Client::greet(command, "2025-11-25");
    let flood = "import sys\nline = 'x' * 999 + '\\n'\nfor _ in range(100_000):\n    sys.stdout.write(line)";
    let many =
        "from IPython.display import display\nfor number in range(10_000):\n    display({'n': number})";
    let picture = "import io\nfrom PIL import Image as P\nfrom IPython.display import Image\nout = io.BytesIO()\n\
                   P.new('RGB', (10_000, 5_000), 'red').save(out, 'PNG')\nImage(data=out.getvalue())";
    for (code, told, pictures) in [
        (flood, "All of it: artifact://", 0),
        (many, "All of it: artifact://", 0),
        (picture, "10000×5000, shown at 1568×784. Original: artifact://", 1),
    ] {
        // A wait that is short enough for the client; a run that goes on is waited for.
        let arguments = json!({ "code": code, "timeout": 600, "soft_wait": 30 });
        let (mut blocks, mut failed) = client.blocks("python", arguments);
        let text = |blocks: &[Value]| {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        };
        while let Some((_, rest)) = text(&blocks).split_once("Still running as execution ") {
            let execution = rest.split(' ').next().unwrap().to_owned();
            (blocks, failed) = client.blocks("wait", json!({ "execution": execution, "timeout": 30 }));
        }
        let said = text(&blocks);
        assert!(!failed && said.contains(told) && said.len() <= 16 * 1024, "{} bytes: {said}", said.len());
        let shown = blocks.iter().filter(|block| block["type"] == "image").count();
        assert_eq!(shown, pictures, "{said}");
        assert!(!said.contains("iVBOR"), "{said}");
    }
    assert_eq!(client.leave(), 0);
}

#[test]
fn one_that_keeps_its_own_kernels_ends_them_when_it_is_interrupted() {
    Backend::BareRunner.tally();
    for signal in ["-INT", "-TERM"] {
        let desk = Desk::new();
        let flags = Backend::BareRunner.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let command = desk.command(&[&["mcp", "--standalone"], flags.as_slice()].concat());
        let mut client = Client::greet(command, "2025-11-25");
        let code = "import atexit\natexit.register(lambda: open('ended', 'w').write(''))";
        let (text, failed) = client.call("python", json!({ "code": code, "soft_wait": 60 }));
        assert!(!failed, "{text}");
        let killed =
            std::process::Command::new("kill").args([signal, &client.child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        // A kernel that was killed would have left nothing.
        assert_eq!(client.end(), 130, "{signal}");
        assert!(desk.path().join("ended").exists(), "{signal}");
    }
}
