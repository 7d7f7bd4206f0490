//! The arguments of a call, checked against the definition of its tool. What is only written in another way (a number or a
//! list sent as text) is taken; what is wrong is refused with what would be right.

use std::collections::BTreeMap;

use cellist_notebook::CellRef;
use serde_json::{Map, Value};

use crate::budget;
use crate::definition::{Definition, Field, Kind};

/// Arguments that were checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(BTreeMap<&'static str, Argument>);

/// One of them.
#[derive(Clone, Debug, PartialEq)]
enum Argument {
    Text(String),
    Flag(bool),
    Whole(i64),
    Seconds(f64),
    Cell(CellRef),
    Cells(Vec<CellRef>),
    Texts(Vec<String>),
    Objects(Vec<Arguments>),
}

/// Why a call cannot be carried out as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence says what each is")]
pub enum BadArguments {
    #[error("the arguments must be an object")]
    NotAnObject,
    #[error("`{name}` is missing: it must be {valid}")]
    Missing { name: String, valid: String },
    #[error("`{name}` must be {valid}, not {found}")]
    Wrong { name: String, valid: String, found: String },
    #[error("there is no argument `{name}`: {tool} takes {known}")]
    Unknown { name: String, tool: String, known: String },
    #[error("`{name}` and `{also}` are one argument: give one of them")]
    Twice { name: String, also: String },
}

impl Arguments {
    /// Checks the arguments of a call.
    pub fn check(definition: &Definition, given: &Value) -> Result<Arguments, BadArguments> {
        match given {
            Value::Null => object(definition.fields, &Map::new(), "", definition.name.as_str()),
            Value::Object(given) => object(definition.fields, given, "", definition.name.as_str()),
            // Some clients send the whole object as text.
            Value::String(text) => match serde_json::from_str(text) {
                Ok(Value::Object(given)) => object(definition.fields, &given, "", definition.name.as_str()),
                _ => Err(BadArguments::NotAnObject),
            },
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(BadArguments::NotAnObject),
        }
    }

    /// The same for a caller who takes answers of any length, unless it says otherwise.
    pub(crate) fn without_budget(mut self) -> Arguments {
        self.0.entry("max_output").or_insert(Argument::Whole(budget::WHOLE));
        self
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Argument::Flag(true)))
    }

    /// Whether a flag is given as false.
    pub fn is_off(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Argument::Flag(false)))
    }

    /// Text, or a word of a choice.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Argument::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<i64> {
        match self.0.get(name) {
            Some(Argument::Whole(number)) => Some(*number),
            _ => None,
        }
    }

    /// A number of seconds.
    pub fn seconds(&self, name: &str) -> Option<f64> {
        match self.0.get(name) {
            Some(Argument::Seconds(seconds)) => Some(*seconds),
            _ => None,
        }
    }

    /// A cell.
    pub fn cell(&self, name: &str) -> Option<&CellRef> {
        match self.0.get(name) {
            Some(Argument::Cell(cell)) => Some(cell),
            _ => None,
        }
    }

    /// Several cells.
    pub fn cells(&self, name: &str) -> Option<&[CellRef]> {
        match self.0.get(name) {
            Some(Argument::Cells(cells)) => Some(cells),
            _ => None,
        }
    }

    /// Several texts.
    pub fn texts(&self, name: &str) -> Option<&[String]> {
        match self.0.get(name) {
            Some(Argument::Texts(texts)) => Some(texts),
            _ => None,
        }
    }

    /// Several objects.
    pub fn objects(&self, name: &str) -> Option<&[Arguments]> {
        match self.0.get(name) {
            Some(Argument::Objects(objects)) => Some(objects),
            _ => None,
        }
    }
}

fn object(
    fields: &'static [Field],
    given: &Map<String, Value>,
    within: &str,
    tool: &str,
) -> Result<Arguments, BadArguments> {
    let mut arguments = Arguments::default();
    for field in fields {
        let names = || [field.name].into_iter().chain(field.also.iter().copied());
        let mut present = names().filter(|name| given.get(*name).is_some_and(|value| !value.is_null()));
        let path = |name: &str| format!("{within}{name}");
        match (present.next(), present.next()) {
            (Some(name), Some(also)) => {
                return Err(BadArguments::Twice { name: path(name), also: path(also) });
            }
            (Some(name), None) => {
                let value = argument(field.kind, &given[name], &path(name), tool)?;
                arguments.0.insert(field.name, value);
            }
            (None, _) if field.required => {
                return Err(BadArguments::Missing { name: path(field.name), valid: field.kind.words() });
            }
            (None, _) => {}
        }
    }
    let is_known = |name: &str| fields.iter().any(|field| field.name == name || field.also.contains(&name));
    match given.keys().find(|name| !is_known(name)) {
        None => Ok(arguments),
        Some(name) => {
            let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
            Err(BadArguments::Unknown {
                name: format!("{within}{name}"),
                tool: tool.to_owned(),
                known: known.join(", "),
            })
        }
    }
}

