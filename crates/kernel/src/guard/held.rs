//! The registrations of a guard, and the form of a change: in the guard's pipe and in the ledger.
//!
//! A record is a sign (`+` or `-`), a kind (`g` for a group, `p` for a path, `l` for the ledger), its value, and a NUL byte, which no
//! path contains. A group is followed by a space and by when its leader began, where the system tells that.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Something that is to go with its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Group { group: u32, began: Option<String> },
    Path(PathBuf),
}

/// A change of the registrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Add(What),
    RemoveGroup(u32),
    RemovePath(PathBuf),
    /// The guard also goes by this ledger, and removes it in the end.
    Ledger(PathBuf),
}

/// All that is registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) groups: BTreeMap<u32, Option<String>>,
    pub(super) paths: BTreeSet<PathBuf>,
    pub(super) ledger: Option<PathBuf>,
}

impl Change {
    pub(super) fn record(&self) -> Vec<u8> {
        let with_path = |head: &[u8], path: &Path| [head, path.as_os_str().as_bytes(), b"\0"].concat();
        match self {
            Change::Add(What::Group { group, began: Some(began) }) => {
                format!("+g{group} {began}\0").into_bytes()
            }
            Change::Add(What::Group { group, began: None }) => format!("+g{group}\0").into_bytes(),
            Change::Add(What::Path(path)) => with_path(b"+p", path),
            Change::RemoveGroup(group) => format!("-g{group}\0").into_bytes(),
            Change::RemovePath(path) => with_path(b"-p", path),
            Change::Ledger(path) => with_path(b"+l", path),
        }
    }

    /// Reads a record without its NUL. A group must be one that can be killed without harm to others: 0 and 1
    /// mean "mine" and "everything" to the system.
    fn parse(record: &[u8]) -> Option<Change> {
        let (head, value) = record.split_at_checked(2)?;
        let path = || PathBuf::from(OsString::from_vec(value.to_vec()));
        let group = || {
            let text = std::str::from_utf8(value).ok()?;
            let (number, began) = text.split_once(' ').map_or((text, None), |(id, began)| (id, Some(began)));
            let group = number.parse().ok().filter(|group: &u32| *group > 1)?;
            Some((group, began.map(str::to_owned)))
        };
        match head {
            b"+g" => group().map(|(group, began)| Change::Add(What::Group { group, began })),
            b"-g" => group().map(|(group, _)| Change::RemoveGroup(group)),
            b"+p" => Some(Change::Add(What::Path(path()))),
            b"-p" => Some(Change::RemovePath(path())),
            b"+l" => Some(Change::Ledger(path())),
            _ => None,
        }
    }
}

impl Held {
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Add(What::Group { group, began }) => drop(self.groups.insert(group, began)),
            Change::Add(What::Path(path)) => drop(self.paths.insert(path)),
            Change::RemoveGroup(group) => drop(self.groups.remove(&group)),
            Change::RemovePath(path) => drop(self.paths.remove(&path)),
            Change::Ledger(path) => self.ledger = Some(path),
        }
    }

    /// Takes whole records from the front of `pending`.
    pub(super) fn read(&mut self, pending: &mut Vec<u8>) {
        while let Some(end) = pending.iter().position(|byte| *byte == 0) {
            let record: Vec<u8> = pending.drain(..=end).collect();
            if let Some(change) = Change::parse(&record[..end]) {
                self.apply(change);
            }
        }
    }

    /// All of it, for a guard that knows nothing yet.
    pub(super) fn records(&self) -> Vec<u8> {
        let groups =
            self.groups.iter().map(|(group, began)| What::Group { group: *group, began: began.clone() });
        let paths = self.paths.iter().map(|path| What::Path(path.clone()));
        let held = groups.chain(paths).map(Change::Add);
        self.ledger
            .clone()
            .map(Change::Ledger)
            .into_iter()
            .chain(held)
            .flat_map(|change| change.record())
            .collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.paths.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut records: Vec<u8>) -> Held {
        let mut held = Held::default();
        held.read(&mut records);
        held
    }

    #[test]
    fn registrations_that_were_not_taken_back_are_held() {
        let group =
            |group, began: Option<&str>| Change::Add(What::Group { group, began: began.map(str::to_owned) });
        let path = PathBuf::from("/tmp/with\nnewline");
        let changes = [
            Change::Ledger("/run/ledger".into()),
            group(4711, Some("99@boot")),
            group(4712, None),
            Change::Add(What::Path(path.clone())),
            group(12, Some("1@boot")),
            Change::RemoveGroup(12),
            Change::RemoveGroup(99),
        ];
        let held = read(changes.iter().flat_map(Change::record).collect());
        let expected = Held {
            groups: [(4711, Some("99@boot".into())), (4712, None)].into(),
            paths: [path].into(),
            ledger: Some("/run/ledger".into()),
        };
        assert_eq!(held, expected);
        assert_eq!(read(held.records()), expected, "another guard is told the same");
    }

    #[test]
    fn groups_that_mean_everyone_and_records_cut_short_are_not_taken() {
        assert_eq!(read(b"+g0\0+g1\0+g-5\0+gx\0\0+\0?g7\0+x7\0+g123".to_vec()), Held::default());
    }
}
