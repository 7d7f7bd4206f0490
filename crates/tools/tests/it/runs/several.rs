//! Replies about several cells: the parts that are always there, and the pictures of each cell.

use cellist_tools::{AnswerBlock, ToolAnswer};
use serde_json::json;

use super::desk::{Desk, execution, images, waits_for};

/// The blocks of an answer: the first line of each text, and pictures.
fn shape(answer: &ToolAnswer) -> Vec<String> {
    let block = |block: &AnswerBlock| match block {
        AnswerBlock::Text(text) => text.lines().next().unwrap_or_default().to_owned(),
        AnswerBlock::Image { .. } => "image".to_owned(),
        AnswerBlock::Link { .. } => "link".to_owned(),
    };
    answer.blocks.iter().map(block).collect()
}

/// Forty cells that print; cells 3 and 20 fail.
fn forty(desk: &Desk, name: &str) {
    let cells: Vec<(String, String)> = (0..40)
        .map(|index| {
            let code = match index {
                3 | 20 => format!("print('x' * 300)\nraise ValueError('cell {index} is bad')"),
                _ => format!("print('cell', {index}, 'y' * 300)"),
            };
            (format!("c{index}"), code)
        })
        .collect();
    let cells: Vec<(&str, &str)> = cells.iter().map(|(id, code)| (id.as_str(), code.as_str())).collect();
    desk.bed.notebook(name, &cells);
}

#[tokio::test]
async fn a_full_reply_still_has_every_failure_and_the_summary() {
    let desk = Desk::new("runner");
    forty(&desk, "nb.ipynb");
    let run = json!({
        "notebook": "nb.ipynb", "continue_on_error": true, "max_output": 2500, "soft_wait": 600,
    });
    let text = desk.refused("run_notebook_cells", run).await;
    assert!(text.len() <= 2500, "{}", text.len());
    assert!(text.starts_with("Error: nb.ipynb: cell 3 (c3): ValueError: cell 3 is bad\n"), "{text}");
    assert!(
        text.contains("[20] id=c20 · failed") && text.contains("\nValueError: cell 20 is bad\n"),
        "{text}"
    );
    assert!(text.ends_with("\n38 ok, 2 failed: 3, 20"), "{text}");
    let list = text.lines().find(|line| line.starts_with("[Not shown in full: cells ")).unwrap();
    let id = list.split("artifact://").nth(1).unwrap().trim_end_matches(']');
    let whole = desk.told("read_artifact", json!({ "id": id, "max_output": 100_000 })).await;
    assert!((0..40).all(|index| whole.contains(&format!("[{index}] id=c{index} · "))), "{whole}");
    desk.bed.close().await;
}

#[tokio::test]
async fn a_stopped_run_lists_the_cells_not_run() {
    let desk = Desk::new("runner");
    forty(&desk, "nb.ipynb");
    let run = json!({ "notebook": "nb.ipynb", "soft_wait": 600 });
    let text = desk.refused("run_notebook_cells", run).await;
    assert!(text.ends_with("\n3 ok, 1 failed: 3; not run: 4–39"), "{text}");
    desk.bed.close().await;
}

#[tokio::test]
async fn a_wait_with_a_small_budget_lists_every_failure_too() {
    let desk = Desk::new("runner");
    forty(&desk, "nb.ipynb");
    let run = json!({ "notebook": "nb.ipynb", "continue_on_error": true, "soft_wait": 0 });
    let id = execution(&desk.told("run_notebook_cells", run).await);
    let wait = |bytes: u32| json!({ "execution": id, "timeout": 100, "max_output": bytes });
    let small = desk.refused("wait", wait(1500)).await;
    assert!(small.len() <= 1500 && small.contains("\nValueError: cell 20 is bad\n"), "{small}");
    assert!(small.ends_with("\n38 ok, 2 failed: 3, 20"), "{small}");
    // Another wait for the same run has room for all of it.
    let large = desk.refused("wait", wait(100_000)).await;
    assert!((0..40).all(|index| large.contains(&format!("[{index}] id=c{index} · "))), "{large}");
    desk.bed.close().await;
}

