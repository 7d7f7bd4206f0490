//! What an agent reads about a tool before it calls it: a sentence or two, and the arguments, of which the schema and the
//! check of a call are both made.

mod tools;

use serde_json::{Map, Value, json};

use crate::mode::{Access, Mode};
use crate::tool::ToolName;

/// A tool as an agent reads about it.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: ToolName,
    /// What it does and what to know before a call.
    pub description: &'static str,
    /// The arguments that it takes.
    pub fields: &'static [Field],
}

/// An argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Whether a call must have it.
    pub required: bool,
    /// What it means, where the name does not say it.
    pub description: &'static str,
    /// Other names that are understood.
    pub also: &'static [&'static str],
    /// Whether its words are listed elsewhere in the same schema.
    pub is_repeated: bool,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// A whole number, at least this.
    Whole(i64),
    /// A number of seconds.
    Seconds,
    /// A cell: its id or its index.
    Cell,
    /// Several cells.
    Cells,
    /// Several words.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Several objects with these fields.
    Objects(&'static [Field]),
}

impl Definition {
    /// Of a tool.
    pub fn of(name: ToolName) -> &'static Definition {
        tools::of(name)
    }

    /// Of a tool as a mode lists it: without the parts that the mode refuses in every call.
    pub fn in_mode(name: ToolName, mode: Mode) -> &'static Definition {
        match name {
            ToolName::NotebookKernel if !mode.allows(Access::Run) => &tools::KERNEL_STATUS,
            _ => tools::of(name),
        }
    }

    /// The schema of its arguments.
    pub fn schema(&self) -> Value {
        object(self.fields)
    }

    /// Whether no call of it can change anything or run code, in a mode.
    pub fn only_looks(&self, mode: Mode) -> bool {
        // What the kernel does can be asked in every mode; that it is stopped only where that is allowed.
        self.name.access() == Access::Look
            && (self.name != ToolName::NotebookKernel || !mode.allows(Access::Run))
    }
}

impl Field {
    const fn new(name: &'static str, kind: Kind, description: &'static str) -> Field {
        Field { name, kind, required: false, description, also: &[], is_repeated: false }
    }

    const fn required(mut self) -> Field {
        self.required = true;
        self
    }

    const fn also(mut self, names: &'static [&'static str]) -> Field {
        self.also = names;
        self
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Choice(_) if self.is_repeated => Kind::Text.schema(),
            kind => kind.schema(),
        };
        if let (false, Value::Object(object)) = (self.description.is_empty(), &mut schema) {
            object.insert("description".to_owned(), self.description.into());
        }
        schema
    }
}

impl Kind {
    fn schema(self) -> Value {
        // Some clients know no list of types, nor an enumeration without one.
        let cell = || json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] });
        match self {
            Kind::Text => json!({ "type": "string" }),
            Kind::Flag => json!({ "type": "boolean" }),
            // What is the least is said by whoever refuses less.
            Kind::Whole(_) => json!({ "type": "integer" }),
            Kind::Seconds => json!({ "type": "number" }),
            Kind::Cell => cell(),
            Kind::Cells => json!({ "type": "array", "items": cell() }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::Choice(words) => json!({ "type": "string", "enum": words }),
            Kind::Objects(fields) => json!({ "type": "array", "items": object(fields) }),
        }
    }

    /// What it may be, in words.
    pub(crate) fn words(self) -> String {
        match self {
            Kind::Text => "text".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Whole(least) => format!("a whole number from {least} on"),
            Kind::Seconds => "a number of seconds".to_owned(),
            Kind::Cell => "a cell id or an index from 0 on".to_owned(),
            Kind::Cells => "a list of cell ids, indexes or ranges such as \"3-7\"".to_owned(),
            Kind::Texts => "a list of texts".to_owned(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Objects(fields) => {
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                format!("a list of objects with {}", names.join(", "))
            }
        }
    }
}

