//! Whole cells as JSON: taken out and put back with every byte they had, or brought in from elsewhere.

use std::borrow::Cow;
use std::sync::Arc;

use crate::cell::{Cell, CellType, Place};
use crate::error::{Error, Result};
use crate::id::{CellId, Ids};
use crate::json::scan::{each_element, object_at};
use crate::json::{Kind, Span, string};
use crate::notebook::Notebook;
use crate::write::Pieces;

/// Keys that identify a cell; the other keys hold its content.
const ITSELF: [&str; 3] = ["cell_type", "id", "source"];

impl Cell {
    /// The cell as one JSON object, in the bytes that a save writes.
    pub fn to_json(&self) -> String {
        let mut pieces = Pieces::default();
        pieces.cell(self);
        String::from_utf8(pieces.concat()).expect("the pieces of a cell are UTF-8")
    }

    /// Whether both have the same values under the same keys.
    fn has_values_of(&self, other: &Cell) -> bool {
        let (keys, others) = (self.keys(), other.keys());
        keys.len() == others.len() && keys.iter().all(|key| self.value(key) == other.value(key))
    }
}

impl Notebook {
    /// Puts a cell that [`Cell::to_json`] gave at `index`, byte for byte. It gets the name `id`, or a fresh one where
    /// that is taken.
    pub fn restore(&mut self, index: usize, id: &CellId, json: &str) -> Result<()> {
        let kept = alone(json)?;
        if self.position(id).is_some() {
            self.adopt(index, &kept.cells()[0]);
            return Ok(());
        }
        let cell = verbatim(&kept.cells()[0], id.clone(), &self.surroundings(index).indent);
        self.edits.cells.insert(index, cell);
        self.edits.rearranged = true;
        Ok(())
    }

    /// Puts a cell of another notebook, or of unknown origin, at `index` under the name `id`, which no cell may have.
    /// Its values stay as they are. It keeps its layout where that is the layout of the cells here.
    pub fn insert_whole(&mut self, index: usize, id: CellId, json: &str) -> Result<()> {
        let kept = alone(json)?;
        let [found] = kept.cells() else {
            return Err(Error::NotACell { problem: "it is not one cell".to_owned() });
        };
        check_values(found)?;
        let stores_ids =
            self.version().has_ids() || self.cells().iter().any(|cell| cell.stored_id().is_some());
        let surroundings = self.surroundings(index);
        let cell = verbatim(found, id.clone(), &surroundings.indent);
        if cell.layout() == surroundings.layout {
            self.edits.cells.insert(index, cell);
            self.edits.rearranged = true;
        } else {
            self.adopt(index, found);
        }
        let cell = &mut self.edits.cells[index];
        let mut stored = Vec::new();
        string::encode(id.as_str(), false, &mut stored);
        cell.id = id;
        cell.set("id", stores_ids.then_some(stored));
        if cell.value("metadata").is_none() {
            cell.set("metadata", Some(b"{}".to_vec()));
        }
        Ok(())
    }

    /// Gives the code cell at `index` the outputs and the count of a cell that [`Cell::to_json`] gave.
    pub fn restore_outputs(&mut self, index: usize, json: &str) -> Result<()> {
        let kept = alone(json)?;
        let cell = &mut self.edits.cells[index];
        if cell.cell_type() == CellType::Code {
            for key in ["outputs", "execution_count"] {
                if let Some(value) = kept.cells()[0].value(key) {
                    cell.set(key, Some(value.to_vec()));
                }
            }
        }
        self.settle(index, &kept.cells()[0]);
        Ok(())
    }

