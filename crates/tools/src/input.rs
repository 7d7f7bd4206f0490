//! The input of a tool, declared once as a struct. Its fields give the schema that an agent reads
//! and the validation of a call. Other spellings of a value, such as a number sent as text, are
//! accepted. A refusal of a wrong value names a valid one.

mod argument;
mod field;

use serde_json::{Map, Value};

pub(crate) use argument::{Argument, CellType, MaxOutput, Seconds, WholeNumber, choice};
pub(crate) use field::schema;
pub use field::{Field, FieldKind};

/// A problem with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum BadArguments {
    #[error("the arguments must be an object")]
    NotAnObject,
    #[error("`{name}` is missing: it must be {valid}")]
    Missing { name: String, valid: String },
    #[error("`{name}` must be {valid}, not {found}")]
    Wrong { name: String, valid: String, found: String },
    #[error("unknown argument `{name}`; {tool} takes {known}")]
    Unknown { name: String, tool: String, known: String },
    #[error("`{name}` and `{also}` are the same argument; give only one")]
    Twice { name: String, also: String },
}

/// An object in the arguments of a call, declared by the [`input!`] macro.
pub(crate) trait Input: Sized {
    /// The description of the object. For the input of a tool, the description of the tool.
    const ABOUT: &'static str;
    /// The fields, in the order in which they are listed and read.
    const FIELDS: &'static [Field];

    /// Reads all fields.
    fn take(reader: &mut ArgumentReader<'_>) -> Result<Self, BadArguments>;

    /// Reads the arguments of a call.
    fn read(tool: &str, given: &Value) -> Result<Self, BadArguments> {
        match given {
            Value::Null => Self::read_object(&Map::new(), "", tool),
            Value::Object(given) => Self::read_object(given, "", tool),
            // Some clients send the whole object as text.
            Value::String(text) => match serde_json::from_str(text) {
                Ok(Value::Object(given)) => Self::read_object(&given, "", tool),
                _ => Err(BadArguments::NotAnObject),
            },
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(BadArguments::NotAnObject),
        }
    }

    /// Reads an object. `within` is the path to its fields, for errors.
    fn read_object(given: &Map<String, Value>, within: &str, tool: &str) -> Result<Self, BadArguments> {
        let input = Self::take(&mut ArgumentReader { given, fields: Self::FIELDS.iter(), within, tool })?;
        let is_known = |name: &&String| Self::FIELDS.iter().any(|field| field.names().any(|it| it == *name));
        match given.keys().find(|name| !is_known(name)) {
            None => Ok(input),
            Some(name) => Err(BadArguments::Unknown {
                name: format!("{within}{name}"),
                tool: tool.to_owned(),
                known: field::listed(Self::FIELDS),
            }),
        }
    }
}

/// Reads the fields of an object in order.
pub(crate) struct ArgumentReader<'a> {
    given: &'a Map<String, Value>,
    fields: std::slice::Iter<'static, Field>,
    within: &'a str,
    tool: &'a str,
}

impl ArgumentReader<'_> {
    /// Reads the next field.
    pub(crate) fn next<T: Argument>(&mut self) -> Result<T, BadArguments> {
        let field = self.fields.next().expect("the macro makes one field of each member");
        let path = |name: &str| format!("{}{name}", self.within);
        let mut present =
            field.names().filter(|name| self.given.get(*name).is_some_and(|value| !value.is_null()));
        match (present.next(), present.next()) {
            (Some(name), Some(also)) => Err(BadArguments::Twice { name: path(name), also: path(also) }),
            (Some(name), None) => T::read(&self.given[name], &path(name), self.tool),
            (None, _) => T::absent()
                .ok_or_else(|| BadArguments::Missing { name: path(field.name), valid: field.kind.words() }),
        }
    }
}

/// Declares the input of a tool, or an object in it. The documentation of the struct is the
/// description that an agent reads.
///
/// A field has a name, unlisted aliases, a type, and a description if the name is not enough. An
/// argument is required unless its type is `Option` or `bool`.
macro_rules! input {
    (
        $(#[doc = $about:literal])*
        struct $name:ident {
            $($field:ident $(| $also:ident)*: $type:ty $(= $described:literal)?,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name {
            $(pub(crate) $field: $type,)*
        }

        impl $crate::input::Input for $name {
            const ABOUT: &'static str = concat!("" $(, $about)*).trim_ascii_start();
            const FIELDS: &'static [$crate::input::Field] = &[$($crate::input::Field::new::<$type>(
                stringify!($field),
                concat!("" $(, $described)?),
                &[$(stringify!($also)),*],
            )),*];

            fn take(
                reader: &mut $crate::input::ArgumentReader<'_>,
            ) -> Result<Self, $crate::input::BadArguments> {
                Ok($name { $($field: reader.next()?),* })
            }
        }
    };
}
pub(crate) use input;

#[cfg(test)]
mod tests;
