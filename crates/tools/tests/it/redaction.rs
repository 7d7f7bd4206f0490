//! Credentials in notebooks and files: a model reads a mark in their place, and cannot overwrite
//! them with it.

use cellist_tools::redaction::Redaction;
use serde_json::{Value, json};

use crate::bed::{Bed, sources};

/// A made-up token, assembled so that scanners do not report it.
fn token() -> String {
    format!("ghp_{}", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5")
}

fn cell() -> String {
    format!("token = '{}'\nprint(len(token))", token())
}

#[tokio::test]
async fn a_model_reads_marks_and_the_file_stays_unchanged() {
    let bed = Bed::with(|caller| {
        caller.redaction = Redaction::withholding([("SHOP_PASSWORD", "Wint3r-is-c0ld")]);
    });
    let cell = json!({
        "cell_type": "code", "execution_count": 1, "id": "a", "metadata": {}, "source": cell(),
        "outputs": [{ "output_type": "stream", "name": "stdout", "text": format!("{} Wint3r-is-c0ld\n", token()) }],
    });
    let file = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    let path = bed.write("nb.ipynb", file.to_string());
    let before = std::fs::read(&path).unwrap();
    let calls: [(&str, Value); 5] = [
        ("get_notebook_cells", json!({ "notebook": "nb.ipynb" })),
        ("get_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["a"] })),
        ("get_cell_outputs", json!({ "notebook": "nb.ipynb", "cell": "a" })),
        ("read", json!({ "path": "nb.ipynb" })),
        ("read", json!({ "path": "nb.ipynb:raw" })),
    ];
    for (tool, arguments) in calls {
        let answer = bed.answer(tool, arguments).await;
        let all = format!("{} {:?}", answer.all_text(), answer.keys);
        assert!(!answer.is_failure && all.contains("[redacted: GitHub token]"), "{tool}: {all}");
        assert!(!all.contains(&token()) && !all.contains("Wint3r"), "{tool}: {all}");
    }
    let outputs = bed.told("get_cell_outputs", json!({ "notebook": "nb.ipynb", "cell": "a" })).await;
    assert!(outputs.contains("[redacted: SHOP_PASSWORD]"), "{outputs}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let open = bed.also(|caller| caller.redaction.switch(false));
    let answer = bed.answer_to(&open, "read", json!({ "path": "nb.ipynb" })).await;
    assert!(answer.all_text().contains(&token()), "{}", answer.all_text());
    bed.close().await;
}

#[tokio::test]
async fn a_mark_never_overwrites_its_credential() {
    let bed = Bed::new();
    let (cell, marked) = (cell(), cell().replace(&token(), "[redacted: GitHub token]"));
    let path = bed.notebook("nb.ipynb", &[("a", &cell)]);
    bed.told("read", json!({ "path": "nb.ipynb" })).await;
    let text = format!("# %% [code] cell:0\n{marked}\n");
    let longer = format!("{marked}\nprint(1)");
    let refused: [(&str, Value); 7] = [
        ("update_notebook_cell", json!({ "notebook": "nb.ipynb", "cell": "a", "content": longer })),
        ("add_notebook_cell", json!({ "notebook": "nb.ipynb", "type": "code", "content": marked })),
        ("notebook", json!({ "path": "nb.ipynb", "action": "edit", "cell_index": 0, "content": marked })),
        (
            "notebook",
            json!({ "path": "nb.ipynb", "operations": [{ "action": "edit", "cell_index": 0, "content": marked }] }),
        ),
        ("edit", json!({ "path": "nb.ipynb", "old": "print(len(token))", "new": marked })),
        ("edit", json!({ "path": "nb.ipynb", "old": marked, "new": "token = None" })),
        ("write", json!({ "path": "nb.ipynb", "content": text })),
    ];
    for (tool, arguments) in refused {
        let why = bed.refused(tool, arguments).await;
        assert_eq!(
            why,
            "Error: nb.ipynb: `[redacted: GitHub token]` stands for a credential that is hidden from you; nothing was changed, \
             since the credential would be lost. Use `edit` on the text around it, or ask the user",
            "{tool}"
        );
        assert_eq!(sources(&path), [cell.as_str()]);
    }
    bed.told("edit", json!({ "path": "nb.ipynb", "old": "print(len(token))", "new": "print(2)" })).await;
    assert_eq!(sources(&path), [cell.replace("print(len(token))", "print(2)")]);
    // Not even if the file has the characters of the mark elsewhere.
    let both = bed.notebook("both.ipynb", &[("a", &cell), ("b", "# [redacted: GitHub token]")]);
    let why = bed
        .refused("update_notebook_cell", json!({ "notebook": "both.ipynb", "cell": "a", "content": marked }))
        .await;
    assert!(why.contains("stands for a credential"), "{why}");
    assert_eq!(sources(&both)[0], cell);
    bed.close().await;
}

#[tokio::test]
async fn a_file_may_keep_a_literal_mark() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", &[("a", "print('[redacted: password]')"), ("b", "x = 1")]);
    let content = "print('[redacted: password]', 1)";
    bed.told("update_notebook_cell", json!({ "notebook": "nb.ipynb", "cell": "a", "content": content }))
        .await;
    assert_eq!(sources(&path), [content, "x = 1"]);
    bed.close().await;
}
