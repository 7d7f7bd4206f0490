//! Values of a cell or a notebook that are not source, merged by key.

use std::borrow::Cow;

use crate::json::tree::Node;
use crate::json::{Kind, Span, scan, string};

/// Which side's value wins.
pub(super) enum Value {
    Theirs,
    Ours {
        over_theirs: bool,
    },
    Removed,
    /// An object with keys of both.
    Both(Vec<u8>, bool),
}

pub(super) fn merge_values(base: Option<&[u8]>, ours: Option<&[u8]>, theirs: Option<&[u8]>) -> Value {
    if same(ours, base) || same(ours, theirs) {
        return Value::Theirs;
    }
    let Some(our_value) = ours else {
        // We removed it; if they changed it meanwhile, theirs stays.
        return if same(theirs, base) { Value::Removed } else { Value::Theirs };
    };
    if same(theirs, base) || theirs.is_none() {
        return Value::Ours { over_theirs: false };
    }
    match theirs {
        Some(their_value) if is_object(our_value) && is_object(their_value) => {
            merge_objects(base.filter(|base| is_object(base)).unwrap_or(b"{}"), our_value, their_value)
        }
        Some(_) | None => Value::Ours { over_theirs: true },
    }
}

/// Merges two objects key by key, going into objects that both sides changed.
fn merge_objects(base: &[u8], ours: &[u8], theirs: &[u8]) -> Value {
    let (Some(base_object), Some(our_object), Some(their_object)) = (
        scan::object_at(base, all(base)),
        scan::object_at(ours, all(ours)),
        scan::object_at(theirs, all(theirs)),
    ) else {
        return Value::Ours { over_theirs: true };
    };
    let mut over_theirs = false;
    let mut keys: Vec<Cow<'_, str>> = Vec::new();
    let read = |object: &crate::json::Object, text: &[u8]| -> Vec<String> {
        object.members.iter().map(|member| string::decode(member.key.of(text)).into_owned()).collect()
    };
    for key in read(&their_object, theirs).into_iter().chain(read(&our_object, ours)) {
        if !keys.iter().any(|known| **known == key) {
            keys.push(Cow::Owned(key));
        }
    }
    let mut values: Vec<(Cow<'_, str>, Vec<u8>)> = Vec::new();
    for key in keys {
        let base_value = base_object.get(base, &key).map(|member| member.value.of(base));
        let our_value = our_object.get(ours, &key).map(|member| member.value.of(ours));
        let their_value = their_object.get(theirs, &key).map(|member| member.value.of(theirs));
        let value = match merge_values(base_value, our_value, their_value) {
            Value::Theirs => their_value.map(<[u8]>::to_vec),
            Value::Removed => None,
            Value::Ours { over_theirs: over } => {
                over_theirs |= over;
                our_value.map(<[u8]>::to_vec)
            }
            Value::Both(value, over) => {
                over_theirs |= over;
                Some(value)
            }
        };
        values.extend(value.map(|value| (key, value)));
    }
    let members = values.iter().map(|(key, value)| (key.clone(), Node::of(value))).collect();
    let mut merged = Vec::new();
    Node::Object(members).write(&crate::json::layout::Layout::default(), "", false, &mut merged);
    Value::Both(merged, over_theirs)
}

fn all(text: &[u8]) -> Span {
    Span { start: 0, end: text.len() }
}

fn is_object(value: &[u8]) -> bool {
    Kind::of(value) == Kind::Object
}

/// Whether two values say the same, however they are laid out.
pub(crate) fn same(one: Option<&[u8]>, other: Option<&[u8]>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one == other || plain(one) == plain(other),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn plain(value: &[u8]) -> Vec<u8> {
    let mut node = Node::of(value);
    node.sort();
    let mut out = Vec::new();
    node.write(&crate::json::layout::Layout::default(), "", false, &mut out);
    out
}
