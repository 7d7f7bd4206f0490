//! How much two cells have in common, by their words.

use std::collections::HashMap;

use crate::draft::SnapshotCell;

/// How alike a changed cell must be to count as the same.
const ALIKE: f64 = 0.6;
/// How much more alike it must be than any other cell that could be meant.
const MARGIN: f64 = 0.2;
/// How many words both must share: fewer prove nothing, as `x = 1` and `y = 1` show.
const SHARED: usize = 3;
/// How many pairs of cells are compared at most.
const MOST_PAIRS: usize = 40_000;

/// The words of a source with how often each occurs. Punctuation says little, and is left out.
pub(super) struct Words<'a> {
    counts: HashMap<&'a str, usize>,
    total: usize,
}

impl<'a> Words<'a> {
    pub(super) fn of(source: &'a str) -> Words<'a> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let is_between = |letter: char| !letter.is_alphanumeric() && letter != '_';
        let words = source.split(is_between).filter(|word| !word.is_empty());
        words.for_each(|word| *counts.entry(word).or_default() += 1);
        Words { total: counts.values().sum(), counts }
    }

    /// The share of words that both have, from 0 to 1.
    pub(super) fn likeness(&self, other: &Words<'_>) -> f64 {
        match self.total + other.total {
            0 => 0.0,
            total => 2.0 * self.shared(other) as f64 / total as f64,
        }
    }

    fn shared(&self, other: &Words<'_>) -> usize {
        let (few, many) = if self.counts.len() <= other.counts.len() { (self, other) } else { (other, self) };
        few.counts
            .iter()
            .map(|(word, count)| many.counts.get(word).map_or(0, |other| *count.min(other)))
            .sum()
    }
}

/// The pairs that are alike beyond doubt: each clearly more alike than any other that either could be.
pub(super) fn clear_pairs(left: &[&SnapshotCell], right: &[&SnapshotCell]) -> Vec<(usize, usize)> {
    if left.len() * right.len() > MOST_PAIRS {
        return Vec::new();
    }
    let right_words: Vec<Words<'_>> = right.iter().map(|cell| Words::of(&cell.source)).collect();
    let mut scores: Vec<Vec<f64>> = Vec::with_capacity(left.len());
    for cell in left {
        let own = Words::of(&cell.source);
        let score = |(other, words): (&&SnapshotCell, &Words<'_>)| {
            let is_same_text = cell.source == other.source && own.total > 0;
            let may_be_alike = cell.kind == other.kind && own.shared(words) >= SHARED;
            match (is_same_text, may_be_alike) {
                (true, _) => 1.0,
                (false, true) => own.likeness(words),
                (false, false) => 0.0,
            }
        };
        scores.push(right.iter().zip(&right_words).map(score).collect());
    }
    let mut pairs = Vec::new();
    for (at, row) in scores.iter().enumerate() {
        for (place, score) in row.iter().enumerate().filter(|(_, score)| **score >= ALIKE) {
            let rivals_here =
                row.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, rival)| rival);
            let rivals_there =
                scores.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, row)| &row[place]);
            if rivals_here.chain(rivals_there).all(|rival| *rival <= score - MARGIN) {
                pairs.push((at, place));
            }
        }
    }
    pairs
}
