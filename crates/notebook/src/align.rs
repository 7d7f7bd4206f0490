//! Which cells of two versions of a notebook belong together, for comparing and merging text. Which are the very same
//! cell is decided more strictly in `identity.rs`.

use crate::draft::SnapshotCell;
use crate::identity::by_name;
use crate::lines::{hunks, hunks_of, split};

/// For each cell of `left`, the position of the cell in `right` that its text is compared and merged with.
///
/// These are the cells of the same name; without names to go by, those whose type and source are the same; and cells
/// left between two such pairs, when they are alike or stand in the same place. That does not prove that they are one cell.
pub(crate) fn pair(left: &[SnapshotCell], right: &[SnapshotCell]) -> Vec<Option<usize>> {
    pair_rest(left, right, by_name(left, right))
}

/// Pairs the cells that `pairs` leaves over.
pub(crate) fn pair_rest(
    left: &[SnapshotCell],
    right: &[SnapshotCell],
    mut pairs: Vec<Option<usize>>,
) -> Vec<Option<usize>> {
    by_content(left, right, &mut pairs);
    by_likeness(left, right, &mut pairs);
    pairs
}

/// Positions that keep their order when the rest is taken out: a longest rising run of `numbers`.
pub fn rising(numbers: &[usize]) -> Vec<bool> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; numbers.len()];
    for (at, number) in numbers.iter().enumerate() {
        let place = tails.partition_point(|&tail| numbers[tail] < *number);
        before[at] = place.checked_sub(1).map(|place| tails[place]);
        if place == tails.len() {
            tails.push(at);
        } else {
            tails[place] = at;
        }
    }
    let mut kept = vec![false; numbers.len()];
    let mut at = tails.last().copied();
    while let Some(index) = at {
        kept[index] = true;
        at = before[index];
    }
    kept
}

pub(crate) fn by_content(left: &[SnapshotCell], right: &[SnapshotCell], pairs: &mut [Option<usize>]) {
    let (free_left, free_right) = unpaired(pairs, right.len());
    let content = |cell: &SnapshotCell| (cell.kind.as_str(), cell.source.clone());
    let differing = hunks_of(
        free_left.iter().map(|&at| content(&left[at])),
        free_right.iter().map(|&at| content(&right[at])),
    );
    let (mut l, mut r) = (0, 0);
    for hunk in differing {
        while l < hunk.before.start {
            pairs[free_left[l]] = Some(free_right[r]);
            (l, r) = (l + 1, r + 1);
        }
        (l, r) = (hunk.before.end, hunk.after.end);
    }
    while l < free_left.len() {
        pairs[free_left[l]] = Some(free_right[r]);
        (l, r) = (l + 1, r + 1);
    }
}

fn by_likeness(left: &[SnapshotCell], right: &[SnapshotCell], pairs: &mut [Option<usize>]) {
    let (_, free_right) = unpaired(pairs, right.len());
    let mut l = 0;
    while l < left.len() {
        if pairs[l].is_some() {
            l += 1;
            continue;
        }
        let gap = l..(l..left.len()).find(|&at| pairs[at].is_some()).unwrap_or(left.len());
        let from = gap.start.checked_sub(1).and_then(|at| pairs[at]).map_or(0, |at| at + 1);
        let to = pairs.get(gap.end).copied().flatten().unwrap_or(right.len());
        let candidates: Vec<usize> =
            free_right.iter().copied().filter(|at| (from..to).contains(at)).collect();
        let mut next = 0;
        for (position, at) in gap.clone().enumerate() {
            let same_place = candidates.len() == gap.len();
            let found = (next..candidates.len()).find(|&candidate| {
                let (one, other) = (&left[at], &right[candidates[candidate]]);
                let nameless = one.id.is_none() || other.id.is_none();
                nameless
                    && one.kind == other.kind
                    && (same_place && candidate == position || alike(one, other))
            });
            if let Some(candidate) = found {
                pairs[at] = Some(candidates[candidate]);
                next = candidate + 1;
            }
        }
        l = gap.end;
    }
}

fn unpaired(pairs: &[Option<usize>], right: usize) -> (Vec<usize>, Vec<usize>) {
    let mut taken = vec![false; right];
    pairs.iter().flatten().for_each(|&at| taken[at] = true);
    let left = (0..pairs.len()).filter(|&at| pairs[at].is_none()).collect();
    (left, (0..right).filter(|&at| !taken[at]).collect())
}

/// Whether at least half of the lines of two cells are the same.
pub(crate) fn alike(one: &SnapshotCell, other: &SnapshotCell) -> bool {
    let total = split(&one.source).len() + split(&other.source).len();
    let differing: usize =
        hunks(&one.source, &other.source).iter().map(|hunk| hunk.before.len() + hunk.after.len()).sum();
    differing * 2 <= total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::CellType;

    fn cells(list: &[(&str, &str)]) -> Vec<SnapshotCell> {
        let cell = |(id, source): &(&str, &str)| SnapshotCell {
            id: (!id.is_empty()).then(|| (*id).to_owned()),
            handle: None,
            kind: CellType::Code,
            source: (*source).to_owned(),
        };
        list.iter().map(cell).collect()
    }

    #[test]
    fn ids_pair_cells_wherever_they_stand() {
        let pairs = pair(&cells(&[("a", "1"), ("b", "2")]), &cells(&[("b", "9"), ("c", "1"), ("a", "8")]));
        assert_eq!(pairs, [Some(2), Some(0)]);
    }

    #[test]
    fn without_ids_equal_sources_pair_and_the_rest_by_place_or_likeness() {
        let left = cells(&[("", "import os"), ("", "x = 1"), ("", "print(x)")]);
        let right = cells(&[("", "# new"), ("", "import os"), ("", "x = 2"), ("", "print(x)")]);
        assert_eq!(pair(&left, &right), [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn cells_with_different_ids_and_sources_are_different_cells() {
        assert_eq!(pair(&cells(&[("a", "x = 1")]), &cells(&[("b", "y = 2")])), [None]);
    }

    #[test]
    fn the_longest_rising_run_is_kept() {
        assert_eq!(rising(&[0, 3, 1, 2, 4]), [true, false, true, true, true]);
        assert_eq!(rising(&[]), [] as [bool; 0]);
    }
}
