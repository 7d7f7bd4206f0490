//! The state of a notebook as text for a prompt. Each cell appears once; selected cells have their
//! source.

use std::fmt::Write;
use std::ops::Range;

use cellist_live::Activity;

use crate::budget::{cut, shortened};

use super::{CellContext, LONGEST_LINE, LastCellRun, NotebookContext, OutlineCell, SelectionStatus};

pub(super) fn text(context: &NotebookContext, mut budget: usize) -> String {
    let mut text = String::from("# The notebook\n\n");
    let kernel = context.kernel_id.as_deref().unwrap_or("none yet");
    let NotebookContext { uri, kernel_language: language, cell_count, .. } = context;
    let _ =
        write!(text, "- file: {uri}\n- language: {language}\n- kernel: {kernel}\n- cells: {cell_count}\n");
    let names = context.selected_cells.iter().map(|cell| format!("{} (id {})", cell.index, cell.id));
    let names = names.collect::<Vec<_>>().join(", ");
    let size = match context.selected_size() {
        // A small size is not worth a mention.
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
        let before = text.len();
        if cell.selection_status != SelectionStatus::Unselected {
            write_cell(&mut text, cell, language);
            continue;
        }
        if cell.content.len() <= budget {
            write_cell(&mut text, cell, language);
        } else {
            let content = cut(&cell.content, budget.min(LONGEST_LINE * 4));
            write_cell(&mut text, &CellContext { content, ..cell.clone() }, language);
        }
        budget = budget.saturating_sub(text.len() - before);
    }
    if let Some(outline) = &context.outline {
        let chosen = context.selected_cells.first().map_or(0, |cell| cell.index);
        write_outline(&mut text, outline, chosen, budget);
    }
    text
}

/// Writes one line per cell. Without room for all, writes the lines around one cell.
fn write_outline(text: &mut String, outline: &[OutlineCell], around: usize, budget: usize) {
    text.push_str("\n## Outline\n\n");
    // All lines get an equal share. Reusing the rest of short lines is not worth the effort.
    let share = budget.checked_div(outline.len()).unwrap_or(budget);
    let lines: Vec<String> = outline
        .iter()
        .map(|cell| {
            let status = match cell.status {
                Some(status @ (Activity::Running | Activity::Pending)) => {
                    format!(", {}", in_words(status))
                }
                Some(Activity::Idle) | None => String::new(),
            };
            let OutlineCell { index, id, cell_type, first_line, sketch, .. } = cell;
            let rich = format!(
                "- {index} (id {id}, {cell_type}{}{status}{}) {first_line}{}\n",
                sketch.size(),
                sketch.shows(),
                sketch.further_names(first_line)
            );
            if rich.len() <= share {
                return rich;
            }
            let head = format!("- {index} (id {id}, {cell_type}{status}) ");
            let room = share.saturating_sub(head.len()).max(LEAST_OF_A_LINE);
            format!("{head}{}\n", shortened(first_line, room))
        })
        .collect();
    let told = window(&lines, around, budget.max(LEAST_OF_AN_OUTLINE));
    let left = |count: usize, side: &str| match count {
        0 => String::new(),
        count => format!("- ({count} more cells {side})\n"),
    };
    text.push_str(&left(told.start, "before these"));
    text.extend(lines[told.clone()].iter().map(String::as_str));
    text.push_str(&left(lines.len() - told.end, "after these"));
}

/// Returns the range of lines around one line that fits into `room` bytes.
fn window(lines: &[String], around: usize, room: usize) -> Range<usize> {
    let around = around.min(lines.len().saturating_sub(1));
    let (mut told, mut left) = (around..around, room);
    loop {
        let after = lines.get(told.end).map(String::len).filter(|length| *length <= left);
        left -= after.unwrap_or(0);
        told.end += usize::from(after.is_some());
        let before = told.start.checked_sub(1).map(|line| lines[line].len()).filter(|length| *length <= left);
        left -= before.unwrap_or(0);
        told.start -= usize::from(before.is_some());
        if after.is_none() && before.is_none() {
            return told;
        }
    }
}

/// Selections of at least this many characters have their size stated.
const MUCH: usize = 1000;

/// Characters that every outline line gets, whatever the budget.
const LEAST_OF_A_LINE: usize = 12;

/// Bytes that an outline gets, whatever the budget.
const LEAST_OF_AN_OUTLINE: usize = 512;

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

fn run_facts(run: &LastCellRun) -> Vec<String> {
    let mut facts = vec![in_words(run.status).to_owned()];
    if run.status != Activity::Idle {
        // The result of the last run is out of date now.
        return facts;
    }
    match run.order {
        Some(order) => facts.push(format!("ran as [{order}]")),
        None => facts.push("not run".to_owned()),
    }
    if run.interrupted {
        facts.push("interrupted".to_owned());
    }
    match run.success {
        Some(true) => facts.push("succeeded".to_owned()),
        Some(false) => facts.push("failed".to_owned()),
        None => {}
    }
    facts.extend(run.duration.map(|duration| format!("{duration} ms")));
    facts
}

fn in_words(activity: Activity) -> &'static str {
    match activity {
        Activity::Running => "running",
        Activity::Pending => "waiting to run",
        Activity::Idle => "idle",
    }
}

/// Returns a code fence that no line of the content closes.
fn fence(content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(index: usize, content: &str, run: Option<LastCellRun>) -> CellContext {
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
        let run = LastCellRun {
            order: Some(4),
            success: Some(false),
            duration: Some(12),
            ..LastCellRun::default()
        };
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
    fn a_large_notebook_shows_its_outline() {
        let line = |index: usize, status: Option<Activity>| OutlineCell {
            index,
            id: format!("c{index}"),
            cell_type: if status.is_none() { "markdown" } else { "code" },
            first_line: "first".to_owned(),
            status,
            sketch: crate::sketch::CellSketch::default(),
        };
        let outline = vec![line(0, None), line(1, Some(Activity::Running)), line(2, Some(Activity::Idle))];
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

    #[test]
    fn a_long_outline_is_cut_around_the_selection() {
        let lines: Vec<String> = (0..9).map(|line| format!("{line}\n")).collect();
        let told = |around, room| window(&lines, around, room);
        assert_eq!((told(0, 6), told(4, 6), told(8, 6)), (0..3, 3..6, 6..9));
        assert_eq!((told(0, 18), told(4, 100), told(20, 2)), (0..9, 0..9, 8..9));
        assert_eq!((window(&[], 3, 9), told(2, 0)), (0..0, 2..2));
    }
}
