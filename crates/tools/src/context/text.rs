//! The state of a notebook as text for a prompt: each cell once, the selected ones with their text.

use std::fmt::Write;

use crate::budget::cut;

use super::{CellContext, CellRun, ExecutionStatus, LONGEST_LINE, NotebookContext, SelectionStatus};

pub(super) fn text(context: &NotebookContext, mut budget: usize) -> String {
    let mut text = String::from("# The notebook\n\n");
    let kernel = context.kernel_id.as_deref().unwrap_or("none yet");
    let NotebookContext { uri, kernel_language: language, cell_count, .. } = context;
    let _ =
        write!(text, "- file: {uri}\n- language: {language}\n- kernel: {kernel}\n- cells: {cell_count}\n");
    let names = context.selected_cells.iter().map(|cell| format!("{} (id {})", cell.index, cell.id));
    let names = names.collect::<Vec<_>>().join(", ");
    let size = match context.selected_size() {
        // Of little it need not be said that it is little.
        0..MUCH => String::new(),
        size => format!(", {size} characters"),
    };
    let _ = writeln!(text, "- selected: {}{size}", if names.is_empty() { "none" } else { &names });
    let shown = match &context.all_cells {
        Some(cells) => {
            text.push_str("\n## Cells\n");
            cells
        }
        None => {
            if !context.selected_cells.is_empty() {
                text.push_str("\n## Selected cells\n");
            }
            &context.selected_cells
        }
    };
    for cell in shown {
        let is_selected = cell.selection_status != SelectionStatus::Unselected;
        if is_selected || cell.content.len() <= budget {
            budget = budget.saturating_sub(if is_selected { 0 } else { cell.content.len() });
            write_cell(&mut text, cell, language);
        } else {
            let content = cut(&cell.content, budget.min(LONGEST_LINE * 4));
            budget = budget.saturating_sub(content.len());
            write_cell(&mut text, &CellContext { content, ..cell.clone() }, language);
        }
    }
    if let Some(outline) = &context.outline {
        text.push_str("\n## Outline\n\n");
        // Each line has its share; what is left of short ones is not worth the work.
        let share = budget.checked_div(outline.len()).unwrap_or(budget);
        for cell in outline {
            let status = match cell.status {
                Some(status @ (ExecutionStatus::Running | ExecutionStatus::Pending)) => {
                    format!(", {}", status.word())
                }
                Some(ExecutionStatus::Idle) | None => String::new(),
            };
            let head = format!("- {} (id {}, {}{status}) ", cell.index, cell.id, cell.cell_type);
            let room = share.saturating_sub(head.len()).max(LEAST_OF_A_LINE);
            let _ = writeln!(text, "{head}{}", shortened(&cell.first_line, room));
        }
    }
    text
}

/// From so many characters on, the size of what is selected is said.
const MUCH: usize = 1000;

/// So much of a line is told however many there are.
const LEAST_OF_A_LINE: usize = 12;

fn shortened(line: &str, room: usize) -> String {
    match line.char_indices().nth(room) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn write_cell(text: &mut String, cell: &CellContext, language: &str) {
    let _ = write!(text, "\n### {} (id {}, {})", cell.index, cell.id, cell.cell_type);
    let mut facts = Vec::new();
    match cell.selection_status {
        SelectionStatus::Unselected => {}
        SelectionStatus::Selected => facts.push("selected".to_owned()),
        SelectionStatus::Active => facts.push("selected, being edited".to_owned()),
    }
    if let Some(run) = &cell.run {
        facts.extend(run_facts(run));
    }
    if cell.has_output {
        facts.push("has output".to_owned());
    }
    if !facts.is_empty() {
        let _ = write!(text, ": {}", facts.join(", "));
    }
    let fence = fence(&cell.content);
    let language = if cell.run.is_some() { language } else { cell.cell_type };
    let _ = write!(text, "\n\n{fence}{language}\n{}\n{fence}\n", cell.content);
}

fn run_facts(run: &CellRun) -> Vec<String> {
    let mut facts = vec![run.status.word().to_owned()];
    match run.order {
        Some(order) => facts.push(format!("ran as [{order}]")),
        None => facts.push("not run".to_owned()),
    }
    match run.success {
        Some(true) => facts.push("succeeded".to_owned()),
        Some(false) => facts.push("failed".to_owned()),
        None => {}
    }
    facts.extend(run.duration.map(|duration| format!("{duration} ms")));
    facts
}

impl ExecutionStatus {
    fn word(self) -> &'static str {
        match self {
            ExecutionStatus::Running => "running",
            ExecutionStatus::Pending => "waiting to run",
            ExecutionStatus::Idle => "idle",
        }
    }
}

/// A fence that nothing in the text closes.
fn fence(content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::OutlineCell;

    fn cell(index: usize, content: &str, run: Option<CellRun>) -> CellContext {
        CellContext {
            id: format!("c{index}"),
            index,
            cell_type: if run.is_some() { "code" } else { "markdown" },
            content: content.to_owned(),
            has_output: run.is_some_and(|run| run.order.is_some()),
            selection_status: SelectionStatus::Unselected,
            run,
        }
    }

    fn context() -> NotebookContext {
        NotebookContext {
            notebook_mode: true,
            uri: "file:///n.ipynb".to_owned(),
            kernel_id: None,
            kernel_language: "python".to_owned(),
            cell_count: 2,
            selected_cells: Vec::new(),
            all_cells: None,
            outline: None,
        }
    }

    #[test]
    fn a_small_notebook_shows_each_cell_once() {
        let run = CellRun { order: Some(4), success: Some(false), duration: Some(12), ..CellRun::default() };
        let selected =
            CellContext { selection_status: SelectionStatus::Selected, ..cell(1, "1/0", Some(run)) };
        let cells = vec![cell(0, "say ```this```", None), selected.clone()];
        let told = NotebookContext { selected_cells: vec![selected], all_cells: Some(cells), ..context() };
        insta::assert_snapshot!(told.text(), @"
        # The notebook

        - file: file:///n.ipynb
        - language: python
        - kernel: none yet
        - cells: 2
        - selected: 1 (id c1)

        ## Cells

        ### 0 (id c0, markdown)

        ````markdown
        say ```this```
        ````

        ### 1 (id c1, code): selected, idle, ran as [4], failed, 12 ms, has output

        ```python
        1/0
        ```
        ");
    }

    #[test]
    fn a_large_one_shows_its_outline() {
        let line = |index: usize, status: Option<ExecutionStatus>| OutlineCell {
            index,
            id: format!("c{index}"),
            cell_type: if status.is_none() { "markdown" } else { "code" },
            first_line: "first".to_owned(),
            status,
        };
        let outline = vec![
            line(0, None),
            line(1, Some(ExecutionStatus::Running)),
            line(2, Some(ExecutionStatus::Idle)),
        ];
        let told = NotebookContext { outline: Some(outline), kernel_id: Some("k".to_owned()), ..context() };
        insta::assert_snapshot!(told.text(), @"
        # The notebook

        - file: file:///n.ipynb
        - language: python
        - kernel: k
        - cells: 2
        - selected: none

        ## Outline

        - 0 (id c0, markdown) first
        - 1 (id c1, code, running) first
        - 2 (id c2, code) first
        ");
    }
}
