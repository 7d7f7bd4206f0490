//! When two outputs are the same. Each rule here is a difference that is allowed between two ways to run code, with
//! its reason; there are no others. They are: where a stream is cut into chunks, memory addresses, times, colours, and
//! the kernel's own frames in a traceback.

use serde_json::{Map, Value, json};

/// The outputs of a cell and its count, without the differences that are allowed.
///
/// # Panics
/// When the cell is no code cell of a valid notebook.
pub fn comparable_cell(cell: &Value) -> Value {
    shape(cell, &|error| json!(user_frames(&plain(&joined_lines(&error["traceback"])))))
}

/// How the cells of two notebooks differ, one text for each cell.
///
/// # Panics
/// When one of them is no valid notebook, or they have different numbers of cells.
pub fn differences(expected: &Value, found: &Value) -> Vec<String> {
    compare(expected, found, comparable_cell)
}

/// The same for a notebook that is kept in a repository. Its tracebacks name no files, which are elsewhere on each
/// machine: of a traceback, the line of the cell that the exception came out of is compared.
///
/// # Panics
/// When one of them is no valid notebook, or they have different numbers of cells.
pub fn differences_from_stored(expected: &Value, found: &Value) -> Vec<String> {
    compare(expected, found, |cell| shape(cell, &|error| json!(raised_at(error))))
}

fn compare(expected: &Value, found: &Value, shape: impl Fn(&Value) -> Value) -> Vec<String> {
    let cells = |notebook: &Value| notebook["cells"].as_array().expect("cells").clone();
    let (one, other) = (cells(expected), cells(found));
    assert_eq!(one.len(), other.len(), "the notebooks have different numbers of cells");
    let mut differences = Vec::new();
    for (one, other) in one.iter().zip(&other).filter(|(cell, _)| cell["cell_type"] == "code") {
        let (wanted, is) = (shape(one), shape(other));
        if wanted != is {
            let source = joined(&one["source"]);
            differences.push(format!("cell {}\n{source}\n  expected {wanted}\n  found    {is}", one["id"]));
        }
    }
    differences
}

fn shape(cell: &Value, traceback: &dyn Fn(&Value) -> Value) -> Value {
    let mut outputs: Vec<Value> = Vec::new();
    for output in cell["outputs"].as_array().expect("a code cell has outputs") {
        let output = output_shape(output, traceback);
        // Chunk boundaries within a stream: it is up to time and buffers where one write ends.
        if let (Some(last), Some(text)) = (outputs.last_mut(), output["stream"].as_str())
            && last["name"] == output["name"]
            && let Some(so_far) = last["stream"].as_str()
        {
            last["stream"] = json!(format!("{so_far}{text}"));
            continue;
        }
        outputs.push(output);
    }
    // IPython's advice on how to leave, which it adds to the first SystemExit and names its own file in.
    outputs
        .retain(|output| !output["stream"].as_str().is_some_and(|text| text.contains("To exit: use 'exit'")));
    json!({ "count": cell["execution_count"], "outputs": outputs })
}

fn output_shape(output: &Value, traceback: &dyn Fn(&Value) -> Value) -> Value {
    match output["output_type"].as_str().unwrap_or_default() {
        "stream" => json!({ "name": output["name"], "stream": plain(&joined(&output["text"])) }),
        "error" => json!({
            "error": output["ename"],
            "message": plain(output["evalue"].as_str().unwrap_or_default()),
            "traceback": traceback(output),
        }),
        kind => json!({
            kind: output["data"].as_object().map(data_shape),
            "metadata": output["metadata"],
            "count": output.get("execution_count"),
        }),
    }
}

fn data_shape(data: &Map<String, Value>) -> Value {
    let shape = |(mime, value): (&String, &Value)| {
        let value = match mime.as_str() {
            text if text.starts_with("text/") => json!(plain(&joined(value))),
            // Names that widgets make up, as good as addresses.
            "application/vnd.jupyter.widget-view+json" => json!({ "version": value["version_major"] }),
            _ => value.clone(),
        };
        (mime.clone(), value)
    };
    Value::Object(data.iter().map(shape).collect())
}

