//! The JSON of a change, as CodeMirror reads and writes it. A number is a length to keep. A list is a length to
//! delete, then the lines to insert.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ChangePart, ChangeSet};

impl Serialize for ChangeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.parts)
    }
}

impl Serialize for ChangePart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ChangePart::Keep(length) => length.serialize(serializer),
            ChangePart::Replace { removed, inserted } => {
                let mut list = serializer.serialize_seq(None)?;
                list.serialize_element(removed)?;
                if !inserted.is_empty() {
                    inserted.split('\n').try_for_each(|line| list.serialize_element(line))?;
                }
                list.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for ChangeSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ChangeSet, D::Error> {
        let parts: Vec<ChangePart> = Vec::deserialize(deserializer)?;
        let mut change = ChangeSet::default();
        for part in parts {
            match part {
                ChangePart::Keep(length) => change.keep(length),
                ChangePart::Replace { removed, inserted } => change.put(removed, &inserted),
            }
        }
        Ok(change)
    }
}

impl<'de> Deserialize<'de> for ChangePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ChangePart, D::Error> {
        deserializer.deserialize_any(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = ChangePart;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length, or a list of a length and lines")
    }

    fn visit_u64<E: serde::de::Error>(self, length: u64) -> Result<ChangePart, E> {
        Ok(ChangePart::Keep(checked(length)?))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ChangePart, A::Error> {
        let removed: u64 = list.next_element()?.ok_or_else(|| A::Error::custom("the length is missing"))?;
        let mut inserted = String::new();
        let mut is_first = true;
        while let Some(line) = list.next_element::<String>()? {
            if line.contains('\n') {
                return Err(A::Error::custom("a line holds a line break"));
            }
            if !std::mem::take(&mut is_first) {
                inserted.push('\n');
            }
            inserted.push_str(&line);
        }
        Ok(ChangePart::Replace { removed: checked(removed)?, inserted })
    }
}

/// Limits lengths, so that their sums do not overflow.
fn checked<E: serde::de::Error>(length: u64) -> Result<usize, E> {
    let length = usize::try_from(length).ok().filter(|&length| length <= u32::MAX as usize);
    length.ok_or_else(|| E::custom("the length is beyond that of any text"))
}