fn argument(kind: Kind, value: &Value, name: &str, tool: &str) -> Result<Argument, BadArguments> {
    let wrong = || BadArguments::Wrong { name: name.to_owned(), valid: kind.words(), found: shown(value) };
    let taken = match kind {
        Kind::Text => value.as_str().map(|text| Argument::Text(text.to_owned())),
        Kind::Flag => flag(value).map(Argument::Flag),
        Kind::Whole(least) => whole(value).filter(|number| *number >= least).map(Argument::Whole),
        Kind::Seconds => number(value).filter(|seconds| *seconds >= 0.0).map(Argument::Seconds),
        Kind::Cell => cell(value).map(Argument::Cell),
        Kind::Cells => match list(value) {
            Some(items) => items.iter().map(cell).collect::<Option<Vec<_>>>().map(Argument::Cells),
            // One cell where several may be.
            None => cell(value).map(|cell| Argument::Cells(vec![cell])),
        },
        Kind::Texts => match list(value) {
            Some(items) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<Vec<_>>>().map(Argument::Texts)
            }
            None => value.as_str().map(|text| Argument::Texts(vec![text.to_owned()])),
        },
        Kind::Choice(words) => {
            let said = value.as_str().map(str::trim);
            let known = words.iter().find(|word| said.is_some_and(|said| word.eq_ignore_ascii_case(said)));
            known.map(|word| Argument::Text((*word).to_owned()))
        }
        Kind::Objects(fields) => {
            let items = list(value).ok_or_else(wrong)?;
            let mut objects = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let Value::Object(item) = item else { return Err(wrong()) };
                objects.push(object(fields, item, &format!("{name}[{index}]."), tool)?);
            }
            Some(Argument::Objects(objects))
        }
    };
    taken.ok_or_else(wrong)
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(word) if word.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(word) if word.trim().eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(digits) => digits.trim().parse().ok(),
        // 3.0 is what some clients make of 3.
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15)?;
            Some(float as i64)
        }),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(digits) => digits.trim().parse().ok()?,
        _ => value.as_f64()?,
    };
    Some(number).filter(|number| number.is_finite())
}

/// A number is an index, text is an id or digits.
fn cell(value: &Value) -> Option<CellRef> {
    match value {
        Value::Number(_) => whole(value).filter(|index| *index >= 0).map(CellRef::Index),
        Value::String(text) => {
            let is_negative = text.trim().parse::<i64>().is_ok_and(|index| index < 0);
            (!is_negative && !text.trim().is_empty()).then(|| CellRef::Name(text.clone()))
        }
        _ => None,
    }
}

