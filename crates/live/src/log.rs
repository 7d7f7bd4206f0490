//! The recent changes of an open notebook, for clients that reconnect.

use std::collections::VecDeque;
use std::sync::Arc;

use super::actor::Tag;
use super::op::{Change, Effect};

/// Limit of the log. A page that slept for hours of typing still catches up; after a longer sleep it reloads the
/// notebook.
const MOST_CHANGES: usize = 20_000;
const MOST_BYTES: usize = 8 << 20;

/// Consecutive changes up to the newest version.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    changes: VecDeque<(usize, Arc<Change>)>,
    bytes: usize,
}

impl ChangeLog {
    pub(crate) fn push(&mut self, change: Arc<Change>) {
        let size = size(&change);
        self.bytes += size;
        self.changes.push_back((size, change));
        while self.changes.len() > MOST_CHANGES || (self.bytes > MOST_BYTES && self.changes.len() > 1) {
            self.bytes -= self.changes.pop_front().map_or(0, |(size, _)| size);
        }
    }

    /// Returns all changes since `version`; `None` if some are no longer kept.
    pub(crate) fn since(&self, version: u64, newest: u64) -> Option<Vec<Arc<Change>>> {
        let count = usize::try_from(newest.checked_sub(version)?).ok()?;
        let from = self.changes.len().checked_sub(count)?;
        Some(self.changes.range(from..).map(|(_, change)| Arc::clone(change)).collect())
    }

    /// Returns the version of a client's submission, if it came after `version`.
    pub(crate) fn find(&self, tag: &Tag, version: u64) -> Option<u64> {
        let newer = self.changes.iter().rev().take_while(|(_, change)| change.version > version);
        let found = newer.map(|(_, change)| change).find(|change| change.tag.as_ref() == Some(tag));
        found.map(|change| change.version)
    }
}

/// Approximate size of a change in bytes.
fn size(change: &Change) -> usize {
    let text = |effect: &Effect| match effect {
        Effect::Inserted { source, .. } => source.len(),
        Effect::Changed { change, .. } => change.inserted().map(str::len).sum(),
        Effect::Deleted { .. }
        | Effect::Moved { .. }
        | Effect::Retyped { .. }
        | Effect::Outputs { .. }
        | Effect::Metadata { .. } => 0,
    };
    200 + change.effects.iter().map(|effect| 100 + text(effect)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, ActorKind};

    fn change(version: u64, source: usize) -> Arc<Change> {
        let effect = Effect::Inserted {
            cell: "a".into(),
            after: None,
            kind: cellist_notebook::CellType::Code,
            source: "x".repeat(source),
        };
        let tag = Some(Tag { client: "c".into(), number: version });
        let actor = Actor::new(ActorKind::Person, "p");
        Arc::new(Change { version, actor, turn: None, tag, effects: vec![effect] })
    }

    #[test]
    fn changes_since_a_version_are_complete_or_none() {
        let mut log = ChangeLog::default();
        (1..=5).for_each(|version| log.push(change(version, 1)));
        let versions = |since| {
            log.since(since, 5).map(|changes| changes.iter().map(|change| change.version).collect::<Vec<_>>())
        };
        assert_eq!(versions(3), Some(vec![4, 5]));
        assert_eq!(versions(5), Some(Vec::new()));
        assert_eq!(versions(0).map(|all| all.len()), Some(5));
        assert_eq!(versions(6), None);
    }

    #[test]
    fn a_submission_is_found_after_its_base() {
        let mut log = ChangeLog::default();
        (1..=5).for_each(|version| log.push(change(version, 1)));
        let tag = |number| Tag { client: "c".into(), number };
        assert_eq!((log.find(&tag(4), 2), log.find(&tag(2), 2)), (Some(4), None));
    }

    #[test]
    fn the_log_is_bounded() {
        let mut log = ChangeLog::default();
        (1..=10).for_each(|version| log.push(change(version, MOST_BYTES / 3)));
        assert_eq!(log.since(8, 10).map(|changes| changes.len()), Some(2));
        assert_eq!(log.since(5, 10), None);
    }
}
