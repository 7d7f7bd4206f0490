//! Operations as JSON says them: `{"action": "edit", "cell": 3, "content": "x = 1"}`. A fault in one is
//! told in the words of the operations.

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use super::{Action, Operation};
use crate::cell::CellType;
use crate::error::{Error, Result, alternatives};
use crate::id::CellRef;
use crate::json::Kind;
use crate::notebook::check_json;
use crate::text::BYTE_ORDER_MARK;

/// Why an operation is none.
type Problem = String;

impl Operation {
    /// Reads a list of operations.
    pub fn parse_list(json: &str) -> Result<Vec<Operation>> {
        check_json(json)?;
        // Python's extensions of JSON are let through above, and have no place in an operation.
        let beyond = |error: serde_json::Error| Error::InvalidJson {
            line: error.line(),
            column: error.column(),
            problem: "JSON has no such value",
        };
        let list = match serde_json::from_str(json.trim_start_matches(BYTE_ORDER_MARK)).map_err(beyond)? {
            Value::Array(list) => list,
            other => return Err(Error::NotOperations { found: kind_of(&other).with_article().into() }),
        };
        let read = |(position, value): (usize, &Value)| {
            Operation::read(value).map_err(|problem| Error::BadOperation { position, problem })
        };
        list.iter().enumerate().map(read).collect()
    }

    fn read(value: &Value) -> std::result::Result<Operation, Problem> {
        let Value::Object(object) = value else {
            let found = kind_of(value).with_article();
            return Err(format!("an operation is an object, not {found}"));
        };
        Fields::of(object)?.operation()
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Operation::read(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// The fields of an operation, each by any of its names; `null` is as good as nothing.
#[derive(Default)]
struct Fields<'a> {
    action: Given<'a>,
    cell: Given<'a>,
    index: Given<'a>,
    content: Given<'a>,
    kind: Given<'a>,
}

/// A field under the name that it was given by.
type Given<'a> = Option<(&'a str, &'a Value)>;

impl<'a> Fields<'a> {
    fn of(object: &'a Map<String, Value>) -> std::result::Result<Fields<'a>, Problem> {
        let mut fields = Fields::default();
        for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            let field = match name.as_str() {
                "action" => &mut fields.action,
                "cell" | "cell_index" | "cell_id" => &mut fields.cell,
                "index" => &mut fields.index,
                "content" | "source" => &mut fields.content,
                "type" | "cell_type" => &mut fields.kind,
                _ => {
                    return Err(format!(
                        "there is no field `{name}`: valid are action, cell, index, type and source"
                    ));
                }
            };
            if let Some((other, _)) = field.replace((name, value)) {
                let (other, name) = (other.min(name), other.max(name));
                return Err(format!("`{other}` and `{name}` mean the same: give one of them"));
            }
        }
        Ok(fields)
    }

    fn operation(&self) -> std::result::Result<Operation, Problem> {
        let action = self.action()?;
        let needs = |what: &str| format!("`{}` needs {what}", action.as_str());
        let cell = || self.cell()?.ok_or_else(|| needs("`cell`, an index or an id"));
        let content = || self.content()?.ok_or_else(|| needs("content"));
        let index = || self.index()?.ok_or_else(|| needs("`index`"));
        let kind = self.kind()?;
        Ok(match action {
            Action::Edit => Operation::Edit { cell: cell()?, source: content()? },
            Action::Insert => {
                let index = match (self.index()?, self.cell()?) {
                    (Some(index), _) | (None, Some(CellRef::Index(index))) => index,
                    (None, Some(_) | None) => return Err(needs("`index`")),
                };
                Operation::Insert { index, kind: kind.unwrap_or(CellType::Code), source: content()? }
            }
            Action::Delete => Operation::Delete { cell: cell()? },
            Action::Move => Operation::Move { cell: cell()?, index: index()? },
            Action::Retype => Operation::Retype {
                cell: cell()?,
                kind: kind.ok_or_else(|| needs("`type`: code, markdown or raw"))?,
            },
            Action::Clear => Operation::Clear { cell: cell()? },
        })
    }

    fn action(&self) -> std::result::Result<Action, Problem> {
        let valid = || format!("valid are {}", alternatives(&Action::ALL.map(Action::as_str)));
        match self.action {
            None => Err(format!("`action` is missing: {}", valid())),
            Some((_, Value::String(name))) => (Action::ALL.into_iter())
                .find(|action| action.as_str() == name)
                .ok_or_else(|| format!("`{name}` is not an action: {}", valid())),
            Some(given) => Err(format!("{}: {}", is_not(given, "a string"), valid())),
        }
    }

    fn cell(&self) -> std::result::Result<Option<CellRef>, Problem> {
        match self.cell {
            None => Ok(None),
            Some((_, Value::String(name))) => Ok(Some(CellRef::Name(name.clone()))),
            Some((name, Value::Number(number))) => {
                whole(name, number).map(|index| Some(CellRef::Index(index)))
            }
            Some(given) => Err(is_not(given, "an index or an id")),
        }
    }

    fn index(&self) -> std::result::Result<Option<i64>, Problem> {
        match self.index {
            None => Ok(None),
            Some((name, Value::Number(number))) => whole(name, number).map(Some),
            Some(given) => Err(is_not(given, "a whole number")),
        }
    }

    fn content(&self) -> std::result::Result<Option<String>, Problem> {
        match self.content {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text.clone())),
            Some(given) => Err(is_not(given, "a string")),
        }
    }

    fn kind(&self) -> std::result::Result<Option<CellType>, Problem> {
        match self.kind {
            None => Ok(None),
            Some((_, Value::String(name))) => name.parse().map(Some),
            Some(given) => Err(is_not(given, "one of code, markdown and raw")),
        }
    }
}

fn whole(name: &str, number: &serde_json::Number) -> std::result::Result<i64, Problem> {
    number.as_i64().ok_or_else(|| format!("`{name}` is {number}, which is no index"))
}

fn is_not((name, value): (&str, &Value), wanted: &str) -> Problem {
    format!("`{name}` is {}, not {wanted}", kind_of(value).with_article())
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::Array,
        Value::Object(_) => Kind::Object,
    }
}
