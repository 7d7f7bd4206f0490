//! Ten tasks as a model would do them with either server, and their cost in tokens: instructions,
//! tools, calls and answers. Images do not count, since both sides send the same one. A task is
//! done only if the answers have the expected content.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::client::Client;
use super::notebooks;
use super::workspaces::{OurWorkspace, PeerWorkspace, python};
use crate::measure::peer;
use crate::table::{Figure, Target};

/// A task: its title, and the solution of each side. A side without a solution names the missing
/// feature.
type Task = (&'static str, fn(&mut TaskTranscript<'_>) -> Done, fn(&mut TaskTranscript<'_>) -> Done);
type Done = Result<(), String>;

const TASKS: &[Task] = &[
    ("an outline", our_outline, their_outline),
    ("one cell", our_cell, their_cell),
    ("an output of 5,000 lines", our_output, their_output),
    ("add a cell and run it", our_addition, their_addition),
    ("fix an error", our_fix, their_fix),
    ("plot", our_plot, their_plot),
    ("run all", our_run, their_run),
    ("a DataFrame", our_frame, their_frame),
    ("interrupt", our_interrupt, their_interrupt),
    ("a long traceback", our_traceback, their_traceback),
];

/// A figure for each task, and one for all of them.
pub(super) fn figures(ours: &OurWorkspace, theirs: &PeerWorkspace) -> Vec<Figure> {
    notebooks::make(ours.folder());
    notebooks::make(&theirs.folder());
    let mut counter = Counter::start(&python());
    let (mut our_client, first) = ours.client("jupyter");
    let our_base = counter.count(&first) + counter.count(&told(&our_client.tools()));
    let (mut their_client, first) = Client::start(&mut theirs.mcp());
    let their_base = counter.count(&first) + counter.count(&told(&their_client.tools()));

    let mut figures =
        vec![figure("tokens before the first call: instructions and tools", our_base, Some(their_base))];
    let (mut our_sum, mut their_sum) = (0, 0);
    for (name, do_ours, do_theirs) in TASKS {
        let mut talk = TaskTranscript { client: &mut our_client, said: Vec::new() };
        do_ours(&mut talk).unwrap_or_else(|missing| panic!("{name}: ours lacks {missing}"));
        let our_tokens = our_base + talk.tokens(&mut counter);
        let mut talk = TaskTranscript { client: &mut their_client, said: Vec::new() };
        let their_tokens = match do_theirs(&mut talk) {
            Ok(()) => Some(their_base + talk.tokens(&mut counter)),
            Err(missing) => {
                eprintln!("{name}: jupyter-mcp-server's answers lack {missing}");
                None
            }
        };
        if let Some(tokens) = their_tokens {
            our_sum += our_tokens;
            their_sum += tokens;
        }
        figures.push(figure(name, our_tokens, their_tokens));
    }
    figures.push(figure("all tasks that both can do", our_sum, Some(their_sum)));
    figures
}

fn figure(promise: &'static str, ours: usize, theirs: Option<usize>) -> Figure {
    Figure {
        promise,
        other: ("jupyter-mcp-server", theirs.map_or("cannot".into(), |tokens| format!("{tokens} tokens"))),
        ours: format!("{ours} tokens"),
        value: theirs.map_or(0.0, |theirs| ours as f64 / theirs as f64),
        unit: "x",
        target: Target::AtMost(0.5),
    }
}

/// The part of the tools that clients pass on to a model.
fn told(tools: &[Value]) -> String {
    let told = |tool: &Value| json!({ "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"] });
    Value::Array(tools.iter().map(told).collect()).to_string()
}

/// The texts exchanged in a task.
struct TaskTranscript<'a> {
    client: &'a mut Client,
    said: Vec<String>,
}

