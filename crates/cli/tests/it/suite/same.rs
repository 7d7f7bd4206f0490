//! When two outputs are the same. Each rule here is a difference that is allowed, with its reason; there are no
//! others.

use serde_json::{Map, Value, json};

/// How the cells of two notebooks differ, one text for each cell.
pub(crate) fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let cells = |notebook: &Value| notebook["cells"].as_array().unwrap().clone();
    let (one, other) = (cells(expected), cells(found));
    assert_eq!(one.len(), other.len());
    let mut differences = Vec::new();
    for (one, other) in one.iter().zip(&other).filter(|(cell, _)| cell["cell_type"] == "code") {
        let (wanted, is) = (shape(one), shape(other));
        if wanted != is {
            let source = crate::desk::source(&one["source"]);
            differences.push(format!("cell {}\n{source}\n  expected {wanted}\n  found    {is}", one["id"]));
        }
    }
    differences
}

/// A cell's outputs and count, without what may differ.
fn shape(cell: &Value) -> Value {
    let mut outputs: Vec<Value> = Vec::new();
    for output in cell["outputs"].as_array().unwrap() {
        let output = output_shape(output);
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

fn output_shape(output: &Value) -> Value {
    match output["output_type"].as_str().unwrap() {
        "stream" => json!({ "name": output["name"], "stream": plain(&joined(&output["text"])) }),
        "error" => json!({
            "error": output["ename"],
            "message": without_file(&plain(output["evalue"].as_str().unwrap())),
            "line": raised_at(output),
        }),
        kind => json!({
            kind: data_shape(output["data"].as_object().unwrap()),
            "metadata": output["metadata"],
            "count": output.get("execution_count"),
        }),
    }
}

fn data_shape(data: &Map<String, Value>) -> Value {
    let shape = |(mime, value): (&String, &Value)| {
        let value = match mime.as_str() {
            "text/plain" => json!(container(&plain(&joined(value)))),
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
    // What a progress bar says about its speed.
    match (line.find("it/s]"), line.rfind('[')) {
        (Some(_), Some(at)) => line[..at].to_owned(),
        _ => line.to_owned(),
    }
}

/// Pretty-printed containers: IPython breaks long ones into lines and puts the elements of sets in order.
fn container(text: &str) -> String {
    if !text.starts_with(['[', '(', '{']) {
        return text.to_owned();
    }
    text.split_whitespace().collect()
}

/// What a message says about a line of a cell without the name that the cell has as a file.
fn without_file(message: &str) -> String {
    match (message.rfind(" ("), message.rfind(", line ")) {
        (Some(open), Some(line)) if open < line && message.ends_with(')') => {
            format!("{}{}", &message[..open], &message[line..message.len() - 1])
        }
        _ => message.to_owned(),
    }
}

/// The line of the cell that the exception came out of; frames outside of it are nobody's promise, and neither is
/// how a traceback is laid out.
fn raised_at(error: &Value) -> Option<String> {
    let traceback: Vec<&str> =
        error["traceback"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let traceback = plain(&traceback.join("\n"));
    let line = |text: &str| {
        let place = text.split_once("Cell In[").or_else(|| text.split_once("File \"<cell "))?.1;
        let number = place.split_once(", line ")?.1;
        Some(number.chars().take_while(char::is_ascii_digit).collect::<String>())
    };
    traceback.lines().filter_map(line).next_back()
}
