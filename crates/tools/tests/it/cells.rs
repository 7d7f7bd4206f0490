//! Reading and changing cells.

use cellist_live::{Actor, ActorKind, Undo};
use serde_json::json;

use crate::bed::{Bed, sources};

const THREE: &[(&str, &str)] = &[("aa", "x = 1"), ("bb", "y = 2\nprint(y)"), ("12", "z = 3")];

#[tokio::test]
async fn a_small_notebook_is_shown_whole() {
    let bed = Bed::new();
    bed.notebook("nb.ipynb", THREE);
    insta::assert_snapshot!(bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await, @r"
    nb.ipynb · 3 cells · python · kernel not started · revision REV
    [0] id=aa code · not run
    x = 1

    [1] id=bb code · not run
    y = 2
    print(y)

    [2] id=12 code · not run
    z = 3
    ");
    bed.close().await;
}

#[tokio::test]
async fn a_long_notebook_is_an_outline_with_cells_by_id_index_and_range() {
    let bed = Bed::new();
    let cells: Vec<(String, String)> =
        (0..25).map(|n| (format!("c{n}"), format!("# {n}\nx = {n}"))).collect();
    let cells: Vec<(&str, &str)> = cells.iter().map(|(id, source)| (id.as_str(), source.as_str())).collect();
    bed.notebook("nb.ipynb", &cells);
    let outline = bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    assert!(outline.contains("\n7 c7 # 7 → x\n"), "{outline}");
    assert!(outline.ends_with("Pass `cells` for their text. Code without In[n] has not run."), "{outline}");
    assert!(!outline.contains("x = 7"));
    let named = json!({ "notebook": "nb.ipynb", "cells": ["C3", 5, "23-24", "cell:c3"] });
    insta::assert_snapshot!(bed.told("get_notebook_cells", named).await, @r"
    nb.ipynb · 25 cells · python · kernel not started · revision REV
    [3] id=c3 code · not run
    # 3
    x = 3

    [5] id=c5 code · not run
    # 5
    x = 5

    [23] id=c23 code · not run
    # 23
    x = 23

    [24] id=c24 code · not run
    # 24
    x = 24
    ");
    bed.close().await;
}

#[tokio::test]
async fn cells_are_added_updated_moved_and_deleted() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    let nb = "nb.ipynb";
    let added = bed.told(
        "add_notebook_cell",
        json!({ "notebook": nb, "type": "markdown", "content": "# Title", "index": 0 }),
    );
    let added = added.await;
    let id = added.split(['(', ')']).nth(1).unwrap().to_owned();
    assert_eq!(added, format!("Inserted markdown cell 0 ({id}); the notebook has 4 cells. Revision REV."));
    let last = bed
        .told("add_notebook_cell", json!({ "notebook": nb, "type": "code", "content": "end", "index": -1 }))
        .await;
    assert!(last.starts_with("Inserted code cell 4 ("), "{last}");
    insta::assert_snapshot!(
        bed.told("update_notebook_cell", json!({ "notebook": nb, "cell": "bb", "content": "y = 3" })).await,
        @"Replaced the source of code cell 2 (bb); the notebook has 5 cells. Revision REV."
    );
    insta::assert_snapshot!(
        bed.told("update_notebook_cell", json!({ "notebook": nb, "cell": "bb", "content": "y = 3" })).await,
        @"Left code cell 2 (bb) unchanged: it has this source already; the notebook has 5 cells. Revision REV."
    );
    // Digits that are the id of a cell mean that cell.
    insta::assert_snapshot!(
        bed.told("move_notebook_cell", json!({ "notebook": nb, "cell": "12", "index": 0 })).await,
        @"Moved code cell (12) to 0; the notebook has 5 cells. Revision REV."
    );
    insta::assert_snapshot!(
        bed.told("delete_notebook_cells", json!({ "notebook": nb, "cells": ["aa", 3] })).await,
        @r"
    Deleted code cell 2 (aa). Deleted code cell 3 (bb); the notebook has 3 cells. Revision REV.
    [2] id=aa code
    x = 1
    [3] id=bb code
    y = 3
    "
    );
    assert_eq!(sources(&path), ["z = 3", "# Title", "end"]);
    bed.close().await;
}

#[tokio::test]
async fn wrong_cells_are_refused_with_valid_ones() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    let before = std::fs::read(&path).unwrap();
    let update = async |cell: serde_json::Value| {
        bed.refused("update_notebook_cell", json!({ "notebook": "nb.ipynb", "cell": cell, "content": "" }))
            .await
    };
    assert_eq!(
        update(json!(3)).await,
        "Error: nb.ipynb: cell 3 does not exist: the notebook has 3 cells, 0 to 2"
    );
    assert_eq!(update(json!(-1)).await, "Error: `cell` must be a cell id or a 0-based index, not -1");
    assert_eq!(update(json!("ax")).await, "Error: nb.ipynb: no cell has the id `ax`; the nearest id is `aa`");
    assert_eq!(
        update(json!("nothing-like-it")).await,
        "Error: nb.ipynb: no cell has the id `nothing-like-it`; a cell is named by its id or its index"
    );
    assert_eq!(
        bed.refused(
            "add_notebook_cell",
            json!({ "notebook": "nb.ipynb", "type": "code", "content": "", "index": 4 })
        )
        .await,
        "Error: nb.ipynb: cannot insert at 4: valid positions are 0 to 3"
    );
    assert_eq!(
        bed.refused("move_notebook_cell", json!({ "notebook": "nb.ipynb", "cell": 0, "index": 3 })).await,
        "Error: nb.ipynb: cannot move to 3: valid positions are 0 to 2"
    );
    assert_eq!(
        bed.refused("delete_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["aa", 9] })).await,
        "Error: nb.ipynb: cell 9 does not exist: the notebook has 3 cells, 0 to 2"
    );
    assert_eq!(
        bed.refused(
            "update_notebook_cell",
            json!({ "notebook": "nb.ipynb", "cell": 0, "content": "", "revision": "r1" })
        )
        .await,
        "Error: nb.ipynb: `r1` is not a revision: one has 16 hexadecimal digits; use the one that a read returned, or leave it out"
    );
    let unknown = json!({ "notebook": "nb.ipynb", "cell": 0, "content": "", "revision": "0123456789abcdef" });
    assert_eq!(
        bed.refused("update_notebook_cell", unknown).await,
        "Error: nb.ipynb: revision REV is not known here, and the notebook is at REV now; read it again and make the change on its current content"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    bed.close().await;
}

#[tokio::test]
async fn a_change_merges_with_the_users_or_is_refused_with_both_texts() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    bed.person_writes(&path, "aa", "x = 100").await;
    // A change elsewhere in the notebook: both stay, and the reply names it.
    insta::assert_snapshot!(
        bed.told("update_notebook_cell", json!({ "notebook": "nb.ipynb", "cell": "12", "content": "z = 33" })).await,
        @r"
    Replaced the source of code cell 2 (12); the notebook has 3 cells. Revision REV.
    Since your last read, others changed or added cells 0 (aa).
    "
    );
    assert_eq!(sources(&path), ["x = 100", "y = 2\nprint(y)", "z = 33"]);
    // Other lines of the same cell: merged.
    bed.person_writes(&path, "bb", "y = 20\nprint(y)").await;
    let merged = json!({ "notebook": "nb.ipynb", "cell": "bb", "content": "y = 2\nprint(y)\nprint(y + 1)" });
    insta::assert_snapshot!(bed.told("update_notebook_cell", merged).await, @r"
    Replaced the source of code cell 1 (bb); the notebook has 3 cells. Revision REV.
    Merged with changes by others. Cell 1 is now:
    y = 20
    print(y)
    print(y + 1)
    Since your last read, others changed or added cells 1 (bb).
    ");
    assert_eq!(sources(&path)[1], "y = 20\nprint(y)\nprint(y + 1)");
    // The agent writes back the text that it had read: the user's text stays until the agent has
    // seen it.
    bed.person_writes(&path, "12", "z = 34").await;
    let as_it_was = json!({ "notebook": "nb.ipynb", "cell": "12", "content": "z = 33", "run": true });
    insta::assert_snapshot!(bed.refused("update_notebook_cell", as_it_was).await, @r"
    Error: nb.ipynb: Changed nothing: others have changed code cell 2 (12) since you read it; the notebook has 3 cells. Revision REV.
    Cell 2 is now:
    z = 34
    Update it again to use your text instead.
    Since your last read, others changed or added cells 2 (12).
    ");
    let again = json!({ "notebook": "nb.ipynb", "cell": "12", "content": "z = 33" });
    bed.told("update_notebook_cell", again).await;
    assert_eq!(sources(&path)[2], "z = 33");
    // The same line: refused with both texts, and nothing is lost.
    bed.person_writes(&path, "aa", "x = 1000").await;
    let refused = json!({ "notebook": "nb.ipynb", "cell": "aa", "content": "x = 7" });
    insta::assert_snapshot!(bed.refused("update_notebook_cell", refused.clone()).await, @r"
    Error: nb.ipynb: cell 0 (aa) was changed on both sides
    --- this side [code]
    x = 7
    --- the other side [code]
    x = 1000
    read the notebook again and make the change on its current content
    ");
    assert_eq!(sources(&path)[0], "x = 1000");
    // After another read the agent's change applies.
    bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["aa"] })).await;
    bed.told("update_notebook_cell", refused).await;
    assert_eq!(sources(&path)[0], "x = 7");
    bed.close().await;
}

#[tokio::test]
async fn a_named_revision_takes_precedence_over_the_last_read() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    let first = bed.answer("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await.all_text();
    let revision = first.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    bed.person_writes(&path, "aa", "x = 100").await;
    bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    let stale = json!({ "notebook": "nb.ipynb", "cell": "aa", "content": "x = 5", "revision": revision });
    let refused = bed.refused("update_notebook_cell", stale).await;
    assert!(refused.contains("--- the other side [code]\nx = 100"), "{refused}");
    assert_eq!(sources(&path)[0], "x = 100");
    bed.close().await;
}

#[tokio::test]
async fn huge_cells_are_accepted_and_shown_within_a_budget() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    let huge = "é".repeat(5_000_000);
    let update = json!({ "notebook": "nb.ipynb", "cell": "aa", "content": huge });
    let told = bed.told("update_notebook_cell", update).await;
    assert!(told.len() < 200, "{}", told.len());
    assert_eq!(sources(&path)[0], huge);
    let told = bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    assert!(told.len() < 20_000, "{}", told.len());
    assert!(told.contains("more bytes]\n[read nb.ipynb:1-2 for all of it]"), "{}", &told[told.len() - 400..]);
    assert!(told.contains("\n1 bb y = 2"), "{}", &told[told.len() - 400..]);
    let told = bed.told("delete_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": [0] })).await;
    assert!(told.len() < 20_000, "{}", told.len());
    bed.close().await;
}