impl TaskTranscript<'_> {
    /// Calls a tool. Returns its text, with a word for each image.
    fn call(&mut self, tool: &str, arguments: Value) -> String {
        self.said.push(json!({ "name": tool, "arguments": arguments }).to_string());
        let mut text = String::new();
        for block in self.client.call(tool, &arguments) {
            match (block["type"].as_str(), block["text"].as_str()) {
                (Some("image"), _) => text.push_str("<picture>\n"),
                (_, Some(said)) => {
                    text.push_str(said);
                    text.push('\n');
                    self.said.push(said.to_owned());
                }
                (_, None) => self.said.push(block.to_string()),
            }
        }
        text
    }

    /// Opens a notebook on the peer's server.
    fn open(&mut self, name: &str) -> String {
        let arguments =
            json!({ "notebook_name": name, "notebook_path": format!("{name}.ipynb"), "kernel_id": "NEW" });
        self.call("use_notebook", arguments)
    }

    fn execute(&mut self, index: usize) -> String {
        self.call("execute_cell", json!({ "cell_index": index }))
    }

    fn tokens(&self, counter: &mut Counter) -> usize {
        self.said.iter().map(|text| counter.count(text)).sum()
    }
}

fn holds(text: &str, needed: &[&str]) -> Done {
    match needed.iter().find(|needed| !text.contains(**needed)) {
        None => Ok(()),
        Some(missing) => Err(format!("{missing:?} in:\n{}", text.chars().take(2000).collect::<String>())),
    }
}

const OUTLINE: &[&str] = &["## Part 0", "# load part 4", "## Part 9", "def scale_9(factor):"];

fn our_outline(talk: &mut TaskTranscript<'_>) -> Done {
    holds(&talk.call("get_notebook_cells", json!({ "notebook": "analysis.ipynb" })), OUTLINE)
}

fn their_outline(talk: &mut TaskTranscript<'_>) -> Done {
    // It shows twenty cells by default.
    let first = talk.open("analysis");
    let rest = talk.call("read_notebook", json!({ "notebook_name": "analysis", "start_index": 20 }));
    holds(&(first + &rest), OUTLINE)
}

const CELL: &[&str] = &["values_5 = [n * 6 for n in range(100)]", "print('part', 5, total_5)"];

fn our_cell(talk: &mut TaskTranscript<'_>) -> Done {
    holds(&talk.call("get_notebook_cells", json!({ "notebook": "analysis.ipynb", "cells": [16] })), CELL)
}

fn their_cell(talk: &mut TaskTranscript<'_>) -> Done {
    talk.open("analysis");
    holds(&talk.call("read_cell", json!({ "cell_index": 16 })), CELL)
}

const OUTPUT: &[&str] =
    &["step 0: loss", "step 3217: loss nan, gradient overflow in layer 7", "step 4999: loss"];

fn our_output(talk: &mut TaskTranscript<'_>) -> Done {
    let text = talk.call("get_cell_outputs", json!({ "notebook": "training.ipynb", "cell": 1 }));
    let (_, rest) = text.split_once("artifact://").ok_or("an artifact")?;
    let id: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    let found = talk.call("read_artifact", json!({ "id": id, "search": "nan|error" }));
    holds(&(text + &found), OUTPUT)
}

fn their_output(talk: &mut TaskTranscript<'_>) -> Done {
    talk.open("training");
    holds(&talk.call("read_cell", json!({ "cell_index": 1 })), OUTPUT)
}

const ADDED: &str = "x = 6 * 7\nprint(x)";

fn our_addition(talk: &mut TaskTranscript<'_>) -> Done {
    let cell = json!({ "notebook": "empty.ipynb", "type": "code", "content": ADDED, "run": true });
    holds(&talk.call("add_notebook_cell", cell), &["\n42\n"])
}

fn their_addition(talk: &mut TaskTranscript<'_>) -> Done {
    talk.open("empty");
    let cell = json!({ "cell_index": -1, "cell_source": ADDED });
    holds(&talk.call("insert_execute_code_cell", cell), &["42\n"])
}

const FAULT: &[&str] = &["AttributeError: 'dict' object has no attribute 'value'", "sum(prices.value())"];

fn our_fix(talk: &mut TaskTranscript<'_>) -> Done {
    holds(&talk.call("run_notebook_cells", json!({ "notebook": "broken.ipynb" })), FAULT)?;
    let content = "total = sum(prices.values())\ntotal";
    let cell = json!({ "notebook": "broken.ipynb", "cell": 2, "content": content, "run": true });
    holds(&talk.call("update_notebook_cell", cell), &["\n7\n"])
}

