//! Which version another program had read before it wrote the file: a decision on facts, without files.

use std::time::Duration;

use cellist_notebook::{Revision, SnapshotCell};
use cellist_platform::files::Identity;

use super::evidence::{Evidence, Hashes};

/// How long after a save of ours a write may still come from a program that had read the file before it.
pub(super) const WINDOW: Duration = Duration::from_secs(15);
/// File systems stamp a file with the time of the last tick, which may be a little ago.
const TICK: Duration = Duration::from_millis(20);

/// A version that was in the file.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// When it came there.
    pub(super) at: Duration,
    pub(super) revision: Revision,
    pub(super) file: Option<Identity>,
    pub(super) evidence: Evidence,
}

/// A file that is not as we left it.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// When it was written, as the file system says.
    pub(super) at: Duration,
    pub(super) revision: Revision,
    pub(super) file: Identity,
    pub(super) texts: Hashes,
    pub(super) values: Hashes,
}

/// The version, by position, that a program had read which wrote `found` over the newest of `versions`, oldest
/// first. `None` when the write stands as it is: the program had read the newest version, or nothing suggests
/// that it had read an older one.
///
/// A version counts as read when the file has a value that no earlier version has. Where nothing tells which of
/// several versions was read, it is one that was in the file within [`WINDOW`] of the write: the one by which the
/// program would have deleted the fewest of our sources, and the oldest of equals. A program that never reads ours
/// goes on from its own writes, so the oldest version alone may be one of ours that it has not seen.
pub(super) fn read_before(versions: &[Version], found: &Finding) -> Option<usize> {
    let newest = versions.last()?;
    // Another file in its place, as git puts it there for another branch.
    if newest.file != Some(found.file) {
        return None;
    }
    // A copy with the time of its original.
    if found.at + TICK < newest.at {
        return None;
    }
    // An earlier version, byte for byte: a backup that was put back.
    if versions.iter().any(|version| version.revision == found.revision) {
        return None;
    }
    let first = oldest_candidate(versions.iter().map(|version| version.at), found.at)?;
    let deleted = |version: &Version| {
        let kept = version.evidence.texts.intersection(&newest.evidence.texts);
        kept.filter(|text| !found.texts.contains(text)).count()
    };
    let read = (first..versions.len())
        .rev()
        .find(|&at| has_read(&versions[first..=at], found))
        .or_else(|| (first..versions.len() - 1).min_by_key(|&at| deleted(&versions[at])))?;
    (read + 1 < versions.len()).then_some(read)
}

/// The oldest version, by position, that was in the file within [`WINDOW`] of a write; `None` where even the newest
/// came earlier than that. `versions` are the times at which they came, oldest first.
pub(super) fn oldest_candidate(
    mut versions: impl Iterator<Item = Duration>,
    write: Duration,
) -> Option<usize> {
    versions.position(|version| write <= version + WINDOW).map(|at| at.saturating_sub(1))
}

/// Whether `found` has a value that only the last of `versions` has.
fn has_read(versions: &[Version], found: &Finding) -> bool {
    let Some((last, earlier)) = versions.split_last() else { return false };
    let is_new_text = |text: &&u64| earlier.iter().all(|version| !version.evidence.texts.contains(text));
    let was_known = |value: &u64| {
        earlier
            .iter()
            .any(|version| version.evidence.fresh.contains(value) || version.evidence.gone.contains(value))
    };
    // Without an earlier version there is nothing to tell the last one from.
    !earlier.is_empty()
        && (last.evidence.texts.intersection(&found.texts).any(|text| is_new_text(&text))
            || last.evidence.fresh.intersection(&found.values).any(|value| !was_known(value)))
}

/// Whether at least half of the cells of `theirs` are cells of `ours`, by id or by text. Blank cells do not count.
pub(super) fn shares_half(ours: &[SnapshotCell], theirs: &[SnapshotCell]) -> bool {
    let is_ours = |cell: &SnapshotCell| {
        let is_same = |our: &SnapshotCell| {
            cell.id.is_some() && our.id == cell.id || (our.kind, &our.source) == (cell.kind, &cell.source)
        };
        ours.iter().any(is_same)
    };
    let cells = || theirs.iter().filter(|cell| !cell.source.trim().is_empty());
    cells().filter(|cell| is_ours(cell)).count() * 2 >= cells().count()
}

#[cfg(test)]
mod tests {
    use cellist_notebook::CellType;

    use super::*;

    const OURS: Identity = Identity { device: 1, number: 2, made: 3 };
    const OTHER: Identity = Identity { device: 1, number: 9, made: 3 };

    fn hashes(numbers: &[u64]) -> Hashes {
        numbers.iter().copied().collect()
    }

    fn revision(number: u64) -> Revision {
        Revision::of([&number.to_le_bytes()[..]])
    }

