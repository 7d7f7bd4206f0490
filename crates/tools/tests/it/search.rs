//! Finding lines in cells and outputs.

use serde_json::json;

use crate::bed::Bed;

fn notebook(bed: &Bed) {
    let cell = |id: &str, source: &str, outputs: serde_json::Value| {
        json!({ "cell_type": "code", "execution_count": 1, "id": id,
        "metadata": {}, "outputs": outputs, "source": source })
    };
    let output =
        json!([{ "output_type": "stream", "name": "stdout", "text": "first\n\u{1b}[31mtotal 7\u{1b}[0m\n" }]);
    let words = json!({ "cell_type": "markdown", "id": "cc", "metadata": {}, "source": "# The total" });
    let cells = json!([
        cell("aa", "import os\ntotal = 1\nprint(total)", output),
        cell("bb", "x = 1", json!([])),
        words
    ]);
    let file = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    bed.write("nb.ipynb", file.to_string());
}

#[tokio::test]
async fn lines_are_found_with_their_cell_and_number() {
    let bed = Bed::new();
    notebook(&bed);
    let find = |query: &str| json!({ "notebook": "nb.ipynb", "query": query });
    insta::assert_snapshot!(bed.told("search_notebook", find("total")).await, @r"
    nb.ipynb: 3 lines in 2 of 3 cells
    [0] id=aa code
    2: total = 1
    3: print(total)
    [2] id=cc markdown
    1: # The total
    ");
    insta::assert_snapshot!(
        bed.told("search_notebook", json!({ "notebook": "nb.ipynb", "query": "^(TOTAL|x) ", "regex": true })).await,
        @r"
    nb.ipynb: 1 line in 1 of 3 cells
    [1] id=bb code
    1: x = 1
    "
    );
    insta::assert_snapshot!(
        bed.told("search_notebook", json!({ "notebook": "nb.ipynb", "query": "total 7", "outputs": true })).await,
        @r"
    nb.ipynb: 1 line in 1 of 3 cells
    [0] id=aa code output
    2: total 7
    "
    );
    insta::assert_snapshot!(
        bed.told("search_notebook", find("Total")).await,
        @r#"nb.ipynb: no line in 3 cells contains "Total" (case-sensitive; `outputs` searches outputs too)"#
    );
    assert!(
        bed.refused("search_notebook", json!({ "notebook": "nb.ipynb", "query": "(", "regex": true }))
            .await
            .starts_with("Error: nb.ipynb: `query` is not a regular expression: ")
    );
    assert_eq!(
        bed.refused("search_notebook", find("")).await,
        "Error: nb.ipynb: `query` is empty: give a text"
    );
    bed.close().await;
}

#[tokio::test]
async fn a_bounded_reply_names_the_omitted_cells() {
    let bed = Bed::new();
    let source = format!("{}\n", "word ".repeat(200)).repeat(100);
    let cells: Vec<(String, &str)> = (0..30).map(|n| (format!("c{n}"), source.as_str())).collect();
    let cells: Vec<(&str, &str)> = cells.iter().map(|(id, source)| (id.as_str(), *source)).collect();
    bed.notebook("nb.ipynb", &cells);
    let told = bed.told("search_notebook", json!({ "notebook": "nb.ipynb", "query": "word" })).await;
    assert!(told.starts_with("nb.ipynb: 3000 lines in 30 of 30 cells\n"), "{}", &told[..80]);
    assert!(told.len() <= 17_000, "{}", told.len());
    assert!(told.lines().last().unwrap().ends_with("–29"), "{}", &told[told.len() - 80..]);
    bed.close().await;
}

#[tokio::test]
async fn a_credential_is_neither_shown_nor_found() {
    let bed = Bed::new();
    let key = "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5";
    bed.notebook("nb.ipynb", &[("aa", &format!("token = '{key}'"))]);
    let found = bed.told("search_notebook", json!({ "notebook": "nb.ipynb", "query": "token" })).await;
    assert!(found.contains("1: token = '[redacted: GitHub token]'"), "{found}");
    let none = bed.told("search_notebook", json!({ "notebook": "nb.ipynb", "query": "ghp_a" })).await;
    assert!(none.contains("no line in 1 cells"), "{none}");
    bed.close().await;
}
