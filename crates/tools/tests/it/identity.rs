//! Cells of files without ids: a name given to an agent means one cell, whichever program writes
//! the file.

mod random;

use std::path::Path;

use serde_json::{Value, json};

use crate::bed::{Bed, sources};

const NB: &str = "old.ipynb";

/// A file without ids, as most programs write it.
pub(crate) fn old_format(cells: &[(&str, &str)]) -> Vec<u8> {
    let cell = |(kind, source): &(&str, &str)| match *kind {
        "code" => {
            json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": source })
        }
        kind => json!({ "cell_type": kind, "metadata": {}, "source": source }),
    };
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    let file = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4 });
    serde_json::to_vec_pretty(&file).unwrap()
}

/// Changes the file as another program: reads it, and replaces it.
pub(crate) fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<Value>)) {
    let mut file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(file["cells"].as_array_mut().unwrap());
    let new = path.with_extension("new");
    std::fs::write(&new, serde_json::to_vec_pretty(&file).unwrap()).unwrap();
    std::fs::rename(&new, path).unwrap();
}

pub(crate) fn markdown(source: &str) -> Value {
    json!({ "cell_type": "markdown", "metadata": {}, "source": source })
}

/// Waits until the host has read the file.
pub(crate) async fn absorbed(bed: &Bed, path: &Path) {
    let document = bed.documents.open(path).await.unwrap();
    let mut views = document.watch();
    loop {
        let now: Vec<String> = views
            .borrow_and_update()
            .notebook
            .cells()
            .iter()
            .map(|cell| cell.source().into_owned())
            .collect();
        if now == sources(path) {
            return;
        }
        views.changed().await.unwrap();
    }
}

/// The names of the cells, as an agent reads them.
pub(crate) async fn listed(bed: &Bed) -> Vec<String> {
    let told = bed.told("get_notebook_cells", json!({ "notebook": NB })).await;
    told.lines().filter_map(|line| line.split_once("] id=")?.1.split(' ').next()).map(str::to_owned).collect()
}

fn update(cell: &str, content: &str) -> Value {
    json!({ "notebook": NB, "cell": cell, "content": content })
}

const FOUR: &[(&str, &str)] =
    &[("code", "a = 1"), ("code", "b = 2"), ("code", "c = 3"), ("code", "print(a)")];

#[tokio::test]
async fn an_insert_above_by_another_program_does_not_shift_names() {
    for waits in [true, false] {
        let bed = Bed::new();
        let path = bed.write(NB, old_format(FOUR));
        let names = listed(&bed).await;
        rewrite(&path, |cells| cells.insert(0, markdown("# By a person")));
        if waits {
            absorbed(&bed, &path).await;
        }
        let told = bed.told("update_notebook_cell", update(&names[0], "a = 2")).await;
        // The reply reflects the current file, whether or not the watcher has noticed it.
        assert!(told.contains("code cell 1 (") && told.contains("has 5 cells"), "{told}");
        assert_eq!(sources(&path), ["# By a person", "a = 2", "b = 2", "c = 3", "print(a)"]);
        assert!(!std::fs::read_to_string(&path).unwrap().contains(&names[0]));
        testkit::assert_valid(&path);
        bed.close().await;
    }
}

#[tokio::test]
async fn a_cell_that_another_program_has_just_deleted_is_refused() {
    let bed = Bed::new();
    let path = bed.write(NB, old_format(FOUR));
    let names = listed(&bed).await;
    rewrite(&path, |cells| drop(cells.remove(0)));
    let told = bed.refused("update_notebook_cell", update(&names[0], "a = 2")).await;
    assert!(told.contains(&names[0]) && told.contains("gone"), "{told}");
    assert_eq!(sources(&path), ["b = 2", "c = 3", "print(a)"]);
    bed.close().await;
}

#[tokio::test]
async fn equal_cells_have_names_of_their_own() {
    let bed = Bed::new();
    let path = bed.write(NB, old_format(&[("code", "a"), ("code", "a")]));
    let names = listed(&bed).await;
    let told = bed.told("update_notebook_cell", update(&names[1], "b")).await;
    assert!(told.starts_with(&format!("Replaced the source of code cell 1 ({});", names[1])), "{told}");
    assert_eq!(sources(&path), ["a", "b"]);
    assert!(!std::fs::read_to_string(&path).unwrap().contains(&names[1]));
    bed.close().await;
}

