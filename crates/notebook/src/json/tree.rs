//! A JSON value taken apart just far enough to be written again in another layout: scalars stay the bytes
//! they were, so no number is respelt.

use std::borrow::Cow;

use super::layout::Layout;
use super::scan::{MEMBERS, array_at, object_at};
use super::{Kind, Member, Object, Span, string};

/// Below this depth a value is copied as it stands instead of being laid out anew.
const DEEPEST: usize = 128;

/// A value to write.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    /// A number, string, boolean or null as it stands in a JSON text.
    Raw(Cow<'a, [u8]>),
    /// A string still to be written.
    Text(Cow<'a, str>),
    /// A text as a list of its lines, which `cut` finds: the length of the first line with its end.
    Lines {
        text: &'a str,
        cut: fn(&str) -> usize,
    },
    Array(Vec<Node<'a>>),
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
}

impl<'a> Node<'a> {
    pub(crate) fn null() -> Node<'a> {
        Node::Raw(Cow::Borrowed(b"null"))
    }

    pub(crate) fn number(value: u64) -> Node<'a> {
        Node::Raw(Cow::Owned(value.to_string().into_bytes()))
    }

    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Node<'a> {
        Node::Text(text.into())
    }

    /// Text as notebooks keep it: a list of lines, each but the last with its newline.
    pub(crate) fn lines(text: &'a str) -> Node<'a> {
        Node::Lines { text, cut: |text| text.find('\n').map_or(text.len(), |at| at + 1) }
    }

    /// The value of a text that is known to be JSON.
    pub(crate) fn of(bytes: &'a [u8]) -> Node<'a> {
        Node::at(bytes, Span { start: 0, end: bytes.len() }, DEEPEST)
    }

    fn at(bytes: &'a [u8], span: Span, depth: usize) -> Node<'a> {
        let raw = || Node::Raw(Cow::Borrowed(span.of(bytes)));
        if depth == 0 {
            return raw();
        }
        match Kind::of(span.of(bytes)) {
            Kind::Array => array_at(bytes, span).map_or_else(raw, |array| {
                let element = |at: &super::Element| Node::at(bytes, at.value, depth - 1);
                Node::Array(array.elements.iter().map(element).collect())
            }),
            Kind::Object => object_at(bytes, span).map_or_else(raw, |object| {
                let member =
                    |at: &Member| (string::decode(at.key.of(bytes)), Node::at(bytes, at.value, depth - 1));
                Node::Object(object.members.iter().map(member).collect())
            }),
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => raw(),
        }
    }

    /// Puts the keys of all objects in order, as Jupyter's writer does; of equal keys the last stays.
    pub(crate) fn sort(&mut self) {
        match self {
            Node::Array(items) => items.iter_mut().for_each(Node::sort),
            Node::Object(members) => {
                members.iter_mut().for_each(|(_, value)| value.sort());
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                let mut kept: Vec<(Cow<'a, str>, Node<'a>)> = Vec::with_capacity(members.len());
                for member in members.drain(..) {
                    match kept.last_mut() {
                        Some(last) if last.0 == member.0 => *last = member,
                        _ => kept.push(member),
                    }
                }
                *members = kept;
            }
            Node::Raw(_) | Node::Text(_) | Node::Lines { .. } => {}
        }
    }

    /// Writes the value in `layout`; `indent` is that of the line it begins on.
    pub(crate) fn write(&self, layout: &Layout, indent: &str, ascii: bool, out: &mut Vec<u8>) {
        match self {
            Node::Raw(bytes) => out.extend_from_slice(bytes),
            Node::Text(text) => string::encode(text, ascii, out),
            Node::Lines { text: "", .. } => out.extend_from_slice(b"[]"),
            Node::Array(items) if items.is_empty() => out.extend_from_slice(b"[]"),
            Node::Object(members) if members.is_empty() => out.extend_from_slice(b"{}"),
            Node::Lines { text, cut } => {
                out.push(b'[');
                let mut rest = *text;
                for position in 0.. {
                    let (line, behind) = rest.split_at(cut(rest));
                    layout.separate(position, indent, out);
                    string::encode(line, ascii, out);
                    rest = behind;
                    if rest.is_empty() {
                        break;
                    }
                }
                layout.write_tail(indent, out);
                out.push(b']');
            }
            Node::Array(items) => {
                let inside = layout.inside(indent);
                out.push(b'[');
                for (position, item) in items.iter().enumerate() {
                    layout.separate(position, indent, out);
                    item.write(layout, &inside, ascii, out);
                }
                layout.write_tail(indent, out);
                out.push(b']');
            }
            Node::Object(members) => {
                let members = members.iter().map(|(key, value)| (&**key, value));
                write_object(members, layout, indent, ascii, out);
            }
        }
    }
}

/// Writes an object that has members, and returns their spans.
pub(crate) fn write_object<'a>(
    members: impl Iterator<Item = (&'a str, &'a Node<'a>)>,
    layout: &Layout,
    indent: &str,
    ascii: bool,
    out: &mut Vec<u8>,
) -> Object {
    let inside = layout.inside(indent);
    let start = out.len();
    let mut written = Vec::with_capacity(MEMBERS);
    out.push(b'{');
    for (position, (key, value)) in members.enumerate() {
        let lead = out.len() + usize::from(position > 0);
        layout.separate(position, indent, out);
        let key = noting(out, |out| string::encode(key, ascii, out));
        out.extend_from_slice(layout.colon().as_bytes());
        let value = noting(out, |out| value.write(layout, &inside, ascii, out));
        written.push(Member { lead, key, value });
    }
    layout.write_tail(indent, out);
    out.push(b'}');
    Object { span: Span { start, end: out.len() }, members: written }
}

/// The span of the text that `write` writes.
fn noting(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Span {
    let start = out.len();
    write(out);
    Span { start, end: out.len() }
}
