//! Undoing changes.

use serde_json::{Value, json};

use crate::bed::{Bed, sources};

const THREE: &[(&str, &str)] = &[("aa", "x = 1"), ("bb", "y = 2"), ("cc", "z = 3")];

async fn update(bed: &Bed, cell: &str, content: &str) -> String {
    let arguments = json!({ "notebook": "nb.ipynb", "cell": cell, "content": content });
    let answer = bed.answer("update_notebook_cell", arguments).await;
    assert!(!answer.is_failure, "{}", answer.all_text());
    answer.all_text()
}

fn undo(more: Value) -> Value {
    let mut all = json!({ "notebook": "nb.ipynb" });
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

#[tokio::test]
async fn undo_reverts_the_last_change_then_the_one_before() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    update(&bed, "aa", "x = 10").await;
    bed.told("delete_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["bb"] })).await;
    bed.person_writes(&path, "cc", "z = 30").await;
    let told = bed.told("undo", undo(json!({}))).await;
    let (first, rest) = told.split_once('\n').unwrap();
    assert_eq!(first, "Reverted 1 change: deleted code cell bb. The notebook has 3 cells. Revision REV.");
    assert!(rest.starts_with("1 more change in turn REV."), "{told}");
    assert!(rest.ends_with("Since your last read, others changed or added cells 2 (cc)."), "{told}");
    assert_eq!(sources(&path), ["x = 10", "y = 2", "z = 30"]);
    let told = bed.told("undo", undo(json!({}))).await;
    assert_eq!(told, "Reverted 1 change: edited cell aa. The notebook has 3 cells. Revision REV.");
    assert_eq!(sources(&path), ["x = 1", "y = 2", "z = 30"]);
    // The caller cannot undo the user's change.
    let refused = bed.refused("undo", undo(json!({}))).await;
    assert!(
        refused.starts_with("Error: nb.ipynb: there is no change to undo; the last turns are t"),
        "{refused}"
    );
    assert!(refused.ends_with("(ann: edited cell cc)"), "{refused}");
    assert_eq!(sources(&path), ["x = 1", "y = 2", "z = 30"]);
    bed.close().await;
}

#[tokio::test]
async fn undo_reverts_a_turn_or_all_since_a_revision() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    update(&bed, "aa", "x = 10").await;
    let revision = update(&bed, "bb", "y = 20").await.rsplit([' ', '.']).nth(1).unwrap().to_owned();
    update(&bed, "cc", "z = 30").await;
    bed.told("add_notebook_cell", json!({ "notebook": "nb.ipynb", "type": "code", "content": "new" })).await;
    let told = bed.told("undo", undo(json!({ "since": revision }))).await;
    assert!(told.starts_with("Reverted 2 changes: added code cell "), "{told}");
    assert_eq!(sources(&path), ["x = 10", "y = 20", "z = 3"]);
    let document = bed.documents.open(&path).await.unwrap();
    let turn = document.history().await.unwrap()[0].turn.clone();
    drop(document);
    let told = bed.told("undo", undo(json!({ "turn": turn }))).await;
    assert_eq!(
        told,
        "Reverted 2 changes: edited cell bb, edited cell aa. The notebook has 3 cells. Revision REV."
    );
    assert_eq!(sources(&path), ["x = 1", "y = 2", "z = 3"]);
    for (arguments, expected) in [
        (json!({ "turn": "t", "since": revision }), "give `turn` or `since`, not both"),
        (json!({ "turn": turn }), "is already undone"),
        (json!({ "turn": "nope" }), "there is no turn `nope`"),
        (json!({ "since": "0123456789abcdef" }), "is not known here"),
        (json!({ "since": "latest" }), "16 hexadecimal digits"),
    ] {
        let refused = bed.refused("undo", undo(arguments)).await;
        assert!(refused.contains(expected), "{refused}");
    }
    bed.close().await;
}

#[tokio::test]
async fn later_changes_by_others_stay_and_are_listed() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    let start = bed.answer("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await.all_text();
    let revision = start.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    update(&bed, "aa", "x = 10").await;
    update(&bed, "bb", "y = 20").await;
    bed.person_writes(&path, "bb", "y = 200").await;
    let told = bed.told("undo", undo(json!({ "since": revision }))).await;
    assert!(told.starts_with("Reverted 1 change: edited cell aa."), "{told}");
    assert!(told.contains("Not reverted: edited cell bb, because others changed the same:\n"), "{told}");
    assert!(told.contains("y = 200") && told.contains("y = 2\n"), "{told}");
    assert_eq!(sources(&path), ["x = 1", "y = 200", "z = 3"]);
    // There is nothing else to undo.
    let refused = bed.refused("undo", undo(json!({ "since": revision }))).await;
    assert!(refused.contains("was changed on both sides"), "{refused}");
    assert_eq!(sources(&path), ["x = 1", "y = 200", "z = 3"]);
    bed.close().await;
}

#[tokio::test]
async fn undo_restores_a_deleted_cell_with_its_outputs() {
    let bed = Bed::new();
    let output = json!([{ "output_type": "stream", "name": "stdout", "text": ["kept\n"] }]);
    let cell = json!({ "cell_type": "code", "execution_count": 7, "id": "aa", "metadata": { "tags": ["t"] },
        "outputs": output, "source": ["print('kept')"] });
    let file = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    let path = bed.write("nb.ipynb", serde_json::to_vec_pretty(&file).unwrap());
    bed.told("delete_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["aa"] })).await;
    let told = bed.told("undo", undo(json!({}))).await;
    assert!(told.ends_with("Outputs and variables stay as they are."), "{told}");
    let now: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(now, file);
    bed.close().await;
}