    /// Gives the cell at `index` the values of `before` that are still as in `after`; both come from
    /// [`Cell::to_json`]. Its source, type and id stay.
    pub fn refit(&mut self, index: usize, before: &str, after: &str) -> Result<()> {
        let (before, after) = (alone(before)?, alone(after)?);
        let (before, after) = (&before.cells()[0], &after.cells()[0]);
        let cell = &mut self.edits.cells[index];
        let is_code = cell.cell_type() == CellType::Code;
        let fits = |key: &str| !ITSELF.contains(&key) && (is_code || !is_of_run(key));
        let keys: Vec<Cow<'_, str>> = before.keys().into_iter().chain(after.keys()).collect();
        for key in keys.iter().filter(|key| fits(key)) {
            if cell.value(key) == after.value(key) {
                cell.set(key, before.value(key).map(<[u8]>::to_vec));
            }
        }
        self.settle(index, before);
        Ok(())
    }

    /// A cell that has all values of `kept` again gets its bytes too: the order of its keys and the space between.
    fn settle(&mut self, index: usize, kept: &Cell) {
        let cell = &self.edits.cells[index];
        let has_key = |key: &str| cell.object.get(&cell.text, key).is_some();
        let has_other_keys = cell.changed.iter().any(|(key, value)| value.is_none() || !has_key(key));
        if has_other_keys && cell.has_values_of(kept) {
            let (id, indent) = (cell.id.clone(), cell.indent().to_owned());
            self.edits.cells[index] = verbatim(kept, id, &indent);
            // It does not stand in the notebook's own text any more.
            self.edits.rearranged = true;
        }
    }
}

fn is_of_run(key: &str) -> bool {
    key == "outputs" || key == "execution_count"
}

/// The same cell in a text of its own.
fn verbatim(cell: &Cell, id: CellId, indent: &str) -> Cell {
    let mut text = [b"\n", indent.as_bytes()].concat();
    let start = text.len();
    text.extend_from_slice(cell.object.span.of(&cell.text));
    let span = Span { start, end: text.len() };
    let object = object_at(&text, span).expect("it was read as an object before");
    let (kind, place) = (cell.cell_type(), Place::Added { lead: 0 });
    Cell { id, kind, text: Arc::new(text), object, place, changed: Vec::new() }
}

/// Refuses values that the format does not allow, which other programs may not be able to read.
fn check_values(cell: &Cell) -> Result<()> {
    let wrong = |key: &str, found: Kind, wanted: &str| {
        let problem = format!("`{key}` is {}, not {wanted}", found.with_article());
        Err(Error::NotACell { problem })
    };
    for key in ["metadata", "attachments"] {
        match cell.value(key).map(Kind::of) {
            None | Some(Kind::Object) => {}
            Some(found) => return wrong(key, found, "an object"),
        }
    }
    if let Some(count) = cell.value("execution_count")
        && !matches!(serde_json::from_slice(count), Ok(None::<i64> | Some(_)))
    {
        return wrong("execution_count", Kind::of(count), "a whole number or null");
    }
    let Some(outputs) = cell.value("outputs") else { return Ok(()) };
    if Kind::of(outputs) != Kind::Array {
        return wrong("outputs", Kind::of(outputs), "an array");
    }
    let mut problem = None;
    each_element(outputs, |output| {
        let object = object_at(output, Span { start: 0, end: output.len() });
        let known =
            object.as_ref().and_then(|object| object.get(output, "output_type")).is_some_and(|member| {
                let types = ["stream", "display_data", "execute_result", "error"];
                types.iter().any(|name| string::is(member.value.of(output), name))
            });
        if !known {
            problem = Some("one of its outputs has no known `output_type`".to_owned());
        }
    });
    problem.map_or(Ok(()), |problem| Err(Error::NotACell { problem }))
}