fn their_fix(talk: &mut TaskTranscript<'_>) -> Done {
    talk.open("broken");
    talk.execute(1);
    holds(&talk.execute(2), FAULT)?;
    let piece = json!({ "cell_index": 2, "old_string": "prices.value()", "new_string": "prices.values()" });
    talk.call("edit_cell_source", piece);
    holds(&talk.execute(2), &["7\n"])
}

const PLOT: &str = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()";

fn our_plot(talk: &mut TaskTranscript<'_>) -> Done {
    let cell = json!({ "notebook": "plot.ipynb", "type": "code", "content": PLOT, "run": true });
    holds(&talk.call("add_notebook_cell", cell), &["<picture>"])
}

fn their_plot(talk: &mut TaskTranscript<'_>) -> Done {
    talk.open("plot");
    let cell = json!({ "cell_index": -1, "cell_source": PLOT });
    holds(&talk.call("insert_execute_code_cell", cell), &["<picture>"])
}

const RUN: &[&str] = &["part 0 4950", "part 4 24750", "part 9 49500"];

fn our_run(talk: &mut TaskTranscript<'_>) -> Done {
    holds(&talk.call("run_notebook_cells", json!({ "notebook": "all.ipynb" })), RUN)
}

fn their_run(talk: &mut TaskTranscript<'_>) -> Done {
    // One call per cell. The code cells must be known first.
    talk.open("all");
    talk.call("read_notebook", json!({ "notebook_name": "all", "start_index": 20 }));
    let text: String = (0..30).filter(|index| index % 3 > 0).map(|index| talk.execute(index)).collect();
    holds(&text, RUN)
}

const FRAME: &[&str] = &["city", "people", "area", "142.714286", "1000 rows x 3 columns"];

fn our_frame(talk: &mut TaskTranscript<'_>) -> Done {
    holds(&talk.call("run_notebook_cells", json!({ "notebook": "table.ipynb" })), FRAME)
}

fn their_frame(talk: &mut TaskTranscript<'_>) -> Done {
    talk.open("table");
    let text: String = (0..3).map(|index| talk.execute(index)).collect();
    holds(&text, FRAME)
}

fn our_interrupt(talk: &mut TaskTranscript<'_>) -> Done {
    let text = talk.call("run_notebook_cells", json!({ "notebook": "long.ipynb", "soft_wait": 5 }));
    holds(&text, &["step 0"])?;
    let stopped = talk.call("notebook_kernel", json!({ "notebook": "long.ipynb", "action": "interrupt" }));
    holds(&stopped, &["interrupted"])?;
    holds(&talk.call("get_variables", json!({ "notebook": "long.ipynb", "names": ["kept"] })), &["42"])
}

fn their_interrupt(talk: &mut TaskTranscript<'_>) -> Done {
    // It has no interrupt, only a timeout given in advance.
    talk.open("long");
    talk.execute(0);
    holds(
        &talk.call("execute_cell", json!({ "cell_index": 1, "timeout": 5 })),
        &["step 0", "KeyboardInterrupt"],
    )?;
    holds(&talk.call("execute_code", json!({ "code": "kept" })), &["42"])
}

const RAISED: &[&str] =
    &["JSONDecodeError: Expecting value: line 1 column 7", "deep(40, ", "return json.loads(text)"];

fn our_traceback(talk: &mut TaskTranscript<'_>) -> Done {
    holds(&talk.call("run_notebook_cells", json!({ "notebook": "trace.ipynb" })), RAISED)
}

fn their_traceback(talk: &mut TaskTranscript<'_>) -> Done {
    talk.open("trace");
    talk.execute(0);
    holds(&talk.execute(1), RAISED)
}

/// Counts tokens with a model's own tokenizer.
struct Counter {
    process: Child,
    texts: ChildStdin,
    counts: Lines<BufReader<ChildStdout>>,
}

impl Counter {
    fn start(python: &Path) -> Counter {
        let mut process = Command::new(python)
            .arg(peer("count_tokens.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the tokenizer starts");
        let texts = process.stdin.take().expect("it is piped");
        let counts = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Counter { process, texts, counts }
    }

    fn count(&mut self, text: &str) -> usize {
        writeln!(self.texts, "{}", Value::from(text)).expect("the tokenizer reads");
        let count = self.counts.next().and_then(Result::ok).and_then(|line| line.trim().parse().ok());
        count.expect("the tokenizer answers with a number")
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