#[tokio::test]
async fn an_agents_changes_carry_its_name_and_undo_as_a_turn() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    bed.told("update_notebook_cell", json!({ "notebook": "nb.ipynb", "cell": "aa", "content": "x = 2" }))
        .await;
    bed.person_writes(&path, "12", "z = 30").await;
    bed.told("add_notebook_cell", json!({ "notebook": "nb.ipynb", "type": "code", "content": "new" })).await;
    bed.told("delete_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["bb"] })).await;
    assert_eq!(sources(&path), ["x = 2", "z = 30", "new"]);
    let document = bed.documents.open(&path).await.unwrap();
    let history = document.history().await.unwrap();
    let names: Vec<&str> = history.iter().map(|entry| entry.actor.name.as_str()).collect();
    assert_eq!(names, ["robot", "ann", "robot", "robot"]);
    assert!(
        history.iter().all(|entry| (entry.actor.kind == ActorKind::Agent) == (entry.actor.name == "robot"))
    );
    let turn = history[0].turn.clone();
    assert!(history.iter().all(|entry| (entry.turn == turn) == (entry.actor.name == "robot")), "{history:?}");
    // The user's change in between stays.
    let person = Actor::new(ActorKind::Person, "ann").into();
    document.undo(Undo::Turn(turn), person).await.unwrap();
    assert_eq!(sources(&path), ["x = 1", "y = 2\nprint(y)", "z = 30"]);
    drop(document);
    bed.close().await;
}

