//! Generates `web/src/net/protocol.ts` from the Rust definitions of the protocol. The generator reads sources, so that no
//! crate needs code for it.

mod render;
mod sources;

use std::fs;

use render::Writer;

/// The variants that the page reads, of enums with more. For requests, `allowed_from_page` decides.
const PARTS: &[(&str, &[&str])] = &[
    ("HostFrame", &["Done"]),
    ("Reply", &["Notebook", "Chat", "Folder", "Created"]),
    (
        "NotebookReply",
        &[
            "Whole",
            "News",
            "Version",
            "Behind",
            "TooFar",
            "Turns",
            "Cells",
            "Ran",
            "Completion",
            "Inspection",
            "Done",
        ],
    ),
];

#[test]
fn the_types_of_the_page_are_those_of_the_protocol() {
    let path = testkit::repo_root().join("web/src/net/protocol.ts");
    let mut writer = Writer::new(PARTS);
    writer.add("ClientFrame");
    writer.add("HostFrame");
    let text = writer.text();
    if std::env::var_os("CELLIST_WRITE_PROTOCOL").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(found.lines()).find(|(ours, theirs)| ours != theirs);
    assert!(
        text == found,
        "web/src/net/protocol.ts is outdated; CELLIST_WRITE_PROTOCOL=1 writes it: {differs:?}"
    );
}
