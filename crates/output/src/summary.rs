//! How the cells of a run ended, in one bounded line: `34 ok, 2 failed: 3, 20; not run: 21–36`.

/// How a cell of a run ended, or stands while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellEnding {
    /// It ran to its end.
    Ok,
    /// It failed.
    Failed,
    /// It failed, and is marked as a cell that may.
    FailedAllowed,
    /// It reached its time limit.
    TimedOut,
    /// It was interrupted.
    Interrupted,
    /// It has not ended yet.
    Running,
    /// The run ended before it, or has not reached it yet.
    NotRun,
}

/// The cells of a run by how they ended. Their numbers are those that the reader knows them by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSummary(Vec<(CellEnding, usize)>);

impl RunSummary {
    /// Counts a cell.
    pub fn add(&mut self, ending: CellEnding, cell: usize) {
        self.0.push((ending, cell));
    }

    /// How many cells there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The line. Its lists of cells end with `…` where they would make it much longer than `max_bytes`.
    pub fn line(&self, max_bytes: usize) -> String {
        use CellEnding::{Failed, FailedAllowed, Interrupted, NotRun, Ok, Running, TimedOut};
        const WORDS: usize = 24;
        let cells = |wanted: CellEnding| -> Vec<usize> {
            let mut cells: Vec<usize> =
                self.0.iter().filter(|(ending, _)| *ending == wanted).map(|(_, cell)| *cell).collect();
            cells.sort_unstable();
            cells.dedup();
            cells
        };
        let named = [
            (Failed, "failed"),
            (FailedAllowed, "failed (allowed)"),
            (TimedOut, "timed out"),
            (Interrupted, "interrupted"),
        ];
        let lists: Vec<(&str, Vec<usize>)> = named
            .into_iter()
            .map(|(ending, word)| (word, cells(ending)))
            .filter(|(_, list)| !list.is_empty())
            .collect();
        let (ok, running, not_run) = (cells(Ok).len(), cells(Running), cells(NotRun));
        let count = lists.len() + usize::from(!running.is_empty()) + usize::from(!not_run.is_empty());
        let room = max_bytes.saturating_sub((count + 1) * WORDS) / count.max(1);
        let mut parts: Vec<String> = lists
            .into_iter()
            .map(|(word, list)| format!("{} {word}: {}", list.len(), ranges(&list, room)))
            .collect();
        if !running.is_empty() {
            parts.push(format!("still running: {}", ranges(&running, room)));
        }
        if !not_run.is_empty() {
            let list = ranges(&not_run, room);
            parts.push(match list.ends_with('…') {
                true => format!("{} not run: {list}", not_run.len()),
                false => format!("not run: {list}"),
            });
        }
        match (ok, parts.is_empty()) {
            (0, false) => parts.join("; "),
            (_, true) => format!("{ok} ok"),
            (_, false) => format!("{ok} ok, {}", parts.join("; ")),
        }
    }
}

/// Numbers in order, with those in a row folded: `1–3, 5`. Ends with `…` where it would be longer than `max_bytes`;
/// the first of them is always there.
pub fn ranges(numbers: &[usize], max_bytes: usize) -> String {
    let mut words = String::new();
    for run in numbers.chunk_by(|one, next| one + 1 == *next) {
        let next = match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}–{last}"),
            [] => continue,
        };
        if !words.is_empty() {
            if words.len() + next.len() + 2 > max_bytes {
                words.push_str(", …");
                break;
            }
            words.push_str(", ");
        }
        words.push_str(&next);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_folded_and_the_list_is_bounded() {
        assert_eq!(ranges(&[], 100), "");
        assert_eq!(ranges(&[3], 100), "3");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8], 100), "0–2, 5, 7–8");
        assert_eq!(ranges(&[10, 20, 30, 40], 10), "10, 20, 30, …");
        assert_eq!(ranges(&[10, 20], 0), "10, …");
    }

    #[test]
    fn a_line_says_how_the_cells_of_a_run_ended() {
        use CellEnding::{Failed, FailedAllowed, Interrupted, NotRun, Ok, Running, TimedOut};
        let check = |cells: &[(CellEnding, std::ops::RangeInclusive<usize>)], expected: &str| {
            let mut summary = RunSummary::default();
            for (ending, range) in cells {
                range.clone().for_each(|cell| summary.add(*ending, cell));
            }
            assert_eq!(summary.line(300), expected);
        };
        check(&[], "0 ok");
        check(&[(Ok, 0..=19)], "20 ok");
        check(
            &[(Ok, 0..=2), (Failed, 3..=3), (Ok, 4..=19), (Failed, 20..=20), (NotRun, 21..=36)],
            "19 ok, 2 failed: 3, 20; not run: 21–36",
        );
        check(&[(Failed, 0..=0), (NotRun, 1..=3)], "1 failed: 0; not run: 1–3");
        check(
            &[(Ok, 0..=0), (FailedAllowed, 1..=1), (TimedOut, 2..=2), (Interrupted, 4..=4), (NotRun, 9..=9)],
            "1 ok, 1 failed (allowed): 1; 1 timed out: 2; 1 interrupted: 4; not run: 9",
        );
        check(&[(Ok, 0..=0), (Running, 1..=1), (NotRun, 2..=4)], "1 ok, still running: 1; not run: 2–4");
        check(&[(Running, 0..=0), (NotRun, 1..=1)], "still running: 0; not run: 1");
    }

    #[test]
    fn a_line_about_ten_thousand_cells_is_short() {
        let mut summary = RunSummary::default();
        for cell in (0..10_000).step_by(4) {
            summary.add(CellEnding::Failed, cell);
            summary.add(CellEnding::Interrupted, cell + 2);
            summary.add(CellEnding::NotRun, cell + 3);
        }
        for most in [0, 100, 300] {
            let line = summary.line(most);
            assert!(line.len() <= most.max(90) + 20, "{line}");
            assert!(line.starts_with("2500 failed: 0, ") && line.contains("; 2500 not run: 3, "), "{line}");
        }
    }
}
