//! Decides which version a foreign program had read before it wrote the file. Pure.

use std::time::Duration;

use cellist_notebook::{Revision, SnapshotCell};
use cellist_platform::files::Identity;

use super::evidence::{Evidence, Hashes};

/// Time after our save in which a foreign write may be based on the version before it.
pub(super) const WINDOW: Duration = Duration::from_secs(15);
/// File systems use the time of the last clock tick, which may be slightly old.
const TICK: Duration = Duration::from_millis(20);

/// A version that was in the file.
#[derive(Clone, Debug)]
pub(super) struct FileVersion {
    /// Time when it was put there.
    pub(super) at: Duration,
    pub(super) revision: Revision,
    pub(super) file: Option<Identity>,
    pub(super) evidence: Evidence,
}

/// A file that another program has written.
#[derive(Clone, Debug)]
pub(super) struct ForeignWrite {
    /// Time of the write, from the file system.
    pub(super) at: Duration,
    pub(super) revision: Revision,
    pub(super) file: Identity,
    pub(super) texts: Hashes,
    pub(super) values: Hashes,
}

/// The index of the version that a foreign program had read before it wrote `found`. `versions` are
/// sorted oldest first. `None` if the write stands: the program had read the newest version, or
/// nothing suggests an older one.
///
/// A version counts as read if the file has a value that no earlier version has. Without such
/// evidence, the candidates are the versions in the file within [`WINDOW`] of the write. The best
/// one is the one with the fewest deletions of our sources, then the oldest. A program that never
/// reads our saves continues from its own writes. The oldest version may therefore be one of ours
/// that it has not read.
pub(super) fn read_before(versions: &[FileVersion], found: &ForeignWrite) -> Option<usize> {
    let newest = versions.last()?;
    // A different file: git replaces it on a checkout.
    if newest.file != Some(found.file) {
        return None;
    }
    // A copy that kept the time of its original.
    if found.at + TICK < newest.at {
        return None;
    }
    // An earlier version byte for byte: a restored backup.
    if versions.iter().any(|version| version.revision == found.revision) {
        return None;
    }
    let first = oldest_candidate(versions.iter().map(|version| version.at), found.at)?;
    let deleted = |version: &FileVersion| {
        let kept = version.evidence.texts.intersection(&newest.evidence.texts);
        kept.filter(|text| !found.texts.contains(text)).count()
    };
    let read = (first..versions.len())
        .rev()
        .find(|&at| has_read(&versions[first..=at], found))
        .or_else(|| (first..versions.len() - 1).min_by_key(|&at| deleted(&versions[at])))?;
    (read + 1 < versions.len()).then_some(read)
}

/// The index of the oldest version that was in the file within [`WINDOW`] of a write. `None` if
/// even the newest is older. `versions` are times, oldest first.
pub(super) fn oldest_candidate(
    mut versions: impl Iterator<Item = Duration>,
    write: Duration,
) -> Option<usize> {
    versions.position(|version| write <= version + WINDOW).map(|at| at.saturating_sub(1))
}

/// Whether `found` has a value that only the last of `versions` has.
fn has_read(versions: &[FileVersion], found: &ForeignWrite) -> bool {
    let Some((last, earlier)) = versions.split_last() else { return false };
    let is_new_text = |text: &&u64| earlier.iter().all(|version| !version.evidence.texts.contains(text));
    let was_known = |value: &u64| {
        earlier
            .iter()
            .any(|version| version.evidence.fresh.contains(value) || version.evidence.gone.contains(value))
    };
    // A single version cannot be distinguished from others.
    !earlier.is_empty()
        && (last.evidence.texts.intersection(&found.texts).any(|text| is_new_text(&text))
            || last.evidence.fresh.intersection(&found.values).any(|value| !was_known(value)))
}

/// Whether at least half of the cells in `theirs` are in `ours`, by id or source. Blank cells do
/// not count.
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
    fn versions(texts: &[&[u64]]) -> Vec<FileVersion> {
        let version = |(at, texts): (usize, &&[u64])| FileVersion {
            at: Duration::from_secs(100 + 10 * at as u64),
            revision: revision(at as u64),
            file: Some(OURS),
            evidence: Evidence { texts: hashes(texts), ..Evidence::default() },
        };
        texts.iter().enumerate().map(version).collect()
    }

    fn found(at: u64, texts: &[u64]) -> ForeignWrite {
        let at = Duration::from_secs(at);
        ForeignWrite { at, revision: revision(77), file: OURS, texts: hashes(texts), values: Hashes::new() }
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
    fn a_reinserted_text_does_not_prove_the_newest_version() {
        let versions = versions(&[&[1], &[2], &[1, 3]]);
        assert_eq!(read_before(&versions, &found(121, &[1])), Some(0));
    }

    #[test]
    fn a_value_proves_a_read_unless_an_earlier_version_had_it() {
        let mut versions = versions(&[&[1], &[1], &[1, 2]]);
        versions[1].evidence.gone = hashes(&[10]);
        versions[2].evidence.fresh = hashes(&[10, 11]);
        let with = |value: u64| ForeignWrite { values: hashes(&[value]), ..found(121, &[1]) };
        assert_eq!(read_before(&versions, &with(11)), None);
        assert_eq!(read_before(&versions, &with(10)), Some(0));
        assert_eq!(read_before(&versions, &with(12)), Some(0));
    }

    #[test]
    fn versions_before_the_window_are_ignored() {
        let versions = versions(&[&[1], &[1, 2], &[1, 2, 3]]);
        assert_eq!(read_before(&versions, &found(125, &[1])), Some(0));
        assert_eq!(read_before(&versions, &found(126, &[1])), Some(1));
        assert_eq!(read_before(&versions, &found(135, &[1])), Some(1));
        assert_eq!(read_before(&versions, &found(136, &[1])), None);
    }

    #[test]
    fn the_candidate_with_the_fewest_deletions_wins() {
        let list = versions(&[&[9], &[1, 2], &[3], &[3, 1, 2, 5]]);
        assert_eq!(read_before(&list, &found(131, &[4])), Some(2));
        assert_eq!(read_before(&list, &found(131, &[4, 1, 2])), Some(1));
        // The version before the window has the text too, so it proves nothing.
        let list = versions(&[&[3, 8], &[3, 1, 8], &[8], &[8, 3, 1]]);
        assert_eq!(read_before(&list, &found(131, &[7, 8])), Some(2));
        let alike = versions(&[&[1, 2], &[3], &[4], &[4, 1, 2]]);
        assert_eq!(read_before(&alike, &found(131, &[6])), Some(1), "the oldest of equals");
    }

    #[test]
    fn replaced_files_copies_and_backups_stand() {
        let versions = versions(&[&[1], &[1, 2]]);
        assert_eq!(read_before(&versions, &found(110, &[1])), Some(0));
        assert_eq!(read_before(&versions, &ForeignWrite { file: OTHER, ..found(111, &[1]) }), None);
        assert_eq!(read_before(&versions, &found(109, &[1])), None);
        assert_eq!(read_before(&versions, &ForeignWrite { revision: revision(0), ..found(111, &[1]) }), None);
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
