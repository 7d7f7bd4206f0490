//! Composes and rebases changes.

use super::{BadChange, ChangePart, ChangeSet, Order, UnitPosition, byte_at, units};

impl ChangeSet {
    /// Returns this change followed by `next`, as one change.
    pub fn compose(&self, next: &ChangeSet) -> Result<ChangeSet, BadChange> {
        let (expected, found) = (next.length_before(), self.length_after());
        if expected != found {
            return Err(BadChange::Length { expected, found });
        }
        let (mut first, mut second) = (ChangeSteps::of(self), ChangeSteps::of(next));
        let mut whole = ChangeSet::default();
        loop {
            match (first.next, second.next) {
                (None, None) => return Ok(whole),
                (Some(ChangeStep::Remove(length)), _) => {
                    whole.put(length, "");
                    first.take(length)?;
                }
                (_, Some(ChangeStep::Insert(text))) => {
                    whole.put(0, text);
                    second.take(units(text))?;
                }
                (
                    Some(ChangeStep::Keep(ours)),
                    Some(ChangeStep::Keep(theirs) | ChangeStep::Remove(theirs)),
                ) => {
                    let length = ours.min(theirs);
                    match second.next {
                        Some(ChangeStep::Keep(_)) => whole.keep(length),
                        _ => whole.put(length, ""),
                    }
                    first.take(length)?;
                    second.take(length)?;
                }
                (
                    Some(ChangeStep::Insert(text)),
                    Some(ChangeStep::Keep(theirs) | ChangeStep::Remove(theirs)),
                ) => {
                    let length = units(text).min(theirs);
                    if let Some(ChangeStep::Keep(_)) = second.next {
                        whole.put(0, head(text, length)?);
                    }
                    first.take(length)?;
                    second.take(length)?;
                }
                (None, Some(_)) | (Some(_), None) => unreachable!("the lengths are the same"),
            }
        }
    }

    /// Rebases this change over `other`, made on the same text. `order` decides between insertions at the same
    /// place.
    ///
    /// Two changes give the same text in either order if each is mapped over the other with opposite orders.
    /// Inserted text stays, even if the other change deletes around it.
    pub fn map(&self, other: &ChangeSet, order: Order) -> Result<ChangeSet, BadChange> {
        let (expected, found) = (self.length_before(), other.length_before());
        if expected != found {
            return Err(BadChange::Length { expected, found });
        }
        let (mut ours, mut theirs) = (ChangeSteps::of(self), ChangeSteps::of(other));
        let mut mapped = ChangeSet::default();
        loop {
            match (ours.next, theirs.next, order) {
                (None, None, _) => return Ok(mapped),
                (Some(ChangeStep::Insert(text)), Some(ChangeStep::Insert(_)), Order::First) => {
                    mapped.put(0, text);
                    ours.take(units(text))?;
                }
                (_, Some(ChangeStep::Insert(text)), _) => {
                    mapped.keep(units(text));
                    theirs.take(units(text))?;
                }
                (Some(ChangeStep::Insert(text)), _, _) => {
                    mapped.put(0, text);
                    ours.take(units(text))?;
                }
                (Some(our), Some(their), _) => {
                    let length = our.length().min(their.length());
                    match (our, their) {
                        (ChangeStep::Keep(_), ChangeStep::Keep(_)) => mapped.keep(length),
                        (ChangeStep::Remove(_), ChangeStep::Keep(_)) => mapped.put(length, ""),
                        (_, _) => {}
                    }
                    ours.take(length)?;
                    theirs.take(length)?;
                }
                (None, Some(_), _) | (Some(_), None, _) => unreachable!("the lengths are the same"),
            }
        }
    }
}

/// The next step of a change. An insertion precedes a deletion at the same place.
#[derive(Clone, Copy)]
enum ChangeStep<'a> {
    Keep(usize),
    Remove(usize),
    Insert(&'a str),
}

impl ChangeStep<'_> {
    fn length(self) -> usize {
        match self {
            ChangeStep::Keep(length) | ChangeStep::Remove(length) => length,
            ChangeStep::Insert(text) => units(text),
        }
    }
}

/// Iterates over a change. A step can be consumed in parts.
struct ChangeSteps<'a> {
    next: Option<ChangeStep<'a>>,
    /// The deletion that follows `next` in the same part.
    removed: usize,
    rest: std::slice::Iter<'a, ChangePart>,
}

impl<'a> ChangeSteps<'a> {
    fn of(change: &'a ChangeSet) -> ChangeSteps<'a> {
        let mut steps = ChangeSteps { next: None, removed: 0, rest: change.parts.iter() };
        steps.advance();
        steps
    }

    fn advance(&mut self) {
        let removed = std::mem::take(&mut self.removed);
        if removed > 0 {
            self.next = Some(ChangeStep::Remove(removed));
            return;
        }
        self.next = self.rest.next().map(|part| match part {
            ChangePart::Keep(length) => ChangeStep::Keep(*length),
            ChangePart::Replace { removed, inserted } if inserted.is_empty() => ChangeStep::Remove(*removed),
            ChangePart::Replace { removed, inserted } => {
                self.removed = *removed;
                ChangeStep::Insert(inserted)
            }
        });
    }

    /// Consumes `length` units of the next step.
    fn take(&mut self, length: usize) -> Result<(), BadChange> {
        let left = match self.next {
            None => return Ok(()),
            Some(ChangeStep::Keep(all)) => ChangeStep::Keep(all - length),
            Some(ChangeStep::Remove(all)) => ChangeStep::Remove(all - length),
            Some(ChangeStep::Insert(text)) => ChangeStep::Insert(&text[head(text, length)?.len()..]),
        };
        if left.length() == 0 {
            self.advance();
        } else {
            self.next = Some(left);
        }
        Ok(())
    }
}

fn head(text: &str, length: usize) -> Result<&str, BadChange> {
    match byte_at(text, length) {
        UnitPosition::At(end) => Ok(&text[..end]),
        UnitPosition::Inside | UnitPosition::Beyond => Err(BadChange::CutsCharacter { at: length }),
    }
}