#[tokio::test]
async fn inserts_above_by_an_agent_and_a_user_do_not_shift_names() {
    let bed = Bed::new();
    let path = bed.write(NB, old_format(FOUR));
    let names = listed(&bed).await;
    let top = json!({ "notebook": NB, "type": "code", "content": "import os", "index": 0 });
    bed.told("add_notebook_cell", top).await;
    rewrite(&path, |cells| cells.insert(0, markdown("# By a person")));
    absorbed(&bed, &path).await;
    bed.told("update_notebook_cell", update(&names[1], "b = 20")).await;
    assert_eq!(sources(&path), ["# By a person", "import os", "a = 1", "b = 20", "c = 3", "print(a)"]);
    assert_eq!(listed(&bed).await[2..], names);
    bed.close().await;
}

#[tokio::test]
async fn a_deleted_cell_is_refused_with_the_reason() {
    let bed = Bed::new();
    let long = "frame = load(path, sep)\nframe = frame.dropna(subset=names)\nframe.head(20)";
    let path = bed.write(NB, old_format(&[("code", "a = 1"), ("code", long), ("code", "c = 3")]));
    let names = listed(&bed).await;
    // Rewritten beyond recognition by another program. Its name does not pass to the cell in its
    // place.
    rewrite(&path, |cells| cells[0]["source"] = "plot(x)".into());
    absorbed(&bed, &path).await;
    let told = bed.refused("update_notebook_cell", update(&names[0], "a = 2")).await;
    assert!(
        told.contains(&format!(
            "cell `{}` is gone: another program deleted or rewrote it in the file",
            names[0]
        )),
        "{told}"
    );
    assert!(told.contains("it began `a = 1`; no cell is like it now"), "{told}");
    // Copied: the name is ambiguous.
    rewrite(&path, |cells| cells.insert(1, cells[1].clone()));
    absorbed(&bed, &path).await;
    let now = listed(&bed).await;
    for (tool, more) in [
        ("update_notebook_cell", json!({ "content": "x" })),
        ("move_notebook_cell", json!({ "index": 0 })),
        ("get_cell_outputs", json!({})),
    ] {
        let mut arguments = json!({ "notebook": NB, "cell": names[1] });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let told = bed.refused(tool, arguments).await;
        let both = format!("most alike now: 1 (`{}`): frame = load(path, sep); 2 (`{}`)", now[1], now[2]);
        assert!(told.contains(&both), "{tool}: {told}");
    }
    // Deleted by an agent.
    bed.told("delete_notebook_cells", json!({ "notebook": NB, "cells": [names[2]] })).await;
    let told = bed.refused("run_notebook_cells", json!({ "notebook": NB, "cells": [names[2]] })).await;
    assert!(told.contains("is gone: robot deleted it"), "{told}");
    // A number is not a name.
    let told = bed.refused("update_notebook_cell", update("anon-0", "x")).await;
    assert!(told.contains("no cell has the id `anon-0`"), "{told}");
    assert_eq!(sources(&path), ["plot(x)", long, long]);
    bed.close().await;
}

#[tokio::test]
async fn names_survive_closing_and_reopening() {
    let bed = Bed::new();
    let path = bed.write(NB, old_format(FOUR));
    let names = listed(&bed).await;
    let top = json!({ "notebook": NB, "type": "code", "content": "import os", "index": 0 });
    bed.told("add_notebook_cell", top).await;
    let own = listed(&bed).await[0].clone();
    bed.documents.close().await;
    rewrite(&path, |cells| cells.insert(0, markdown("# While it was closed")));
    bed.told("update_notebook_cell", update(&names[1], "b = 20")).await;
    bed.told("update_notebook_cell", update(&own, "import sys")).await;
    assert_eq!(
        sources(&path),
        ["# While it was closed", "import sys", "a = 1", "b = 20", "c = 3", "print(a)"]
    );
    bed.close().await;
}

#[tokio::test]
async fn changes_by_others_are_listed_with_and_without_ids() {
    let bed = Bed::new();
    let path = bed.write(NB, old_format(FOUR));
    let names = listed(&bed).await;
    rewrite(&path, |cells| {
        cells.remove(2);
        cells.insert(0, markdown("# New"));
    });
    absorbed(&bed, &path).await;
    let told = bed.told("update_notebook_cell", update(&names[0], "a = 2")).await;
    let new = listed(&bed).await[0].clone();
    let expected =
        format!("Since your last read, others changed or added cells 0 ({new}) and deleted {}.", names[2]);
    assert!(told.contains(&expected), "{told}");
    bed.close().await;
}

