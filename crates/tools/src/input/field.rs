//! The schema of arguments, and their valid values in words.

use serde_json::{Map, Value, json};

use super::Argument;

/// An argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The accepted values.
    pub kind: FieldKind,
    /// Whether a call must pass the argument.
    pub required: bool,
    /// The description, if the name is not enough.
    pub description: &'static str,
    /// Aliases, which schemas do not list.
    pub also: &'static [&'static str],
}

/// The values that an argument accepts.
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// A whole number with this minimum.
    Whole(i64),
    /// A number of seconds.
    Seconds,
    /// A cell: its id or its index.
    Cell,
    /// A list of cells.
    Cells,
    /// A list of texts.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of objects with these fields.
    Objects(&'static [Field]),
}

impl Field {
    pub(crate) const fn new<T: Argument>(
        name: &'static str,
        description: &'static str,
        also: &'static [&'static str],
    ) -> Field {
        Field { name: without_prefix(name), kind: T::KIND, required: T::IS_REQUIRED, description, also }
    }

    /// Returns the name and all aliases.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.also.iter().copied())
    }

    /// Builds the schema. `siblings` are the fields of the same object, `around` those of the
    /// object that lists it.
    fn schema(&self, siblings: &[Field], around: &[Field]) -> Value {
        let is_choice = |field: &Field| field.name == self.name && matches!(field.kind, FieldKind::Choice(_));
        let mut schema = match self.kind {
            FieldKind::Objects(fields) => json!({ "type": "array", "items": object(fields, siblings) }),
            // The enclosing object lists the words already.
            FieldKind::Choice(_) if around.iter().any(is_choice) => FieldKind::Text.schema(),
            kind => kind.schema(),
        };
        if let (false, Value::Object(object)) = (self.description.is_empty(), &mut schema) {
            object.insert("description".to_owned(), self.description.into());
        }
        schema
    }
}

impl FieldKind {
    fn schema(self) -> Value {
        // Some clients reject a list of types, or an enumeration without a type.
        let cell = || json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] });
        match self {
            FieldKind::Text => json!({ "type": "string" }),
            FieldKind::Flag => json!({ "type": "boolean" }),
            // The refusal of a lower number names the minimum.
            FieldKind::Whole(_) => json!({ "type": "integer" }),
            FieldKind::Seconds => json!({ "type": "number" }),
            FieldKind::Cell => cell(),
            FieldKind::Cells => json!({ "type": "array", "items": cell() }),
            FieldKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            FieldKind::Choice(words) => json!({ "type": "string", "enum": words }),
            FieldKind::Objects(fields) => json!({ "type": "array", "items": object(fields, &[]) }),
        }
    }

    /// Describes the valid values.
    pub(super) fn words(self) -> String {
        match self {
            FieldKind::Text => "text".to_owned(),
            FieldKind::Flag => "true or false".to_owned(),
            FieldKind::Whole(least) => format!("a whole number of at least {least}"),
            FieldKind::Seconds => "a number of seconds".to_owned(),
            FieldKind::Cell => "a cell id or a 0-based index".to_owned(),
            FieldKind::Cells => "a list of cell ids, indexes or ranges such as \"3-7\"".to_owned(),
            FieldKind::Texts => "a list of texts".to_owned(),
            FieldKind::Choice(words) => format!("one of {}", words.join(", ")),
            FieldKind::Objects(fields) => format!("a list of objects with {}", listed(fields)),
        }
    }
}

/// Builds the schema of an object.
pub(crate) fn schema(fields: &[Field]) -> Value {
    object(fields, &[])
}

fn object(fields: &[Field], around: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema(fields, around))).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Lists the names of fields.
pub(super) fn listed(fields: &[Field]) -> String {
    fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}

/// Strips the `r#` of a name that is also a keyword.
const fn without_prefix(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}