fn object(fields: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_definition_of_its_own() {
        for name in ToolName::ALL {
            let definition = Definition::of(name);
            assert_eq!(definition.name, name);
            assert!(!definition.description.is_empty());
            assert!(definition.description.len() <= 420, "{name}: {}", definition.description.len());
            assert!(definition.fields.len() <= 11, "{name}");
        }
    }

    #[test]
    fn all_descriptions_and_schemas_together_are_small() {
        let size = |names: &mut dyn Iterator<Item = ToolName>| -> usize {
            let told = |name: ToolName| {
                let definition = Definition::of(name);
                json!({ "name": name.as_str(), "description": definition.description, "inputSchema": definition.schema() })
            };
            names.map(|name| told(name).to_string().len()).sum()
        };
        let usual = size(&mut ToolName::ALL.into_iter().filter(|name| *name != ToolName::Bash));
        let all = size(&mut ToolName::ALL.into_iter());
        assert!(usual <= 11_000, "{usual}");
        assert!(all <= 12_000, "{all}");
    }

    #[test]
    fn a_schema_says_what_a_call_may_hold() {
        let schema = Definition::of(ToolName::UpdateNotebookCell).schema();
        assert_eq!(schema["required"], json!(["cell", "content"]));
        assert_eq!(
            schema["properties"]["cell"]["anyOf"],
            json!([{ "type": "string" }, { "type": "integer" }])
        );
        assert_eq!(schema["properties"]["run"]["type"], "boolean");
        let schema = Definition::of(ToolName::Python).schema();
        assert_eq!(schema["properties"]["cells"]["items"]["required"], json!(["code"]));
        assert_eq!(schema.get("required"), None);
    }

    #[test]
    fn one_meaning_has_one_name_and_is_described() {
        let fields = ToolName::ALL
            .into_iter()
            .flat_map(|name| Definition::of(name).fields.iter().map(move |it| (name, it)));
        for (tool, field) in fields {
            let is_described = !field.description.is_empty();
            match field.kind {
                Kind::Cell => assert!(["cell", "after"].contains(&field.name), "{tool}.{}", field.name),
                Kind::Cells => assert_eq!(field.name, "cells", "{tool}"),
                Kind::Seconds => {
                    assert!(["timeout", "soft_wait"].contains(&field.name), "{tool}.{}", field.name);
                    let is_timeout = field.name == "timeout";
                    assert!(!is_timeout || field.description.starts_with("Seconds"), "{tool}");
                }
                _ => {}
            }
            assert!(field.name != "revision" || is_described, "{tool}");
            // The compact tool keeps the names that it always had.
            let is_old = ["cell_index", "cell_type", "cell_id", "kernelId", "source"].contains(&field.name);
            assert!(!is_old || tool == ToolName::Notebook, "{tool}.{}", field.name);
        }
        // A model reads all tools together: a shared argument is described where it comes first.
        for name in ["notebook", "cell", "cells", "max_output", "soft_wait"] {
            let all = ToolName::ALL.into_iter().flat_map(|tool| Definition::of(tool).fields);
            let first = all.filter(|field| field.name == name).find(|field| !field.description.is_empty());
            assert!(first.is_some(), "{name}");
        }
    }

    #[test]
    fn every_tool_that_runs_cells_takes_the_same_limits() {
        let runs = |name: &ToolName| {
            let has_run = Definition::of(*name).fields.iter().any(|field| field.name == "run");
            has_run || [ToolName::RunNotebookCells, ToolName::Python, ToolName::Eval].contains(name)
        };
        let tools: Vec<ToolName> = ToolName::ALL.into_iter().filter(runs).collect();
        assert_eq!(tools.len(), 6);
        for tool in tools {
            for name in ["timeout", "max_output", "images", "soft_wait"] {
                let mut fields = Definition::of(tool).fields.iter();
                assert!(fields.any(|field| field.name == name), "{tool}.{name}");
            }
        }
    }

    #[test]
    fn a_mode_lists_no_choice_that_it_refuses() {
        let actions = |mode: Mode| {
            let schema = Definition::in_mode(ToolName::NotebookKernel, mode).schema();
            schema["properties"]["action"]["enum"].clone()
        };
        assert_eq!(actions(Mode::Ask), json!(["status"]));
        assert_eq!(actions(Mode::Edit), json!(["status"]));
        assert_eq!(actions(Mode::Agent), json!(["status", "interrupt", "restart"]));
    }

    #[test]
    fn only_what_never_changes_anything_is_called_a_look() {
        let looks = |mode: Mode| {
            let names = ToolName::ALL.into_iter().filter(|name| Definition::of(*name).only_looks(mode));
            names.map(ToolName::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            looks(Mode::Agent),
            "get_notebook_cells get_cell_outputs search_notebook read get_variables wait read_artifact"
        );
        assert_eq!(
            looks(Mode::Ask),
            "get_notebook_cells get_cell_outputs search_notebook notebook_kernel read get_variables wait read_artifact"
        );
    }
}
