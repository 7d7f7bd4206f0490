//! Cells that were taken out, kept as JSON and put back later, with all they had.

use crate::cell::{Cell, CellType};
use crate::error::Result;
use crate::id::{CellId, Ids};
use crate::json::string;
use crate::json::tree::Node;
use crate::notebook::Notebook;

impl Cell {
    /// The cell as one JSON object, its values as they stand.
    pub fn to_json(&self) -> String {
        let mut json = vec![b'{'];
        for key in self.keys() {
            if json.len() > 1 {
                json.push(b',');
            }
            string::encode(&key, false, &mut json);
            json.push(b':');
            json.extend_from_slice(self.value(&key).unwrap_or(b"null"));
        }
        json.push(b'}');
        String::from_utf8(json).expect("what was read from text and what was written is text")
    }
}

impl Notebook {
    /// Puts a cell that [`Cell::to_json`] gave at `index`, under the name that it had unless that is taken.
    pub fn restore(&mut self, index: usize, id: &CellId, json: &str) -> Result<()> {
        let kept = alone(json)?;
        let is_free = self.position(id).is_none();
        self.adopt(index, &kept.cells()[0]);
        let cell = &mut self.edits.cells[index];
        if is_free && !cell.is_named_by_stored_id() {
            cell.id = id.clone();
        }
        Ok(())
    }

    /// Gives the code cell at `index` the outputs and the count of a cell that [`Cell::to_json`] gave.
    pub fn restore_outputs(&mut self, index: usize, json: &str) -> Result<()> {
        let kept = alone(json)?;
        if self.cells()[index].cell_type() == CellType::Code {
            for key in ["outputs", "execution_count"] {
                if let Some(value) = kept.cells()[0].value(key) {
                    self.edits.cells[index].set_node(key, &Node::of(value), false);
                }
            }
        }
        Ok(())
    }
}

/// A notebook with one cell.
fn alone(json: &str) -> Result<Notebook> {
    let text = format!("{{\"cells\":[{json}],\"metadata\":{{}},\"nbformat\":4,\"nbformat_minor\":5}}");
    Notebook::parse(text.into_bytes(), Ids::seeded(0))
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
