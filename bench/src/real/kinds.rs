//! In which way the outputs of a cell differ.

use serde_json::Value;

/// The first difference between a cell as nbclient leaves it and as we do, by its kind.
pub(super) fn kind(wanted: &Value, found: &Value) -> &'static str {
    let outputs = |cell: &Value| cell["outputs"].as_array().cloned().unwrap_or_default();
    let (wanted, found) = (outputs(wanted), outputs(found));
    let fails = |outputs: &[Value]| outputs.iter().any(|output| output.get("error").is_some());
    if fails(&wanted) != fails(&found) {
        return "error or ok";
    }
    if let Some((one, other)) = wanted.iter().zip(&found).find(|(one, other)| one != other) {
        return output_kind(one, other);
    }
    if wanted.len() == found.len() { "count" } else { "missing" }
}

fn output_kind(one: &Value, other: &Value) -> &'static str {
    if one.get("error").is_some() && other.get("error").is_some() {
        return if one["message"] == other["message"] { "traceback" } else { "message" };
    }
    if one.get("stream").is_some() && other.get("stream").is_some() {
        return "stream";
    }
    for kind in ["execute_result", "display_data"] {
        if let (Some(one), Some(other)) = (one.get(kind), other.get(kind)) {
            return data_kind(one, other);
        }
    }
    "missing"
}

fn data_kind(one: &Value, other: &Value) -> &'static str {
    for (mime, kind) in [
        ("text/plain", "text/plain"),
        ("text/html", "html"),
        ("image/png", "image"),
        ("image/svg+xml", "image"),
    ] {
        if one.get(mime) != other.get(mime) {
            return kind;
        }
    }
    if one == other { "metadata" } else { "other data" }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::kind;

    #[track_caller]
    fn check(wanted: Value, found: Value, expected: &str) {
        assert_eq!(kind(&json!({ "outputs": wanted }), &json!({ "outputs": found })), expected);
    }

    #[test]
    fn the_first_difference_gives_the_kind() {
        let error = |traceback: &str| json!({ "error": "E", "message": "m", "traceback": traceback });
        let data = |mime: &str, text: &str| json!({ "execute_result": { mime: text } });
        check(json!([error("a")]), json!([error("b")]), "traceback");
        check(json!([error("a")]), json!([]), "error or ok");
        check(json!([{ "stream": "a" }]), json!([{ "stream": "b" }]), "stream");
        check(json!([{ "stream": "a" }]), json!([]), "missing");
        check(json!([data("text/plain", "a")]), json!([data("text/plain", "b")]), "text/plain");
        check(json!([data("text/html", "a")]), json!([data("text/html", "b")]), "html");
        check(json!([data("image/png", "a")]), json!([data("image/png", "b")]), "image");
    }
}
