//! JSON as bytes and spans: the structure of a text, without turning it into values.
//! A caller decodes the values it needs; everything else stays the bytes it was.

pub(crate) mod layout;
pub(crate) mod scan;
pub(crate) mod strict;
pub(crate) mod string;
pub(crate) mod tree;

/// A range of bytes in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start..self.end]
    }
}

/// An object's members in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) span: Span,
    pub(crate) members: Vec<Member>,
}

/// One `"key": value`. `lead` is where the white space before the key begins, right after `{` or `,`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) lead: usize,
    pub(crate) key: Span,
    pub(crate) value: Span,
}

impl Object {
    /// The member with this key; of several the last one, as JSON readers do.
    pub(crate) fn get(&self, bytes: &[u8], key: &str) -> Option<&Member> {
        self.members.iter().rev().find(|member| string::is(member.key.of(bytes), key))
    }
}

/// An array's elements in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) span: Span,
    pub(crate) elements: Vec<Element>,
}

/// One element. `lead` is where the white space before it begins, right after `[` or `,`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub(crate) lead: usize,
    pub(crate) value: Span,
}

/// The kind of a value, with the words an error message uses for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// The kind of a value, told by its first byte.
    pub(crate) fn of(value: &[u8]) -> Kind {
        match value.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    pub(crate) fn with_article(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}