/// A list, or one that was sent as text.
fn list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items.clone()),
        Value::String(text) if text.trim_start().starts_with('[') => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// A value as it was sent, short.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ToolName;

    fn checked(tool: ToolName, given: Value) -> Arguments {
        Arguments::check(Definition::of(tool), &given).unwrap()
    }

    fn refused(tool: ToolName, given: Value) -> String {
        Arguments::check(Definition::of(tool), &given).unwrap_err().to_string()
    }

    #[test]
    fn arguments_are_taken_as_they_are_and_as_clients_spell_them() {
        let tool = ToolName::AddNotebookCell;
        let plain = json!({ "type": "code", "content": "x", "run": true, "index": 3, "soft_wait": 1.5 });
        let spelt = json!({ "type": "Code", "content": "x", "run": "True", "index": "3", "soft_wait": "1.5", "notebook": null });
        let arguments = checked(tool, plain.clone());
        assert_eq!(arguments, checked(tool, spelt));
        assert_eq!(arguments, checked(tool, plain.to_string().into()));
        assert_eq!((arguments.text("type"), arguments.flag("run")), (Some("code"), true));
        assert_eq!((arguments.whole("index"), arguments.seconds("soft_wait")), (Some(3), Some(1.5)));
        assert_eq!(arguments.text("notebook"), None);
        assert_eq!(
            checked(tool, json!({ "type": "raw", "content": "", "index": 2.0 })).whole("index"),
            Some(2)
        );
    }

    #[test]
    fn cells_are_ids_or_indexes_one_or_many() {
        let cells = |value: Value| {
            checked(ToolName::DeleteNotebookCells, json!({ "cells": value })).cells("cells").unwrap().to_vec()
        };
        let both = vec![CellRef::Index(0), CellRef::Name("abc".to_owned())];
        assert_eq!(cells(json!([0, "abc"])), both);
        assert_eq!(cells(json!("[0, \"abc\"]")), both);
        assert_eq!(cells(json!(0)), [CellRef::Index(0)]);
        assert_eq!(cells(json!("12")), [CellRef::Name("12".to_owned())]);
        assert_eq!(cells(json!("3-7")), [CellRef::Name("3-7".to_owned())]);
    }

    #[test]
    fn names_that_clients_used_before_are_understood() {
        let update = ToolName::UpdateNotebookCell;
        let now = json!({ "notebook": "n.ipynb", "cell": 3, "content": "x" });
        let before = json!({ "path": "n.ipynb", "cell_index": 3, "source": "x" });
        assert_eq!(checked(update, now), checked(update, before));
        let edit = |name: &str| json!({ name: "n.ipynb", "old": "a", "new": "b" });
        assert_eq!(checked(ToolName::Edit, edit("path")), checked(ToolName::Edit, edit("notebook")));
        let compact = |path: &str, cell: &str| json!({ path: "n.ipynb", "action": "delete", cell: 0 });
        assert_eq!(
            checked(ToolName::Notebook, compact("path", "cell_index")),
            checked(ToolName::Notebook, compact("notebook", "cell"))
        );
    }

    #[test]
    fn another_name_of_an_argument_is_understood() {
        let python = |given| checked(ToolName::Python, given);
        assert_eq!(python(json!({ "code": "1", "kernelId": "s" })).text("session"), Some("s"));
        assert_eq!(
            refused(ToolName::Python, json!({ "session": "a", "kernelId": "b" })),
            "`session` and `kernelId` are one argument: give one of them"
        );
        let cells = python(json!({ "cells": [{ "code": "1", "title": "one" }] }));
        assert_eq!(cells.objects("cells").unwrap()[0].text("title"), Some("one"));
    }

    #[test]
    fn what_is_wrong_is_refused_with_what_would_be_right() {
        let update = ToolName::UpdateNotebookCell;
        assert_eq!(refused(update, json!([])), "the arguments must be an object");
        assert_eq!(
            refused(update, json!({ "content": "x" })),
            "`cell` is missing: it must be a cell id or an index from 0 on"
        );
        assert_eq!(
            refused(update, json!({ "cell": -1, "content": "x" })),
            "`cell` must be a cell id or an index from 0 on, not -1"
        );
        assert_eq!(
            refused(update, json!({ "cell": "-1", "content": "x" })),
            "`cell` must be a cell id or an index from 0 on, not \"-1\""
        );
        assert_eq!(refused(update, json!({ "cell": 1, "content": 7 })), "`content` must be text, not 7");
        assert_eq!(
            refused(update, json!({ "cell": 1, "content": "x", "run": "yes" })),
            "`run` must be true or false, not \"yes\""
        );
        assert_eq!(
            refused(update, json!({ "cell": 1, "content": "x", "colour": "red" })),
            "there is no argument `colour`: update_notebook_cell takes notebook, cell, content, run, revision, timeout, max_output, images, soft_wait"
        );
        assert_eq!(
            refused(ToolName::AddNotebookCell, json!({ "type": "cod", "content": "" })),
            "`type` must be one of code, markdown, raw, not \"cod\""
        );
        assert_eq!(
            refused(ToolName::Python, json!({ "cells": [{ "code": "1" }, { "title": "t" }] })),
            "`cells[1].code` is missing: it must be text"
        );
        assert_eq!(
            refused(ToolName::Python, json!({ "cells": "x" })),
            "`cells` must be a list of objects with code, title, not \"x\""
        );
        assert_eq!(
            refused(ToolName::AddNotebookCell, json!({ "type": "code", "content": "", "index": -2 })),
            "`index` must be a whole number from -1 on, not -2"
        );
        let long = refused(update, json!({ "cell": { "x": "y".repeat(10_000_000) }, "content": "" }));
        assert!(long.len() < 200, "{}", long.len());
    }
}
