//! Reading output that was cut.

use cellist_store::artifact::{ArtifactId, ArtifactOrigin};
use serde_json::json;

use crate::bed::Bed;

async fn artifact(bed: &Bed, bytes: Vec<u8>) -> ArtifactId {
    let mut writer = bed.artifacts.begin(ArtifactOrigin::default(), 0);
    writer.write(bytes);
    writer.keep_anyway();
    writer.finish().await.id.unwrap()
}

#[tokio::test]
async fn an_artifact_is_read_by_lines_tail_and_search() {
    let bed = Bed::new();
    let lines: String = (1..=5000).map(|line| format!("\u{1b}[31mline {line}\u{1b}[0m\n")).collect();
    let id = artifact(&bed, lines.into_bytes()).await;
    let read = async |more: serde_json::Value| {
        let mut arguments = json!({ "id": id.to_string() });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bed.answer("read_artifact", arguments).await.all_text().replace(id.as_str(), "ID")
    };
    assert_eq!(read(json!({ "lines": "100-102" })).await, "line 100\nline 101\nline 102\n\nartifact://ID");
    assert_eq!(read(json!({ "lines": "1,5000" })).await, "line 1\nline 5000\n\nartifact://ID");
    assert_eq!(read(json!({ "tail": 2 })).await, "line 4999\nline 5000\n\nartifact://ID");
    assert_eq!(
        read(json!({ "search": "line 49(98|99)" })).await,
        "4998: line 4998\n4999: line 4999\n\nartifact://ID: 2 of 5000 lines match"
    );
    assert_eq!(read(json!({ "search": "nothing" })).await, "artifact://ID: none of 5000 lines matches");
    let many = read(json!({ "search": "line", "max_output": 300 })).await;
    assert!(many.len() < 400 && many.contains("5000 of 5000 lines match; showing the first "), "{many}");
    let whole = read(json!({})).await;
    assert!(whole.len() < 17_000 && whole.starts_with("line 1\n"), "{}", whole.len());
    assert!(whole.contains("more bytes; read other `lines`, or `search`"), "{}", whole.len());
    let same = bed.answer("read", json!({ "path": format!("artifact://{id}:100-101") })).await.all_text();
    assert!(same.starts_with("line 100\nline 101\n"), "{same}");
    bed.close().await;
}

#[tokio::test]
async fn wrong_artifacts_and_lines_are_refused() {
    let bed = Bed::new();
    let id = artifact(&bed, b"one\ntwo\n".to_vec()).await;
    let refused = async |arguments| bed.refused("read_artifact", arguments).await.replace(id.as_str(), "ID");
    assert_eq!(
        refused(json!({ "id": "nope" })).await,
        "Error: `nope` is not the id of an artifact; use an id from `cellist artifact list`: eight letters and digits"
    );
    assert!(
        refused(json!({ "id": "aaaaaaaa" })).await.starts_with("Error: artifact aaaaaaaa does not exist")
    );
    assert_eq!(
        refused(json!({ "id": id.as_str(), "lines": "2-9" })).await,
        "Error: lines 2-9 are out of range: artifact ID has 2 lines; lines 1-2 can be read"
    );
    assert_eq!(
        refused(json!({ "id": id.as_str(), "lines": "x" })).await,
        "Error: `lines` \"x\" is not valid: use 5-9, 5- or 5-9,30-44"
    );
    assert_eq!(
        refused(json!({ "id": id.as_str(), "tail": 1, "search": "o" })).await,
        "Error: give only one of `lines`, `tail` and `search`"
    );
    assert!(
        refused(json!({ "id": id.as_str(), "search": "(" })).await.contains("is not a regular expression")
    );
    let change = bed.refused("write", json!({ "path": format!("artifact://{id}"), "content": "" })).await;
    assert!(change.ends_with("artifacts are read-only"), "{change}");
    bed.close().await;
}
