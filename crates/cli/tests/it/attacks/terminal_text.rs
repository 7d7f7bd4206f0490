//! Names and texts of others on a terminal: files, folders, kernels, metadata and servers whose names are escape sequences. None
//! of them reaches the terminal, whatever the command.

use std::fs;

use testkit::Terminal;

use crate::bench::bare_python;
use crate::desk::Desk;

/// Sets the title, hides text, clears the screen with an eight-bit sequence, rings, and moves back over
/// printed text.
const HOSTILE: &str = "\x1b]0;pwned\x07\x1b[8mx\u{9b}2J\r\x08";

/// The parts that must not come through.
const SIGNS: [&str; 6] = ["\x1b]0;pwned", "\x07", "\x1b[8m", "\u{9b}", "\x08", "\x1b[2J"];

fn hostile_desk() -> Desk {
    let desk = Desk::unjudged();
    let escaped = serde_json::to_string(HOSTILE).unwrap();
    let notebook = format!(
        r#"{{"cells": [{{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {{"tags": [{escaped}]}},
            "outputs": [{{"output_type": "stream", "name": "stdout", "text": [{escaped}]}}], "source": [{escaped}]}}],
            "metadata": {{"kernelspec": {{"name": {escaped}, "display_name": {escaped}, "language": {escaped}}},
            "language_info": {{"name": {escaped}}}, {escaped}: 1}}, "nbformat": 4, "nbformat_minor": 5}}"#
    );
    desk.write(&format!("{HOSTILE}.ipynb"), &notebook);
    desk.write("nb.ipynb", &notebook);
    desk.write("plain.ipynb", crate::desk::notebook(&["x = 1"]));
    desk.write("broken.ipynb", format!("{{\"cells\": [{{\"cell_type\": {escaped}}}], \"nbformat\": 4}}"));
    let kernels = desk.path().join("share/kernels");
    for (folder, name) in [("evil", HOSTILE), (HOSTILE, "evil"), ("broken", HOSTILE)] {
        fs::create_dir_all(kernels.join(folder)).unwrap();
        let spec = match folder {
            "broken" => format!("{{\"argv\": [{escaped}], \"display_name\": {escaped}, \"language\": 7}}"),
            _ => serde_json::json!({ "argv": [HOSTILE], "display_name": name, "language": name }).to_string(),
        };
        fs::write(kernels.join(folder).join("kernel.json"), spec).unwrap();
    }
    fs::create_dir_all(desk.path().join(".cellist")).unwrap();
    desk
}

#[test]
fn names_of_others_do_nothing_to_the_terminal_whatever_the_command() {
    let desk = hostile_desk();
    let python = bare_python().display().to_string();
    let (file, missing) = (format!("{HOSTILE}.ipynb"), format!("{HOSTILE}-missing.ipynb"));
    let commands: Vec<Vec<&str>> = vec![
        vec!["kernels", "--python", &python],
        vec!["kernels", HOSTILE],
        vec!["doctor", "--python", &python],
        vec!["read", &file],
        vec!["read", &file, "--outputs"],
        vec!["read", "nb.ipynb:raw"],
        vec!["read", "nb.ipynb:a"],
        vec!["read", "broken.ipynb"],
        vec!["read", &missing],
        vec!["read", HOSTILE],
        vec!["run", &file, "--python", &python, "--backend", "runner"],
        vec!["run", &file, "--kernel", HOSTILE],
        vec!["run", "nb.ipynb", "--kernel", "evil"],
        vec!["exec", "1", "--kernel", "evil"],
        vec!["exec", "--session", HOSTILE, "1", "--kernel", "evil", "--standalone"],
        vec!["diff", "plain.ipynb", &file],
        vec!["diff", &missing, &file],
        vec!["merge", &missing, &file, "plain.ipynb"],
        vec!["cell", "edit", &file, HOSTILE, "--source", "1"],
        vec!["cell", "insert", &file, "0", "--source", HOSTILE],
        vec!["write", &missing, "--base", HOSTILE],
        vec!["history", &file],
        vec!["undo", &missing],
        vec!["new", &file],
        vec!["edit", &file, "--old", HOSTILE, "--new", "1"],
        vec!["artifact", "list"],
        vec!["artifact", "read", HOSTILE],
        vec!["sessions", "list"],
        vec!["sessions", "stop", HOSTILE],
        vec!["settings", "--set", HOSTILE],
        vec!["status"],
        vec!["prompt", HOSTILE],
        vec!["context"],
        vec!["trust", HOSTILE],
        vec!["gateway", "--gateway", HOSTILE],
        vec!["chat", HOSTILE, "--model", HOSTILE],
        vec![HOSTILE],
        vec!["open", &missing],
    ];
    let mut spelled = 0;
    for words in &commands {
        let mut command = desk.command(words);
        command.env("JUPYTER_PATH", desk.path().join("share"));
        let (_, ended) = Terminal::start(&command, (120, 40)).end();
        let raw = ended.raw.replace("\r\n", "\n");
        for sign in SIGNS {
            assert!(!raw.contains(sign), "{words:?} sends {sign:?}:\n{raw:?}");
        }
        spelled += usize::from(raw.contains("^[]0;pwned"));
    }
    assert!(spelled >= commands.len() / 2, "only {spelled} commands printed a hostile name at all");
}

#[test]
fn pipes_and_json_get_the_bytes() {
    let desk = hostile_desk();
    let raw = desk.run(&["read", "nb.ipynb:raw"]).ok();
    assert_eq!(raw, desk.text("nb.ipynb"));
    let listed = desk.run(&["read", "nb.ipynb", "--json"]).json();
    assert!(listed.to_string().contains("pwned"));
    let mut command = desk.command(&["read", &format!("{HOSTILE}-missing.ipynb")]);
    let refused = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(refused.contains(HOSTILE), "{refused:?}");
}
