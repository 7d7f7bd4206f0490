//! Decides whether the outputs of a cell are up to date, from its source, its receipts and the
//! kernel. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Receipt, mark};

/// Whether the outputs of a cell are up to date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// No receipt exists.
    NotRun,
    /// The current source ran on the current kernel, after all cells above it.
    Fresh,
    /// The outputs may be outdated, for these reasons.
    Stale(Vec<Stale>),
}

/// The reason why a cell is stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stale {
    /// The source differs from the one that ran.
    Edited,
    /// The kernel of that run has ended.
    KernelGone,
    /// A cell above it ran later.
    EarlierRan {
        /// The first such cell.
        cell: String,
    },
}

impl Stale {
    /// The reason as a short text.
    pub fn words(&self) -> String {
        match self {
            Stale::Edited => "edited since it ran".to_owned(),
            Stale::KernelGone => "its kernel is gone".to_owned(),
            Stale::EarlierRan { cell } => format!("cell {cell} above it ran after it"),
        }
    }
}

/// Freshness of each cell.
///
/// `cells` are the code cells (name and source) in the notebook's order. `ran` has the receipts,
/// oldest first. `kernel` is the current kernel.
pub fn freshness(cells: &[(&str, &str)], ran: &[Receipt], kernel: Option<&str>) -> Vec<Freshness> {
    let last: HashMap<&str, (usize, &Receipt)> =
        ran.iter().enumerate().map(|(at, receipt)| (receipt.cell.as_str(), (at, receipt))).collect();
    let mut before: Vec<(&str, usize)> = Vec::new();
    let mut all = Vec::with_capacity(cells.len());
    for (cell, source) in cells {
        let Some((at, receipt)) = last.get(cell) else {
            all.push(Freshness::NotRun);
            continue;
        };
        let mut why = Vec::new();
        if receipt.source != mark(source) {
            why.push(Stale::Edited);
        }
        if kernel != Some(receipt.kernel.as_str()) {
            why.push(Stale::KernelGone);
        }
        let earlier = before.iter().find(|(_, earlier)| earlier > at);
        why.extend(earlier.map(|(cell, _)| Stale::EarlierRan { cell: (*cell).to_owned() }));
        all.push(if why.is_empty() { Freshness::Fresh } else { Freshness::Stale(why) });
        before.push((cell, *at));
    }
    all
}

#[cfg(test)]
mod tests {
    use cellist_output::Backend;

    use super::*;
    use cellist_output::Status;

    /// Builds receipts from words of the form `CELL=SOURCE@KERNEL`.
    fn ran(words: &str) -> Vec<Receipt> {
        let receipt = |word: &str| {
            let (cell, rest) = word.split_once('=').unwrap();
            let (source, kernel) = rest.split_once('@').unwrap();
            Receipt {
                cell: cell.into(),
                source: mark(source),
                execution_count: None,
                kernel: kernel.into(),
                backend: Backend::Runner,
                python: None,
                started_ms: 0,
                duration_ms: 0,
                status: Status::Ok,
                artifact: None,
            }
        };
        words.split_whitespace().map(receipt).collect()
    }

    #[test]
    fn a_cell_is_stale_after_an_edit_a_kernel_restart_or_a_later_run_above() {
        let earlier = |cell: &str| Stale::EarlierRan { cell: cell.into() };
        let cells = [("a", "1"), ("b", "2"), ("c", "3")];
        for (words, kernel, expected) in [
            ("", Some("k"), [Freshness::NotRun, Freshness::NotRun, Freshness::NotRun]),
            ("a=1@k b=2@k c=3@k", Some("k"), [Freshness::Fresh, Freshness::Fresh, Freshness::Fresh]),
            (
                "a=1@k b=0@k",
                Some("k"),
                [Freshness::Fresh, Freshness::Stale(vec![Stale::Edited]), Freshness::NotRun],
            ),
            // The last run counts.
            ("b=0@j a=1@k b=2@k", Some("k"), [Freshness::Fresh, Freshness::Fresh, Freshness::NotRun]),
            (
                "a=1@k c=3@k",
                None,
                [
                    Freshness::Stale(vec![Stale::KernelGone]),
                    Freshness::NotRun,
                    Freshness::Stale(vec![Stale::KernelGone]),
                ],
            ),
            (
                "b=2@k c=3@k a=1@k b=2@k",
                Some("k"),
                [Freshness::Fresh, Freshness::Fresh, Freshness::Stale(vec![earlier("a")])],
            ),
            (
                "c=9@j a=1@k",
                Some("k"),
                [
                    Freshness::Fresh,
                    Freshness::NotRun,
                    Freshness::Stale(vec![Stale::Edited, Stale::KernelGone, earlier("a")]),
                ],
            ),
        ] {
            assert_eq!(freshness(&cells, &ran(words), kernel), expected, "{words}");
        }
    }
}
