//! Snapshots of whole prompts, in each mode and for notebooks of each size.

use cellist_assistant::ChatRequest;
use cellist_tools::{EditorSelection, Mode};
use serde_json::{Value, json};
use testkit::Said;

use crate::test_bed::TestBed;

/// The first prompt of a conversation.
struct FirstPrompt {
    instructions: String,
    tools: Vec<String>,
    message: String,
}

/// Typical cells: prose, code that ran, code that failed, and code that has not run.
fn cell(index: usize) -> Value {
    let id = format!("c{index}");
    let code = |count: Value, source: String, outputs: Value| json!({ "cell_type": "code", "execution_count": count, "id": id, "metadata": {}, "outputs": outputs, "source": source });
    match index % 4 {
        0 => {
            json!({ "cell_type": "markdown", "id": id, "metadata": {}, "source": format!("## Part {index}\n\nWhat is done here, and why.") })
        }
        1 => {
            let outputs =
                json!([{ "output_type": "stream", "name": "stdout", "text": format!("{index}\n") }]);
            code(json!(index), format!("total_{index} = {index}\nprint(total_{index})"), outputs)
        }
        2 => {
            let outputs = json!([{ "output_type": "error", "ename": "NameError", "evalue": "name 'gone' is not defined", "traceback": [] }]);
            code(json!(index), format!("gone + {index}"), outputs)
        }
        _ => code(
            Value::Null,
            format!("def later_{index}(x):\n    \"\"\"Nobody ran this yet.\"\"\"\n    return x + {index}"),
            json!([]),
        ),
    }
}

async fn sent(cells: usize, mode: Mode, change: impl FnOnce(&mut ChatRequest)) -> FirstPrompt {
    let mut bed = TestBed::with_cells((0..cells).map(cell).collect(), [Said::text(&["Fine."])]);
    let mut ask = bed.in_mode(mode, "What is this about?");
    change(&mut ask);
    bed.answer(ask).await;
    let body = bed.models.asked().remove(0).body;
    let text =
        |value: &Value| value.as_str().unwrap().replace(bed.notebook.to_str().unwrap(), "/desk/nb.ipynb");
    let tools = body["tools"].as_array().unwrap().iter().map(|tool| text(&tool["name"])).collect();
    let sent = FirstPrompt {
        instructions: text(&body["system"][0]["text"]),
        tools,
        message: text(&body["messages"][0]["content"][0]["text"]),
    };
    bed.close().await;
    sent
}

/// Selects three cells, one of them in edit mode.
fn select(ask: &mut ChatRequest) {
    let cells = ["c1", "c2", "c6"].map(str::to_owned).to_vec();
    ask.caller.front.as_mut().unwrap().selection = EditorSelection { cells, editing: Some("c2".to_owned()) };
}

#[tokio::test]
async fn each_mode_has_its_instructions_and_its_tools() {
    for mode in [Mode::Ask, Mode::Edit, Mode::Agent] {
        let FirstPrompt { instructions, tools, .. } = sent(1, mode, |_| {}).await;
        let text = format!("{instructions}\n\n======== tools\n\n{}\n", tools.join("\n"));
        insta::assert_snapshot!(format!("instructions_{}", mode.as_str()), text);
        let off = sent(1, mode, |ask| ask.caller.front.as_mut().unwrap().attached.clear()).await;
        let text = format!("{}\n\n======== tools\n\n{}\n", off.instructions, off.tools.join("\n"));
        insta::assert_snapshot!(format!("instructions_{}_without_notebook", mode.as_str()), text);
    }
}

#[tokio::test]
async fn the_state_depends_on_the_size_of_the_notebook_and_not_on_the_mode() {
    for cells in [19, 20, 500] {
        let (plain, selected) =
            (sent(cells, Mode::Agent, |_| {}).await, sent(cells, Mode::Agent, select).await);
        for mode in [Mode::Ask, Mode::Edit] {
            assert_eq!(sent(cells, mode, |_| {}).await.message, plain.message, "{mode}");
            assert_eq!(sent(cells, mode, select).await.message, selected.message, "{mode}");
        }
        insta::assert_snapshot!(format!("message_{cells}_cells"), plain.message);
        insta::assert_snapshot!(format!("message_{cells}_cells_selected"), selected.message);
    }
}

#[tokio::test]
async fn a_small_budget_cuts_all_but_the_selected_cells() {
    for cells in [19, 20, 500] {
        let little = |ask: &mut ChatRequest| ask.rules.context = 600;
        let selected = |ask: &mut ChatRequest| {
            little(ask);
            select(ask);
        };
        let (plain, selected) =
            (sent(cells, Mode::Agent, little).await, sent(cells, Mode::Agent, selected).await);
        insta::assert_snapshot!(format!("little_{cells}_cells"), plain.message);
        insta::assert_snapshot!(format!("little_{cells}_cells_selected"), selected.message);
    }
}

#[tokio::test]
async fn named_tools_and_files_are_listed_with_their_limits_in_each_mode() {
    for mode in [Mode::Ask, Mode::Edit, Mode::Agent] {
        let sent = sent(2, mode, |ask| {
            ask.words = "#runNotebookCells #addNotebookCell #updateNotebookCell #getCellOutputs #getNotebookCells please, and see @gone.ipynb"
                .to_owned();
            ask.outputs = vec!["c1".to_owned()];
        });
        insta::assert_snapshot!(format!("message_names_{}", mode.as_str()), sent.await.message);
    }
}

#[tokio::test]
async fn a_conversation_about_a_cell_has_its_own_instructions_and_tool() {
    for cells in [19, 20, 500] {
        let about = |ask: &mut ChatRequest| {
            ask.about = Some("c2".to_owned());
            ask.outputs = vec!["c2".to_owned()];
            let selection = EditorSelection { cells: vec!["c2".to_owned()], editing: None };
            ask.caller.front.as_mut().unwrap().selection = selection;
        };
        let FirstPrompt { instructions, tools, message } = sent(cells, Mode::Ask, about).await;
        if cells == 20 {
            let tools = tools.join("\n");
            let whole =
                format!("{instructions}\n\n======== tools\n\n{tools}\n\n======== message\n\n{message}");
            insta::assert_snapshot!("inline", whole);
        }
        assert!(message.contains("gone + 2") && message.contains("NameError"), "{message}");
        assert_eq!(tools.last().map(String::as_str), Some("propose_change"));
    }
}