/// A notebook with one cell.
pub(crate) fn alone(json: &str) -> Result<Notebook> {
    let text = format!("{{\"cells\":[{json}],\"metadata\":{{}},\"nbformat\":4,\"nbformat_minor\":5}}");
    let notebook = Notebook::parse(text.into_bytes(), Ids::seeded(0))?;
    if notebook.cells().is_empty() {
        return Err(Error::NotACell { problem: "there is no cell in it".to_owned() });
    }
    Ok(notebook)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = "{\n   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n   \"id\": \"a\",\n   \
        \"metadata\": {\n    \"x\": 1e0\n   },\n   \"outputs\": [\n    {\n     \"name\": \"stdout\",\n     \
        \"output_type\": \"stream\",\n     \"text\": [\n      \"1\\n\"\n     ]\n    }\n   ],\n   \
        \"source\": [\n    \"print(1)\"\n   ]\n  }";

    fn notebook() -> Notebook {
        let text = format!(
            "{{\n \"cells\": [\n  {CELL},\n  {}\n ],\n \"metadata\": {{}},\n \"nbformat\": 4,\n \
             \"nbformat_minor\": 5\n}}\n",
            CELL.replace("\"id\": \"a\"", "\"id\": \"b\"")
        );
        Notebook::parse(text.into_bytes(), Ids::seeded(0)).unwrap()
    }

    #[test]
    fn a_cell_that_comes_back_is_what_it_was_in_every_byte() {
        let mut changed = notebook();
        let before = changed.to_bytes();
        for index in [0, 1] {
            let cell = changed.remove(index);
            changed.restore(index, cell.id(), &cell.to_json()).unwrap();
            assert_eq!(String::from_utf8(changed.to_bytes()).unwrap(), String::from_utf8_lossy(&before));
        }
        changed.restore(0, &"a".into(), CELL).unwrap();
        assert_ne!(changed.cells()[0].id().as_str(), "a");
    }

    #[test]
    fn a_cell_laid_out_by_hand_comes_back_in_every_byte() {
        let odd = "{ \"source\":\"x\",\"metadata\" : {},  \"cell_type\":\"code\",\n \"outputs\":[],\"execution_count\":7}";
        let text = format!(
            "{{\n \"cells\": [\n  {odd},\n  {CELL}\n ],\n \"metadata\": {{}},\n \"nbformat\": 4,\n \
             \"nbformat_minor\": 4\n}}\n"
        );
        let mut changed = Notebook::parse(text.clone().into_bytes(), Ids::seeded(0)).unwrap();
        let cell = changed.remove(0);
        changed.restore(0, cell.id(), &cell.to_json()).unwrap();
        assert_eq!(String::from_utf8(changed.to_bytes()).unwrap(), text);
        assert_eq!(changed.cells()[0].id(), cell.id());
        changed.set_source(0, "x = 1");
        changed.set_source(0, "x");
        assert_eq!(String::from_utf8(changed.to_bytes()).unwrap(), text);
        let json = changed.cells()[0].to_json();
        changed.set_type(0, CellType::Markdown);
        let mut later = Notebook::parse(changed.to_bytes(), Ids::seeded(0)).unwrap();
        for notebook in [&mut changed, &mut later] {
            notebook.set_type(0, CellType::Code);
            notebook.restore_outputs(0, &json).unwrap();
            assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), text);
        }
    }

    #[test]
    fn a_cell_from_elsewhere_gets_the_layout_and_the_name_that_fit_here() {
        let mut here = notebook();
        here.insert_whole(1, "a2".into(), CELL).unwrap();
        let expected = CELL.replace("\"id\": \"a\"", "\"id\": \"a2\"");
        assert_eq!(here.cells()[1].to_json(), expected);
        let compact = "{\"cell_type\":\"code\",\"execution_count\":3,\"id\":\"a\",\"metadata\":{\"x\":1e0},\
            \"outputs\":[{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[\"1\\n\"]}],\
            \"source\":[\"print(1)\"]}";
        here.insert_whole(1, "a3".into(), compact).unwrap();
        assert_eq!(here.cells()[1].to_json(), CELL.replace("\"id\": \"a\"", "\"id\": \"a3\""));
        let old = String::from_utf8(notebook().to_bytes()).unwrap();
        let old = old.replace("_minor\": 5", "_minor\": 4").replace("   \"id\": \"a\",\n", "");
        let old = old.replace("   \"id\": \"b\",\n", "");
        let mut old = Notebook::parse(old.into_bytes(), Ids::seeded(0)).unwrap();
        old.insert_whole(0, "p1".into(), CELL).unwrap();
        assert_eq!(old.cells()[0].to_json(), CELL.replace("   \"id\": \"a\",\n", ""));
        assert_eq!(old.cells()[0].id().as_str(), "p1");
    }

    #[test]
    fn json_that_is_not_a_cell_is_refused() {
        let mut here = notebook();
        let before = here.to_bytes();
        let mut refused = |json: &str| {
            let error = here.insert_whole(0, "x".into(), json).unwrap_err().to_string();
            assert_eq!(here.to_bytes(), before);
            error
        };
        let cell = |more: &str| format!("{{\"cell_type\":\"code\",\"source\":\"\"{more}}}");
        assert_eq!(refused(&cell(",\"metadata\":[]")), "not a cell: `metadata` is an array, not an object");
        assert_eq!(
            refused(&cell(",\"outputs\":[5]")),
            "not a cell: one of its outputs has no known `output_type`"
        );
        assert_eq!(
            refused(&cell(",\"outputs\":[{\"output_type\":\"script\"}]")),
            "not a cell: one of its outputs has no known `output_type`"
        );
        assert_eq!(
            refused(&cell(",\"execution_count\":\"1\"")),
            "not a cell: `execution_count` is a string, not a whole number or null"
        );
        assert_eq!(refused(&format!("{},{}", cell(""), cell(""))), "not a cell: it is not one cell");
        assert_eq!(refused(""), "not a cell: there is no cell in it");
        for broken in
            ["{", "5", "{}", "{\"cell_type\":\"code\",\"source\":5}", "{\"cell_type\":\"x\",\"source\":\"\"}"]
        {
            refused(broken);
        }
        // Whatever follows the cell is not written.
        here.insert_whole(0, "x".into(), &format!("{}],\"evil\":[1", cell(""))).unwrap();
        assert!(!String::from_utf8(here.to_bytes()).unwrap().contains("evil"));
    }

    #[test]
    fn values_that_others_changed_since_are_not_put_back() {
        let mut changed = notebook();
        let before = changed.cells()[0].to_json();
        changed.clear_outputs(0);
        changed.set_cell_metadata(0, "x", &serde_json::json!(2));
        let after = changed.cells()[0].to_json();
        let mut back = changed.clone();
        back.refit(0, &before, &after).unwrap();
        assert_eq!(back.to_bytes(), notebook().to_bytes());
        changed.set_cell_metadata(0, "x", &serde_json::json!(3));
        changed.refit(0, &before, &after).unwrap();
        assert_eq!(changed.cells()[0].execution_count(), Some(3));
        assert_eq!(changed.cells()[0].metadata()["x"], 3);
    }

    #[test]
    fn outputs_that_were_cleared_come_back() {
        let mut changed = notebook();
        let (before, json) = (changed.to_bytes(), changed.cells()[1].to_json());
        changed.clear_outputs(1);
        assert_ne!(changed.to_bytes(), before);
        changed.restore_outputs(1, &json).unwrap();
        assert_eq!(changed.to_bytes(), before);
    }

    #[test]
    fn a_cell_can_be_put_in_under_a_name() {
        let mut named = notebook();
        named.insert_named(1, "mine".into(), CellType::Markdown, "# x");
        assert_eq!(named.cells()[1].stored_id().as_deref(), Some("mine"));
        let old = String::from_utf8(notebook().to_bytes()).unwrap().replace("_minor\": 5", "_minor\": 4");
        let mut old = Notebook::parse(old.into_bytes(), Ids::seeded(0)).unwrap();
        old.insert_named(0, "mine".into(), CellType::Code, "x");
        assert_eq!((old.cells()[0].id().as_str(), old.cells()[0].stored_id()), ("mine", None));
        assert!(CellId::from("a-B_9").is_valid() && !CellId::from("a b").is_valid());
        assert!(!CellId::from("").is_valid());
    }
}
