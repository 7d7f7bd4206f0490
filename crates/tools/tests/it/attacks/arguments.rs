//! Hostile arguments of each tool, generated from its definition. Every answer is of bounded size,
//! nothing outside the project changes, and no secret leaks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cellist_session::orders::ClientEnvironment;
use cellist_tools::{Field, FieldKind, Mode, ToolName, ToolSet};
use serde_json::{Map, Value, json};

use crate::bed::Bed;

const SECRET: &str = "s3cret-needle";
/// The maximum size of an answer, with the text around its content.
const MOST: usize = 400_000;
/// Calls of each tool in each mode.
const CALLS: u64 = 30;
/// Calls of a tool that runs code, each of which may start a kernel.
const RUNS: u64 = 10;

/// Seeded random numbers, so that a failure can be reproduced.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "\0",
        "nb.ipynb\0",
        "..",
        "../",
        "../../../../etc/passwd",
        "/",
        ".",
        "./.env",
        ".env:raw",
        "e.ipynb:raw",
        "nb.ipynb",
        "nb.ipynb:raw",
        "nb.ipynb:99999999999999999999-",
        "nb.ipynb#",
        "nb.ipynb:0-0",
        "new.ipynb",
        "a.txt",
        "a.txt:2-1",
        "file://%",
        "file://%00",
        "file://",
        "artifact://",
        "artifact://../../run/page.json",
        "artifact:///etc/passwd",
        "/proc/self/environ",
        "../home/run/page.json",
        "../outside.txt",
        ".git/config",
        "link/outside.txt",
        "{",
        "\u{202e}",
        "\u{1b}[2J",
        "-1",
        "1e999",
        "NaN",
        "true",
        "(((((",
        "[a-",
        "status",
        "restart",
        "${HOME}",
        "$(touch /tmp/x)",
        "~/.ssh/id_rsa",
        "~",
        "code",
        "py",
        "edit",
        "insert",
        "0-999999999999",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("x".repeat(300_000));
    texts.push("../".repeat(5_000));
    texts.push("(".repeat(20_000));
    texts.push("🦀".repeat(10_000));
    texts
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

/// A value for an argument: mostly of its kind, often not.
fn value(kind: FieldKind, dice: &mut Dice, texts: &[String]) -> Value {
    let numbers = [0, 1, -1, 7, i64::MAX, i64::MIN, 1 << 53];
    if dice.roll(4) == 0 {
        return match dice.roll(8) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(f64::MAX),
            3 => json!(*dice.pick(&numbers)),
            4 => nested(100),
            5 => json!({ "a": { "b": [1, "x", null] } }),
            6 => json!([]),
            _ => json!(dice.pick(texts)),
        };
    }
    match kind {
        FieldKind::Text => json!(dice.pick(texts)),
        FieldKind::Flag => json!(dice.roll(2) == 0),
        FieldKind::Whole(_) => json!(*dice.pick(&numbers)),
        // A wait of an hour is valid, but no test waits for it.
        FieldKind::Seconds => json!(*dice.pick(&[0.0, -1.0, 0.01, 0.1])),
        FieldKind::Cell if dice.roll(2) == 0 => json!(*dice.pick(&numbers)),
        FieldKind::Cell => json!(dice.pick(texts)),
        FieldKind::Cells => match dice.roll(3) {
            0 => json!([*dice.pick(&numbers), dice.pick(texts)]),
            1 => json!(vec![0; 5_000]),
            _ => json!(dice.pick(texts)),
        },
        FieldKind::Texts => json!([dice.pick(texts), dice.pick(texts)]),
        FieldKind::Choice(words) if dice.roll(4) > 0 => json!(dice.pick(words)),
        FieldKind::Choice(_) => json!(dice.pick(texts)),
        FieldKind::Objects(fields) => {
            let count = dice.roll(4);
            (0..count).map(|_| object(fields, dice, texts)).collect()
        }
    }
}

fn object(fields: &[Field], dice: &mut Dice, texts: &[String]) -> Value {
    let mut made = Map::new();
    for field in fields {
        if field.required && dice.roll(8) > 0 || dice.roll(2) == 0 {
            made.insert(field.name.to_owned(), value(field.kind, dice, texts));
        }
    }
    if dice.roll(16) == 0 {
        made.insert(dice.pick(texts).chars().take(50).collect(), json!(1));
    }
    Value::Object(made)
}

/// All files below a folder, with their content.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            all.extend(content(&path));
        } else if kind.is_file() {
            all.insert(path.to_string_lossy().into_owned(), fs::read(&path).unwrap());
        }
    }
    all
}

fn runs_code(tool: ToolName) -> bool {
    matches!(tool, ToolName::Python | ToolName::Eval | ToolName::Bash | ToolName::RunNotebookCells)
}

