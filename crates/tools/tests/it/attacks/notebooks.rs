//! Edit mode changes no notebook, under any name.

use std::fs;
use std::os::unix::fs::symlink;

use cellist_tools::{Mode, ToolSet};
use serde_json::json;

use crate::bed::Bed;

#[tokio::test]
async fn edit_mode_changes_no_notebook_by_another_name() {
    let bed = Bed::with(|caller| (caller.mode, caller.tools) = (Mode::Edit, ToolSet::All));
    let path = bed.notebook("nb.ipynb", &[("aa", "x = 1")]);
    let broken = bed.write("broken.ipynb", "{ x");
    let work = bed.work();
    symlink(&path, work.join("link.txt")).unwrap();
    fs::hard_link(&path, work.join("hard.txt")).unwrap();
    fs::hard_link(&broken, work.join("broken.txt")).unwrap();
    symlink(work.join("new.ipynb"), work.join("dangling.txt")).unwrap();
    let before = fs::read(&path).unwrap();
    fs::copy(&path, work.join("copy.json")).unwrap();
    for name in ["link.txt", "hard.txt", "broken.txt", "copy.json", "dangling.txt", "nb.ipynb", "NB.IPYNB"] {
        for (tool, arguments) in [
            ("write", json!({ "path": name, "content": "evil" })),
            ("write", json!({ "path": format!("{name}:raw"), "content": "{}" })),
            ("edit", json!({ "path": name, "old": "x", "new": "y" })),
            ("edit", json!({ "path": format!("{name}:raw"), "old": "x", "new": "y" })),
        ] {
            let text = bed.refused(tool, arguments.clone()).await;
            assert!(
                text.contains("Edit mode does not allow changing notebooks"),
                "{tool} {arguments}: {text}"
            );
        }
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read(&broken).unwrap(), b"{ x");
    assert!(!work.join("new.ipynb").exists());
    // A file that only resembles a notebook is a file.
    bed.write("data.json", "{ \"x\": 1 }");
    bed.told("edit", json!({ "path": "data.json", "old": "1", "new": "2" })).await;
    bed.close().await;
}
