//! Runs of cells without ids: the state follows the cell, not its position.

use serde_json::json;

use super::desk::Desk;
use crate::identity::{absorbed, markdown, old_format, rewrite};

const NB: &str = "old.ipynb";

#[tokio::test]
async fn only_the_edited_cell_is_stale_after_an_insert_above() {
    let desk = Desk::new("runner");
    let cells = [("code", "a = 1"), ("code", "b = 2"), ("code", "print(3)")];
    let path = desk.bed.write(NB, old_format(&cells));
    desk.told("run_notebook_cells", json!({ "notebook": NB, "soft_wait": 600 })).await;
    let listing = || async {
        let told = desk.told("get_notebook_cells", json!({ "notebook": NB })).await;
        let headings = told.lines().filter(|line| line.starts_with('[')).map(str::to_owned);
        headings.collect::<Vec<String>>()
    };
    let before = listing().await;
    assert!(
        before.iter().all(|heading| heading.contains("· ok") && !heading.contains("stale")),
        "{before:?}"
    );
    let name = before[1].split_once("id=").unwrap().1.split(' ').next().unwrap();
    rewrite(&path, |cells| cells.insert(0, markdown("# By a person")));
    absorbed(&desk.bed, &path).await;
    let edit = json!({ "notebook": NB, "cell": name, "content": "b = 20" });
    desk.told("update_notebook_cell", edit).await;
    let after = listing().await;
    let stale: Vec<bool> = after.iter().map(|heading| heading.contains("edited since it ran")).collect();
    assert_eq!(stale, [false, false, true, false], "{after:?}");
    assert!(after[1].contains("· ok") && after[3].contains("· ok"), "{after:?}");

    // The next host has the same states.
    desk.bed.documents.close().await;
    rewrite(&path, |cells| drop(cells.remove(0)));
    let later = listing().await;
    let stale: Vec<bool> = later.iter().map(|heading| heading.contains("edited since it ran")).collect();
    assert_eq!(stale, [false, true, false], "{later:?}");
    assert!(later.iter().all(|heading| heading.contains("· ok")), "{later:?}");
    desk.bed.close().await;
}