#[tokio::test]
async fn reads_of_an_agent_are_announced() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    let mut glances = bed.toolbox.cells_read();
    bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["bb", 0] })).await;
    bed.told("get_cell_outputs", json!({ "notebook": "nb.ipynb", "cell": "12" })).await;
    bed.told("read", json!({ "path": "nb.ipynb" })).await;
    let mut read = Vec::new();
    while let Ok(glance) = glances.try_recv() {
        assert_eq!(glance.path, path.canonicalize().unwrap());
        assert_eq!(glance.actor.kind, ActorKind::Agent);
        read.push(glance.cells.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    }
    assert_eq!(read, ["bb aa", "12", "aa bb 12"]);
    bed.close().await;
}

#[tokio::test]
async fn a_cell_is_inserted_after_a_named_one() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", THREE);
    let add = |more: serde_json::Value| {
        let mut all = json!({ "notebook": "nb.ipynb", "type": "code", "content": "new" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    // Others insert above it: the new cell still follows the named one.
    let document = bed.documents.open(&path).await.unwrap();
    let person = Actor::new(ActorKind::Person, "ann").into();
    let edit = document.edit(None, person, |notebook, _| {
        notebook.insert(0, cellist_notebook::CellType::Markdown, "# Top");
        Ok(())
    });
    edit.await.unwrap();
    drop(document);
    let added = bed.told("add_notebook_cell", add(json!({ "after": "bb" }))).await;
    assert!(added.starts_with("Inserted code cell 3 ("), "{added}");
    assert_eq!(sources(&path), ["# Top", "x = 1", "y = 2\nprint(y)", "new", "z = 3"]);
    bed.told("add_notebook_cell", add(json!({ "after": 4, "content": "last" }))).await;
    assert_eq!(sources(&path)[5], "last");
    assert_eq!(
        bed.refused("add_notebook_cell", add(json!({ "after": "bb", "index": 0 }))).await,
        "Error: nb.ipynb: give `index` or `after`, not both"
    );
    assert!(
        bed.refused("add_notebook_cell", add(json!({ "after": "nope" })))
            .await
            .contains("no cell has the id `nope`")
    );
    bed.close().await;
}

#[tokio::test]
async fn cells_are_deleted_by_id_index_and_range_in_one_list() {
    let bed = Bed::new();
    let cells: Vec<(String, String)> = (0..8).map(|n| (format!("c{n}"), format!("x = {n}"))).collect();
    let cells: Vec<(&str, &str)> = cells.iter().map(|(id, source)| (id.as_str(), source.as_str())).collect();
    let path = bed.notebook("nb.ipynb", &cells);
    let delete = |cells: serde_json::Value| json!({ "notebook": "nb.ipynb", "cells": cells });
    assert!(
        bed.refused("delete_notebook_cells", delete(json!(["6-9"]))).await.contains("cell 9 does not exist")
    );
    bed.told("delete_notebook_cells", delete(json!(["2-4", "c3", 6, "c0"]))).await;
    assert_eq!(sources(&path), ["x = 1", "x = 5", "x = 7"]);
    bed.told("delete_notebook_cells", delete(json!("0-1"))).await;
    assert_eq!(sources(&path), ["x = 7"]);
    bed.close().await;
}

#[tokio::test]
async fn an_outline_has_sizes_output_kinds_and_defined_names() {
    let bed = Bed::new();
    let output =
        |data: serde_json::Value| json!({ "output_type": "display_data", "metadata": {}, "data": data });
    let text = json!({ "output_type": "stream", "name": "stdout", "text": "hello" });
    let image = output(json!({ "image/png": "iVBORw0KGgo=", "text/plain": "<Figure>" }));
    let table = output(json!({ "text/html": "<table></table>", "text/plain": "a" }));
    let error = json!({ "output_type": "error", "ename": "E", "evalue": "v", "traceback": [] });
    let cell = |n: usize, source: &str, outputs: serde_json::Value| {
        json!({ "cell_type": "code", "execution_count": 1,
        "id": format!("c{n}"), "metadata": {}, "outputs": outputs, "source": source })
    };
    let mut cells = vec![
        cell(0, "# load\nimport pandas as pd\ndf = pd.read_csv('a')", json!([text, image, text])),
        cell(1, "def clean(df):\n    kept = 1\n\n\n_cache = {}\nresult = clean(df)", json!([table])),
        cell(2, "1 / 0", json!([error])),
    ];
    cells.extend((3..25).map(|n| cell(n, "", json!([]))));
    let file = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    bed.write("nb.ipynb", file.to_string());
    let outline = bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    let lines: Vec<&str> = outline.lines().skip(1).take(4).collect();
    assert_eq!(
        lines,
        [
            "0 c0 · In[1] · text+image | # load → pd df",
            "1 c1 6 lines · In[1] · table | def clean(df): → _cache result",
            "2 c2 · In[1] · error | 1 / 0",
            "3 c3 · In[1] | ",
        ]
    );
    bed.close().await;
}