#[tokio::test]
async fn a_name_stays_when_another_program_gives_the_cells_ids_or_takes_them_away() {
    let bed = Bed::new();
    let path = bed.write(NB, old_format(FOUR));
    let names = listed(&bed).await;
    let all = |change: fn(usize, &mut Value)| {
        rewrite(&path, |cells| {
            cells.iter_mut().enumerate().for_each(|(at, cell)| change(at, cell));
            cells.insert(0, markdown("# New"));
        });
    };
    all(|at, cell| cell["id"] = format!("lab-{at}").into());
    absorbed(&bed, &path).await;
    bed.told("update_notebook_cell", update(&names[1], "b = 20")).await;
    bed.told("update_notebook_cell", update("lab-2", "c = 30")).await;
    all(|_, cell| drop(cell.as_object_mut().unwrap().shift_remove("id")));
    absorbed(&bed, &path).await;
    bed.told("update_notebook_cell", update(&names[0], "a = 10")).await;
    assert_eq!(sources(&path), ["# New", "# New", "a = 10", "b = 20", "c = 30", "print(a)"]);
    bed.close().await;
}

#[tokio::test]
async fn cells_that_share_an_id_have_names_of_their_own() {
    let bed = Bed::new();
    let path = bed.notebook(NB, &[("same", "a = 1"), ("own", "b = 2"), ("same", "c = 3")]);
    let names = listed(&bed).await;
    assert_eq!((names[1].as_str(), names[0] != names[2]), ("own", true));
    rewrite(&path, |cells| cells.reverse());
    absorbed(&bed, &path).await;
    bed.told("update_notebook_cell", update(&names[0], "a = 2")).await;
    assert_eq!(sources(&path), ["c = 3", "b = 2", "a = 2"]);
    bed.close().await;
}

#[tokio::test]
async fn undo_and_json_keep_names() {
    let bed = Bed::new();
    let path = bed.write(NB, old_format(FOUR));
    let names = listed(&bed).await;
    bed.told("delete_notebook_cells", json!({ "notebook": NB, "cells": [names[1]] })).await;
    let document = bed.documents.open(&path).await.unwrap();
    let person = cellist_live::Actor::new(cellist_live::ActorKind::Person, "ann").into();
    document.undo(cellist_live::Undo::Last, person).await.unwrap();
    drop(document);
    bed.told("update_notebook_cell", update(&names[1], "b = 20")).await;
    let edit = json!({ "path": format!("{NB}:raw"), "old": "c = 3", "new": "c = 30" });
    bed.told("edit", edit).await;
    bed.told("update_notebook_cell", update(&names[0], "a = 10")).await;
    bed.told("read", json!({ "path": NB })).await;
    let text = json!({ "path": NB, "old": "print(a)", "new": "print(a, b)" });
    bed.told("edit", text).await;
    bed.told("update_notebook_cell", update(&names[3], "print(b)")).await;
    assert_eq!(sources(&path), ["a = 10", "b = 20", "c = 30", "print(b)"]);
    bed.close().await;
}

#[tokio::test]
async fn a_pending_review_stays_with_its_cell() {
    use cellist_live::{Actor, ActorKind, Scope, Verdict, Was};
    let bed = Bed::new();
    let path = bed.write(NB, old_format(FOUR));
    let names = listed(&bed).await;
    bed.told("update_notebook_cell", update(&names[1], "b = 20")).await;
    let check = async |expected: &[&str]| {
        absorbed(&bed, &path).await;
        let view = bed.documents.open(&path).await.unwrap().view();
        let pending: Vec<(&str, &Was)> =
            view.review.cells.iter().map(|(cell, waiting)| (cell.as_str(), &waiting.was)).collect();
        let [(cell, Was::There { source, .. })] = pending.as_slice() else { panic!("{pending:?}") };
        assert_eq!((*cell, source.as_str()), (names[1].as_str(), "b = 2"));
        let at = view.notebook.position(&names[1].as_str().into()).unwrap();
        assert_eq!(view.notebook.cells()[at].source(), "b = 20");
        assert_eq!(sources(&path), expected);
    };
    rewrite(&path, |cells| cells.insert(0, markdown("# By a person")));
    check(&["# By a person", "a = 1", "b = 20", "c = 3", "print(a)"]).await;
    bed.documents.close().await;
    check(&["# By a person", "a = 1", "b = 20", "c = 3", "print(a)"]).await;
    bed.documents.close().await;
    rewrite(&path, |cells| cells.insert(0, markdown("# While it was closed")));
    check(&["# While it was closed", "# By a person", "a = 1", "b = 20", "c = 3", "print(a)"]).await;
    // Rejecting the change reverts the agent's edit of that cell.
    let document = bed.documents.open(&path).await.unwrap();
    let person = Actor::new(ActorKind::Person, "ann").into();
    let scope = Scope::Cell { cell: names[1].as_str().into() };
    document.judge(Verdict::Undo, scope, person).await.unwrap();
    document.save().await.unwrap();
    assert!(document.view().review.cells.is_empty());
    drop(document);
    let now = ["# While it was closed", "# By a person", "a = 1", "b = 2", "c = 3", "print(a)"];
    assert_eq!(sources(&path), now);
    bed.close().await;
}
