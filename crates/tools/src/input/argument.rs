//! The types of arguments, each with the values that it accepts.

use cellist_notebook::CellRef;
pub(crate) use cellist_notebook::CellType;
use serde_json::Value;

use super::{BadArguments, FieldKind, Input};
use crate::budget::shortened;

/// Characters of a wrong value that a refusal shows.
const LONGEST_SHOWN: usize = 60;

/// A type of argument.
pub(crate) trait Argument: Sized {
    const KIND: FieldKind;
    /// Whether a call must pass the argument.
    const IS_REQUIRED: bool = true;

    /// Returns the value of an argument that was not passed.
    fn absent() -> Option<Self> {
        None
    }

    /// Accepts a value, also in another spelling.
    fn accept(value: &Value) -> Option<Self>;

    /// Reads a value. `name` is the path of the argument, for errors.
    fn read(value: &Value, name: &str, _tool: &str) -> Result<Self, BadArguments> {
        Self::accept(value).ok_or_else(|| wrong(Self::KIND, value, name))
    }
}

/// A whole number, at least `LEAST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeNumber<const LEAST: i64>(pub(crate) i64);

/// The maximum size of an answer, in bytes of text.
pub(crate) type MaxOutput = WholeNumber<200>;

/// A number of seconds, not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seconds(pub(crate) f64);

impl Argument for String {
    const KIND: FieldKind = FieldKind::Text;

    fn accept(value: &Value) -> Option<String> {
        value.as_str().map(str::to_owned)
    }
}

impl Argument for bool {
    const KIND: FieldKind = FieldKind::Flag;
    const IS_REQUIRED: bool = false;

    fn absent() -> Option<bool> {
        Some(false)
    }

    fn accept(value: &Value) -> Option<bool> {
        match value {
            Value::Bool(flag) => Some(*flag),
            Value::String(word) if word.trim().eq_ignore_ascii_case("true") => Some(true),
            Value::String(word) if word.trim().eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }
}

impl<const LEAST: i64> Argument for WholeNumber<LEAST> {
    const KIND: FieldKind = FieldKind::Whole(LEAST);

    fn accept(value: &Value) -> Option<WholeNumber<LEAST>> {
        whole(value).filter(|number| *number >= LEAST).map(WholeNumber)
    }
}

impl Argument for Seconds {
    const KIND: FieldKind = FieldKind::Seconds;

    fn accept(value: &Value) -> Option<Seconds> {
        let number: f64 = match value {
            Value::String(digits) => digits.trim().parse().ok()?,
            _ => value.as_f64()?,
        };
        (number.is_finite() && number >= 0.0).then_some(Seconds(number))
    }
}

impl Argument for CellRef {
    const KIND: FieldKind = FieldKind::Cell;

    /// A number is an index. Text is an id or the digits of an index.
    fn accept(value: &Value) -> Option<CellRef> {
        match value {
            Value::Number(_) => whole(value).filter(|index| *index >= 0).map(CellRef::Index),
            Value::String(text) => {
                let is_negative = text.trim().parse::<i64>().is_ok_and(|index| index < 0);
                (!is_negative && !text.trim().is_empty()).then(|| CellRef::Name(text.clone()))
            }
            _ => None,
        }
    }
}

impl Argument for Vec<CellRef> {
    const KIND: FieldKind = FieldKind::Cells;

    fn accept(value: &Value) -> Option<Vec<CellRef>> {
        one_or_many(value)
    }
}

impl Argument for Vec<String> {
    const KIND: FieldKind = FieldKind::Texts;

    fn accept(value: &Value) -> Option<Vec<String>> {
        one_or_many(value)
    }
}

impl<T: Argument> Argument for Option<T> {
    const KIND: FieldKind = T::KIND;
    const IS_REQUIRED: bool = false;

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn accept(value: &Value) -> Option<Option<T>> {
        T::accept(value).map(Some)
    }

    fn read(value: &Value, name: &str, tool: &str) -> Result<Option<T>, BadArguments> {
        T::read(value, name, tool).map(Some)
    }
}

/// A list of objects. Errors name the position in the list.
impl<T: Input> Argument for Vec<T> {
    const KIND: FieldKind = FieldKind::Objects(T::FIELDS);

    fn accept(value: &Value) -> Option<Vec<T>> {
        Self::read(value, "", "").ok()
    }

    fn read(value: &Value, name: &str, tool: &str) -> Result<Vec<T>, BadArguments> {
        let wrong = || wrong(Self::KIND, value, name);
        let items = list(value).ok_or_else(wrong)?;
        let item = |(index, item): (usize, &Value)| match item {
            Value::Object(item) => T::read_object(item, &format!("{name}[{index}]."), tool),
            _ => Err(wrong()),
        };
        items.iter().enumerate().map(item).collect()
    }
}

/// Makes an enum an argument with these words.
macro_rules! choice {
    ($type:ident: $($word:literal => $variant:ident),+ $(,)?) => {
        impl $crate::input::Argument for $type {
            const KIND: $crate::input::FieldKind = $crate::input::FieldKind::Choice(&[$($word),+]);

            fn accept(value: &serde_json::Value) -> Option<$type> {
                match value.as_str()?.trim().to_ascii_lowercase().as_str() {
                    $($word => Some($type::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use choice;

choice!(CellType: "code" => Code, "markdown" => Markdown, "raw" => Raw);

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(digits) => digits.trim().parse().ok(),
        // Some clients send 3 as 3.0.
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15)?;
            Some(float as i64)
        }),
        _ => None,
    }
}

/// Accepts a list, or a single value in place of a list.
fn one_or_many<T: Argument>(value: &Value) -> Option<Vec<T>> {
    match list(value) {
        Some(items) => items.iter().map(T::accept).collect(),
        None => Some(vec![T::accept(value)?]),
    }
}

/// Accepts a list, or the JSON text of one.
fn list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items.clone()),
        Value::String(text) if text.trim_start().starts_with('[') => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn wrong(kind: FieldKind, value: &Value, name: &str) -> BadArguments {
    BadArguments::Wrong {
        name: name.to_owned(),
        valid: kind.words(),
        found: shortened(&value.to_string(), LONGEST_SHOWN),
    }
}