/// Arguments of a call that runs code.
fn sound(tool: ToolName) -> Value {
    match tool {
        ToolName::Python => json!({ "code": "1" }),
        ToolName::Eval => json!({ "cells": [{ "language": "py", "code": "1" }] }),
        ToolName::Bash => json!({ "command": "true" }),
        _ => json!({ "notebook": "sound.ipynb" }),
    }
}

/// Makes code harmless and leaves the arguments around it: code may do anything that a user may. No
/// text does harm as a cell.
fn disarm(arguments: &mut Value) {
    for (name, harmless) in [("command", "true"), ("code", "1")] {
        if arguments[name].is_string() {
            arguments[name] = json!(harmless);
        }
    }
    let cells = arguments.get_mut("cells").and_then(Value::as_array_mut);
    cells.into_iter().flatten().filter(|cell| cell.is_object()).for_each(disarm);
}

#[tokio::test]
async fn hostile_arguments_get_a_bounded_answer_and_reach_nothing() {
    let bed = Bed::with(|caller| {
        caller.tools = ToolSet::All;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let variables = vec![("PATH".into(), path), ("HOME".into(), caller.cwd.clone().into())];
        caller.environment = ClientEnvironment {
            variables,
            python: Some(testkit::python("kernels")),
            ..ClientEnvironment::default()
        };
        caller.environment.backend = serde_json::from_value("runner".into()).unwrap();
    });
    bed.notebook("nb.ipynb", &[("aa", "x = 1"), ("bb", "y = 2")]);
    bed.notebook("sound.ipynb", &[("aa", "1")]);
    bed.write("a.txt", "plain\n");
    let kept = [bed.write(".env", format!("KEY={SECRET}")), bed.write(".git/config", "[core]")];
    bed.scratch.write("home/run/page.json", format!("{{\"bearer\":\"{SECRET}\"}}"));
    bed.scratch.write("around/outside.txt", SECRET);
    bed.scratch.write("outside.txt", SECRET);
    std::os::unix::fs::symlink(bed.scratch.path(), bed.work().join("link")).unwrap();
    std::os::unix::fs::symlink(bed.work().join(".env"), bed.work().join("e.ipynb")).unwrap();
    let outside = || {
        let mut all = content(&bed.scratch.path().join("around"));
        all.insert("outside".to_owned(), fs::read(bed.scratch.path().join("outside.txt")).unwrap());
        all.insert("page".to_owned(), fs::read(bed.scratch.path().join("home/run/page.json")).unwrap());
        all.extend(kept.iter().map(|path| (path.display().to_string(), fs::read(path).unwrap())));
        all
    };
    let before = outside();
    let texts = texts();
    let (mut made, mut ran) = (0, 0);
    for tool in ToolName::ALL {
        let definition = tool.definition();
        for mode in Mode::ALL {
            let agent = bed.also(|caller| caller.mode = mode);
            let calls = if mode == Mode::Agent && runs_code(tool) { RUNS } else { CALLS };
            for seed in 1..=calls {
                let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ tool as u64);
                let mut arguments = match dice.roll(12) {
                    // Usually one argument is hostile, so that code does run.
                    3.. if mode == Mode::Agent && runs_code(tool) => {
                        let field = dice.pick(definition.fields);
                        let mut arguments = sound(tool);
                        arguments[field.name] = value(field.kind, &mut dice, &texts);
                        arguments
                    }
                    0 => dice.pick(&[json!(null), json!([1]), json!("x"), json!({}), nested(120)]).clone(),
                    _ => object(definition.fields, &mut dice, &texts),
                };
                if runs_code(tool) && arguments.is_object() {
                    disarm(&mut arguments);
                }
                let answer = bed.answer_to(&agent, tool.as_str(), arguments.clone()).await;
                let told = serde_json::to_string(&answer).unwrap();
                let shown: String = arguments.to_string().chars().take(300).collect();
                assert!(!told.contains(SECRET), "{tool} {shown}: {told}");
                assert!(told.len() < MOST, "{tool} {shown}: {} bytes", told.len());
                made += 1;
                ran += u64::from(mode == Mode::Agent && runs_code(tool) && !answer.is_failure);
                if mode != Mode::Agent && runs_code(tool) {
                    assert!(answer.is_failure, "{mode} {tool} {shown}: {told}");
                }
            }
        }
    }
    assert!(made > 1_500, "{made}");
    assert!(ran >= 4, "only {ran} calls ran code");
    assert_eq!(outside(), before);
    let left = fs::read_dir(bed.scratch.path()).unwrap().count();
    assert_eq!(left, 4, "around the project lie desk, home, around and outside.txt, and nothing new");
    bed.close().await;
}