#[tokio::test]
async fn pictures_follow_their_cells_and_a_line_names_more() {
    let desk = Desk::new("runner");
    let cells: Vec<(String, String)> = (0..20)
        .map(|index| {
            let plot = format!("import matplotlib.pyplot as plt\nplt.plot([{index}])\nplt.show()");
            (format!("c{index}"), plot)
        })
        .collect();
    let cells: Vec<(&str, &str)> = cells.iter().map(|(id, code)| (id.as_str(), code.as_str())).collect();
    desk.bed.notebook("nb.ipynb", &cells);
    let run = |with: bool| json!({ "notebook": "nb.ipynb", "images": with, "soft_wait": 600 });
    let without = desk.call("run_notebook_cells", run(false)).await;
    assert!(images(&without).is_empty() && without.blocks.len() == 1, "{:?}", shape(&without));
    let answer = desk.call("run_notebook_cells", run(true)).await;
    let shape = shape(&answer);
    assert_eq!(images(&answer).len(), 8);
    assert!(shape[0].starts_with("[0] id=c0 · ok"), "{shape:?}");
    for cell in 1..8 {
        assert_eq!(shape[2 * cell - 1], "image", "{shape:?}");
        assert!(shape[2 * cell].starts_with(&format!("[{cell}] id=c{cell} · ok")), "{shape:?}");
    }
    let text = answer.all_text();
    assert!(
        text.contains("\n[12 more images not shown: cells 8–19; get_cell_outputs shows them]\n"),
        "{text}"
    );
    assert!(text.ends_with("\n20 ok"), "{text}");
    let one = desk.call("get_cell_outputs", json!({ "notebook": "nb.ipynb", "cell": 15 })).await;
    assert_eq!(images(&one).len(), 1);
    let none = json!({ "notebook": "nb.ipynb", "cell": 15, "images": false });
    assert!(images(&desk.call("get_cell_outputs", none).await).is_empty());
    desk.bed.close().await;
}

#[tokio::test]
async fn an_added_cell_is_named_while_it_still_runs() {
    let desk = Desk::new("runner");
    desk.bed.notebook("nb.ipynb", &[("a", "x = 1")]);
    let signal = desk.signal("go");
    let code = format!("{}print('done')", waits_for(&signal));
    let added = json!({
        "notebook": "nb.ipynb", "type": "code", "content": code, "run": true, "soft_wait": 0,
    });
    let handed = desk.told("add_notebook_cell", added).await;
    let listed = desk.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    let id = listed.split("[1] id=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(handed.starts_with(&format!("Inserted code cell 1 ({id})")), "{handed}");
    std::fs::write(&signal, "").unwrap();
    let told = desk.told("wait", json!({ "execution": execution(&handed), "timeout": 100 })).await;
    assert!(told.contains(&format!("[1] id={id} · ok")) && told.contains("\ndone\n"), "{told}");
    desk.bed.close().await;
}

#[tokio::test]
async fn running_pieces_are_listed_with_ended_and_waiting_ones() {
    let desk = Desk::new("runner");
    let signal = desk.signal("go");
    let cells = json!([{ "code": "1" }, { "code": waits_for(&signal) }, { "code": "3" }]);
    let id = execution(&desk.told("python", json!({ "cells": cells, "soft_wait": 0 })).await);
    let mut waiting = desk.start("wait", json!({ "execution": id, "timeout": 600 }));
    waiting.until(|progress| progress.message.starts_with("cell 2 of 3: ")).await;
    waiting.canceller.cancel();
    let still = waiting.answer().await.all_text();
    assert!(still.ends_with("\n1 ok, still running: 2; not run: 3"), "{still}");
    std::fs::write(&signal, "").unwrap();
    let told = desk.told("wait", json!({ "execution": id, "timeout": 100 })).await;
    assert!(told.ends_with("\n3 ok"), "{told}");
    desk.bed.close().await;
}

#[tokio::test]
async fn every_tool_that_runs_cells_can_leave_pictures_out() {
    let desk = Desk::new("runner");
    desk.bed.notebook("nb.ipynb", &[("a", "import matplotlib.pyplot as plt")]);
    desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "soft_wait": 600 })).await;
    let plot = |n: u32| format!("plt.plot([{n}])\nplt.show()");
    for (with, count) in [(true, 1), (false, 0)] {
        let how = json!({ "run": true, "images": with, "timeout": 600, "soft_wait": 600 });
        let call = |more: serde_json::Value| {
            let mut arguments = how.clone();
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            arguments
        };
        let add = call(json!({ "notebook": "nb.ipynb", "type": "code", "index": 1, "content": plot(1) }));
        assert_eq!(images(&desk.call("add_notebook_cell", add).await).len(), count);
        let update = call(json!({ "notebook": "nb.ipynb", "cell": 1, "content": plot(2) }));
        assert_eq!(images(&desk.call("update_notebook_cell", update).await).len(), count);
        let edit = call(json!({ "path": "nb.ipynb", "old": "[2]", "new": "[3]" }));
        assert_eq!(images(&desk.call("edit", edit).await).len(), count);
        desk.told("delete_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": [1] })).await;
    }
    // Each wait for the same run decides for itself.
    let add = json!({
        "notebook": "nb.ipynb", "type": "code", "content": plot(4), "run": true, "images": false, "soft_wait": 0,
    });
    let id = execution(&desk.told("add_notebook_cell", add).await);
    for (with, count) in [(false, 0), (true, 1)] {
        let wait = json!({ "execution": id, "timeout": 100, "images": with });
        assert_eq!(images(&desk.call("wait", wait).await).len(), count);
    }
    desk.bed.close().await;
}
