use cellist_notebook::Ids;
use proptest::prelude::*;

use super::*;

fn notebook(cells: &[(&str, &str)]) -> Notebook {
    let mut notebook = Notebook::empty(Ids::seeded(1));
    for (at, (id, source)) in cells.iter().enumerate() {
        notebook.insert_named(at, (*id).into(), CellType::Code, source);
    }
    notebook
}

/// Applies an effect to a client's list of cells.
fn follow(cells: &mut Vec<(CellId, String)>, effect: &Effect) {
    let at =
        |cells: &[(CellId, String)], id: &CellId| cells.iter().position(|(known, _)| known == id).unwrap();
    let behind = |cells: &[(CellId, String)], after: &Option<CellId>| {
        after.as_ref().map_or(0, |after| at(cells, after) + 1)
    };
    match effect {
        Effect::Inserted { cell, after, source, .. } => {
            let place = behind(cells, after);
            cells.insert(place, (cell.clone(), source.clone()));
        }
        Effect::Deleted { cell } => drop(cells.remove(at(cells, cell))),
        Effect::Moved { cell, after } => {
            let moved = cells.remove(at(cells, cell));
            let place = behind(cells, after);
            cells.insert(place, moved);
        }
        Effect::Changed { cell, change } => {
            let at = at(cells, cell);
            cells[at].1 = change.apply(&cells[at].1).unwrap();
        }
        Effect::Retyped { .. } | Effect::Outputs { .. } | Effect::Metadata { .. } => {}
    }
}

fn cells_of(notebook: &Notebook) -> Vec<(CellId, String)> {
    notebook.cells().iter().map(|cell| (cell.id().clone(), cell.source().into_owned())).collect()
}

fn followed(old: &Notebook, new: &Notebook) -> (Vec<(CellId, String)>, usize) {
    let mut cells = cells_of(old);
    let acts = between(old, new);
    acts.iter().flat_map(Act::effects).for_each(|effect| follow(&mut cells, &effect));
    (cells, acts.len())
}

fn some_cells() -> impl Strategy<Value = Vec<(String, String)>> {
    let names = prop::sample::subsequence((b'a'..=b'h').map(char::from).collect::<Vec<_>>(), 0..=8);
    (names.prop_shuffle(), prop::collection::vec("[xy\n]{0,4}", 8))
        .prop_map(|(names, sources)| names.into_iter().map(String::from).zip(sources).collect())
}

proptest! {
    #[test]
    fn following_the_effects_gives_the_same_cells(old in some_cells(), new in some_cells()) {
        let borrowed = |cells: &[(String, String)]| -> Notebook {
            let cells: Vec<(&str, &str)> = cells.iter().map(|(id, source)| (id.as_str(), source.as_str())).collect();
            notebook(&cells)
        };
        let (old, new) = (borrowed(&old), borrowed(&new));
        prop_assert_eq!(followed(&old, &new).0, cells_of(&new));
    }
}

#[test]
fn one_cell_that_moved_far_is_one_act() {
    let old = notebook(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]);
    let new = notebook(&[("b", "2"), ("c", "3"), ("d", "4"), ("a", "1")]);
    assert_eq!(followed(&old, &new), (cells_of(&new), 1));
    assert_eq!(followed(&new, &old), (cells_of(&old), 1));
    assert_eq!(between(&old, &old), []);
}

#[test]
fn changes_of_outputs_types_and_metadata_are_distinguished() {
    let mut old = notebook(&[("a", "1"), ("b", "2")]);
    let output =
        cellist_output::Output::Stream { name: cellist_output::StreamName::Stdout, text: "x".into() };
    old.set_outputs(0, &[output], Some(1));
    let mut new = old.clone();
    new.clear_outputs(0);
    new.set_type(1, CellType::Markdown);
    new.set_cell_metadata(1, "tags", &serde_json::json!(["x"]));
    new.set_metadata("x", &1.into());
    let names = |acts: Vec<Act>| -> Vec<String> {
        acts.iter()
            .map(|act| serde_json::to_value(act).unwrap()["act"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(between(&old, &new)), ["cleared", "retyped", "metadata", "metadata"]);
    assert_eq!(names(between(&new, &old)), ["outputs", "retyped", "metadata", "metadata"]);
}
