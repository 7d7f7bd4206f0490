//! Creating notebooks, and changing cells by index with keys for programs.

use cellist_session::orders::ClientEnvironment;
use serde_json::json;

use crate::bed::{Bed, sources};

#[tokio::test]
async fn a_new_notebook_is_empty_and_names_its_kernel() {
    let bed = Bed::new();
    let path = bed.work().join("nb.ipynb");
    assert_eq!(
        bed.told("create_notebook", json!({ "notebook": "nb.ipynb" })).await,
        "Created nb.ipynb, an empty notebook for Python 3 (ipykernel). Revision REV."
    );
    testkit::assert_valid(&path);
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(file["metadata"]["kernelspec"]["name"], "python3");
    assert_eq!(
        bed.refused("create_notebook", json!({ "notebook": "nb.ipynb" })).await,
        "Error: nb.ipynb: already exists; choose another name, or delete the file first"
    );
    assert_eq!(
        bed.refused("create_notebook", json!({ "notebook": "nb.txt" })).await,
        "Error: nb.txt: is not a notebook: the name must end in .ipynb"
    );
    let refused = bed.refused("create_notebook", json!({ "notebook": "no/nb.ipynb" })).await;
    assert!(refused.starts_with("Error: no/nb.ipynb: the folder "), "{refused}");
    bed.close().await;
}

#[tokio::test]
async fn an_installed_kernel_is_chosen_by_name() {
    let bed = Bed::with(|caller| {
        let jupyter = caller.cwd.join("jupyter");
        caller.environment = ClientEnvironment {
            variables: vec![("JUPYTER_PATH".into(), jupyter.into())],
            ..ClientEnvironment::default()
        };
    });
    let spec = json!({ "argv": ["toy"], "display_name": "A Toy", "language": "toy" });
    bed.write("jupyter/kernels/toy/kernel.json", spec.to_string());
    let made = bed.told("create_notebook", json!({ "notebook": "b.ipynb", "kernel": "TOY" })).await;
    assert_eq!(made, "Created b.ipynb, an empty notebook for A Toy. Revision REV.");
    let file: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bed.work().join("b.ipynb")).unwrap()).unwrap();
    let expected = json!({ "display_name": "A Toy", "language": "toy", "name": "toy" });
    assert_eq!(file["metadata"]["kernelspec"], expected);
    let refused = bed.refused("create_notebook", json!({ "notebook": "n.ipynb", "kernel": "nope" })).await;
    assert!(refused.starts_with("Error: n.ipynb: there is no kernel named `nope`; there are "), "{refused}");
    assert!(!bed.work().join("n.ipynb").exists());
    bed.close().await;
}

#[tokio::test]
async fn an_action_answers_with_a_sentence_and_keys() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", &[("aa", "a"), ("bb", "b")]);
    let call = async |arguments| {
        let answer = bed.answer("notebook", arguments).await;
        assert!(!answer.is_failure, "{}", answer.all_text());
        let mut keys = answer.keys.clone().unwrap();
        keys.as_object_mut().unwrap().remove("revision").unwrap();
        (crate::bed::without_revisions(&answer.all_text()), keys)
    };
    let (text, keys) =
        call(json!({ "path": "nb.ipynb", "action": "edit", "cell_index": 1, "content": "B" })).await;
    assert_eq!(text, "Replaced the source of code cell 1 (bb); the notebook has 2 cells. Revision REV.");
    let expected = json!({ "action": "edit", "effect": "changed", "cell_index": 1, "cell_id": "bb", "cell_type": "code",
        "total_cells": 2, "cell_source": "B" });
    assert_eq!(keys, expected);
    let (_, keys) = call(json!({ "path": "nb.ipynb", "action": "insert", "cell_index": 2, "content": "# c", "cell_type": "markdown" })).await;
    assert_eq!((&keys["cell_type"], &keys["total_cells"]), (&json!("markdown"), &json!(3)));
    let (text, keys) = call(json!({ "path": "nb.ipynb", "action": "delete", "cell_index": 0 })).await;
    assert_eq!(text, "Deleted code cell 0 (aa); the notebook has 2 cells. Revision REV.\n[0] id=aa code\na");
    assert_eq!(keys["cell_source"], "a");
    assert_eq!(sources(&path), ["B", "# c"]);
    bed.close().await;
}

#[tokio::test]
async fn several_operations_are_done_at_once_or_not_at_all() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", &[("aa", "a"), ("bb", "b"), ("cc", "c")]);
    let batch = json!({ "path": "nb.ipynb", "operations": [
        { "action": "delete", "cell_index": 0 },
        { "action": "edit", "cell_index": 2, "content": "C" },
        { "action": "insert", "cell_index": 3, "content": "d" },
    ] });
    let answer = bed.answer("notebook", batch).await;
    assert_eq!(answer.keys.as_ref().unwrap()["operations"].as_array().unwrap().len(), 3);
    assert_eq!(sources(&path), ["b", "C", "d"]);
    let bad = json!({ "path": "nb.ipynb", "operations": [
        { "action": "delete", "cell_index": 0 },
        { "action": "edit", "cell_index": 7, "content": "x" },
    ] });
    assert_eq!(
        bed.refused("notebook", bad).await,
        "Error: nb.ipynb: cell 7 does not exist: the notebook has 3 cells, 0 to 2"
    );
    assert_eq!(sources(&path), ["b", "C", "d"]);
    let refused = async |arguments| bed.refused("notebook", arguments).await;
    assert_eq!(
        refused(json!({ "path": "nb.ipynb", "operations": "[{\"action\": \"edit\", \"cell_index\": 0}]" }))
            .await,
        "Error: nb.ipynb: `operations[0].content` is missing: `edit` needs it"
    );
    assert_eq!(
        refused(json!({ "path": "nb.ipynb" })).await,
        "Error: nb.ipynb: `action` is missing: use edit, insert or delete, or give `operations`"
    );
    assert_eq!(
        refused(json!({ "path": "nb.ipynb", "action": "delete" })).await,
        "Error: nb.ipynb: `cell_index` is missing: it must be a whole number of at least 0"
    );
    assert_eq!(
        refused(json!({ "path": "nb.ipynb", "action": "delete", "cell_index": 0, "operations": [] })).await,
        "Error: nb.ipynb: give `action` or `operations`, not both"
    );
    bed.close().await;
}