    /// Versions with these texts, ten seconds apart, the first at 100 s.
    fn versions(texts: &[&[u64]]) -> Vec<Version> {
        let version = |(at, texts): (usize, &&[u64])| Version {
            at: Duration::from_secs(100 + 10 * at as u64),
            revision: revision(at as u64),
            file: Some(OURS),
            evidence: Evidence { texts: hashes(texts), ..Evidence::default() },
        };
        texts.iter().enumerate().map(version).collect()
    }

    fn found(at: u64, texts: &[u64]) -> Finding {
        let at = Duration::from_secs(at);
        Finding { at, revision: revision(77), file: OURS, texts: hashes(texts), values: Hashes::new() }
    }

    #[test]
    fn a_text_of_a_version_shows_that_it_was_read() {
        let versions = versions(&[&[1], &[1, 2], &[1, 2, 3]]);
        assert_eq!(read_before(&versions, &found(121, &[1, 2, 3])), None);
        assert_eq!(read_before(&versions, &found(121, &[3])), None);
        assert_eq!(read_before(&versions, &found(121, &[1, 2])), Some(1));
        assert_eq!(read_before(&versions, &found(121, &[1])), Some(0));
        assert_eq!(read_before(&versions, &found(121, &[8])), Some(0));
    }

    #[test]
    fn a_text_that_came_back_is_no_sign_of_the_newest_version() {
        let versions = versions(&[&[1], &[2], &[1, 3]]);
        assert_eq!(read_before(&versions, &found(121, &[1])), Some(0));
    }

    #[test]
    fn a_value_shows_it_too_unless_an_earlier_version_had_it() {
        let mut versions = versions(&[&[1], &[1], &[1, 2]]);
        versions[1].evidence.gone = hashes(&[10]);
        versions[2].evidence.fresh = hashes(&[10, 11]);
        let with = |value: u64| Finding { values: hashes(&[value]), ..found(121, &[1]) };
        assert_eq!(read_before(&versions, &with(11)), None);
        assert_eq!(read_before(&versions, &with(10)), Some(0));
        assert_eq!(read_before(&versions, &with(12)), Some(0));
    }

    #[test]
    fn versions_that_were_replaced_long_ago_are_not_thought_of() {
        let versions = versions(&[&[1], &[1, 2], &[1, 2, 3]]);
        assert_eq!(read_before(&versions, &found(125, &[1])), Some(0));
        assert_eq!(read_before(&versions, &found(126, &[1])), Some(1));
        assert_eq!(read_before(&versions, &found(135, &[1])), Some(1));
        assert_eq!(read_before(&versions, &found(136, &[1])), None);
    }

    #[test]
    fn a_program_that_goes_on_from_its_own_writes_has_deleted_none_of_ours() {
        let list = versions(&[&[9], &[1, 2], &[3], &[3, 1, 2, 5]]);
        assert_eq!(read_before(&list, &found(131, &[4])), Some(2));
        assert_eq!(read_before(&list, &found(131, &[4, 1, 2])), Some(1));
        // The version before the window has the text, too: it shows nothing.
        let list = versions(&[&[3, 8], &[3, 1, 8], &[8], &[8, 3, 1]]);
        assert_eq!(read_before(&list, &found(131, &[7, 8])), Some(2));
        let alike = versions(&[&[1, 2], &[3], &[4], &[4, 1, 2]]);
        assert_eq!(read_before(&alike, &found(131, &[6])), Some(1), "the oldest of equals");
    }

    #[test]
    fn other_files_copies_and_backups_stand_as_they_are() {
        let versions = versions(&[&[1], &[1, 2]]);
        assert_eq!(read_before(&versions, &found(110, &[1])), Some(0));
        assert_eq!(read_before(&versions, &Finding { file: OTHER, ..found(111, &[1]) }), None);
        assert_eq!(read_before(&versions, &found(109, &[1])), None);
        assert_eq!(read_before(&versions, &Finding { revision: revision(0), ..found(111, &[1]) }), None);
        assert_eq!(read_before(&[], &found(111, &[1])), None);
        assert_eq!(read_before(&versions[..1], &found(101, &[8])), None);
    }

    #[test]
    fn cells_are_shared_by_id_or_by_text() {
        let cells = |list: &[(&str, &str)]| -> Vec<SnapshotCell> {
            let cell = |(id, source): &(&str, &str)| SnapshotCell {
                id: (!id.is_empty()).then(|| (*id).to_owned()),
                handle: None,
                kind: CellType::Code,
                source: (*source).to_owned(),
            };
            list.iter().map(cell).collect()
        };
        let ours = cells(&[("a", "1"), ("b", "2"), ("", "3"), ("", "")]);
        let check = |theirs, expected| assert_eq!(shares_half(&ours, &cells(theirs)), expected, "{theirs:?}");
        check(&[("a", "9"), ("x", "8")], true);
        check(&[("x", "2"), ("", "8")], true);
        check(&[("a", "9"), ("x", "8"), ("y", "7")], false);
        check(&[("", "3"), ("", ""), ("", ""), ("", "7"), ("", "8")], false);
        check(&[], true);
    }
}
