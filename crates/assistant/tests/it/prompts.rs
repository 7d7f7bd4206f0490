//! Parts of prompts, in each mode and for notebooks of each size.

use cellist_tools::{EditorSelection, Mode};
use serde_json::{Value, json};
use testkit::Said;

use crate::test_bed::TestBed;

/// The instructions and the message that a model receives.
async fn prompt(cells: usize, change: impl FnOnce(&mut cellist_assistant::ChatRequest)) -> (String, String) {
    let cell = |index: usize| {
        let source = format!("# cell {index}\nvalue_{index} = {index}\n{}", "padding = 1\n".repeat(20));
        json!({ "cell_type": "code", "execution_count": null, "id": format!("c{index}"), "metadata": {}, "outputs": [], "source": source })
    };
    let mut bed = TestBed::with_cells((0..cells).map(cell).collect(), [Said::text(&["Fine."])]);
    let mut ask = bed.message("What is this?");
    change(&mut ask);
    bed.answer(ask).await;
    let body = bed.models.asked().remove(0).body;
    let text = |value: &Value| value.as_str().unwrap().replace(bed.notebook.to_str().unwrap(), "/nb.ipynb");
    let sent = (text(&body["system"][0]["text"]), text(&body["messages"][0]["content"][0]["text"]));
    bed.close().await;
    sent
}

#[tokio::test]
async fn instructions_are_constant_and_the_state_comes_last() {
    let (first, message) = prompt(3, |ask| ask.words = "One? #runNotebookCells".to_owned()).await;
    let (second, _) = prompt(400, |_| {}).await;
    assert_eq!(first, second, "providers can cache constant instructions");
    assert!(first.starts_with("You are the assistant of cellist"), "{first}");
    assert!(first.contains("You are in Agent mode.") && first.contains("# Working on a notebook"), "{first}");
    assert!(!first.contains("value_1") && message.contains("value_1 = 1"), "{message}");
    let end = "# Tools named in the message\n\n- `run_notebook_cells`\n\n# Message from the user\n\nOne? #runNotebookCells";
    assert!(message.ends_with(end), "{message}");
}

#[tokio::test]
async fn each_mode_has_its_instructions() {
    for (mode, limits, file) in [
        (Mode::Ask, "You may read. You change and run nothing.", "# Looking at a notebook"),
        (Mode::Edit, "change files that are not notebooks", "# Looking at a notebook"),
        (Mode::Agent, "change notebooks and files, and run code", "# Working on a notebook"),
    ] {
        let (instructions, _) = prompt(1, |ask| {
            ask.caller.mode = mode;
            ask.instructions = cellist_tools::prompt::Prompts::ours().for_mode(mode).0;
        })
        .await;
        assert!(instructions.contains(&format!("You are in {mode} mode.")), "{instructions}");
        assert!(instructions.contains(limits) && instructions.contains(file), "{instructions}");
    }
}

#[tokio::test]
async fn a_small_notebook_is_sent_whole_and_a_large_one_as_an_outline() {
    let (_, nineteen) = prompt(19, |_| {}).await;
    assert!(
        nineteen.contains("- cells: 19")
            && nineteen.contains("## Cells")
            && nineteen.contains("value_18 = 18")
    );
    let (_, twenty) = prompt(20, |_| {}).await;
    assert!(twenty.contains("## Outline") && !twenty.contains("value_18 = 18"), "{twenty}");
    assert!(twenty.contains("- 18 (id c18, code, 22 lines) # cell 18 → value_18 padding\n"), "{twenty}");
    let (_, many) = prompt(600, |_| {}).await;
    assert!(many.contains("- 599 (id c599, code) # cell 599\n"), "{many}");
    assert!(many.len() < 32 << 10, "{}", many.len());
}

#[tokio::test]
async fn the_budget_limits_all_but_the_selected_cells() {
    let select = |cells: &[&str]| EditorSelection {
        cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
        editing: None,
    };
    for cells in [19, 20, 500] {
        let small = |ask: &mut cellist_assistant::ChatRequest| ask.rules.context = 1024;
        let (_, bound) = prompt(cells, small).await;
        let (_, selected) = prompt(cells, |ask| {
            small(ask);
            ask.caller.front.as_mut().unwrap().selection = select(&["c2", "c3", "c4", "c5"]);
        })
        .await;
        let padding = |text: &str| text.matches("padding = 1").count();
        assert!(padding(&bound) < 80, "{bound}");
        assert!(padding(&selected) >= 80, "{selected}");
        for cell in 2..=5 {
            assert!(selected.contains(&format!("value_{cell} = {cell}\npadding")), "{selected}");
        }
        assert!(selected.contains("5 (id c5), 1044 characters"), "{selected}");
    }
}

#[tokio::test]
async fn attachments_are_sent_within_the_budget() {
    let mut bed = TestBed::new(&["x = 1"], [Said::text(&["Fine."])]);
    let other = json!({ "cells": [{ "cell_type": "code", "execution_count": 1, "id": "o", "metadata": {}, "outputs": [], "source": "other = 1\n".repeat(5000) }], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    std::fs::write(bed.scratch.path().join("desk/other.ipynb"), other.to_string()).unwrap();
    let mut ask = bed.message("compare with @other.ipynb");
    ask.rules.context = 4096;
    ask.outputs = vec!["a".to_owned()];
    bed.answer(ask).await;
    let body = bed.models.asked().remove(0).body;
    let message = body["messages"][0]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(
        message.contains("x = 1") && message.contains("# Attached: ") && message.contains("other = 1"),
        "{message}"
    );
    assert!(message.contains("# Output of cell a"), "{message}");
    assert!(message.len() < 9000, "{}", message.len());
    bed.close().await;
}
