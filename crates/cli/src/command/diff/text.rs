//! A diff as text: a title for each changed cell, then its lines.

use cellist_notebook::{Cell, CellChange, CellDiff, split};

use super::summary::{added_values, summary};
use super::{DiffSides, NotebookChanges};
use crate::paint::{Ink, Paint, visible};
use crate::unified_diff;

/// The whole diff.
pub(super) fn view(sides: &DiffSides, changes: &NotebookChanges, paint: Paint) -> String {
    let mut out = title(&sides.names, paint);
    let [before, after] = &sides.notebooks;
    for change in &changes.cells {
        out.push('\n');
        match change {
            CellChange::Added(index) => whole(*index, &after.cells()[*index], '+', paint, &mut out),
            CellChange::Deleted(index) => whole(*index, &before.cells()[*index], '-', paint, &mut out),
            CellChange::Changed(change) => {
                changed(
                    change,
                    &before.cells()[change.before],
                    &after.cells()[change.after],
                    paint,
                    &mut out,
                );
            }
        }
    }
    if !changes.keys.is_empty() {
        out.push('\n');
        push(&mut out, &paint.line(Ink::Title, "changed notebook"));
        for key in &changes.keys {
            let line = format!("  {}", visible(&summary(key, before.value(key), after.value(key))));
            push(&mut out, &line);
        }
    }
    out
}

/// The line that separates files when git shows several.
pub(super) fn headline(before: &str, after: &str, paint: Paint) -> String {
    let line = format!("diff --cellist a/{} b/{}", visible(before), visible(after));
    paint.line(Ink::Title, &line) + "\n"
}

/// The two names.
pub(super) fn title(names: &[String; 2], paint: Paint) -> String {
    let [before, after] = names;
    let line = |sign: &str, name: &str| paint.line(Ink::Title, &format!("{sign} {}", visible(name)));
    format!("{}\n{}\n", line("---", before), line("+++", after))
}

/// A cell that only one side has.
fn whole(index: usize, cell: &Cell, sign: char, paint: Paint, out: &mut String) {
    let verb = if sign == '+' { "added" } else { "deleted" };
    let title = format!("{verb} cell {index} [{}]{}", cell.cell_type(), named(cell));
    push(out, &paint.line(Ink::Title, &title));
    let source = cell.source();
    if !source.is_empty() {
        unified_diff::write_lines(&split(&source), sign, paint, out);
    }
    for line in added_values(cell) {
        push(out, &paint.line(Ink::Aside, &format!("  {}", visible(&line))));
    }
}

fn changed(change: &CellDiff, before: &Cell, after: &Cell, paint: Paint, out: &mut String) {
    let rewritten = change.retyped || !change.source.is_empty() || !change.keys.is_empty();
    let verb = match (change.moved, rewritten) {
        (true, true) => "moved and changed",
        (true, false) => "moved",
        (false, _) => "changed",
    };
    let index = if change.before == change.after {
        change.after.to_string()
    } else {
        format!("{} → {}", change.before, change.after)
    };
    let kind = if change.retyped {
        format!("{} → {}", before.cell_type(), after.cell_type())
    } else {
        after.cell_type().to_string()
    };
    push(out, &paint.line(Ink::Title, &format!("{verb} cell {index} [{kind}]{}", named(after))));
    unified_diff::write_hunks(&before.source(), &after.source(), &change.source, paint, out);
    for key in &change.keys {
        let line = format!("  {}", visible(&summary(key, before.value(key), after.value(key))));
        push(out, &paint.line(Ink::Aside, &line));
    }
}

fn named(cell: &Cell) -> String {
    cell.stored_id().map_or_else(String::new, |id| format!(" {}", visible(&id)))
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}