fn joined(text: &Value) -> String {
    match text {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

fn joined_lines(lines: &Value) -> String {
    let lines = lines.as_array().map(Vec::as_slice).unwrap_or_default();
    lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// Text without colours, memory addresses and times.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        shown.push_str(&rest[..at]);
        let end = rest[at..].find('m').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    shown.push_str(rest);
    let lines: Vec<String> = shown.split('\n').map(|line| timeless(&nowhere(line))).collect();
    lines.join("\n")
}

/// `0x7f…` says where in memory something was.
fn nowhere(line: &str) -> String {
    let mut pieces = line.split("0x");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.chars().take_while(char::is_ascii_hexdigit).count();
        shown.push_str(if digits >= 6 { "0x…" } else { "0x" });
        shown.push_str(if digits >= 6 { &piece[digits..] } else { piece });
    }
    shown
}

fn timeless(line: &str) -> String {
    for label in ["CPU times:", "Wall time:"] {
        if line.starts_with(label) {
            return label.to_owned();
        }
    }
    // `%timeit` counts loops by the time that one takes.
    if line.contains(" per loop (mean ± std. dev. of ") {
        return "per loop".to_owned();
    }
    // What a progress bar says about its speed.
    match (line.find("it/s]"), line.rfind('[')) {
        (Some(_), Some(at)) => line[..at].to_owned(),
        _ => line.to_owned(),
    }
}

/// A traceback without the frames of ipykernel and IPython, whose files another kernel does not have.
fn user_frames(traceback: &str) -> String {
    let own = |frame: &&str| {
        let head = frame.trim_start().lines().next().unwrap_or_default();
        head.starts_with("File ") && ["/ipykernel/", "/IPython/"].iter().any(|package| head.contains(package))
    };
    traceback.split("\n\n").filter(|frame| !own(frame)).collect::<Vec<_>>().join("\n\n")
}

/// The line of the cell that the exception came out of.
fn raised_at(error: &Value) -> Option<String> {
    let traceback = plain(&joined_lines(&error["traceback"]));
    let line = |text: &str| {
        let number = text.split_once("Cell In[")?.1.split_once(", line ")?.1;
        Some(number.chars().take_while(char::is_ascii_digit).collect::<String>())
    };
    traceback.lines().filter_map(line).next_back()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{comparable_cell, differences, differences_from_stored};

    fn cell(outputs: Value) -> Value {
        json!({ "cell_type": "code", "id": "a", "source": "x", "execution_count": 1, "outputs": outputs })
    }

    fn stdout(text: &str) -> Value {
        json!({ "output_type": "stream", "name": "stdout", "text": text })
    }

    fn result(text: &str) -> Value {
        let data = json!({ "text/plain": text });
        json!({ "output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": data })
    }

    fn error(message: &str, traceback: &[&str]) -> Value {
        json!({ "output_type": "error", "ename": "E", "evalue": message, "traceback": traceback })
    }

    #[track_caller]
    fn check(one: Value, other: Value, same: bool) {
        let (one, other) = (comparable_cell(&cell(one)), comparable_cell(&cell(other)));
        assert_eq!(one == other, same, "{one}\n{other}");
    }

    #[test]
    fn chunks_of_a_stream_may_differ_and_its_text_may_not() {
        check(json!([stdout("a\n"), stdout("b\n")]), json!([stdout("a\nb\n")]), true);
        check(json!([stdout("a\n")]), json!([stdout("a")]), false);
        let stderr = json!({ "output_type": "stream", "name": "stderr", "text": "a\n" });
        check(json!([stdout("a\n")]), json!([stderr]), false);
    }

    #[test]
    fn memory_addresses_may_differ_and_other_numbers_may_not() {
        check(json!([result("<A at 0x7f0000000010>")]), json!([result("<A at 0x7f00deadbeef>")]), true);
        check(json!([result("0x10")]), json!([result("0x20")]), false);
    }

    #[test]
    fn times_may_differ() {
        check(json!([stdout("Wall time: 3 ms\n")]), json!([stdout("Wall time: 5 s\n")]), true);
        check(json!([stdout("CPU times: user 1 ms\n")]), json!([stdout("CPU times: user 2 ms\n")]), true);
        check(json!([stdout("time: 3 ms\n")]), json!([stdout("time: 5 ms\n")]), false);
    }

    #[test]
    fn colours_may_differ() {
        check(json!([stdout("\x1b[31mred\x1b[0m\n")]), json!([stdout("red\n")]), true);
        check(json!([error("m", &["\x1b[31mE\x1b[39m: m"])]), json!([error("m", &["E: m"])]), true);
    }

    #[test]
    fn frames_of_the_kernel_itself_may_differ_and_no_others() {
        let with = |file: &str| {
            let frame = format!("File {file}:9, in Kernel.raw_input(self, prompt)\n----> 9 raise\n");
            json!([error("m", &["Cell In[1], line 1\n----> 1 input()\n", &frame, "E: m"])])
        };
        let without = json!([error("m", &["Cell In[1], line 1\n----> 1 input()\n", "E: m"])]);
        check(with("~/lib/ipykernel/kernelbase.py"), without.clone(), true);
        check(with("~/lib/IPython/core/interactiveshell.py"), without.clone(), true);
        check(with("~/lib/json/decoder.py"), without, false);
    }

    #[test]
    fn tracebacks_are_compared_whole() {
        let one = error("m", &["Cell In[1], line 2", "File ~/a.py:3, in f()", "E: m"]);
        let other = error("m", &["Cell In[1], line 2", "E: m"]);
        check(json!([one]), json!([other]), false);
        check(
            json!([error("m (1.py, line 1)", &["E"])]),
            json!([error("m (<cell 1>, line 1)", &["E"])]),
            false,
        );
    }

    #[test]
    fn text_of_containers_is_compared_as_it_is() {
        check(json!([result("{1, 2}")]), json!([result("{2, 1}")]), false);
        check(json!([result("[1,\n 2]")]), json!([result("[1, 2]")]), false);
    }

    #[test]
    fn a_stored_notebook_names_the_line_of_the_cell_alone() {
        let notebook = |outputs| json!({ "cells": [cell(outputs)] });
        let stored = notebook(json!([error("m", &["Cell In[1], line 2", "E: m"])]));
        let found =
            notebook(json!([error("m", &["Cell In[1], line 2\n----> 2 f()\n", "File a.py:3", "E: m"])]));
        assert_eq!(differences_from_stored(&stored, &found), Vec::<String>::new());
        assert_eq!(differences(&stored, &found).len(), 1);
        let elsewhere = notebook(json!([error("m", &["Cell In[1], line 3", "E: m"])]));
        assert_eq!(differences_from_stored(&stored, &elsewhere).len(), 1);
    }
}
